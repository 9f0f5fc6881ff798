"""Fetches: `fetchResource` compared with libcurl, `requests` and `httpx` for Python, and Node's `fetch`."""
from __future__ import annotations

import functools
import json
import pathlib
import shutil
import subprocess
import urllib.request
from collections.abc import Callable
from typing import NamedTuple

from processes import Failed, call, cpu_seconds, wait_for_socket
from tls_upstream import TLSUpstream, is_installed

HERE = pathlib.Path(__file__).resolve().parent
Line = dict
Measure = Callable[[], Line]


class Transport(NamedTuple):
    """How the upstream is spoken to. `resource` is Postern's name for it."""

    resource: str
    name: str
    protocol: str  # what the upstream must see of Postern
    base: str
    ca_file: str | None

    @property
    def http2(self) -> bool:
        return self.protocol == "HTTP/2.0"


# path, name, bytes, whether it is streamed
BODIES = [("1k", "1 KB", 1024, False), ("1m", "1 MB", 1048576, True)]
# in flight: connections to Postern, requests in flight on each
FLIGHTS = {1: (1, 1), 32: (4, 8), 256: (16, 16)}
MULTIPLEXED = 32  # where small bodies over HTTP/2 are compared with transfers that share connections
# name, resource, its path at the upstream, file, bytes, connections, requests in flight on each, target ratio
MORE = [
    ("1 KB, `auth: clientCredentials`, 1 in flight", "guarded", "resource", "1k", 1024, (1, 1), None),
    ("1 KB, `auth: clientCredentials`, 32 in flight", "guarded", "resource", "1k", 1024, (4, 8), 0.8),
    ("1 MB in one answer, `auth: none`, 8 in flight", "open", "open", "1m", 1048576, (4, 2), 0.25),
]
# The same body without JSON: name, option of `bodies`, target ratio. In flight as above.
BODIES_WITHOUT_JSON = [
    ('1 MB by `bodyAs: "frames"`, 8 in flight', ["--frames"], 0.5),
    ('1 MB by `bodyTo: "fd"`, a pipe, 8 in flight', [], 0.8),
]
LIBRARIES = ("requests", "httpx")


class FetchBench:
    """The part of a run that is about fetches; `bench` starts and measures."""

    def __init__(self, bench) -> None:
        self.bench = bench
        self.options = bench.options
        self.directory = bench.directory / "fetch"
        self.directory.mkdir(exist_ok=True)
        self.python = pathlib.Path(self.options.peers) / "bin/python"

    # -- the upstreams and Postern

    def start_upstreams(self) -> list[Transport]:
        plain = [Transport("open", "HTTP/1.1", "HTTP/1.1", self.bench.upstream, None)]
        self.tls = None
        if not is_installed():
            return plain
        documents = {}
        for path, *_ in BODIES:
            with urllib.request.urlopen(f"{self.bench.upstream}/open/{path}", timeout=10) as answer:
                documents[path] = answer.read()
        self.tls = TLSUpstream(self.bench.children, self.directory, documents)
        return plain + [
            Transport("tls", "HTTP/1.1 with TLS", "HTTP/1.1", self.tls.http1, self.tls.ca_file),
            Transport("http2", "HTTP/2 with TLS", "HTTP/2.0", self.tls.http2, self.tls.ca_file),
        ]

    def write_configuration(self, transports: list[Transport]) -> pathlib.Path:
        """The run's configuration and a resource for each transport."""
        configuration = json.loads(self.bench.configuration.read_text(encoding="ascii"))
        for one in transports:
            if one.ca_file is not None:
                resource = {"baseUrl": f"{one.base}/open/", "auth": "none", "tls": {"caFile": one.ca_file}}
                resource["http2"] = one.http2
                configuration["resources"][one.resource] = resource
        path = self.directory / "postern.yaml"
        path.write_text(json.dumps(configuration, indent=2), encoding="ascii")
        return path

    def requests_seen(self) -> int:
        return self.bench.http_json("/stats")["requests"] + (self.tls.requests() if self.tls else 0)

    def check_answer(self, socket_path, server, transport: Transport, path: str, size: int) -> None:
        with wait_for_socket(socket_path, server, self.bench.log) as connection:
            result = call(connection, "fetchResource", {"resource": transport.resource, "path": path})
        protocol = result["headers"].get("upstream-protocol", ["HTTP/1.1"])
        if result["status"] != 200 or len(result["body"]) != size or protocol != [transport.protocol]:
            raise Failed(f"{transport.name}, {path}: {result['status']}, {len(result['body'])} bytes, {protocol}")

    # -- the clients

    def postern(self, server, socket_path, resource: str, path: str, size: int, streamed: bool, flight) -> Line:
        return self.bench.load_server(
            server,
            socket_path,
            *flight,
            request=self.bench.write_fetch(resource, path, streamed),
            seconds=self.options.fetch_seconds,
            expect='"status":200',
            stream_bytes=size if streamed else None,
        )

    def run_client(self, command: list, seconds: float) -> Line:
        """A client that fetches directly; its processor time counts as Postern's does."""
        command = [*command, "--seconds", seconds, "--warm-up", self.options.warm_up]
        line = self.bench.children.measure(command, timeout=seconds + self.options.warm_up + 60)
        line["serverCpuUs"] = line["cpuSeconds"] * 1e6 / max(line["requestsPerSecond"] * line["seconds"], 1)
        return line

    def run_peer(self, command: list, seconds: float) -> Line:
        """As above; but what does not run is named in the report, and the measurement goes on."""
        try:
            return self.run_client(command, seconds)
        except Failed as problem:
            reason = " ".join(str(problem).split())[-100:]
            return {"requests": 0, "totalRequests": 0, "failed": 1, "firstFailure": reason}

    def curl(self, url: str, size: int, in_flight: int, *more, seconds: float | None = None) -> Line:
        command = [self.bench.programs / "curl_multi", "--url", url, "--in-flight", in_flight, "--expect-bytes", size]
        line = self.run_client([*command, *more], seconds or self.options.fetch_seconds)
        if line["failed"]:
            raise Failed(f"curl_multi: {line['failed']} failed, the first: {line.get('firstFailure', '')}")
        return line

    def curl_options(self, transport: Transport, url: str, size: int, streamed: bool, in_flight: int) -> list:
        """HTTP/2 in the way that suits libcurl better at this very point: sharing connections, or one for each. The
        point with a target of its own is always measured with shared ones, as that target is defined."""
        options = ["--cacert", transport.ca_file] if transport.ca_file else []
        options += ["--stream"] if streamed else []
        if not transport.http2:
            return options
        ways = [[*options, "--http2"], [*options, "--http2", "--multiplex"]]
        if in_flight == 1 or (in_flight == MULTIPLEXED and not streamed):
            return ways[in_flight > 1]
        rates = [
            self.curl(url, size, in_flight, *way, seconds=self.options.trial)["requestsPerSecond"] for way in ways
        ]
        return ways[rates.index(max(rates))]

    def peer_commands(self, transport: Transport, url: str, size: int, streamed: bool, in_flight: int) -> dict:
        common = ["--url", url, "--in-flight", in_flight, "--expect-bytes", size] + (["--stream"] if streamed else [])
        commands = {}
        for library in self.libraries():
            command = [self.python, HERE / "peers/fetch.py", "--library", library, *common]
            command += ["--cacert", transport.ca_file] if transport.ca_file else []
            commands[library] = command + (["--http2"] if transport.http2 and library == "httpx" else [])
        if shutil.which("node"):
            trusted = ["env", f"NODE_EXTRA_CA_CERTS={transport.ca_file}"] if transport.ca_file else []
            commands["node"] = [*trusted, "node", HERE / "peers/fetch.mjs", *common]
        return commands

    def libraries(self) -> list[str]:
        """Those of the Python libraries that are installed."""
        if not self.python.exists():
            return []
        code = "import importlib.util, sys; print(*(n for n in sys.argv[1:] if importlib.util.find_spec(n)))"
        done = subprocess.run([self.python, "-c", code, *LIBRARIES], capture_output=True, text=True, check=False)
        return done.stdout.split()

    # -- the section

    def alternately(self, measured: dict[str, Measure], others: dict[str, Measure], rounds_of_others: int) -> dict:
        """Rounds of all, the order reversed each time; `others`, which matter less, in the first rounds only."""
        lines: dict[str, list[Line]] = {name: [] for name in (*measured, *others)}
        for round_ in range(self.options.fetch_rounds):
            now = list((measured | others if round_ < rounds_of_others else measured).items())
            for name, measure in now[:: -1 if round_ % 2 else 1]:
                lines[name].append(measure())
        return lines

    def measure_point(self, server, socket_path, transport: Transport, body, in_flight: int) -> dict:
        path, name, size, streamed = body
        url = f"{transport.base}/open/{path}"
        curl_options = self.curl_options(transport, url, size, streamed, in_flight)
        peers = self.peer_commands(transport, url, size, streamed, in_flight)
        seconds = min(self.options.fetch_seconds, 1.0)
        request = (transport.resource, path, size, streamed, FLIGHTS[in_flight])
        lines = self.alternately(
            {
                "postern": lambda: self.postern(server, socket_path, *request),
                "curl": lambda: self.curl(url, size, in_flight, *curl_options),
            },
            {name: functools.partial(self.run_peer, command, seconds) for name, command in peers.items()},
            rounds_of_others=1 if in_flight > 32 else 2,
        )
        shared = "--multiplex" in curl_options
        return {"body": name, "streamed": streamed, "inFlight": in_flight, "curlMultiplexes": shared, "lines": lines}

    def measure_transport(self, transport: Transport, configuration: pathlib.Path, say: Callable[[str], None]) -> dict:
        server, socket_path = self.bench.start_postern(f"fetch-{transport.resource}", configuration=configuration)
        points = []
        for body in BODIES:
            self.check_answer(socket_path, server, transport, body[0], body[2])
            for in_flight in FLIGHTS:
                say(f"fetchResource, {transport.name}, {body[1]}, {in_flight} in flight")
                points.append(self.measure_point(server, socket_path, transport, body, in_flight))
        self.bench.children.stop(server)
        return {"name": transport.name, "http2": transport.http2, "points": points}

    def measure_more(self, configuration: pathlib.Path, say: Callable[[str], None]) -> list[dict]:
        server, socket_path = self.bench.start_postern("fetch-more", configuration=configuration)
        wait_for_socket(socket_path, server, self.bench.log).close()
        client = {"Authorization": "Basic YmVuY2g6YmVuY2g="}
        token = self.bench.http_json("/token", b"grant_type=client_credentials", client)["access_token"]
        rows = []
        for name, resource, folder, path, size, flight, target in MORE:
            say(f"fetchResource, {name}")
            url = f"{self.bench.upstream}/{folder}/{path}"
            bearer = ["--bearer", token] if resource == "guarded" else []
            request = (resource, path, size, False, flight)
            lines = self.alternately(
                {
                    "postern": lambda: self.postern(server, socket_path, *request),
                    "peer": lambda: self.curl(url, size, flight[0] * flight[1], *bearer),
                },
                {},
                0,
            )
            rows.append({"name": name, "target": target, **lines})
        for name, ways, target in BODIES_WITHOUT_JSON:
            say(f"fetchResource, {name}")
            lines = self.alternately(
                {
                    "postern": lambda: self.without_json(server, socket_path, ways),
                    "peer": lambda: self.curl(f"{self.bench.upstream}/open/1m", 1048576, 8),
                },
                {},
                0,
            )
            rows.append({"name": name, "target": target, **lines})
        self.bench.children.stop(server)
        return rows

    def without_json(self, server, socket_path, ways: list[str]) -> Line:
        command = [self.bench.programs / "bodies", "--socket", socket_path, "--resource", "open", "--path", "1m"]
        command += ["--bytes", 1048576, *ways]
        before = cpu_seconds(server.pid)
        line = self.run_client(command, self.options.fetch_seconds)
        line["serverCpuUs"] = (cpu_seconds(server.pid) - before) * 1e6 / line["totalRequests"]
        return line

    def measure(self, say: Callable[[str], None]) -> dict:
        transports = self.start_upstreams()
        configuration = self.write_configuration(transports)
        before, tokens = self.requests_seen(), self.bench.http_json("/stats")["tokenRequests"]
        more = self.measure_more(configuration, say)
        tokens = self.bench.http_json("/stats")["tokenRequests"] - tokens - 1  # one of them was not Postern's
        measured = [self.measure_transport(transport, configuration, say) for transport in transports]
        lines = [line for row in more for name in ("postern", "peer") for line in row[name]]
        points = [point for one in measured for point in one["points"]]
        lines += [line for point in points for several in point["lines"].values() for line in several]
        seen, sent = self.requests_seen() - before, sum(line["totalRequests"] for line in lines)
        if seen < sent:
            raise Failed(f"the upstreams saw {seen} requests, the clients made {sent}")
        if self.tls:
            self.bench.children.stop(self.tls.child)
        return {
            "rounds": self.options.fetch_rounds,
            "seconds": self.options.fetch_seconds,
            "upstream": self.tls.version if self.tls else None,
            "flights": [[count, *flight] for count, flight in FLIGHTS.items()],
            "more": more,
            "tokenRequests": tokens,
            "transports": measured,
        }
