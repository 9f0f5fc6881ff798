#!/usr/bin/env python3
"""Checks the benchmark's own programs: a measurement is worth nothing if its client overlooks wrong answers."""

import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

import report
from processes import Children, call, wait_for_socket

PROGRAMS = (
    pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else pathlib.Path("../../.build/benchmarks").resolve()
)


class Stub:
    """A server that answers each request line with what `answer(id)` gives, and reports it to `observe`."""

    def __init__(self, path, answer, observe=lambda request: None):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(path))
        self.listener.listen(8)
        self.answer = answer
        self.observe = observe
        self.connections = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            with connection, connection.makefile("rb") as lines:
                for line in lines:
                    request = json.loads(line)
                    self.observe(request)
                    connection.sendall(self.answer(request["id"]))
        except OSError:
            pass  # the client went first


class Case(unittest.TestCase):
    def setUp(self):
        self.children = Children()
        self.addCleanup(self.children.stop_all)
        directory = tempfile.TemporaryDirectory(prefix="postern-bench-check-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.path = self.directory / "s"


class LoadClient(Case):
    def load(self, *arguments):
        return subprocess.run(
            [PROGRAMS / "load", "--socket", self.path, *arguments],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def load_stub(self, answer, *arguments):
        stub = Stub(self.path, answer)
        self.addCleanup(stub.listener.close)
        return self.load("--requests", "200", "--connections", "2", "--pipeline", "2", "--stall", "0.3", *arguments)

    def test_counts_every_good_answer(self):
        done = self.load_stub(lambda id: b'{"id":%d,"jsonrpc":"2.0","result":{"a":"\\"}\\\\"}}\n' % id)
        line = json.loads(done.stdout)
        self.assertEqual((line["requests"], any(line["errors"].values())), (200, False))
        self.assertLessEqual(line["latencyUs"]["p50"], line["latencyUs"]["max"])

    def test_counts_error_answers(self):
        done = self.load_stub(lambda id: b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32603,"message":"result"}}\n' % id)
        self.assertEqual(json.loads(done.stdout)["errors"]["answers"], 200)

    def test_counts_answers_without_the_expected_text(self):
        done = self.load_stub(
            lambda id: b'{"jsonrpc":"2.0","id":%d,"result":{"status":401}}\n' % id, "--expect", '"status":200'
        )
        self.assertEqual(json.loads(done.stdout)["errors"]["unexpected"], 200)

    def test_fails_on_answers_that_answer_nothing(self):
        for name, answer in {
            "the id of another request": lambda id: b'{"jsonrpc":"2.0","id":%d,"result":1}\n' % (id + 1000),
            "the id as a string": lambda id: b'{"jsonrpc":"2.0","id":"%d","result":1}\n' % id,
            "no id": lambda id: b'{"jsonrpc":"2.0","result":{"id":%d}}\n' % id,
            "not JSON": lambda id: b"%d\n" % id,
            "cut off": lambda id: b'{"jsonrpc":"2.0","id":%d,"result":{"a":1}\n' % id,
            "nothing": lambda id: b"",
        }.items():
            with self.subTest(name):
                self.path = self.directory / name.replace(" ", "-")
                done = self.load_stub(answer)
                self.assertNotEqual(done.returncode, 0, done.stdout)

    def test_a_doubled_answer_is_a_wrong_id(self):
        done = self.load_stub(lambda id: b'{"jsonrpc":"2.0","id":%d,"result":1}\n' % id * 2)
        self.assertGreater(json.loads(done.stdout)["errors"]["ids"], 0)

    STREAM_BYTES = 10

    @staticmethod
    def chunk(task, sequence, data='"AAAA"'):
        params = f'{{"task":{json.dumps(task)},"sequence":{sequence},"dataBase64":{data}}}'
        return b'{"jsonrpc":"2.0","method":"fetchResource.chunk","params":%s}\n' % params.encode()

    @staticmethod
    def end_of_stream(id, task):
        return b'{"jsonrpc":"2.0","id":%d,"result":{"task":%s,"status":200}}\n' % (id, json.dumps(task).encode())

    def load_streams(self, answer, *arguments):
        return self.load_stub(answer, "--stream-bytes", str(self.STREAM_BYTES), *arguments)

    def test_counts_the_bytes_of_streams_however_they_are_cut(self):
        cuts = {
            "one": ['"AAAAAAAAAAAAAA=="'],
            "three": ['"AAAA"', '"AAA="', '"AAAAAAA="'],
            "five": ['"AAAAAAAA"'] + ['"AA=="'] * 4,
        }
        for name, pieces in cuts.items():
            with self.subTest(name):
                self.path = self.directory / name
                done = self.load_streams(
                    lambda id, pieces=pieces: b"".join(self.chunk(f"t{id}", n, data) for n, data in enumerate(pieces))
                    + self.end_of_stream(id, f"t{id}")
                )
                line = json.loads(done.stdout)
                self.assertEqual((line["requests"], any(line["errors"].values())), (200, False), line)
                self.assertEqual(line["streamedBytes"], 200 * self.STREAM_BYTES)

    def test_streams_of_one_connection_may_be_mixed(self):
        waiting = []

        def answer(id):
            """Two requests are answered at once, chunk by chunk in turn."""
            waiting.append(id)
            if len(waiting) % 2:
                return b""
            pair = waiting[-2:]
            pieces = enumerate(['"AAAAAAAA"', '"AAAAAA=="'])
            chunks = [self.chunk(f"t{one}", n, data) for n, data in pieces for one in pair]
            return b"".join(chunks + [self.end_of_stream(one, f"t{one}") for one in pair])

        done = self.load_streams(answer, "--connections", "1")
        self.assertEqual(any(json.loads(done.stdout)["errors"].values()), False, done.stdout)

    def test_notices_wrong_streams(self):
        def whole(task):
            return self.chunk(task, 0, '"AAAAAAAAAAAAAA=="')

        for name, kind, answer in [
            ("a chunk is missing", "chunks", lambda t: self.chunk(t, 0) + self.chunk(t, 2, '"AAAAAAAAAA=="')),
            ("it does not begin at 0", "chunks", lambda t: self.chunk(t, 1, '"AAAAAAAAAAAAAA=="')),
            ("a chunk comes twice", "chunks", lambda t: whole(t) + whole(t)),
            ("a chunk after all of it", "unexpected", lambda t: whole(t) + self.chunk(t, 1)),
            ("too little", "unexpected", lambda t: self.chunk(t, 0)),
            ("nothing", "unexpected", lambda t: b""),
            ("of another task", "unexpected", lambda t: whole("other" + t)),
            ("no base64", "chunks", lambda t: self.chunk(t, 0, '"AAAAAAAAAAAAA=="')),
            ("no string", "chunks", lambda t: self.chunk(t, 0, "[1,2,3,4,5]")),
            ("no task", "chunks", lambda t: whole(0)),
            ("no sequence", "chunks", lambda t: self.chunk(t, '""', '"AAAAAAAAAAAAAA=="')),
            ("of a task without an end", "chunks", lambda t: whole("other") + whole(t)),
            ("cut off", "chunks", lambda t: whole(t)[:-3] + b"\n"),
        ]:
            with self.subTest(name):
                self.path = self.directory / name.replace(" ", "-")
                done = self.load_streams(
                    lambda id, answer=answer: answer(f"t{id}") + self.end_of_stream(id, f"t{id}")
                )
                self.assertGreater(json.loads(done.stdout)["errors"][kind], 0, done.stdout)

    def test_an_unrequested_chunk_is_no_answer(self):
        done = self.load_stub(lambda id: self.chunk("t", 0) + self.end_of_stream(id, "t"))
        self.assertGreater(json.loads(done.stdout)["errors"]["malformed"], 0)

    def test_sends_the_requests_of_a_file_in_turn(self):
        seen = []
        stub = Stub(self.path, lambda id: b'{"jsonrpc":"2.0","id":%d,"result":1}\n' % id, seen.append)
        self.addCleanup(stub.listener.close)
        requests = self.directory / "requests"
        requests.write_text(
            '{"method":"a","id":7}\n{"method":"b","params":{"x":1}}\n{"method":"c"}\n', encoding="ascii"
        )
        done = self.load("--requests-from", requests, "--requests", "7")
        self.assertEqual(json.loads(done.stdout)["requests"], 7, done.stderr)
        self.assertEqual([request["method"] for request in seen], list("abcabca"))
        self.assertEqual(seen[1]["params"], {"x": 1})
        self.assertEqual(len({request["id"] for request in seen}), 7)

    def test_a_bad_file_of_requests_fails(self):
        stub = Stub(self.path, lambda id: b'{"jsonrpc":"2.0","id":%d,"result":1}\n' % id)
        self.addCleanup(stub.listener.close)
        requests = self.directory / "requests"
        for text in ("", '{"method":"a"}\n[]\n', '{"method":"a"}\n{"method":', "{}\n"):
            with self.subTest(text):
                requests.write_text(text, encoding="ascii")
                self.assertNotEqual(self.load("--requests-from", requests, "--requests", "3").returncode, 0)

    def test_a_closed_connection_fails(self):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(self.path))
        listener.listen()
        self.addCleanup(listener.close)
        threading.Thread(target=lambda: listener.accept()[0].close(), daemon=True).start()
        self.assertNotEqual(self.load("--requests", "5").returncode, 0)


class Clients(Case):
    """The client of the session tokens, which opens a connection for each request or keeps one."""

    def run_clients(self, answer, *arguments, observe=lambda request: None):
        stub = Stub(self.path, answer, observe)
        self.addCleanup(stub.listener.close)
        request = self.directory / "request"
        request.write_text('{"id":7,"method":"m"}\n', encoding="ascii")
        command = [PROGRAMS / "clients", "--socket", self.path, "--request", request, "--expect", '"good"']
        command += ["--clients", "3", "--seconds", "0.3", "--warm-up", "0", "--stall", "0.3", *arguments]
        return stub, subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)

    def test_counts_good_answers_over_kept_and_over_new_connections(self):
        for name, arguments, most in [("kept", ["--keep"], 3), ("new", [], None)]:
            with self.subTest(name):
                self.path = self.directory / name
                seen = []
                stub, done = self.run_clients(lambda id: b'{"a":"good"}\n', *arguments, observe=seen.append)
                line = json.loads(done.stdout)
                self.assertEqual((line["totalRequests"], line["errors"]["unexpected"]), (len(seen), 0))
                self.assertGreater(line["requests"], 3)
                self.assertEqual(stub.connections, most or len(seen))
                self.assertLessEqual(line["latencyUs"]["p50"], line["latencyUs"]["max"])

    def test_counts_answers_without_the_expected_text(self):
        _, done = self.run_clients(lambda id: b'{"a":"bad"}')
        line = json.loads(done.stdout)
        self.assertEqual(line["errors"]["unexpected"], line["totalRequests"])
        self.assertEqual(line["firstBadAnswer"], '{"a":"bad"}')

    def test_fails_on_what_is_no_answer(self):
        for name, answer in {"not JSON": b"good\n", "cut off": b'{"a":"good"', "nothing": b""}.items():
            with self.subTest(name):
                self.path = self.directory / name.replace(" ", "-")
                _, done = self.run_clients(lambda id, answer=answer: answer)
                self.assertNotEqual(done.returncode, 0, done.stdout)


class Page(unittest.TestCase):
    """Sections measured later go into the page that is there."""

    RESULTS = {
        "facts": [("Date", "today"), ("Postern", "1"), ("Load average at start", "0")],
        "conditions": {
            "sessions": {"date": "today", "cpu": "any", "loadAverage": [0.1, 0.2, 0.3], "othersShare": 0.06}
        },
        "options": {"rounds": 5, "seconds": 3, "quick": False, "log_level": "info"},
        "sessions": {
            "cached": {"rows": [], "oidcAgent": None},
            "many": {
                "sessions": 10000,
                "sizesKib": dict.fromkeys(
                    ["oneSession", "created", "createdTouched", "restarted", "restartedTouched"], 1024
                ),
                "starts": [{"getInfo": 1, "getSession": 2, "getAccessToken": 3}],
                "storeKib": 1,
                "createdPerSecond": 1,
            },
        },
    }

    def test_new_sections_are_in_order_and_the_others_stay(self):
        page = "# B\n\nhead\n\n## `validateIdToken` x\n\nkept\n\n## Memory over many requests\n\nlast\n"
        merged = report.merged(page, self.RESULTS)
        titles = [line for line in merged.splitlines() if line.startswith("## ")]
        self.assertEqual([title[3:9] for title in titles], ["`valid", "Cached", "10,000", "Memory"])
        self.assertIn("## `validateIdToken` x\n\nkept\n", merged)
        self.assertIn("today, any; load average before 0.10 0.20 0.30, other programs had 6% of the proc", merged)
        self.assertIn("not a quiet machine", merged)
        self.assertTrue(merged.startswith("# B\n\nhead\n") and merged.endswith("last"))

    def test_a_section_is_replaced_by_its_next_measurement(self):
        page = report.merged("# B\n", self.RESULTS) + "\n"
        self.assertEqual(report.merged(page, self.RESULTS) + "\n", page)


class EchoServer(Case):
    def start(self, *arguments):
        child = self.children.start(
            [PROGRAMS / "echo_server", "--socket", self.path, *arguments], log=self.directory / "log"
        )
        return child, lambda: wait_for_socket(self.path, child, self.directory / "log")

    def exchange(self, connect, data):
        with connect() as connection:
            connection.settimeout(5)
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            with connection.makefile("rb") as lines:
                return [json.loads(line) for line in lines]

    def test_bad_input_is_answered_and_the_server_goes_on(self):
        child, connect = self.start("--threads", "2")
        for text, code in [
            (b'{"jsonrpc":"2.0","id":1,"method":"nope"}', -32601),
            (b'{"jsonrpc":"2.0","id":1.5,"method":"getInfo"}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"getInfo","params":[]}', -32602),
            (b'{"id":1,"id":2}', -32700),
            (b"{]", -32700),
            (b"hello", -32700),
            (b'{"jsonrpc":', -32700),
            (b"[]", -32600),
            (b'{"a":"\xff"}', -32700),
        ]:
            with self.subTest(text):
                self.assertEqual(self.exchange(connect, text)[0]["error"]["code"], code)
        self.assertIsNone(child.poll())

    def test_texts_are_found_wherever_the_reads_fall(self):
        _, connect = self.start()
        request = b' {"jsonrpc":"2.0",\n "id":"a}\\"{", "method":"getInfo"}'
        with connect() as connection, connection.makefile("rb") as lines:
            connection.settimeout(5)
            for byte in request + request:
                connection.sendall(bytes([byte]))
            self.assertEqual([json.loads(lines.readline())["id"] for _ in range(2)], ['a}"{', 'a}"{'])
        self.assertEqual(len(self.exchange(connect, request * 1000)), 1000)

    def test_a_notification_is_not_answered(self):
        _, connect = self.start()
        self.assertEqual(self.exchange(connect, b'{"jsonrpc":"2.0","method":"getInfo"}'), [])

    def test_answers_what_the_file_holds(self):
        information = {"name": "x", "features": ["ä", {"b": 1.5}]}
        (self.directory / "info").write_text(json.dumps(information), encoding="utf-8")
        _, connect = self.start("--info", self.directory / "info")
        with connect() as connection:
            self.assertEqual(call(connection, "getInfo"), information)

    def test_load_runs_on_several_threads(self):
        child, connect = self.start("--threads", "2")
        connect().close()
        line = self.children.measure(
            [PROGRAMS / "load", "--socket", self.path, "--connections", 8, "--pipeline", 32, "--requests", 20000], 60
        )
        self.assertEqual((line["requests"], any(line["errors"].values()), child.poll()), (20000, False, None))


class Tokens(Case):
    """The yardstick of validation is one only if it rejects what has to be rejected."""

    ALGORITHMS = ("RS256", "ES256", "EdDSA")

    def setUp(self):
        super().setUp()
        command = [PROGRAMS / "make_tokens", "--directory", self.directory, "--count", "20"]
        subprocess.run(command, check=True, timeout=60)

    def check(self, algorithm, name, *arguments):
        return subprocess.run(
            [
                *(PROGRAMS / "check_tokens", "--algorithm", algorithm, "--tokens", self.directory / name),
                *("--jwks", self.directory / "jwks.json", *arguments),
            ],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def verdicts(self, algorithm, name, *arguments):
        return json.loads(self.check(algorithm, name, "--verdicts", *arguments).stdout)["verdicts"]

    def test_good_tokens_are_valid_and_no_two_alike(self):
        for algorithm in self.ALGORITHMS:
            with self.subTest(algorithm):
                self.assertEqual(self.verdicts(algorithm, f"{algorithm}.tsv"), [True] * 20)
                lines = (self.directory / f"{algorithm}.tsv").read_text(encoding="ascii").split()
                self.assertEqual(len(set(lines)), 60)

    def test_each_fault_is_rejected(self):
        for algorithm in self.ALGORITHMS:
            name = f"{algorithm}.rejected.tsv"
            faults = [line.split("\t")[3] for line in (self.directory / name).read_text(encoding="ascii").splitlines()]
            self.assertEqual(len(set(faults)), 9)
            self.assertEqual(dict(zip(faults, self.verdicts(algorithm, name))), dict.fromkeys(faults, False))

    def test_tokens_for_others_are_rejected(self):
        for arguments in (("--issuer", "https://idp.example.co"), ("--client", "benc")):
            self.assertEqual(self.verdicts("ES256", "ES256.tsv", *arguments), [False] * 20)
        self.assertEqual(self.verdicts("RS256", "ES256.tsv"), [False] * 20)

    def test_changed_encodings_are_rejected(self):
        token, *rest = (self.directory / "ES256.tsv").read_text(encoding="ascii").splitlines()[0].split("\t")
        head, payload, signature = token.split(".")
        last = chr(ord(signature[-1]) + 1)  # the same bytes to a lax decoder: the unused bits differ
        for changed in (
            f"{head}.{payload}.{signature}=",
            f"{head}.{payload}.{signature[:-1]}{last}",
            f"{head}.{payload}.",
            f"{head}.{payload}",
            f"{head}.{payload}.{signature}.",
            f"{head}..{signature}",
            f"{head}.{payload}.{'A' * 86}",
            f"{head}=.{payload}.{signature}",
            f"eyJhbGciOiJub25lIn0.{payload}.",
            f"..{signature}",
        ):
            with self.subTest(changed[-20:]):
                (self.directory / "changed.tsv").write_text("\t".join([changed, *rest]) + "\n", encoding="ascii")
                self.assertEqual(self.verdicts("ES256", "changed.tsv"), [False])

    def test_a_rejected_token_ends_a_measurement(self):
        done = self.check("RS256", "RS256.rejected.tsv", "--count", "5")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("line 1 was rejected", done.stderr)
        self.assertEqual(json.loads(self.check("RS256", "RS256.tsv", "--count", "50").stdout)["validations"], 50)

    def test_allocations_are_counted(self):
        result = self.directory / "count"
        environment = {"LD_PRELOAD": str(PROGRAMS / "count_allocations.so"), "BENCH_ALLOCATIONS": str(result)}
        code = "import ctypes; c = ctypes.CDLL(None).malloc; c.restype = ctypes.c_void_p; [c(9) for _ in range(%d)]"
        counts = []
        for number in (0, 5000):
            subprocess.run([sys.executable, "-c", code % number], env=environment, check=True, timeout=30)
            counts.append(int(result.read_text(encoding="ascii")))
        self.assertTrue(5000 <= counts[1] - counts[0] < 6000, counts)


class Upstream(Case):
    def start(self, *arguments):
        child = self.children.start([PROGRAMS / "upstream", *arguments], stdout=subprocess.PIPE)
        base = child.stdout.readline().decode().strip()
        return child, base, ("127.0.0.1", int(base.rpartition(":")[2]))

    def raw(self, address, data, size):
        with socket.create_connection(address, timeout=5) as connection, connection.makefile("rb") as answer:
            connection.sendall(data)
            return answer.read(size)

    def test_pipelined_requests_are_answered_in_order(self):
        _, _, address = self.start()
        with socket.create_connection(address, timeout=5) as connection, connection.makefile("rb") as answer:
            connection.sendall(b"GET /open/1m HTTP/1.1\r\nHost: x\r\n\r\nGET /jwks HTTP/1.1\r\n\r\n" * 80)
            connection.shutdown(socket.SHUT_WR)
            for _ in range(80):
                self.assertEqual([self.body_length(answer) > 1000, self.body_length(answer) > 1000], [True, False])

    def body_length(self, answer):
        length = None
        while (line := answer.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        self.assertIsNotNone(length)
        self.assertEqual(len(answer.read(length)), length)
        return length

    def test_a_resource_is_given_for_its_token_only(self):
        _, _, address = self.start("--require-bearer")
        token = json.loads(
            self.raw(
                address,
                b"POST /token HTTP/1.0\r\nContent-Length: 46\r\n\r\n" b"grant_type=client_credentials&client_secret=xy",
                -1,
            ).partition(b"\r\n\r\n")[2]
        )
        for value, status in [
            (b"Bearer " + token["access_token"].encode(), b"200"),
            (b"Bearer x", b"401"),
            (b"", b"401"),
        ]:
            answer = self.raw(address, b"GET /resource/1k HTTP/1.0\r\nAuthorization: " + value + b"\r\n\r\n", -1)
            self.assertEqual((answer[9:12], b"WWW-Authenticate: Bearer" in answer), (status, status == b"401"))

    def test_expectations_are_met_once(self):
        _, _, address = self.start()
        with socket.create_connection(address, timeout=5) as connection:
            connection.sendall(b"POST /token HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
            self.assertEqual(connection.recv(1000), b"HTTP/1.1 100 Continue\r\n\r\n")
            connection.sendall(b"a=")
            connection.sendall(b"b\n")
            self.assertEqual(connection.recv(1000)[:12], b"HTTP/1.1 401")

    def test_hostile_input_is_rejected_and_the_server_goes_on(self):
        child, _, address = self.start()
        for data in (
            b"\r\n\r\n",
            b"GET\r\n\r\n",
            b"GET  HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\nnocolon\r\n\r\n",
            b"x" * 20000,
            b"POST /token HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
            b"POST /token HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            b"POST /token HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        ):
            with self.subTest(data[:40]):
                self.assertEqual(self.raw(address, data, 12), b"HTTP/1.1 400")
        self.assertIsNone(child.poll())


if __name__ == "__main__":
    unittest.main()
