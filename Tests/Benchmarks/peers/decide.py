#!/usr/bin/env python3
"""Decisions requested directly from an AuthZEN decision point through Python's `httpx` (asyncio), in one process.

What an application does that has no sidecar: one batch for each call, its response parsed, each decision looked at.
It caches nothing.
"""
from __future__ import annotations

import argparse
import asyncio
import json
import pathlib
import time

from fetch import TIMEOUT, Run, finish


async def ask(run: Run) -> None:
    import httpx

    options = run.options
    question = json.loads(pathlib.Path(options.post).read_text(encoding="utf-8"))
    client = httpx.AsyncClient(
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=None), timeout=TIMEOUT, trust_env=False
    )

    async def work(number: int) -> None:
        while not run.stopping:
            started = time.perf_counter()
            try:
                answer = await client.post(options.url, json=question)
                decisions = [one["decision"] for one in answer.json()["evaluations"]]
                if answer.status_code != 200 or decisions != [True] * options.resources:
                    raise ValueError(f"status {answer.status_code}, {len(decisions)} decisions")
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
    parser.add_argument("--url", required=True)
    parser.add_argument("--post", required=True, help="a file with the question")
    parser.add_argument("--resources", type=int, required=True, help="how many it is about; all are permitted")
    parser.add_argument("--in-flight", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--warm-up", type=float, default=0.5)
    parser.set_defaults(library="httpx", stream=False, expect_bytes=1)
    asyncio.run(ask(Run(parser.parse_args())))


if __name__ == "__main__":
    main()
