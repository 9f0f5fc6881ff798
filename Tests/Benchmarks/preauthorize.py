"""Decisions: `preauthorize` compared with libcurl and `httpx`, which call the same AuthZEN decision point directly."""
from __future__ import annotations

import functools
import json
import pathlib
import subprocess
from collections.abc import Callable

from processes import Failed, call, wait_for_socket

HERE = pathlib.Path(__file__).resolve().parent
COUNTS = (1, 10, 100)
CONNECTIONS = 16
# How many identical calls at once must be one question for each batch.
IDENTICAL = 100
CHUNK = 50


class PreauthorizeBench:
    """The part of a run that is about decisions; `bench` starts and measures."""

    def __init__(self, bench) -> None:
        self.bench = bench
        self.options = bench.options
        self.directory = bench.directory / "preauthorize"
        self.directory.mkdir(exist_ok=True)
        self.python = pathlib.Path(self.options.peers) / "bin/python"
        self.url = f"{bench.upstream}/access/v1/evaluations"

    def configuration(self) -> pathlib.Path:
        configuration = json.loads(self.bench.configuration.read_text(encoding="ascii"))
        point = {"kind": "authzen", "baseUrl": self.bench.upstream, "cache": {"permit": "1h"}}
        points = {"whole": point | {"maxBatch": max(COUNTS)}, "cut": point | {"maxBatch": CHUNK}}
        configuration["preauthorization"] = points
        path = self.directory / "postern.yaml"
        path.write_text(json.dumps(configuration, indent=2), encoding="ascii")
        return path

    def write(self, name: str, content: object) -> pathlib.Path:
        path = self.directory / f"{name}.json"
        path.write_text(json.dumps(content, separators=(",", ":")), encoding="ascii")
        return path

    def call_of(self, count: int, subject: str, provider: str = "whole", **more: object) -> dict:
        params = {"resources": [f"channel-{number}" for number in range(count)], "provider": provider, **more}
        return {"method": "preauthorize", "params": {**params, "context": {"subject": subject}}}

    def question(self, count: int) -> pathlib.Path:
        """The requests that Postern sends, for programs that call directly."""
        resources = [{"resource": {"type": "channel", "id": f"channel-{number}"}} for number in range(count)]
        return self.write(
            f"question-{count}",
            {
                "subject": {"type": "user", "id": "alice"},
                "action": {"name": "view"},
                "evaluations": resources,
                "options": {"evaluations_semantic": "execute_all"},
            },
        )

    def evaluations(self) -> int:
        return self.bench.http_json("/stats")["evaluations"]

    # -- the clients

    def postern(self, server, socket_path, request: pathlib.Path, connections: int, source: str) -> dict:
        expect = f'"authorized":true,"source":"{source}"'
        return self.bench.load_server(
            server, socket_path, connections, 1, request=request, seconds=self.options.fetch_seconds, expect=expect
        )

    def direct(self, command: list, in_flight: int) -> dict:
        seconds = self.options.fetch_seconds
        times = ["--in-flight", in_flight, "--seconds", seconds, "--warm-up", self.options.warm_up]
        line = self.bench.children.measure([*command, *times], timeout=seconds + self.options.warm_up + 60)
        if line["failed"]:
            raise Failed(f"{command[0]}: {line['failed']} failed, the first: {line.get('firstFailure', '')}")
        line["serverCpuUs"] = line["cpuSeconds"] * 1e6 / max(line["requests"], 1)
        return line

    def clients(self, count: int) -> dict[str, list]:
        question = self.question(count)
        commands = {"curl": [self.bench.programs / "curl_multi", "--url", self.url, "--post", question]}
        if self.has_httpx():
            command = [self.python, HERE / "peers/decide.py", "--url", self.url, "--post", question]
            commands["httpx"] = [*command, "--resources", count]
        return commands

    @functools.cache
    def has_httpx(self) -> bool:
        return self.python.exists() and not subprocess.run([self.python, "-c", "import httpx"], check=False).returncode

    # -- the section

    def check(self, socket_path, server) -> None:
        """One answer looked at in full, and what the decision point saw of it."""
        with wait_for_socket(socket_path, server, self.bench.log) as connection:
            before = self.evaluations()
            params = self.call_of(3, "check")["params"]
            results = [call(connection, "preauthorize", params) for _ in range(2)]
            for result, source in zip(results, ("backend", "local")):
                ids = [(one["id"], one["authorized"], one["source"]) for one in result["decisions"]]
                if ids != [(f"channel-{number}", True, source) for number in range(3)]:
                    raise Failed(f"preauthorize: {json.dumps(result)[:500]}")
            if self.evaluations() != before + 1:
                raise Failed("a cached decision was requested again")

    def measure_point(self, server, socket_path, count: int, in_flight: int) -> dict:
        """Cold, cached, and called directly, alternately."""
        cold = self.write(f"cold-{count}", self.call_of(count, "alice", disableFeatures=["LOCAL_CACHE"]))
        measured: dict[str, Callable[[], dict]] = {
            "cold": lambda: self.postern(server, socket_path, cold, in_flight, "backend")
        }
        for name, command in self.clients(count).items():
            measured[name] = functools.partial(self.direct, command, in_flight)
        cached = self.write(f"cached-{count}", self.call_of(count, "alice"))
        measured["cached"] = lambda: self.postern(server, socket_path, cached, in_flight, "local")
        # The first call of all is answered by the decision point.
        self.bench.load(socket_path, 1, 1, requests=1, request=cached, expect='"authorized":true')
        lines: dict[str, list[dict]] = {name: [] for name in measured}
        for round_ in range(self.options.fetch_rounds):
            for name in list(measured)[:: -1 if round_ % 2 else 1]:
                before = self.evaluations()
                line = measured[name]()
                sent = self.evaluations() - before
                if sent > 0 if name == "cached" else sent < line["totalRequests"]:
                    raise Failed(f"{name}: {line['totalRequests']} calls, {sent} questions")
                lines[name].append(line)
        return {"resources": count, "inFlight": in_flight, "lines": lines}

    def identical(self, socket_path) -> dict:
        """Questions that `IDENTICAL` calls at once come to, again and again with another subject."""
        requests = []
        for round_ in range(self.options.fetch_rounds):
            request = self.write(f"identical-{round_}", self.call_of(100, f"user-{round_}", "cut"))
            before = self.evaluations()
            self.bench.load(
                socket_path, CONNECTIONS, 8, requests=IDENTICAL, request=request, expect='"authorized":true'
            )
            requests.append(self.evaluations() - before)
        return {"calls": IDENTICAL, "resources": 100, "batch": CHUNK, "requests": requests}

    def measure(self, say: Callable[[str], None]) -> dict:
        server, socket_path = self.bench.start_postern("preauthorize", configuration=self.configuration())
        self.check(socket_path, server)
        points = []
        for count in COUNTS:
            for in_flight in (1, CONNECTIONS):
                say(f"preauthorize, {count} resource{'s' if count > 1 else ''}, {in_flight} in flight")
                points.append(self.measure_point(server, socket_path, count, in_flight))
        identical = self.identical(socket_path)
        self.bench.children.stop(server)
        return {
            "rounds": self.options.fetch_rounds,
            "seconds": self.options.fetch_seconds,
            "points": points,
            "identical": identical,
        }
