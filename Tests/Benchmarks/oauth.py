"""Fetches with a token: `httpx` through Postern compared with `httpx` and authlib's OAuth2 session in process."""
from __future__ import annotations

import base64
import functools
import json
import os
import pathlib
import subprocess
import time
import urllib.request
from collections.abc import Callable

from processes import Failed, cpu_seconds, wait_for_socket

HERE = pathlib.Path(__file__).resolve().parent
CLIENT = HERE.parent.parent / "clients/python/src"
PATH = "orders"
STYLES = ("blocking", "asyncio")
FLIGHTS = (1, 16)
# The lifetime of a token in seconds: longer than the run, and so short that every round has refreshes.
LIVES = (3600, 2)
# Rounds with the short lifetime last for at least so many lives.
REFRESHES = 3


def leeway(life: int) -> float:
    """How long before it expires Postern refreshes a token; authlib is configured the same."""
    return min(30.0, life / 10)


class Upstream:
    """A playground whose tokens live for `life` seconds."""

    def __init__(self, bench, life: int) -> None:
        command = [bench.options.playground, "--port", "0", "--access-token-lifetime", f"{life}s"]
        self.life = life
        self.child = bench.children.start(command, stdout=subprocess.PIPE)
        line = self.child.stdout.readline()
        if not line:
            raise Failed("the playground did not start (make release builds it)")
        announced = json.loads(line)
        self.base, self.issuer = announced["baseUrl"], announced["issuer"]

    def ask(self, path: str, data: bytes | None = None, authorization: str = "") -> bytes:
        """An answer, requested by hand."""
        request = urllib.request.Request(self.base + path, data, {"Authorization": authorization})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read()

    def token_requests(self) -> int:
        """So many there were."""
        return json.loads(self.ask("/playground/statistics"))["tokenRequests"]

    def size(self) -> int:
        """Of the answer to everybody."""
        client = base64.b64encode(b"svc:svcsecret").decode()
        token = json.loads(self.ask("/oidc/token", b"grant_type=client_credentials&scope=orders", f"Basic {client}"))
        return len(self.ask(f"/resource/{PATH}", authorization=f"Bearer {token['access_token']}"))


class OAuthBench:
    """The part of a run that is about programs with tokens of their own; `bench` starts and measures."""

    def __init__(self, bench) -> None:
        self.bench = bench
        self.options = bench.options
        self.directory = bench.directory / "oauth"
        self.directory.mkdir(exist_ok=True)
        self.python = pathlib.Path(self.options.peers) / "bin/python"

    def is_possible(self) -> bool:
        modules = [self.python, "-c", "import authlib, httpx"]
        return self.python.exists() and not subprocess.run(modules, check=False, capture_output=True).returncode

    def configuration(self, upstream: Upstream) -> pathlib.Path:
        secret = self.directory / "secret"
        secret.touch(mode=0o600)
        secret.write_text("svcsecret", encoding="ascii")
        issuer = {"issuer": upstream.issuer, "clientId": "svc", "clientSecretFile": str(secret)}
        base = f"{upstream.base}/resource/"
        guarded = {"baseUrl": base, "issuer": "play", "auth": "clientCredentials", "scope": "orders"}
        configuration = {
            "issuers": {"play": issuer | {"clientAuth": "client_secret_basic"}},
            "resources": {"guarded": guarded},
            "store": {"kind": "memory"},
            "log": {"level": self.options.log_level, "format": "json"},
            "development": {"plainHTTPOnLoopback": True},
        }
        path = self.directory / f"life-{upstream.life}.yaml"  # JSON is YAML
        path.write_text(json.dumps(configuration, indent=2), encoding="ascii")
        return path

    # -- the clients

    def command(self, through: str, upstream: Upstream, socket_path, size: int, *more: object) -> list:
        command = ["env", f"PYTHONPATH={CLIENT}", self.python, HERE / "peers/oauth.py", "--through", through]
        command += ["--socket", socket_path, "--base", f"{upstream.base}/resource/", "--path", PATH]
        command += ["--token-endpoint", f"{upstream.issuer}/token", "--leeway", leeway(upstream.life)]
        return [*command, "--expect-bytes", size, *more]

    def measure_round(self, through: str, upstream: Upstream, server, socket_path, size: int, style: str, flight: int) -> dict:
        """A measurement, with the processor time of client and sidecar together for each fetch."""
        seconds = self.options.fetch_seconds
        if upstream.life == min(LIVES):
            seconds = max(seconds, REFRESHES * upstream.life)
        more = ["--style", style, "--in-flight", flight, "--seconds", seconds, "--warm-up", self.options.warm_up]
        before, cpu = upstream.token_requests(), cpu_seconds(server.pid)
        line = self.bench.children.measure(
            self.command(through, upstream, socket_path, size, *more), timeout=seconds + self.options.warm_up + 60
        )
        if line["failed"] or not line["requests"]:
            raise Failed(f"{through}, {style}: {line['failed']} failed: {line.get('firstFailure', 'no answer in time')}")
        sidecar = (cpu_seconds(server.pid) - cpu) * 1e6 / line["totalRequests"]
        line["serverCpuUs"] = line["cpuSeconds"] * 1e6 / line["requests"] + sidecar
        line["tokens"] = upstream.token_requests() - before
        return line

    def measure_point(self, upstream: Upstream, server, socket_path, size: int, style: str, flight: int) -> dict:
        clients = ("postern", "authlib", "bare", "client") if upstream.life == max(LIVES) else ("postern", "authlib")
        measure_round = functools.partial(
            self.measure_round,
            upstream=upstream,
            server=server,
            socket_path=socket_path,
            size=size,
            style=style,
            flight=flight,
        )
        lines: dict[str, list[dict]] = {name: [] for name in clients}
        for number in range(self.options.fetch_rounds):
            for name in clients[:: -1 if number % 2 else 1]:
                lines[name].append(measure_round(name))
        return {"life": upstream.life, "style": style, "inFlight": flight, "lines": lines}

    def first(self, through: str, upstream: Upstream, socket_path, size: int) -> float:
        """Milliseconds from before the start of a Python to its first answer."""
        command = self.command(through, upstream, socket_path, size, "--once", "--begun", time.monotonic())
        return self.bench.children.measure(command, timeout=60)["firstMs"]

    def measure_cold(self, upstream: Upstream, socket_path, size: int) -> dict[str, list[float]]:
        """First answers of programs; `fresh` is one that a sidecar without token and metadata answers."""
        times: dict[str, list[float]] = {"authlib": [], "postern": [], "client": [], "fresh": []}
        for number in range(self.options.starts):
            name = f"oauth-fresh-{number}"
            fresh, fresh_path = self.bench.start_postern(name, configuration=self.configuration(upstream))
            wait_for_socket(fresh_path, fresh, self.bench.log).close()
            for through in list(times)[:: -1 if number % 2 else 1]:
                path = fresh_path if through == "fresh" else socket_path
                times[through].append(self.first("postern" if through == "fresh" else through, upstream, path, size))
            self.bench.children.stop(fresh)
        return times

    # -- the section

    def measure(self, say: Callable[[str], None]) -> dict | None:
        if not self.is_possible():
            say("authlib and httpx are not installed: make bench-deps")
            return None
        if not os.access(self.options.playground, os.X_OK):
            raise Failed(f"{self.options.playground}: not there; make release builds it")
        points, cold, size = [], {}, 0
        for life in LIVES:
            upstream = Upstream(self.bench, life)
            configuration = self.configuration(upstream)
            server, socket_path = self.bench.start_postern(f"oauth-{life}", configuration=configuration)
            wait_for_socket(socket_path, server, self.bench.log).close()
            size = upstream.size()
            for style in STYLES:
                for flight in FLIGHTS:
                    say(f"httpx with tokens of {life} s, {style}, {flight} in flight")
                    points.append(self.measure_point(upstream, server, socket_path, size, style, flight))
            if life == max(LIVES):
                say(f"httpx, first answers of {self.options.starts} programs")
                cold = self.measure_cold(upstream, socket_path, size)
            self.bench.children.stop(server)
            self.bench.children.stop(upstream.child)
        versions = {line["version"] for point in points for lines in point["lines"].values() for line in lines}
        return {
            "rounds": self.options.fetch_rounds,
            "seconds": self.options.fetch_seconds,
            "bytes": size,
            "points": points,
            "cold": cold,
            "versions": sorted(versions),
        }
