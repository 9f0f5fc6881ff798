"""`validateRequest` with DPoP compared with a C program, and one proof shown to two replicas at once."""
from __future__ import annotations

import functools
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from processes import Failed, call, cpu_seconds, tail, wait_for_socket
from tls_upstream import free_ports

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "EndToEnd"))
from harness.replays import outcomes  # noqa: E402  the end-to-end tests' own

#: What `make_proofs` writes into tokens.
AUDIENCE, SCOPE = "https://api.example.com", "orders:read"
# in flight: connections, requests in flight on each
FLIGHTS = {1: (1, 1), 32: (4, 8)}
# name: how many of the requests share a token; None: none of them
TOKENS = {"cached": 100, "new": None}
PAST = 300
REDIS = shutil.which("redis-server") or "/usr/bin/redis-server"
PASSWORD = "bench"


class ProofBench:
    """The part of the section that is about proofs; `gateway` has started Postern."""

    def __init__(self, gateway) -> None:
        self.gateway = gateway
        self.bench = gateway.bench
        self.options = gateway.options
        self.directory = gateway.directory
        self.server = (gateway.server, gateway.rpc_socket)
        self.file = self.directory / "proofs.jsonl"

    def start_c_server(self, threads: int) -> tuple[subprocess.Popen, pathlib.Path]:
        path = self.directory / f"proofs-{threads}.sock"
        command = [self.bench.programs / "proofs", "--socket", path, "--jwks", self.directory / "jwks.json"]
        command += ["--issuer", self.gateway.base, "--past", PAST, "--threads", threads]
        child = self.bench.children.start(command, log=self.bench.log)
        wait_for_socket(path, child, self.bench.log).close()
        return child, path

    def make(self, count: int, tokens: int | None) -> None:
        """New requests: a proof is good for one use, and only while it is young."""
        self.gateway.make_proofs(self.gateway.base, "--proofs", self.file, "--count", count, "--tokens", tokens or count)

    def load(self, server: tuple, flight: tuple[int, int], count: int) -> dict:
        """All requests of the file, each once."""
        child, path = server
        before = cpu_seconds(child.pid)
        line = self.bench.load(path, *flight, requests=count, requests_from=self.file, expect='"valid":true')
        line["serverCpuUs"] = (cpu_seconds(child.pid) - before) * 1e6 / line["totalRequests"]
        return line

    def check(self, servers: dict[str, tuple]) -> None:
        """Both must accept a good request once, and reject each kind of bad one with the same code."""
        rejected = self.directory / "rejected.jsonl"
        self.make(1, None)
        self.gateway.make_proofs(self.gateway.base, "--rejected", rejected)
        good = json.loads(self.file.read_text(encoding="ascii"))["params"]
        bad = [json.loads(line) for line in rejected.read_text(encoding="ascii").splitlines()]
        for name, (child, path) in servers.items():
            with wait_for_socket(path, child, self.bench.log) as connection:
                for one in bad:
                    result = call(connection, "validateRequest", one["request"]["params"])
                    code = None if result["valid"] else result["error"]["code"]
                    if code is None or one["code"] not in (None, code):
                        raise Failed(f"{name}: {one['fault']}: {json.dumps(result)[:500]}")
                results = [call(connection, "validateRequest", good) for _ in range(2)]
            codes = [None if result["valid"] else result["error"]["code"] for result in results]
            if codes != [None, "dpop_proof_replayed"] or results[0]["tokenType"] != "DPoP":
                raise Failed(f"{name}: {json.dumps(results)[:800]}")

    def best(self, peers: dict[int, tuple], flight: tuple[int, int], tokens: int | None) -> int:
        """The number of threads with which the C program is fastest."""
        rates: dict[int, list[float]] = {threads: [] for threads in peers}
        count = max(self.options.proofs // 10, 200)
        for _ in range(2):
            self.make(count, tokens)
            for threads, peer in peers.items():
                rates[threads].append(self.load(peer, flight, count)["requestsPerSecond"])
        return max(rates, key=lambda threads: statistics.median(rates[threads]))

    def point(self, peer: tuple, kind: str, in_flight: int) -> dict:
        """The same requests to both, new ones in each round."""
        count = self.options.proofs if in_flight > 1 else max(self.options.proofs // 4, 200)
        measured = {"postern": self.server, "peer": peer}
        lines: dict[str, list[dict]] = {name: [] for name in measured}
        for round_ in range(self.options.rounds):
            self.make(count, TOKENS[kind])
            for name in list(measured)[:: -1 if round_ % 2 else 1]:
                lines[name].append(self.load(measured[name], FLIGHTS[in_flight], count))
        return {"kind": kind, "inFlight": in_flight, "requests": count, "lines": lines}

    def measure(self, say: Callable[[str], None]) -> dict:
        peers = {threads: self.start_c_server(threads) for threads in sorted({1, len(os.sched_getaffinity(0))})}
        self.check({"Postern": self.server, **{f"C, {threads} threads": peer for threads, peer in peers.items()}})
        points = []
        for kind, tokens in TOKENS.items():
            for in_flight, flight in FLIGHTS.items():
                threads = self.best(peers, flight, tokens)
                say(f"validateRequest with DPoP, {kind} tokens, {in_flight} in flight (C: {threads} threads)")
                points.append({**self.point(peers[threads], kind, in_flight), "threads": threads})
        for child, _ in peers.values():
            self.bench.children.stop(child)
        self.file.unlink()
        return {"points": points, "shared": TOKENS["cached"]}

    # -- one proof at two replicas

    def start_redis(self) -> tuple[subprocess.Popen, int]:
        for _ in range(3):
            (port,) = free_ports(1)
            command = [REDIS, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
            command += ["--dir", self.directory, "--requirepass", PASSWORD]
            child = self.bench.children.start(command, log=self.bench.log)
            end = time.monotonic() + 10
            while child.poll() is None and time.monotonic() < end:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        return child, port
                time.sleep(0.02)
            self.bench.children.stop(child)
        raise Failed("redis-server did not start")

    def replica(self, number: int, port: int) -> pathlib.Path:
        configuration = json.loads((self.directory / "postern.yaml").read_text(encoding="ascii"))
        configuration.pop("gateway")
        for name, content in (("redis-password", PASSWORD.encode()), ("store-key", bytes(range(32)).hex().encode())):
            path = self.directory / name
            path.touch(mode=0o600)
            path.write_bytes(content)
        configuration["store"] = {
            "kind": "redis",
            "keyFile": str(self.directory / "store-key"),
            "redis": {"url": f"redis://127.0.0.1:{port}/0", "passwordFile": str(self.directory / "redis-password")},
        }
        path = self.directory / f"replica-{number}.yaml"
        path.write_text(json.dumps(configuration, indent=2), encoding="ascii")
        return path

    def measure_replays(self, say: Callable[[str], None]) -> dict | None:
        if not shutil.which(REDIS):
            return None
        pairs = self.options.pairs
        say(f"one proof at two replicas, {pairs:,} times")
        redis, port = self.start_redis()
        replicas = []
        for number in range(2):
            server, path = self.bench.start_postern(f"replica-{number}", configuration=self.replica(number, port))
            wait_for_socket(path, server, self.bench.log).close()
            replicas.append((server, path))
        self.make(pairs, TOKENS["cached"])
        requests = [json.loads(line) for line in self.file.read_text(encoding="ascii").splitlines()]
        begin = time.monotonic()
        found = outcomes([str(path) for _, path in replicas], [request["params"] for request in requests])
        seconds = time.monotonic() - begin
        for child in (*(server for server, _ in replicas), redis):
            self.bench.children.stop(child)
        self.file.unlink()
        counts = [sum(pair.count(True) == accepted for pair in found) for accepted in range(3)]
        return {"pairs": pairs, "accepted": counts, "first": sum(pair[0] for pair in found), "seconds": seconds}
