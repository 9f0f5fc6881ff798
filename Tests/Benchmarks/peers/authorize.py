#!/usr/bin/env python3
"""Requests for authorization at Adobe Pass through Python's `httpx` (asyncio) directly, or calls of `pass.authorize`
through Postern's own client; in one process.

Directly, the access token and the logins are there already, and connections are kept. Each answer is parsed, and its
permit must have a media token that has not ended. Nothing is retried. With --shared all workers use one client object,
as httpx advises; otherwise each has its own, which is faster: a request looks through all connections of its client.
"""
from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import pathlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable

from fetch import TIMEOUT, Run, finish

#: A call of one worker, which raises where there is no permit.
Authorize = Callable[[int], Awaitable[None]]


@contextlib.asynccontextmanager
async def direct(plan: dict, run: Run) -> AsyncIterator[Authorize]:
    import httpx

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with contextlib.AsyncExitStack() as stack:
        clients = []
        for _ in range(1 if run.options.shared else run.options.in_flight):
            client = httpx.AsyncClient(limits=limits, timeout=TIMEOUT, trust_env=False)
            clients.append(await stack.enter_async_context(client))

        async def authorize(number: int) -> None:
            fields = plan["devices"][number % len(plan["devices"])]
            client = clients[number % len(clients)]
            answer = await client.post(plan["url"], content=plan["body"], headers=fields)
            if answer.status_code != 200:
                raise ValueError(f"status {answer.status_code}")
            (decision,) = answer.json()["decisions"]
            token = decision["token"]
            is_permit = decision["authorized"] is True and decision["resource"] == plan["resource"]
            if not is_permit or not token["serializedToken"] or token["notAfter"] <= time.time() * 1000:
                raise ValueError(f"no permit: {str(decision)[:200]}")
            run.http_version = answer.http_version

        yield authorize


@contextlib.asynccontextmanager
async def through_client(plan: dict, run: Run) -> AsyncIterator[Authorize]:
    from postern_auth import AsyncClient

    async with AsyncClient(run.options.socket, timeout=TIMEOUT) as client:

        async def authorize(number: int) -> None:
            result = await client.call("pass.authorize", plan["params"][number % len(plan["params"])])
            (decision,) = result["decisions"]
            if not decision["authorized"] or not decision["token"]["serializedToken"]:
                raise ValueError(f"no permit: {str(decision)[:200]}")

        yield authorize


async def work(run: Run) -> None:
    plan = json.loads(pathlib.Path(run.options.plan).read_text(encoding="utf-8"))
    way = direct if run.options.through == "httpx" else through_client
    async with way(plan, run) as authorize:

        async def worker(number: int) -> None:
            while not run.stopping:
                started = time.perf_counter()
                try:
                    await authorize(number)
                except Exception as problem:  # any failure ends the run and is reported
                    return run.fail(problem)
                run.done[number].append((started, time.perf_counter()))

        workers = [asyncio.create_task(worker(number)) for number in range(run.options.in_flight)]
        for nap in run.naps():
            await asyncio.wait(workers, timeout=nap)
        finish(run)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--through", choices=("httpx", "client"), required=True)
    parser.add_argument("--plan", required=True, help="a file with the URL, the devices, the body, the resource and the params")
    parser.add_argument("--socket", help="Postern's")
    parser.add_argument("--shared", action="store_true", help="httpx: one client object for all")
    parser.add_argument("--in-flight", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--warm-up", type=float, default=0.5)
    parser.set_defaults(library="httpx", stream=False, expect_bytes=1)
    asyncio.run(work(Run(parser.parse_args())))


if __name__ == "__main__":
    main()
