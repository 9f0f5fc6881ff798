"""What a call costs over the raw socket, at the median.

    python benchmarks/overhead.py [--rounds 20] [--calls 500] [--check] [--json]

Starts the sidecar that POSTERN_BIN names, with nothing configured, and calls `getInfo` over and over: by bytes on a
plain socket, by `Client`, by `AsyncClient`. The three alternate, so that a busy machine disturbs them equally.
With `--check` the exit status is 1 when the overhead is over the bounds; `--json` prints the medians of the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Callable

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "Tests" / "EndToEnd"))

from harness.sidecar import Sidecar

from postern_auth import AsyncClient, Client

#: Microseconds at the median, over the raw socket.
BOUNDS = {"Client": 40.0, "AsyncClient": 80.0}
REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"getInfo","params":{"meta":{"timeoutMs":60000}}}\n'


def timed(call: Callable[[], object], calls: int) -> list[float]:
    times = []
    for _ in range(calls):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return times


async def timed_async(call: Callable[[], Awaitable[object]], calls: int) -> list[float]:
    times = []
    for _ in range(calls):
        begun = time.perf_counter()
        await call()
        times.append(time.perf_counter() - begun)
    return times


def measure(path: str, rounds: int, calls: int) -> dict[str, list[float]]:
    """The medians of each round in microseconds."""
    raw = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    raw.connect(path)
    buffer = bytearray(1 << 16)

    def ask() -> None:
        raw.sendall(REQUEST)
        raw.recv_into(buffer)

    loop = asyncio.new_event_loop()
    asynchronous = AsyncClient(path)
    medians: dict[str, list[float]] = {"socket": [], "Client": [], "AsyncClient": []}
    with raw, Client(path) as client:
        for warm in range(rounds + 1):
            measured = {
                "socket": timed(ask, calls),
                "Client": timed(client.get_info, calls),
                "AsyncClient": loop.run_until_complete(timed_async(asynchronous.get_info, calls)),
            }
            for name, values in measured.items():
                medians[name] += [statistics.median(values) * 1e6] if warm else []
        loop.run_until_complete(asynchronous.aclose())
        loop.close()
    return medians


def main() -> int:
    parser = argparse.ArgumentParser(description="What a call costs over the raw socket, at the median.")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--check", action="store_true", help="fail when it is over the bounds")
    parser.add_argument("--json", action="store_true", help="print the medians of each round, in microseconds")
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="postern-", dir="/tmp"))
    sidecar = Sidecar(directory, {"listen": {"path": str(directory / "postern.sock")}, "store": {"kind": "memory"}})
    try:
        medians = measure(sidecar.path, options.rounds, options.calls)
    finally:
        sidecar.stop()
        shutil.rmtree(directory, ignore_errors=True)
    if options.json:
        print(json.dumps(medians))
        return 0
    print(f"{'':12} {'p50':>9} {'overhead':>9} {'bound':>9}")
    status = 0
    for name, rounds in medians.items():
        bound, median = BOUNDS.get(name), statistics.median(rounds)
        if bound is None:
            print(f"{name:12} {median:6.0f} µs")
            continue
        # Of each round by itself: what disturbs one of them disturbs both.
        overhead = statistics.median(own - raw for own, raw in zip(rounds, medians["socket"]))
        print(f"{name:12} {median:6.0f} µs {overhead:6.0f} µs {bound:6.0f} µs")
        if options.check and overhead > bound:
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
