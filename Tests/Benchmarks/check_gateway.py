#!/usr/bin/env python3
"""Checks the part of a run about the gateway: its clients notice wrong responses, its yardsticks reject bad tokens."""
from __future__ import annotations

import hashlib
import json
import pathlib
import random
import socket
import subprocess
import sys
import threading
import time
import unittest

import report_gateway
from check import PROGRAMS, Case
from gateway_peers import NJS, NJS_FRONT, PROXY, Mitmproxy, Nginx, njs_is_installed, write_verifier
from processes import call, wait_for_socket
from proofs import AUDIENCE, SCOPE
from tls_upstream import is_installed

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "EndToEnd"))
from harness.quick_signing import QuickKey  # noqa: E402  the end-to-end tests' own
from harness.signing import SigningKey, b64url  # noqa: E402

ISSUER, URL = "https://idp.example.com", f"{AUDIENCE}/orders/7"
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


class Server:
    """Sends `response`, in pieces, to each request on a Unix socket; `requests` has what came."""

    def __init__(self, path: pathlib.Path, response: bytes, piece: int = 1 << 20, ends: bool = False) -> None:
        self.response, self.piece, self.ends = response, piece, ends
        self.requests: list[bytes] = []
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(path))
        self.listener.listen(8)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        received = b""
        try:
            with connection:
                while data := connection.recv(1 << 16):
                    received += data
                    while b"\r\n\r\n" in received:
                        request, _, received = received.partition(b"\r\n\r\n")
                        self.requests.append(request)
                        for begin in range(0, len(self.response), self.piece):
                            connection.sendall(self.response[begin : begin + self.piece])
                        if self.ends:
                            return
        except OSError:
            pass  # the client went first


class Client(Case):
    """`http_load`."""

    def load(self, response: bytes, *more: object, **named) -> tuple[dict, Server]:
        path = self.directory / f"server-{len(list(self.directory.iterdir()))}"
        server = Server(path, response, **named)
        self.addCleanup(server.listener.close)
        command = [PROGRAMS / "http_load", "--unix", path, "--connections", 2, "--requests", 40, "--stall", 0.5]
        return self.children.measure([*command, "--expect-bytes", 5, *more], 30), server

    def test_counts_good_responses_however_they_are_cut(self) -> None:
        chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;a=b\r\nllo\r\n0\r\nX: y\r\n\r\n"
        for response in (GOOD, chunked):
            for piece in (1, 7, 1000):
                line, _ = self.load(response, piece=piece)
                self.assertEqual((line["requests"], line["failed"], line["connections"]), (40, 0, 2), line)

    def test_an_announced_end_opens_a_connection(self) -> None:
        line, _ = self.load(GOOD.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), ends=True)
        self.assertEqual((line["failed"], line["connections"]), (0, 40), line)

    def test_counts_wrong_responses(self) -> None:
        for name, response in {
            "another status": GOOD.replace(b"200 OK", b"404 Not Found"),
            "another length": GOOD.replace(b"5", b"4").replace(b"hello", b"hell"),
            "bytes behind the response": GOOD + b"x",
            "no HTTP response": b"SSH-2.0-OpenSSH_9.2 and more\r\n\r\n",
            "no size of a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n\r\n",
            "no end of a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhellooo0\r\n\r\n",
        }.items():
            with self.subTest(name):
                line, _ = self.load(response)
                self.assertEqual(line["failed"], 40, line)
                self.assertIn(name, line["firstFailure"])

    def test_an_end_within_a_response_is_a_failure(self) -> None:
        line, _ = self.load(GOOD[:-2], ends=True)
        self.assertEqual(line["failed"], 40, line)

    def test_fields_are_sent_in_turn(self) -> None:
        fields = self.directory / "fields"
        fields.write_text("".join(f"Number: {number}\n" for number in range(4)), encoding="ascii")
        more = ["--fields-from", fields, "--first", 2, "--connections", 1, "--field", "Key: k", "--target", "/a", "--host", "h"]
        _, server = self.load(GOOD, *more)
        sent = [int(request.rpartition(b"Number: ")[2]) for request in server.requests]
        self.assertEqual(sent, [number % 4 for number in range(2, 42)])
        self.assertTrue(server.requests[0].startswith(b"GET /a HTTP/1.1\r\nHost: h\r\n"), server.requests[0])
        self.assertIn(b"\r\nKey: k\r\n", server.requests[0])


class Relay:
    """Passes bytes on a while after they came."""

    def __init__(self, port: int, delay: float) -> None:
        self.target, self.delay = port, delay
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.target))
            threading.Thread(target=self.copy, args=(near, far, 0), daemon=True).start()
            threading.Thread(target=self.copy, args=(far, near, self.delay), daemon=True).start()

    @staticmethod
    def copy(source: socket.socket, target: socket.socket, delay: float) -> None:
        try:
            while data := source.recv(1 << 16):
                time.sleep(delay)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Events(Case):
    def read(self, port: int, *more: object) -> dict:
        return self.children.measure([PROGRAMS / "events", "--read", "--port", port, "--rounds", 3, *more], 30)

    def serve(self) -> int:
        command = [PROGRAMS / "events", "--serve", "--events", 4, "--interval", 5]
        server = self.children.start(command, stdout=subprocess.PIPE)
        return int(server.stdout.readline().rpartition(b":")[2])

    def test_a_delay_shows(self) -> None:
        port = self.serve()
        line = self.read(port, "--events", 4, "--streams", 2)
        self.assertEqual((line["events"], line["failed"]), (24, 0), line)
        relay = Relay(port, 0.05)
        self.addCleanup(relay.listener.close)
        late = self.read(relay.port, "--events", 4)
        self.assertEqual((late["events"], late["failed"]), (12, 0), late)
        for kind in ("firstUs", "laterUs"):
            self.assertGreater(late[kind]["p50"], 45_000, late)
            self.assertLess(line[kind]["p50"], late[kind]["p50"])

    def test_missing_events_are_failures(self) -> None:
        self.assertGreater(self.read(self.serve(), "--events", 5)["failed"], 0)


class Proofs(Case):
    """`make_proofs`, and `proofs` with two threads."""

    def setUp(self) -> None:
        super().setUp()
        self.make()
        command = [PROGRAMS / "proofs", "--socket", self.path, "--jwks", self.directory / "jwks.json", "--threads", 2]
        self.server = self.children.start(command)

    def make(self, *more: object) -> None:
        command = [PROGRAMS / "make_proofs", "--directory", self.directory, *more]
        subprocess.run([str(word) for word in command], check=True)

    def codes(self, requests: list[dict]) -> list[str | None]:
        with wait_for_socket(self.path, self.server) as connection:
            results = [call(connection, "validateRequest", request) for request in requests]
        return [None if result["valid"] else result["error"]["code"] for result in results]

    def test_each_fault_is_rejected(self) -> None:
        path = self.directory / "rejected"
        self.make("--rejected", path)
        lines = [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]
        self.assertGreater(len(lines), 15)
        for line, code in zip(lines, self.codes([line["request"]["params"] for line in lines])):
            self.assertIn(code, [line["code"]] if line["code"] else ["invalid_token", "expired", "wrong_audience"], line["fault"])

    def test_a_proof_is_good_once(self) -> None:
        path = self.directory / "proofs"
        self.make("--proofs", path, "--count", 2000, "--tokens", 50)
        lines = [json.loads(line)["params"] for line in path.read_text(encoding="ascii").splitlines()]
        self.assertEqual(len({line["headers"]["Authorization"] for line in lines}), 50)
        command = [PROGRAMS / "load", "--socket", self.path, "--requests", 2000, "--requests-from", path]
        command += ["--connections", 4, "--pipeline", 4, "--expect", '"valid":true']
        both = [self.children.start(command, stdout=subprocess.PIPE) for _ in range(2)]
        unexpected = [json.loads(child.communicate(timeout=60)[0])["errors"]["unexpected"] for child in both]
        self.assertEqual(sum(unexpected), 2000)
        self.assertEqual(set(self.codes(lines[:20])), {"dpop_proof_replayed"})

    def test_survives_hostile_requests(self) -> None:
        path = self.directory / "proofs"
        self.make("--proofs", path, "--count", 300)
        good = [json.loads(line)["params"] for line in path.read_text(encoding="ascii").splitlines()]
        chance = random.Random(7)
        odd = ["", "/", "https://", "https:///a", "https://h/%", "https://h/%4", "https://h/" + "../" * 600, "é", 7, None, [], {}, [[]]]
        hostile = []
        for request in good:
            name = chance.choice(["Authorization", "DPoP"])
            text, at = request["headers"][name], chance.randrange(len(request["headers"][name]))
            cut = chance.choice([text[:at], text[:at] + chance.choice(".=é{A") + text[at + 1 :], text + text, [text] * 2])
            hostile.append(request | {"headers": request["headers"] | {name: cut}})
            hostile.append(request | {chance.choice(["url", "method", "headers", "audience", "requiredScopes"]): chance.choice(odd)})
        with wait_for_socket(self.path, self.server) as connection, connection.makefile("rb") as answers:
            for number, request in enumerate(hostile):
                text = json.dumps({"jsonrpc": "2.0", "id": number, "method": "validateRequest", "params": request})
                connection.sendall(text.encode() + b"\n")
                self.assertEqual(json.loads(answers.readline())["id"], number)
        self.assertLessEqual(set(self.codes(good)), {None, "dpop_proof_replayed"})

    def test_the_keys_are_kept(self) -> None:
        keys = (self.directory / "jwks.json").read_bytes()
        self.make()
        self.assertEqual((self.directory / "jwks.json").read_bytes(), keys)

    def request(self, key: QuickKey, htu: str, jti: str) -> dict:
        """By a key of the test's own, with a token that the issuer's key signs for it."""
        pem = (self.directory / "ES256.pem").read_bytes()
        signer = SigningKey("ES256", "ec-1", SigningKey._openssl("pkey", "-outform", "DER", input=pem))
        jwk = {name: value for name, value in key.jwk().items() if name in ("kty", "crv", "x", "y")}
        thumbprint = b64url(hashlib.sha256(json.dumps(jwk, sort_keys=True, separators=(",", ":")).encode()).digest())
        now = int(time.time())
        claims = {"iss": ISSUER, "sub": "a", "aud": ["x", AUDIENCE], "client_id": "c", "jti": "1", "iat": now, "exp": now + 60}
        token = signer.sign(claims | {"cnf": {"jkt": thumbprint}}, typ="at+jwt")
        ath = b64url(hashlib.sha256(token.encode()).digest())
        proof = key.sign({"jti": jti, "htm": "GET", "htu": htu, "iat": now, "ath": ath}, typ="dpop+jwt", jwk=jwk, kid=None)
        headers = {"authorization": f"dpop {token}", "dpop": [proof]}
        return {"method": "GET", "url": f"{URL}?a=b", "headers": headers, "audience": AUDIENCE}

    def test_urls_are_compared_in_their_normal_form(self) -> None:
        key = QuickKey(SigningKey("ES256", None))
        same = ["HTTPS://API.Example.com:443/orders/7", f"{AUDIENCE}/orders/%37", f"{AUDIENCE}/a/../orders/./7", f"{URL}?x#y"]
        other = [f"{URL}/", f"{AUDIENCE}/Orders/7", URL.replace("https", "http"), f"{AUDIENCE}:8443/orders/7", f"{AUDIENCE}/orders%2F7"]
        codes = self.codes([self.request(key, htu, str(number)) for number, htu in enumerate(same + other)])
        self.assertEqual(codes, [None] * len(same) + ["invalid_dpop_proof"] * len(other))

    def test_a_jti_belongs_to_its_key(self) -> None:
        keys = [QuickKey(SigningKey("ES256", None)) for _ in range(2)]
        self.assertEqual(self.codes([self.request(key, URL, "same") for key in keys]), [None, None])


@unittest.skipUnless(is_installed() and njs_is_installed(), "nginx or njs is not installed")
class Njs(Case):
    def statuses(self, audience: str = AUDIENCE, scope: str = SCOPE) -> list[int]:
        """Of a good token of each algorithm, the same with another signature, and no token."""
        own = self.directory / f"{len(list(self.directory.iterdir()))}"
        own.mkdir()
        (own / "1k").write_bytes(b"x" * 10)
        verifier = write_verifier(own, self.directory, ISSUER, audience, scope)
        nginx = Nginx(self.children, own / "nginx", NJS_FRONT.format(root=own, verifier=verifier), ["njs"], 1, (NJS,))
        found = []
        for field in self.fields:
            with socket.create_connection(("127.0.0.1", nginx.ports["njs"]), 10) as connection:
                connection.sendall(f"GET /1k HTTP/1.1\r\nHost: h\r\n{field}\r\nConnection: close\r\n\r\n".encode())
                with connection.makefile("rb") as answer:
                    found.append(int(answer.read().split()[1]))
        return found

    def test_verifies_tokens(self) -> None:
        self.directory.chmod(0o711)
        self.fields = []
        for algorithm in ("RS256", "ES256"):
            path = self.directory / algorithm
            command = [PROGRAMS / "make_proofs", "--directory", self.directory, "--bearers", path, "--algorithm", algorithm]
            subprocess.run([*command, "--count", "1"], check=True)
            good = path.read_text(encoding="ascii").strip()
            middle = len(good) - 40
            self.fields += [good, good[:middle] + ("A" if good[middle] != "A" else "B") + good[middle + 1 :]]
        self.fields.append("X-None: 1")
        self.assertEqual(self.statuses(), [200, 401, 200, 401, 401])
        self.assertEqual(self.statuses(audience="https://other.example.com"), [401] * 5)
        self.assertEqual(self.statuses(scope="admin"), [403, 401, 403, 401, 401])


class Peers(Case):
    """Each proxy passes requests on to the upstream, with their token."""

    def setUp(self) -> None:
        super().setUp()
        upstream = self.children.start([PROGRAMS / "upstream"], stdout=subprocess.PIPE)
        self.base = upstream.stdout.readline().decode().strip()
        self.directory.chmod(0o711)

    def passes(self, port: int) -> None:
        command = [PROGRAMS / "http_load", "--port", port, "--target", "/resource/1k", "--requests", 20, "--expect-bytes", 1024]
        line = self.children.measure(command, 30)
        self.assertEqual((line["requests"], line["failed"], line["connections"]), (20, 0, 1), line)

    @unittest.skipUnless(is_installed(), "nginx is not installed")
    def test_nginx(self) -> None:
        servers = PROXY.format(name="proxy", address=self.base.partition("//")[2], more="")
        for workers in (1, 2):
            self.passes(Nginx(self.children, self.directory / f"nginx-{workers}", servers, ["proxy"], workers).ports["proxy"])

    @unittest.skipUnless(Mitmproxy.is_installed(), "mitmproxy is not installed")
    def test_mitmproxy(self) -> None:
        self.passes(Mitmproxy(self.children, self.directory / "mitmproxy", self.base).port)


def line(rate: float, p50: float = 100) -> dict:
    latency = {"p50": p50, "p99": p50}
    return {"requestsPerSecond": rate, "latencyUs": latency, "serverCpuUs": 1.0, "firstUs": latency, "laterUs": latency}


def lines(*names: str) -> dict:
    return {name: [line(100)] for name in names}


class Report(unittest.TestCase):
    """Targets, and rows with all cells."""

    def test_targets_of_the_gateway(self) -> None:
        for in_flight, rate, p50, good in [(1, 1, 250, True), (1, 99, 251, False), (32, 60, 999, True), (32, 59, 1, False)]:
            own = {"unix": [line(rate, p50)], "direct": [line(200)], "nginx": [line(100)]}
            point = {"inFlight": in_flight, "lines": own}
            self.assertEqual(report_gateway.proxy_verdict(point, "unix")[1], good, (in_flight, rate, p50))
        self.assertIsNone(report_gateway.proxy_verdict({"inFlight": 32, "lines": {"unix": [line(1)]}}, "unix"))

    def test_targets_of_events_and_fronts(self) -> None:
        for p50, good in ((1100, True), (1101, False)):
            point = {"streams": 1, "lines": {"unix": [line(1, p50)], "direct": [line(1, 100)]}}
            self.assertEqual(report_gateway.event_verdict(point, "unix")[1], good)
        for rate, good in ((70, True), (69, False)):
            point = {"lines": {"new": [line(rate)], "njs": [line(100)]}}
            self.assertEqual(report_gateway.front_verdict(point, "new")[1], good)

    def test_one_pair_too_many_is_a_miss(self) -> None:
        for accepted, good in (([0, 10, 0], True), ([0, 9, 1], False), ([1, 9, 0], False)):
            self.assertEqual(report_gateway.replay_verdict({"pairs": 10, "accepted": accepted}), good)

    def test_every_row_has_all_cells(self) -> None:
        fronts = ("open", "njs", "repeated", "new")
        proxies = lines("direct", "nginx", "squid", "mitmproxy", "unix", "loopback")
        measured = {
            "rounds": 1,
            "seconds": 1,
            "versions": ["nginx/1"],
            "proxies": {"points": [{"inFlight": count, "workers": 1, "lines": proxies} for count in (1, 32)]},
            "events": {"points": [{"streams": 1, "lines": lines("direct", "nginx", "unix", "loopback")}], "events": 5, "intervalMs": 1},
            "forwardAuthentication": {
                "points": [{"algorithm": "RS256", "inFlight": 1, "workers": dict.fromkeys(fronts, 1), "lines": lines(*fronts)}],
                "tokens": 9,
                "repeated": 2,
            },
            "proofs": {
                "points": [{"kind": "new", "inFlight": 1, "requests": 5, "threads": 2, "lines": lines("postern", "peer")}],
                "shared": 3,
            },
            "replays": {"pairs": 10, "accepted": [0, 10, 0], "first": 4, "seconds": 1.0},
        }
        text = "\n".join(report_gateway.sections(measured))
        for section in text.split("## ")[1:]:
            cells = {row.count("|") for row in section.splitlines() if row.startswith("|")}
            self.assertEqual(len(cells), 1, section)
        self.assertEqual((text.count("| met |"), text.count("**missed**")), (10, 0))
        few = measured | {"forwardAuthentication": None, "replays": None}
        few["proxies"] = {"points": [{"inFlight": 32, "workers": 0, "lines": lines("direct", "unix", "loopback")}]}
        self.assertEqual("\n".join(report_gateway.sections(few)).count("not installed"), 2)


if __name__ == "__main__":
    unittest.main()
