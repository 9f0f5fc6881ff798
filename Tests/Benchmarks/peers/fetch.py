#!/usr/bin/env python3
"""The fetches of curl_multi through Python's `requests` (threads) or `httpx` (asyncio), in one process.

Each library is used as documented, and the faster way where there are two: a session for each thread of
`requests`, and none of them looks at the environment. With --stream bodies are counted as they come, not kept.
"""
from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import json
import os
import resource
import ssl
import threading
import time
from collections.abc import Callable, Iterator

PIECE = 64 * 1024
TIMEOUT = 30.0
# How long the first answer to every worker is waited for.
PATIENCE = 5.0


class Run:
    """What the workers of one run have done: for each of them the start and end of every fetch."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.done: list[list[tuple[float, float]]] = [[] for _ in range(options.in_flight)]
        self.received = [0] * options.in_flight  # bytes, those of bodies that are not complete, too
        self.stopping = False
        self.failures: list[str] = []
        self.http_version = ""
        self.begin = self.end = self.cpu = self.fetched = 0.0

    def check(self, status: int, size: int) -> None:
        if status != 200 or size != self.options.expect_bytes:
            raise ValueError(f"status {status}, {size} bytes")

    def fail(self, problem: Exception) -> None:
        self.failures.append(f"{type(problem).__name__}: {problem}"[:200])
        self.stopping = True

    def naps(self) -> Iterator[float]:
        """The course of the run, concurrent with the workers: how long to sleep, again and again."""
        yield self.options.warm_up
        yield from self._until(lambda: all(self.done))
        self.begin, cpu, received = time.perf_counter(), cpu_seconds(), sum(self.received)
        yield self.options.seconds
        yield from self._until(lambda: self.answered() > 0)
        self.end, self.cpu = time.perf_counter(), cpu_seconds() - cpu
        # Large bodies that share a link end at once, and how many ends fall into the measurement is chance.
        streamed = (sum(self.received) - received) / self.options.expect_bytes
        self.fetched = streamed if self.options.stream else self.answered()
        self.stopping = True

    def _until(self, reached: Callable[[], bool]) -> Iterator[float]:
        limit = time.monotonic() + PATIENCE
        while not reached() and not self.stopping and time.monotonic() < limit:
            yield 0.01

    def answered(self) -> int:
        end = self.end or time.perf_counter()
        return sum(self.begin < finished <= end for worker in self.done for _, finished in worker)

    def line(self) -> dict[str, object]:
        """The same members as curl_multi's. What was still in flight at the end does not count."""
        fetches = [fetch for worker in self.done for fetch in worker]
        times = sorted((finished - started) * 1e6 for started, finished in fetches if finished > self.begin) or [0.0]
        requests, seconds = self.answered(), max(self.end - self.begin, 1e-9)
        library = self.options.library
        line: dict[str, object] = {
            "inFlight": self.options.in_flight,
            "requests": requests,
            "totalRequests": len(fetches),
            "seconds": seconds,
            "requestsPerSecond": self.fetched / seconds,
            "latencyUs": {
                **{f"p{share}": times[min(len(times) * share // 100, len(times) - 1)] for share in (50, 90, 99)},
                "max": times[-1],
            },
            "failed": len(self.failures),
            "bodyBytes": requests * self.options.expect_bytes,
            "cpuSeconds": self.cpu,
            "httpVersion": self.http_version,
            "version": f"{library} {importlib.metadata.version(library)}",
        }
        return line | ({"firstFailure": self.failures[0]} if self.failures else {})


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def finish(run: Run) -> None:
    """Prints what was measured and exits, without the fetches under way: with some libraries they would take long."""
    print(json.dumps(run.line()), flush=True)
    os._exit(0)


def run_requests(run: Run) -> None:
    import requests

    options = run.options

    def work(number: int) -> None:
        session = requests.Session()
        session.trust_env = False
        session.verify = options.cacert or True
        while not run.stopping:
            started = time.perf_counter()
            try:
                with session.get(options.url, stream=options.stream, timeout=TIMEOUT) as answer:
                    size = 0
                    for piece in answer.iter_content(PIECE) if options.stream else (answer.content,):
                        size += len(piece)
                        run.received[number] += len(piece)
                    run.check(answer.status_code, size)
                    run.http_version = "HTTP/1.1" if answer.raw.version == 11 else str(answer.raw.version)
            except Exception as problem:  # any failure ends the run and is reported
                return run.fail(problem)
            run.done[number].append((started, time.perf_counter()))

    workers = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(options.in_flight)]
    for worker in workers:
        worker.start()
    for nap in run.naps():
        time.sleep(nap)
    finish(run)


async def run_httpx(run: Run) -> None:
    import httpx

    options = run.options
    client = httpx.AsyncClient(
        http1=True,
        http2=options.http2,
        verify=ssl.create_default_context(cafile=options.cacert),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
        timeout=TIMEOUT,
        trust_env=False,
    )

    async def work(number: int) -> None:
        while not run.stopping:
            started = time.perf_counter()
            try:
                if options.stream:
                    async with client.stream("GET", options.url) as answer:
                        size = 0
                        async for piece in answer.aiter_bytes():
                            size += len(piece)
                            run.received[number] += len(piece)
                else:
                    answer = await client.get(options.url)
                    size = len(answer.content)
                run.check(answer.status_code, size)
                run.http_version = answer.http_version
            except Exception as problem:  # any failure ends the run and is reported
                return run.fail(problem)
            run.done[number].append((started, time.perf_counter()))

    workers = [asyncio.create_task(work(number)) for number in range(options.in_flight)]
    for nap in run.naps():
        await asyncio.wait(workers, timeout=nap)
    finish(run)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", choices=("requests", "httpx"), required=True)
    parser.add_argument("--url", required=True)
    parser.add_argument("--in-flight", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--warm-up", type=float, default=0.5)
    parser.add_argument("--expect-bytes", type=int, required=True)
    parser.add_argument("--cacert")
    parser.add_argument("--http2", action="store_true", help="httpx only: offered by ALPN")
    parser.add_argument("--stream", action="store_true")
    run = Run(parser.parse_args())
    if run.options.library == "requests":
        run_requests(run)
    else:
        asyncio.run(run_httpx(run))


if __name__ == "__main__":
    main()
