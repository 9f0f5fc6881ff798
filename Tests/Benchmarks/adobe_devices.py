"""Devices that log in, come back, play and log out through one sidecar, and the least requests that this takes.

The minimum is that of Adobe's flows and checklist, by the numbers of the playground's README:

- Registration and access token: one each for all devices, since both are kept in the store; none after a restart.
- E1: one in two minutes for all devices with the same `X-Device-Info`, since it depends on nothing else.
- First login with a second screen: one E2; E8 at once and then once in a poll interval, up to the first one after the
  user has logged in, so a login within the first interval takes two; one E9 for five resources; one E10.
- Return: one E7, because the store has the MVPD (no E1, E2 or E6); one E9, because permits are in memory only and
  the sidecar has been restarted; one E10.
- Next title: no E9, because the permits are in memory; one E10, because no media token is kept.
- Beyond the rate: one E10 for each call. What the sidecar sends too early for the server's throttle is sent once more.
- Logout: one E11.

E5 is the navigation of the user's browser. It is no request of the sidecar's and does not count.
"""
from __future__ import annotations

import asyncio
import collections
import http.client
import json
import math
import pathlib
import time
import urllib.parse
from collections.abc import Awaitable, Callable

from processes import Failed

PROVIDER, MVPD, DOMAIN, REDIRECT = "pass", "Cablevision", "example.com", "http://127.0.0.1:8765/callback"
CATALOGUE = [f"channel-{number}" for number in range(5)]
# Seconds: the sidecar's least distance of two polls, how long a configuration is kept, and when the user logs in.
POLL_INTERVAL, CONFIGURATION_LIFE, LOGIN_AFTER = 5.0, 120.0, 2.0
# How many devices begin in a second, so that there is a queue of neither the sidecar nor the double.
BEGINNING_PER_SECOND = 50
CONNECTIONS = 16
# Calls of one device, of which the throttle accepts ten.
AT_ONCE = 12


def device(number: int) -> dict:
    """A device with its own id and, as Adobe counts requests by it, its own address (of RFC 2544's range)."""
    return {"id": f"device-{number:05}", "address": f"198.18.{number // 250}.{number % 250 + 1}"}


def polls(seconds: float) -> int:
    """The least number of E8 for a code whose user logs in so long after the first one."""
    return 1 + math.ceil(max(0.0, seconds) / POLL_INTERVAL)


def log_in(url: str) -> None:
    """What the browser of the second screen does with a session's `url`."""
    parts = urllib.parse.urlsplit(url)
    browser = http.client.HTTPConnection(parts.netloc, timeout=30)
    try:
        browser.request("GET", parts.path)
        page = browser.getresponse()
        page.read()
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(page.headers.get("Location", "")).query)
        if page.status != 302 or "session" not in query:
            raise Failed(f"the double shows no login page: status {page.status}")
        form = {"session": query["session"][0], "username": "alice", "password": "alice-password"}
        fields = {"Content-Type": "application/x-www-form-urlencoded"}
        browser.request("POST", "/adobe/mvpd/login", urllib.parse.urlencode(form), fields)
        end = browser.getresponse()
        end.read()
        if end.status != 303:
            raise Failed(f"the login at the double failed: status {end.status}")
    finally:
        browser.close()


class Callers:
    """Connections to a sidecar, shared by all devices."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._writers: list[asyncio.StreamWriter] = []
        self._readers: list[asyncio.Task] = []
        self._waiting: dict[int, asyncio.Future] = {}
        self._last = 0

    async def __aenter__(self) -> Callers:
        for _ in range(CONNECTIONS):
            reader, writer = await asyncio.open_unix_connection(str(self._path), limit=1 << 22)
            self._writers.append(writer)
            self._readers.append(asyncio.create_task(self._read(reader)))
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._readers:
            task.cancel()
        for writer in self._writers:
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            message = json.loads(line)
            self._waiting.pop(message["id"]).set_result(message)
        for future in self._waiting.values():
            future.cancel()

    async def call(self, method: str, **params: object) -> dict:
        """The result of a call."""
        self._last += 1
        identifier = self._last
        future = self._waiting[identifier] = asyncio.get_running_loop().create_future()
        message = {"jsonrpc": "2.0", "id": identifier, "method": method, "params": {"provider": PROVIDER, **params}}
        self._writers[identifier % CONNECTIONS].write(json.dumps(message).encode() + b"\n")
        answer = await future
        if "result" not in answer:
            raise Failed(f"{method}: {json.dumps(answer)[:500]}")
        return answer["result"]


Requests = collections.Counter
Journey = Callable[[Callers, dict], Awaitable[Requests]]


def _expect(holds: bool, method: str, result: dict) -> None:
    if not holds:
        raise Failed(f"{method}: {json.dumps(result)[:500]}")


async def _watch(callers: Callers, own: dict, source: str) -> None:
    """The catalogue, and one title of it."""
    result = await callers.call("preauthorize", resources=CATALOGUE, context={"pass": {"device": own}})
    found = {(one["authorized"], one["source"]) for one in result["decisions"]}
    _expect(found == {(True, source)}, "preauthorize", result)
    result = await callers.call("pass.authorize", device=own, resources=CATALOGUE[:1])
    _expect(bool(result["decisions"][0].get("token", {}).get("serializedToken")), "pass.authorize", result)


async def first_login(callers: Callers, own: dict) -> Requests:
    """The picker, a code that a second screen completes, the catalogue, a title."""
    await callers.call("pass.getConfiguration", device=own)
    parameters = {"mvpd": MVPD, "domainName": DOMAIN, "redirectUrl": REDIRECT}
    session = await callers.call("pass.createSession", device=own, **parameters)
    _expect(session["actionName"] == "authenticate", "pass.createSession", session)
    begin = time.monotonic()
    waiting = asyncio.create_task(callers.call("pass.listProfiles", device=own, code=session["code"], waitMs=120_000))
    await asyncio.sleep(LOGIN_AFTER)
    await asyncio.to_thread(log_in, session["url"])
    seconds = time.monotonic() - begin
    profiles = await waiting
    _expect(profiles["state"] == "authenticated", "pass.listProfiles", profiles)
    await _watch(callers, own, "backend")
    return Requests(E2=1, E8=polls(seconds), E9=1, E10=1)


async def come_back(callers: Callers, own: dict) -> Requests:
    """The program starts again: who is logged in, the catalogue, a title."""
    profiles = await callers.call("pass.listProfiles", device=own)
    _expect(profiles.get("selected") == MVPD, "pass.listProfiles", profiles)
    await _watch(callers, own, "backend")
    return Requests(E7=1, E9=1, E10=1)


async def next_title(callers: Callers, own: dict) -> Requests:
    """The same catalogue and another playback."""
    await _watch(callers, own, "local")
    return Requests(E10=1)


async def beyond_the_rate(callers: Callers, own: dict) -> Requests:
    """More playbacks at once than the server accepts at once: the last ones wait."""
    calls = (callers.call("pass.authorize", device=own, resources=CATALOGUE[:1]) for _ in range(AT_ONCE))
    for result in await asyncio.gather(*calls):
        _expect(bool(result["decisions"][0].get("token")), "pass.authorize", result)
    return Requests(E10=AT_ONCE)


async def log_out(callers: Callers, own: dict) -> Requests:
    """The user's wish."""
    result = await callers.call("pass.logout", device=own, redirectUrl=REDIRECT)
    _expect(result["upstream"] == "ended" and result["forgotten"] == [MVPD], "pass.logout", result)
    return Requests(E11=1)


def run(journey: Journey, path: pathlib.Path, devices: int) -> tuple[Requests, float]:
    """All devices on a journey: the least requests of all, and the seconds that it took."""

    async def one(callers: Callers, number: int) -> Requests:
        await asyncio.sleep(number / BEGINNING_PER_SECOND)
        return await journey(callers, device(number))

    async def every() -> Requests:
        async with Callers(path) as callers:
            return sum(await asyncio.gather(*(one(callers, number) for number in range(devices))), Requests())

    begin = time.monotonic()
    minimum = asyncio.run(every())
    seconds = time.monotonic() - begin
    if journey is first_login:
        minimum += Requests(register=1, token=1, E1=1 + int(seconds / CONFIGURATION_LIFE))
    return minimum, seconds
