"""A 1 KB fetch through Postern compared with `sidecar.c`, and with libcurl that fetches directly."""
from __future__ import annotations

from collections.abc import Callable

from fetch import FetchBench
from processes import Failed, call, wait_for_socket

SIZE = 1024
# name, connections, requests in flight on each, target ratio of requests/s, target of Postern's processor time in µs
SHAPES = [
    ("1 in flight", 1, 1, 0.7, None),
    ("4 connections × 8", 4, 8, 0.85, 75),
    ("16 connections × 16", 16, 16, 1.0, None),
]


class CSidecarBench:
    """The part of a run that is about the C sidecar; `bench` starts and measures."""

    def __init__(self, bench) -> None:
        self.bench = bench
        self.options = bench.options
        self.fetches = FetchBench(bench)

    def start_c_sidecar(self):
        socket_path = self.bench.directory / "c-sidecar.sock"
        command = [self.bench.programs / "sidecar", "--base-url", f"{self.bench.upstream}/open/"]
        return self.bench.children.start([*command, "--socket", socket_path], log=self.bench.log), socket_path

    def check_answers(self, servers: dict) -> None:
        """Both must answer with the same members and the same body, or different work would be compared."""
        results = {}
        for name, (child, socket_path) in servers.items():
            with wait_for_socket(socket_path, child, self.bench.log) as connection:
                results[name] = call(connection, "fetchResource", {"resource": "open", "path": "1k"})
        own, peer = results["postern"], results["peer"]
        for member in own.keys() | peer.keys():
            differs = member not in own or member not in peer
            differs |= member in ("status", "url", "body") and own[member] != peer[member]
            if differs:
                raise Failed(f"{member}: {own.get(member, 'not there')!r} and {peer.get(member, 'not there')!r}")
        if own["status"] != 200 or len(own["body"]) != SIZE:
            raise Failed(f"{own['status']}, {len(own['body'])} bytes instead of {SIZE}")

    def measure_shape(self, servers: dict, connections: int, pipeline: int) -> dict:
        request = self.bench.write_fetch("open", "1k")

        def load(name: str) -> dict:
            return self.bench.load_server(
                *servers[name],
                connections,
                pipeline,
                request=request,
                seconds=self.options.fetch_seconds,
                expect='"status":200',
            )

        return self.bench.interleave(
            {
                "postern": lambda: load("postern"),
                "peer": lambda: load("peer"),
                "curl": lambda: self.fetches.curl(f"{self.bench.upstream}/open/1k", SIZE, connections * pipeline),
            }
        )

    def measure(self, say: Callable[[str], None]) -> dict:
        servers = {"postern": self.bench.start_postern("sidecar"), "peer": self.start_c_sidecar()}
        self.check_answers(servers)
        rows = []
        for name, connections, pipeline, ratio, cpu in SHAPES:
            say(f"C sidecar, {name}")
            lines = self.measure_shape(servers, connections, pipeline)
            rows.append({"name": name, "target": ratio, "cpuTarget": cpu, **lines})
        for child, _ in servers.values():
            self.bench.children.stop(child)
        return {"rounds": self.options.rounds, "seconds": self.options.fetch_seconds, "rows": rows}
