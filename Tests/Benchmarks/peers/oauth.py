#!/usr/bin/env python3
"""Fetches of a resource that needs a token: `httpx` with authlib's OAuth2 session, which gets and refreshes the token
in this process, or `httpx` through Postern, or Postern's own client, or `httpx` with a token put in by hand.

Each library is used as documented: one client object for all workers, threads where it is blocking, tasks
where it is not. With --once it makes one fetch and prints the time since --begun, by the monotonic clock.
"""
from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import threading
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

# authlib would like a successor of httpx, of which there is none in the environment.
warnings.simplefilter("ignore")

CLIENT, SECRET, SCOPE = "svc", "svcsecret", "orders"
TIMEOUT = 30.0
#: Status and size of an answer's body.
Answer = "tuple[int, int]"


def session_options(options: argparse.Namespace) -> dict[str, object]:
    """authlib's; the leeway is what Postern takes of this lifetime."""
    return {
        "client_id": CLIENT,
        "client_secret": SECRET,
        "scope": SCOPE,
        "token_endpoint": options.token_endpoint,
        "grant_type": "client_credentials",
        "token_endpoint_auth_method": "client_secret_basic",
        "leeway": options.leeway,
        "timeout": TIMEOUT,
        "trust_env": False,
    }


def bearer(options: argparse.Namespace) -> str:
    """A token got by hand, for as long as it lives."""
    import httpx

    form = {"grant_type": "client_credentials", "scope": SCOPE}
    answer = httpx.post(options.token_endpoint, data=form, auth=(CLIENT, SECRET), trust_env=False)
    return f"Bearer {answer.raise_for_status().json()['access_token']}"


@contextlib.contextmanager
def blocking(options: argparse.Namespace) -> Iterator[Callable[[], Answer]]:
    """What one worker calls."""
    if options.through == "client":
        from postern_auth import Client

        with Client(options.socket, timeout=TIMEOUT) as client:

            def fetch() -> Answer:
                answer = client.fetch_resource(options.resource, options.path)
                return answer.status, len(answer.content)

            yield fetch
        return
    import httpx

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    with contextlib.ExitStack() as stack:
        if options.through == "postern":
            from postern_auth import Client
            from postern_auth.httpx import PosternTransport

            transport = PosternTransport(stack.enter_context(Client(options.socket)))
            session = stack.enter_context(httpx.Client(transport=transport, timeout=TIMEOUT, trust_env=False))
            url = f"http+postern://{options.resource}/{options.path}"
        elif options.through == "bare":
            session = stack.enter_context(httpx.Client(limits=limits, timeout=TIMEOUT, trust_env=False))
            session.headers["Authorization"] = bearer(options)
            url = f"{options.base}{options.path}"
        else:
            from authlib.integrations.httpx_client import OAuth2Client

            session = stack.enter_context(OAuth2Client(limits=limits, **session_options(options)))
            session.fetch_token(options.token_endpoint, grant_type="client_credentials")
            url = f"{options.base}{options.path}"

        def get() -> Answer:
            answer = session.get(url)
            return answer.status_code, len(answer.content)

        yield get


@contextlib.asynccontextmanager
async def awaited(options: argparse.Namespace) -> AsyncIterator[Callable[[], Awaitable[Answer]]]:
    """The same for tasks."""
    if options.through == "client":
        from postern_auth import AsyncClient

        async with AsyncClient(options.socket, timeout=TIMEOUT) as client:

            async def fetch() -> Answer:
                answer = await client.fetch_resource(options.resource, options.path)
                return answer.status, len(answer.content)

            yield fetch
        return
    import httpx

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with contextlib.AsyncExitStack() as stack:
        if options.through == "postern":
            from postern_auth import AsyncClient
            from postern_auth.httpx import AsyncPosternTransport

            transport = AsyncPosternTransport(await stack.enter_async_context(AsyncClient(options.socket)))
            client = httpx.AsyncClient(transport=transport, timeout=TIMEOUT, trust_env=False)
            session = await stack.enter_async_context(client)
            url = f"http+postern://{options.resource}/{options.path}"
        elif options.through == "bare":
            client = httpx.AsyncClient(limits=limits, timeout=TIMEOUT, trust_env=False)
            session = await stack.enter_async_context(client)
            session.headers["Authorization"] = bearer(options)
            url = f"{options.base}{options.path}"
        else:
            from authlib.integrations.httpx_client import AsyncOAuth2Client

            session = await stack.enter_async_context(AsyncOAuth2Client(limits=limits, **session_options(options)))
            await session.fetch_token(options.token_endpoint, grant_type="client_credentials")
            url = f"{options.base}{options.path}"

        async def get() -> Answer:
            answer = await session.get(url)
            return answer.status_code, len(answer.content)

        yield get


def work_in_threads(options: argparse.Namespace) -> None:
    from fetch import Run, finish

    run = Run(options)
    with blocking(options) as fetch:

        def work(number: int) -> None:
            while not run.stopping:
                started = time.perf_counter()
                try:
                    run.check(*fetch())
                except Exception as problem:  # any failure ends the run and is reported
                    return run.fail(problem)
                run.done[number].append((started, time.perf_counter()))

        workers = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(options.in_flight)]
        for worker in workers:
            worker.start()
        for nap in run.naps():
            time.sleep(nap)
        finish(run)


async def work_in_tasks(options: argparse.Namespace) -> None:
    from fetch import Run, finish

    run = Run(options)
    async with awaited(options) as fetch:

        async def work(number: int) -> None:
            while not run.stopping:
                started = time.perf_counter()
                try:
                    run.check(*await fetch())
                except Exception as problem:  # any failure ends the run and is reported
                    return run.fail(problem)
                run.done[number].append((started, time.perf_counter()))

        workers = [asyncio.create_task(work(number)) for number in range(options.in_flight)]
        for nap in run.naps():
            await asyncio.wait(workers, timeout=nap)
        finish(run)


def once(options: argparse.Namespace) -> None:
    """From --begun to the first answer, everything imported on the way."""
    with blocking(options) as fetch:
        status, size = fetch()
        taken = (time.monotonic() - options.begun) * 1e3
    if status != 200 or size != options.expect_bytes:
        raise SystemExit(f"status {status}, {size} bytes")
    print(json.dumps({"firstMs": taken}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--through", choices=("postern", "client", "authlib", "bare"), required=True)
    parser.add_argument("--style", choices=("blocking", "asyncio"), default="blocking")
    parser.add_argument("--socket", help="Postern's")
    parser.add_argument("--resource", default="guarded", help="the name Postern knows it by")
    parser.add_argument("--base", help="authlib: what the path is appended to")
    parser.add_argument("--token-endpoint")
    parser.add_argument("--leeway", type=float, default=30.0, help="authlib: seconds before the end of a token")
    parser.add_argument("--path", required=True)
    parser.add_argument("--expect-bytes", type=int, required=True)
    parser.add_argument("--in-flight", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--warm-up", type=float, default=0.5)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--begun", type=float, default=time.monotonic())
    options = parser.parse_args()
    options.library = "authlib" if options.through == "authlib" else "httpx"
    options.stream = False
    if options.once:
        once(options)
    elif options.style == "blocking":
        work_in_threads(options)
    else:
        asyncio.run(work_in_tasks(options))


if __name__ == "__main__":
    main()
