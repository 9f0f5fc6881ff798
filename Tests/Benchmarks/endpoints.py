"""What endpoints cost: the rate of calls next to a thousand of them, through one, their memory, and how soon an end is
in force."""
from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Callable
from typing import Any

from processes import Failed, call, resident_kib, wait_for_socket

ENDPOINTS = 1000
REVOCATIONS = 300
# connections, requests in flight on each
LOAD = (16, 4)
TEXTS = {"label": "bench", "methods": ["getInfo", "fetchResource"], "resources": ["slow"]}


class EndpointBench:
    """The part of a run that is about endpoints; `bench` starts and measures."""

    def __init__(self, bench: Any) -> None:
        self.bench = bench
        self.options = bench.options

    def write_configuration(self, upstream: str) -> Any:
        directory = self.bench.directory / "endpoints"
        directory.mkdir(exist_ok=True)
        configuration = {
            "resources": {"slow": {"baseUrl": upstream + "/", "auth": "none", "timeout": "60s"}},
            "store": {"kind": "memory"},
            "log": {"level": self.options.log_level, "format": "json"},
            "development": {"plainHTTPOnLoopback": True},
        }
        path = directory / "postern.yaml"
        path.write_text(json.dumps(configuration), encoding="ascii")
        return path

    def measure(self, say: Callable[[str], None]) -> dict[str, Any]:
        say(f"endpoints, {ENDPOINTS:,} of them")
        with socket.create_server(("127.0.0.1", 0), backlog=512) as silent:
            configuration = self.write_configuration(f"http://127.0.0.1:{silent.getsockname()[1]}")
            server, path = self.bench.start_postern("endpoints", configuration=configuration)
            result: dict[str, Any] = {"endpoints": ENDPOINTS, "load": LOAD}
            with wait_for_socket(path, server, self.bench.log) as maker:
                one = call(maker, "createEndpoint", TEXTS)["path"]
                lines = self.bench.interleave({"none": lambda: self.load(server, path), "through": lambda: self.load(server, one)})
                time.sleep(self.options.settle)
                before = resident_kib(server.pid)
                made = [call(maker, "createEndpoint", TEXTS)["endpoint"] for _ in range(ENDPOINTS)]
                time.sleep(self.options.settle)
                result["kib"] = resident_kib(server.pid) - before
                lines["thousand"] = self.bench.interleave({"thousand": lambda: self.load(server, path)})["thousand"]
                for endpoint in made:
                    call(maker, "revokeEndpoint", {"endpoint": endpoint})
                lines["after"] = self.bench.interleave({"after": lambda: self.load(server, path)})["after"]
                result["lines"] = lines
                result["endUs"] = [self.end(maker) for _ in range(REVOCATIONS)]
            self.bench.children.stop(server)
        return result

    def load(self, server: subprocess.Popen[bytes], path: Any) -> dict[str, Any]:
        request = self.bench.directory / "endpoints" / "getInfo.json"
        request.write_text(json.dumps({"method": "getInfo"}), encoding="ascii")
        return self.bench.load_server(server, path, *LOAD, seconds=self.options.seconds, request=request)

    def end(self, maker: socket.socket) -> float:
        """Microseconds from the request to revoke an endpoint to the error of a fetch through it that is under way."""
        made = call(maker, "createEndpoint", TEXTS)
        with socket.socket(socket.AF_UNIX) as child:
            child.settimeout(10)
            child.connect(made["path"])
            fetch = {"jsonrpc": "2.0", "id": 1, "method": "fetchResource", "params": {"resource": "slow", "path": "x"}}
            child.sendall(json.dumps(fetch).encode() + b"\n")
            time.sleep(0.005)
            begin = time.monotonic()
            request = {"jsonrpc": "2.0", "id": 1, "method": "revokeEndpoint", "params": {"endpoint": made["endpoint"]}}
            maker.sendall(json.dumps(request).encode() + b"\n")
            answer = json.loads(child.recv(1 << 16))
            took = time.monotonic() - begin
        if answer.get("error", {}).get("code") != -32020:
            raise Failed(f"a call through an endpoint that was revoked: {answer}")
        while not maker.recv(1 << 16).endswith(b"\n"):
            pass
        return took * 1e6
