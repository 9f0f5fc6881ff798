"""Events as iterators: bounded, and over reconnections."""

from __future__ import annotations

import json
import threading
from typing import Any, Callable

import pytest
from double import Double, Peer, obliging
from harness import journeys
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually
from loop import in_loop

import postern_auth
from postern_auth import AsyncClient, Client, Limits

AT = "2026-11-22T05:50:50.051Z"


def event(name: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": name, "params": {"at": AT, **params}}


def subscribed(peer: Peer) -> dict[str, Any]:
    message = peer.receive()
    peer.answer(message, {"subscribed": message["params"]["events"]})
    return message


def test_a_session_that_ends_is_told(start: Callable[..., Sidecar], playground: Playground) -> None:
    """With a sidecar of its own: other tests' sessions are renewed behind their backs, which is an event, too."""
    with Client(start().path, timeout=20) as client:
        with client.events("sessionEnded", "event.sessionRefreshed") as events:
            grant = {"type": "sso", "ssoToken": journeys.sign_on(playground)}
            session = client.create_session("am", grant).session
            client.end_session(session)
            found = events.get(timeout=10)
            assert found is not None
            assert found.name == "event.sessionEnded"
            assert found.session == session
            assert found.issuer == "am"
            assert found.at.tzinfo is not None
            assert not found.gap
            assert found.lost == 0
            assert session not in repr(found)
            assert events.get(timeout=0.05) is None, "nothing else was asked for"
        assert client.subscribe(["event.keysRotated"]).subscribed == ["event.keysRotated"], "the others were given up"
        assert client.unsubscribe(["event.keysRotated"]).subscribed == []


def test_a_loop_over_events_ends_when_they_are_closed(client: Client) -> None:
    events = client.events("configReloaded")
    threading.Timer(0.1, events.close).start()
    assert list(events) == []


def test_unknown_events_are_refused(client: Client) -> None:
    with pytest.raises(ValueError, match=r"event\.typo"):
        client.events("typo")
    with pytest.raises(ValueError, match="size"):
        client.events(size=0)


def test_what_nobody_takes_is_dropped_and_counted(double: Double) -> None:
    done = threading.Event()

    def script(peer: Peer) -> None:
        subscribed(peer)
        for number in range(10):
            peer.send(event("event.sessionEnded", session=str(number)))
        peer.send({"method": "event.sessionEnded", "params": {"at": 7}})
        peer.send({"method": "event.sessionEnded"})
        obliging(peer)

    double.scripts = [script]
    with Client(double.path) as client, client.events("sessionEnded", size=3) as events:
        client.call("getInfo")  # behind the events
        done.set()
        first = events.get(5)
        assert first is not None
        assert (first.session, first.lost) == ("7", 7)
        second = events.get(5)
        assert second is not None
        assert (second.session, second.lost) == ("8", 0)


def test_events_go_on_after_a_reconnection(double: Double) -> None:
    heard: list[dict[str, Any]] = []

    def once(peer: Peer) -> None:
        subscribed(peer)
        peer.send(event("event.healthChanged", status="down"))

    def then(peer: Peer) -> None:
        heard.append(subscribed(peer))
        peer.send(event("event.healthChanged", status="ok"))
        obliging(peer)

    double.scripts = [once, then]
    with Client(double.path) as client, client.events("healthChanged") as events:
        first, second = events.get(5), events.get(5)
        assert first is not None
        assert not first.gap
        assert first.params["status"] == "down"
        assert second is not None
        assert second.gap
        assert second.params["status"] == "ok"
    assert heard[0]["params"]["events"] == ["event.healthChanged"]


def test_a_sidecar_that_stays_away_is_told(double: Double) -> None:
    double.scripts = [subscribed]
    with Client(double.path, limits=Limits(reconnect=0.2)) as client, client.events() as events:
        eventually(lambda: client._here.connection is None or not client._here.connection.is_open)
        double.stop()
        for _ in range(2):
            with pytest.raises(postern_auth.ConnectionFailed):
                next(events)


def test_closing_the_client_ends_the_loop(client: Client) -> None:
    events = client.events()
    threading.Timer(0.1, client.close).start()
    with pytest.raises(postern_auth.ClientClosed):
        next(events)


@in_loop
async def test_asynchronous_events(sidecar: Sidecar, playground: Playground) -> None:
    async with AsyncClient(sidecar.path) as client:
        async with await client.events("sessionEnded") as events:
            grant = {"type": "sso", "ssoToken": journeys.sign_on(playground)}
            session = (await client.create_session("am", grant)).session
            await client.end_session(session)
            async for found in events:
                assert found.session == session
                break
            assert await events.get(timeout=0.05) is None
        assert (await client.subscribe(["event.keysRotated"])).subscribed == ["event.keysRotated"]


@in_loop
async def test_asynchronous_events_go_on(double: Double) -> None:
    def once(peer: Peer) -> None:
        subscribed(peer)
        for number in range(5):
            peer.send(event("event.sessionEnded", session=str(number)))

    def then(peer: Peer) -> None:
        subscribed(peer)
        peer.send(event("event.sessionEnded", session="later"))
        obliging(peer)

    double.scripts = [once, then]
    async with AsyncClient(double.path) as client:
        events = await client.events("sessionEnded", size=2)
        found = []
        async for one in events:
            found.append(one)
            if one.session == "later":
                break
        assert found[-1].gap
        assert sum(one.lost for one in found) + len(found) == 6
        await client.aclose()
        with pytest.raises(postern_auth.ClientClosed):
            await events.get(5)


def test_a_sidecar_that_was_restarted(start: Callable[..., Sidecar]) -> None:
    first = start()
    with Client(first.path, limits=Limits(reconnect=10)) as client, client.events("configReloaded") as events:
        first.stop()
        second = start()
        assert client.get_info().pid == second.process.pid
        configuration = json.loads(second.configuration_path.read_text())
        configuration["resources"]["open"]["timeout"] = "9s"
        second.write(configuration)
        client.reload_config()
        found = events.get(10)
        assert found is not None
        assert found.gap
        assert found.params["changed"]
