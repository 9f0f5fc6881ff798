"""The gateway compared with other proxies, forward authentication with njs, and the validation of requests with C."""
from __future__ import annotations

import functools
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable

from gateway_peers import (
    FRONT, NJS, NJS_FRONT, OPEN, PROTECTED_BYTES, PROXY, Mitmproxy, Nginx, is_up, njs_is_installed, write_verifier,
)
from outbound import SQUID, Squid
from processes import Failed, cpu_seconds, session_cpu_seconds, tail
from proofs import AUDIENCE, SCOPE, ProofBench
from tls_upstream import NAME, free_ports, is_installed

SIZE = 1024
IN_FLIGHT = (1, 32)
KEY = "bench-key-of-the-gateway"
# Of server-sent events: streams at a time.
STREAMS = (1, 32)
EVENTS, INTERVAL_MS = 5, 10
ALGORITHMS = ("RS256", "ES256")
# How many tokens "repeated" ones are: each verdict is made once.
REPEATED = 100


class GatewayBench:
    """The part of a run that is about the gateway; `bench` starts and measures."""

    def __init__(self, bench) -> None:
        self.bench = bench
        self.options = bench.options
        self.children = bench.children
        self.directory = bench.directory / "gateway"
        self.directory.mkdir()
        self.socket = self.directory / "http.sock"
        self.versions: list[str] = []
        # Requests that each file of tokens has been used for: what was used last is used last again.
        self.used: dict[pathlib.Path, int] = {}

    # -- the upstreams, the peers and Postern

    def start_upstreams(self) -> None:
        """One with tokens, whose keys sign the tokens of requests that come in, and one with events."""
        self.make_proofs("https://unused.example")  # the keys: the upstream publishes them
        keys = self.directory / "jwks.json"
        command = [self.bench.programs / "upstream", "--require-bearer", "--jwks", keys]
        upstream = self.children.start(command, stdout=subprocess.PIPE)
        self.base = upstream.stdout.readline().decode().strip()
        command = [self.bench.programs / "events", "--serve", "--events", EVENTS, "--interval", INTERVAL_MS]
        events = self.children.start(command, stdout=subprocess.PIPE)
        self.events_base = events.stdout.readline().decode().strip()
        if not self.base or not self.events_base:
            raise Failed("an upstream of the gateway did not start")
        self.bearer = f"Authorization: Bearer {self.token()}"
        self.started = [upstream, events]

    def token(self) -> str:
        request = urllib.request.Request(
            f"{self.base}/token", b"grant_type=client_credentials", {"Authorization": "Basic YmVuY2g6YmVuY2g="})
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)["access_token"]

    def make_proofs(self, issuer: str, *more: object) -> None:
        command = [self.bench.programs / "make_proofs", "--directory", self.directory, "--issuer", issuer, *more]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"make_proofs: {done.stderr.strip()}")

    def start_proxies(self) -> None:
        """nginx with one process and with one for each core; the faster one counts."""
        self.nginx: dict[int, Nginx] = {}
        self.squid = self.mitmproxy = None
        if is_installed():
            servers = "".join(
                PROXY.format(name=name, address=address(base), more=more)
                for name, base, more in (
                    ("proxy", self.base, ""), ("events", self.events_base, "proxy_buffering off;")))
            for workers in worker_counts():
                directory = self.directory / f"nginx-{workers}"
                self.nginx[workers] = Nginx(self.children, directory, servers, ["proxy", "events"], workers)
            self.versions.append(Nginx.version())
        if shutil.which(SQUID):
            os.chmod(self.bench.directory, 0o711)  # for squid's own user
            os.chmod(self.directory, 0o711)
            self.squid = Squid(self.children, self.directory / "squid")
            self.versions.append(self.squid.version)
        if Mitmproxy.is_installed():
            self.mitmproxy = Mitmproxy(self.children, self.directory / "mitmproxy", self.base)
            self.versions.append(Mitmproxy.version())
        peers = [*self.nginx.values(), self.squid, self.mitmproxy]
        self.started += [peer.child for peer in peers if peer]

    def configuration(self) -> pathlib.Path:
        configuration = json.loads(self.bench.configuration.read_text(encoding="ascii"))
        issuer = configuration["issuers"]["bench"]
        issuer |= {"issuer": self.base, "idToken": {"algorithms": list(ALGORITHMS)}, "dpop": {"past": "300s"}}
        guarded = {"issuer": "bench", "auth": "clientCredentials", "scope": "bench"}
        configuration["resources"] = {
            "guarded": guarded | {"baseUrl": f"{self.base}/resource/"},
            "events": guarded | {"baseUrl": f"{self.events_base}/"},
        }
        key = self.directory / "gateway-key"
        key.touch(mode=0o600)
        key.write_text(KEY, encoding="ascii")
        (self.port,) = free_ports(1)
        orders = {"issuer": "bench", "audience": AUDIENCE, "requiredScopes": [SCOPE], "identityHeaders": {"X-User": "sub"}}
        configuration["gateway"] = {
            "listen": {"path": str(self.socket), "address": f"127.0.0.1:{self.port}", "keyFile": str(key)},
            "protect": {"orders": orders},
        }
        path = self.directory / "postern.yaml"
        path.write_text(json.dumps(configuration, indent=2), encoding="ascii")
        return path

    def start_postern(self) -> None:
        self.server, self.rpc_socket = self.bench.start_postern("gateway", configuration=self.configuration())
        self.started.append(self.server)
        if not is_up(self.server, self.port):
            raise Failed(f"the gateway does not listen\n{tail(self.bench.log)}")

    # -- the clients

    def http(self, where: list, in_flight: int, child, *more: object, target: str, seconds: float | None = None) -> dict:
        """`http_load`, with the processor time of `child` (and of its own children) for each request."""
        seconds = self.options.fetch_seconds if seconds is None else seconds
        command = [self.bench.programs / "http_load", *where, "--target", target, "--connections", in_flight]
        command += ["--seconds", seconds, "--warm-up", self.options.warm_up, *more]
        cpu = session_cpu_seconds if child is not self.server else cpu_seconds
        before = cpu(child.pid)
        line = self.children.measure(command, timeout=seconds + self.options.warm_up + 60)
        if line["failed"]:
            raise Failed(f"{line['failed']} wrong responses to {target}, the first: {line['firstFailure']}")
        line["serverCpuUs"] = (cpu(child.pid) - before) * 1e6 / max(line["totalRequests"], 1)
        return line

    def direct(self, base: str) -> list:
        return ["--port", urllib.parse.urlsplit(base).port]

    def gateways(self) -> dict[str, list]:
        return {
            "unix": ["--unix", self.socket, "--host", "postern"],
            "loopback": ["--port", self.port, "--host", f"127.0.0.1:{self.port}", "--field", f"Postern-Key: {KEY}"],
        }

    def programs(self, nginx: Nginx | None) -> dict[str, Callable[..., dict]]:
        """What takes 1 KB to the client, by its name; called with the number of requests in flight."""
        upstream, plain = self.started[0], {"target": "/resource/1k"}
        programs = {"direct": functools.partial(self.http, self.direct(self.base), **plain)}
        children = {"direct": upstream}
        if nginx:
            programs["nginx"] = functools.partial(self.http, ["--port", nginx.ports["proxy"]], **plain)
            children["nginx"] = nginx.child
        if self.squid:
            target = f"{self.base.replace('127.0.0.1', NAME)}/resource/1k"
            programs["squid"] = functools.partial(
                self.http, [*self.direct(self.squid.url), "--host", address(target)], target=target)
            children["squid"] = self.squid.child
        if self.mitmproxy:
            where = ["--port", self.mitmproxy.port, "--host", address(self.base)]
            programs["mitmproxy"] = functools.partial(self.http, where, **plain)
            children["mitmproxy"] = self.mitmproxy.child
        more = ["--expect-bytes", SIZE]
        measured = {
            name: functools.partial(self.with_child, program, children[name], *more, "--field", self.bearer)
            for name, program in programs.items()
        }
        for name, where in self.gateways().items():
            program = functools.partial(self.http, where, target="/guarded/1k")
            measured[name] = functools.partial(self.with_child, program, self.server, *more)
        return measured

    @staticmethod
    def with_child(program: Callable[..., dict], child, *more: object, in_flight: int, **named) -> dict:
        return program(in_flight, child, *more, **named)

    def best(self, trials: dict[int, Callable[..., dict]], in_flight: int) -> int:
        """The number of processes with which nginx is fastest."""
        rates = {
            workers: statistics.median(
                trial(in_flight=in_flight, seconds=self.options.trial)["requestsPerSecond"] for _ in range(2))
            for workers, trial in trials.items()
        }
        return max(rates, key=rates.get)

    # -- 1 KB

    def proxies(self, say: Callable[[str], None]) -> dict:
        points = []
        for in_flight in IN_FLIGHT:
            trials = {workers: self.programs(nginx)["nginx"] for workers, nginx in self.nginx.items()}
            workers = self.best(trials, in_flight) if trials else 0
            say(f"through the gateway, {in_flight} in flight (nginx: {workers} processes)")
            measured = {
                name: functools.partial(program, in_flight=in_flight)
                for name, program in self.programs(self.nginx.get(workers)).items()
            }
            before = self.statistics()
            lines = self.bench.interleave(measured)
            self.check_upstream(before, sum(line["totalRequests"] for one in lines.values() for line in one))
            points.append({"inFlight": in_flight, "workers": workers, "lines": lines})
        return {"points": points}

    def statistics(self) -> dict:
        with urllib.request.urlopen(f"{self.base}/stats", timeout=10) as response:
            return json.load(response)

    def check_upstream(self, before: dict, sent: int) -> None:
        """No proxy may answer by itself, and none may lose the token."""
        after = self.statistics()
        seen = after["requests"] - before["requests"]
        if seen < sent or after["unauthorized"] > before["unauthorized"]:
            raise Failed(f"the upstream saw {seen} requests, the clients made {sent}; {after}")

    # -- events

    def events(self, where: list, streams: int, target: str = "/") -> dict:
        command = [self.bench.programs / "events", "--read", *where, "--events", EVENTS, "--target", target]
        rounds = max(2, round(self.options.fetch_seconds * 1000 / (EVENTS * INTERVAL_MS)))
        line = self.children.measure([*command, "--streams", streams, "--rounds", rounds], timeout=60 + rounds)
        if line["failed"]:
            raise Failed(f"{line['failed']} wrong streams of events, the first: {line['firstFailure']}")
        return line

    def server_sent_events(self, say: Callable[[str], None]) -> dict:
        points = []
        for streams in STREAMS:
            say(f"server-sent events, {streams} at a time")
            measured = {"direct": functools.partial(self.events, self.direct(self.events_base), streams)}
            if self.nginx:
                measured["nginx"] = functools.partial(self.events, ["--port", self.nginx[1].ports["events"]], streams)
            for name, where in self.gateways().items():
                measured[name] = functools.partial(self.events, where, streams, "/events/stream")
            points.append({"streams": streams, "lines": self.bench.interleave(measured)})
        return {"points": points, "events": EVENTS, "intervalMs": INTERVAL_MS}

    # -- forward authentication

    def start_fronts(self) -> None:
        root = self.directory / "root"
        root.mkdir()
        (root / "1k").write_bytes(b"x" * PROTECTED_BYTES)
        verifier = write_verifier(self.directory, self.directory, self.base, AUDIENCE, SCOPE)
        servers = OPEN.format(root=root) + FRONT.format(root=root, socket=self.socket)
        servers += NJS_FRONT.format(root=root, verifier=verifier)
        self.fronts = {
            workers: Nginx(
                self.children, self.directory / f"front-{workers}", servers, ["open", "postern", "njs"], workers, (NJS,))
            for workers in worker_counts()
        }
        self.started += [front.child for front in self.fronts.values()]
        self.bearers = {}
        for algorithm in ALGORITHMS:
            for kind, count in (("repeated", REPEATED), ("new", self.options.tokens)):
                path = self.directory / f"{algorithm}-{kind}.txt"
                self.make_proofs(self.base, "--bearers", path, "--algorithm", algorithm, "--count", count)
                self.bearers[algorithm, kind] = path

    def front(self, server: str, front: Nginx, tokens: pathlib.Path, *, in_flight: int, seconds: float | None = None) -> dict:
        """One program with those tokens, each file from where it was left; Postern's processor time is added."""
        first = self.used.get(tokens, 0)
        more = ["--expect-bytes", PROTECTED_BYTES, "--fields-from", tokens, "--first", first]
        before = cpu_seconds(self.server.pid)
        line = self.http(["--port", front.ports[server]], in_flight, front.child, *more, target="/1k", seconds=seconds)
        line["serverCpuUs"] += (cpu_seconds(self.server.pid) - before) * 1e6 / max(line["totalRequests"], 1)
        self.used[tokens] = first + line["totalRequests"]
        return line

    def check_fronts(self) -> None:
        """Both must let good tokens pass and no bad one, or they would be measured doing something else."""
        for algorithm in ALGORITHMS:
            with open(self.bearers[algorithm, "repeated"], encoding="ascii") as file:
                good = next(file).strip()
            head, dot, signature = good.rpartition(".")
            bad = f"{head}{dot}{'A' if signature[0] != 'A' else 'B'}{signature[1:]}"
            for front in self.fronts.values():
                for server in ("postern", "njs"):
                    for field, status in ((good, 200), (bad, 401), ("X-Nothing: 1", 401)):
                        command = [self.bench.programs / "http_load", "--port", front.ports[server], "--target", "/1k"]
                        command += ["--field", field, "--requests", 3, "--expect-status", status]
                        line = self.children.measure(command, 30)
                        if line["failed"]:
                            raise Failed(f"{server}, {algorithm}: not {status}: {line['firstFailure']}")

    def forward_authentication(self, say: Callable[[str], None]) -> dict | None:
        if not (is_installed() and njs_is_installed()):
            return None
        self.start_fronts()
        self.check_fronts()
        points = []
        for algorithm in ALGORITHMS:
            repeated, new = (self.bearers[algorithm, kind] for kind in ("repeated", "new"))
            kinds = {"open": ("open", repeated), "njs": ("njs", new), "repeated": ("postern", repeated), "new": ("postern", new)}
            for in_flight in IN_FLIGHT:
                workers, measured = {}, {}
                for name, (server, tokens) in kinds.items():
                    trials = {
                        count: functools.partial(self.front, server, front, tokens) for count, front in self.fronts.items()
                    }
                    workers[name] = self.best(trials, in_flight)
                    measured[name] = functools.partial(trials[workers[name]], in_flight=in_flight)
                say(f"forward authentication, {algorithm}, {in_flight} in flight")
                lines = self.bench.interleave(measured)
                points.append({"algorithm": algorithm, "inFlight": in_flight, "workers": workers, "lines": lines})
        return {"points": points, "tokens": self.options.tokens, "repeated": REPEATED}

    # -- the section

    def measure(self, say: Callable[[str], None]) -> dict:
        self.start_upstreams()
        self.start_proxies()
        self.start_postern()
        result = {
            "rounds": self.options.rounds,
            "seconds": self.options.fetch_seconds,
            "proxies": self.proxies(say),
            "events": self.server_sent_events(say),
            "forwardAuthentication": self.forward_authentication(say),
            "versions": self.versions,
        }
        proofs = ProofBench(self)
        result["proofs"] = proofs.measure(say)
        result["replays"] = proofs.measure_replays(say)
        for child in reversed(self.started):
            self.children.stop(child)
        return result


def worker_counts() -> list[int]:
    return sorted({1, len(os.sched_getaffinity(0))})


def address(url: str) -> str:
    """Host and port."""
    return urllib.parse.urlsplit(url).netloc
