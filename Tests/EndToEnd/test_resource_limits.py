"""`resources.NAME.limits`: so many at a time, a queue in order, and a breaker."""
from __future__ import annotations

import contextlib
import re
import threading
import time
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import expect, settings
from harness.connection import Connection
from harness.issuer import Asked, IssuerDouble, document
from harness.playground import Playground
from harness.sidecar import Sidecar, StartError
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all
from harness.waiting import eventually

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]


class Server:
    """A resource server whose answers to `held?n=0` and so on wait until they are let go, however long a machine
    stands still."""

    def __init__(self, issuer: IssuerDouble) -> None:
        self._issuer = issuer
        self._gates = [threading.Event() for _ in range(6)]
        issuer.answers["/held"] = self._answer
        self.base = issuer.base
        self.resource = {"baseUrl": issuer.base + "/", "auth": "none"}

    @property
    def came(self) -> List[int]:
        """Which requests have come, in their order."""
        return [self._number(asked) for asked in list(self._issuer.asked)]

    def let_go(self, *numbers: int) -> None:
        for number in numbers:
            self._gates[number].set()

    def _answer(self, asked: Asked) -> Any:
        self._gates[self._number(asked)].wait(20)
        return document({})

    @staticmethod
    def _number(asked: Asked) -> int:
        return int(asked.path.partition("=")[2])


@pytest.fixture
def server(issuer: IssuerDouble) -> Server:
    return Server(issuer)


def limited(start: Start, connect: Connect, limits: Dict[str, Any], resource: str = "open", **changes: Any) -> Connection:
    return connect(start({"resources": {resource: {"limits": limits, **changes}}}))


def ask(connection: Connection, path: str, resource: str = "open", **params: Any) -> Any:
    return connection.request("fetchResource", {"resource": resource, "path": path, **params})


def held(connection: Connection, number: int, **params: Any) -> Any:
    return ask(connection, f"held?n={number}", "own", **params)


def sample(connection: Connection, name: str, **labels: str) -> float:
    """One value of the metrics; 0 where there is none."""
    for line in connection.call("metrics")["text"].splitlines():
        match = re.fullmatch(name + r"(?:\{(.*)\})? (\S+)", line)
        if match and dict(re.findall(r'(\w+)="([^"]*)"', match[1] or "")).items() >= labels.items():
            return float(match[2])
    return 0


def test_so_many_at_a_time_and_the_others_in_order(start: Start, connect: Connect, server: Server) -> None:
    connection = limited(start, connect, {"concurrency": 2}, "own", **server.resource)
    began = time.monotonic()
    identifiers = [held(connection, number) for number in range(6)]
    eventually(lambda: sample(connection, "postern_resource_waiting", resource="own") == 4)
    eventually(lambda: sorted(server.came) == [0, 1])
    # The first two have not waited for longer than it took until they were there.
    at_once = (time.monotonic() - began) * 1000
    assert sample(connection, "postern_resource_in_flight", resource="own", origin=server.base) == 2
    waits: List[int] = []
    for first in 0, 2, 4:
        there = list(range(first + 2))
        eventually(lambda: sorted(server.came) == there, what=f"the requests {there}, and no other")
        time.sleep(0.2)
        server.let_go(first, first + 1)
        for identifier in identifiers[first:first + 2]:
            result = connection.answer_to(identifier)["result"]
            assert result["status"] == 200 and result["timing"]["totalMs"] >= result["timing"]["queueMs"]
            waits.append(result["timing"]["queueMs"])
    assert all(wait <= at_once for wait in waits[:2])
    assert all(wait >= 200 for wait in waits[2:]) and all(wait >= 400 for wait in waits[4:])
    assert sample(connection, "postern_resource_in_flight", resource="own") == 0


def test_more_than_the_queue_holds_is_overloaded(start: Start, connect: Connect, server: Server) -> None:
    connection = limited(start, connect, {"concurrency": 1, "queue": 1}, "own", **server.resource)
    slow = held(connection, 0)
    eventually(lambda: server.came == [0])
    queued = held(connection, 1)
    eventually(lambda: sample(connection, "postern_resource_waiting", resource="own") == 1)
    error = connection.error("fetchResource", {"resource": "own", "path": "held?n=2", "method": "POST"})
    data = expect.fault(error, -32009)
    assert data["outcome"] == "not_sent" and data["retryable"] is True and data["retryAfterMs"] == 1000
    server.let_go(0, 1)
    assert connection.answer_to(slow)["result"]["status"] == connection.answer_to(queued)["result"]["status"] == 200
    assert server.came == [0, 1]
    assert sample(connection, "postern_resource_refused_total", resource="own", reason="overloaded") == 1
    # Other resources have no part in it.
    assert connection.call("fetchResource", {"resource": "orders", "path": "orders"})["status"] == 200


def test_whoever_waits_can_be_cancelled_and_runs_out_of_time(start: Start, connect: Connect, server: Server) -> None:
    connection = limited(start, connect, {"concurrency": 1}, "own", **server.resource)
    slow = held(connection, 0)
    eventually(lambda: server.came == [0])
    cancelled, last = held(connection, 3, task="mine"), held(connection, 4)

    def runs_out(number: int, **bound: Any) -> bool:
        """Where the machine stands still, the end that every call has may come first: it cannot say how far the call
        got."""
        data = expect.fault(connection.answer_to(held(connection, number, **bound))["error"], -32022)
        return data.get("outcome") == "not_sent"

    eventually(lambda: runs_out(1, timeoutMs=100))
    eventually(lambda: runs_out(2, meta={"timeoutMs": 100}))
    eventually(lambda: sample(connection, "postern_resource_waiting", resource="own") == 2)
    assert connection.call("cancelTask", {"task": "mine"})["state"] == "cancelled"
    expect.fault(connection.answer_to(cancelled)["error"], -32800)
    server.let_go(0, 4)
    assert connection.answer_to(slow)["result"]["status"] == 200
    assert connection.answer_to(last)["result"]["status"] == 200
    assert server.came == [0, 4]
    assert sample(connection, "postern_resource_waiting", resource="own") == 0


def test_a_suspended_task_lets_those_behind_it_go(start: Start, connect: Connect, server: Server) -> None:
    connection = limited(start, connect, {"concurrency": 1}, "own", **server.resource)
    slow = held(connection, 0)
    eventually(lambda: server.came == [0])
    mine = held(connection, 1, task="mine", timeoutMs=3000)
    eventually(lambda: sample(connection, "postern_resource_waiting", resource="own") == 1)
    behind = held(connection, 2)
    eventually(lambda: sample(connection, "postern_resource_waiting", resource="own") == 2)
    assert connection.call("suspendTask", {"task": "mine"})["state"] == "suspended"
    server.let_go(0, 1, 2)
    assert connection.answer_to(slow)["result"]["status"] == 200
    assert connection.answer_to(behind)["result"]["status"] == 200
    # Longer than it has altogether: its time stands still.
    time.sleep(3.1)
    assert connection.call("resumeTask", {"task": "mine"})["state"] == "running"
    assert connection.answer_to(mine)["result"]["status"] == 200
    assert server.came == [0, 2, 1]


def broken(playground: Playground) -> Dict[str, Any]:
    return {"baseUrl": playground.misbehaving + "/", "auth": "none", "timeout": "5s"}


def test_an_origin_that_fails_again_and_again_is_left_alone(
    start: Start, connect: Connect, playground: Playground
) -> None:
    # As long as the first one is open nobody need hurry; what comes afterwards the second one shows.
    resources = {
        name: {**broken(playground), "limits": {"breaker": {"failures": 3, "openFor": open_for}}}
        for name, open_for in [("broken", "1m"), ("soon", "700ms")]
    }
    connection = connect(start({"resources": resources}))
    params = {"resource": "broken", "path": "close", "method": "POST"}
    for _ in range(3):
        assert expect.fault(connection.error("fetchResource", params), 1009)["outcome"] == "sent_no_reply"
    assert sample(connection, "postern_resource_breaker_state", resource="broken", origin=playground.misbehaving) == 2
    for _ in range(5):
        data = expect.fault(connection.error("fetchResource", params), 1009)
        assert data["outcome"] == "not_sent" and data["retryable"] is True and 0 < data["retryAfterMs"] <= 60_000
    assert playground.statistics()["misbehavingRequests"] == 3
    assert sample(connection, "postern_resource_refused_total", resource="broken", reason="breaker_open") == 5

    def outcome() -> str:
        return expect.fault(connection.error("fetchResource", {**params, "resource": "soon"}), 1009)["outcome"]

    assert [outcome() for _ in range(3)] == ["sent_no_reply"] * 3
    # One goes to see, and finds it no better; a later one finds it mended.
    eventually(lambda: outcome() == "sent_no_reply" and outcome() == "not_sent", what="one that goes alone")
    mended = {**params, "resource": "soon", "path": "ok"}
    eventually(lambda: "result" in connection.answer_to(connection.request("fetchResource", mended)), what="an answer")
    for _ in range(3):
        assert connection.call("fetchResource", mended)["status"] == 200
    assert sample(connection, "postern_resource_breaker_state", resource="soon") == 0
    assert connection.call("fetchResource", {"resource": "open", "path": "echo"})["status"] == 200


@pytest.mark.parametrize(
    "path, opens",
    [
        ("status?status=502", True), ("status?status=503&retryAfter=1", True), ("status?status=504", True), ("closeBody", True),
        ("garbage", True), ("status?status=500", False), ("status?status=429", False), ("status?status=404", False),
        ("bomb", False),
    ],
)
def test_what_counts_as_a_failure(
    start: Start, connect: Connect, playground: Playground, path: str, opens: bool
) -> None:
    limits = {"breaker": {"failures": 1, "openFor": "1m"}}
    connection = limited(start, connect, limits, "broken", maxBodyBytes="1MiB", **broken(playground))
    for _ in range(2):
        connection.answer_to(ask(connection, path, "broken"))
    assert playground.statistics()["misbehavingRequests"] == (1 if opens else 2)


def test_callers_in_a_hurry_open_nothing(start: Start, connect: Connect, playground: Playground) -> None:
    limits = {"breaker": {"failures": 1, "openFor": "1m"}}
    connection = limited(start, connect, limits, "broken", **broken(playground))

    def is_sent() -> bool:
        """Whether there was time enough to send it."""
        answer = connection.answer_to(ask(connection, "stall", "broken", timeoutMs=100))
        return expect.fault(answer["error"], -32022)["outcome"] == "sent_no_reply"

    eventually(is_sent)
    before = eventually(lambda: playground.statistics()["misbehavingRequests"])
    cancelled = ask(connection, "stall", "broken", task="mine")
    eventually(lambda: playground.statistics()["misbehavingRequests"] > before)
    connection.call("cancelTask", {"task": "mine"})
    expect.fault(connection.answer_to(cancelled)["error"], -32800)
    assert connection.answer_to(ask(connection, "ok", "broken"))["result"]["status"] == 200


def test_a_server_that_stalls_for_the_resources_own_timeout_is_left_alone(
    start: Start, connect: Connect, playground: Playground
) -> None:
    limits = {"breaker": {"failures": 1, "openFor": "1m"}}
    connection = limited(start, connect, limits, "broken", **{**broken(playground), "timeout": "300ms"})

    def is_left_alone() -> bool:
        """Where the machine stands still the server may not have had half of the time: then once more."""
        expect.fault(connection.answer_to(ask(connection, "stall", "broken"))["error"], -32022)
        answer = connection.answer_to(ask(connection, "ok", "broken"))
        return "error" in answer and bool(expect.fault(answer["error"], 1009))

    eventually(is_left_alone, what="the open breaker")


def test_many_callers_at_once_stay_within_the_bound(start: Start, connect: Connect, playground: Playground) -> None:
    connection = limited(start, connect, {"concurrency": 3, "queue": 200})
    identifiers = [ask(connection, f"echo/{number}", timeoutMs=9000) for number in range(120)]
    for identifier in identifiers:
        assert connection.answer_to(identifier)["result"]["status"] == 200
    # One of them is this question's, one each the reset's before the test.
    assert playground.statistics()["connections"] <= 3 + 7


@contextlib.contextmanager
def both(start: Start, resources: Dict[str, Any]) -> Iterator[Any]:
    """Two users' connections to a sidecar with these resources."""
    sidecar = start({**BOTH, "resources": resources})
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        yield alice, bob


@needs_root
def test_slots_of_one_user_keep_no_other_away(start: Start, server: Server) -> None:
    """Suspended tasks and slow requests would have all places for ever."""
    own = {**server.resource, "timeout": "4s", "limits": {"concurrency": 2, "queue": 1}}
    with both(start, {"own": own}) as (alice, bob):
        for number, task in enumerate(["suspended", "slow"]):
            held(alice, number, task=task, timeoutMs=60_000)
        eventually(lambda: sorted(server.came) == [0, 1])
        alice.call("suspendTask", {"task": "suspended"})
        held(alice, 3, timeoutMs=60_000)
        eventually(lambda: sample(alice, "postern_resource_waiting", resource="own") == 1)
        server.let_go(2)
        # Until the two have had their time the queue is full; then he goes without waiting.
        eventually(lambda: "result" in bob.answer_to(held(bob, 2)), what="the other user's answer")
        assert "result" in bob.answer_to(held(bob, 2))
        assert sorted(set(server.came)) == [0, 1, 2], "more of the first user's than the bound allows"


@needs_root
def test_who_waits_for_others_places_goes_in_half_of_the_time(start: Start, server: Server) -> None:
    """A wait for as long as the request may take would end with the request."""
    own = {**server.resource, "timeout": "4s", "limits": {"concurrency": 1}}
    with both(start, {"own": own}) as (alice, bob):
        held(alice, 0, timeoutMs=60_000)
        eventually(lambda: server.came == [0])
        server.let_go(2)
        answer = bob.answer_to(held(bob, 2, timeoutMs=20_000))["result"]
        assert answer["status"] == 200 and answer["timing"]["queueMs"] < 4000


@needs_root
def test_one_user_alone_has_the_queue_and_shares_it(start: Start, server: Server) -> None:
    """One that fills the queue would have all others refused."""
    own = {**server.resource, "timeout": "60s", "limits": {"concurrency": 1, "queue": 4}}
    with both(start, {"own": own}) as (alice, bob):
        held(alice, 0)
        eventually(lambda: server.came == [0])
        waiting = []
        for number in range(1, 5):
            waiting.append(held(alice, number))
            eventually(lambda: sample(alice, "postern_resource_waiting", resource="own") == number)
        mine = held(bob, 5)
        data = expect.fault(alice.answer_to(waiting.pop())["error"], -32009)
        assert data["outcome"] == "not_sent" and data["retryable"] is True and data["retryAfterMs"] == 1000
        server.let_go(*range(6))
        assert bob.answer_to(mine)["result"]["status"] == 200
        for identifier in waiting:
            assert alice.answer_to(identifier)["result"]["status"] == 200
        assert server.came[:3] == [0, 1, 5] and 4 not in server.came, "not by turns"


@needs_root
def test_failures_of_one_user_keep_no_other_away(start: Start, playground: Playground) -> None:
    """Who asks for what always fails would have the server taken from all others."""
    limits = {"breaker": {"failures": 3, "openFor": "1m"}}
    with both(start, {"broken": {**broken(playground), "limits": limits}}) as (alice, bob):
        for _ in range(3):
            assert alice.answer_to(ask(alice, "status?status=503", "broken"))["result"]["status"] == 503
        assert expect.fault(alice.answer_to(ask(alice, "ok", "broken"))["error"], 1009)["outcome"] == "not_sent"
        assert bob.answer_to(ask(bob, "ok", "broken"))["result"]["status"] == 200
        assert sample(bob, "postern_resource_breaker_state", resource="broken") == 2
        expect.fault(alice.answer_to(ask(alice, "ok", "broken"))["error"], 1009)


def test_limits_follow_a_reload(
    start: Start, connect: Connect, configuration: Dict[str, Any], server: Server
) -> None:
    sidecar = start({"resources": {"own": {**server.resource, "limits": {"concurrency": 1, "queue": 0}}}})
    connection = connect(sidecar)
    slow = held(connection, 0)
    eventually(lambda: sample(connection, "postern_resource_in_flight", resource="own") == 1)
    expect.fault(connection.answer_to(held(connection, 1))["error"], -32009)
    sidecar.write(settings.changed(configuration, {"resources": {"own": server.resource}}))
    assert connection.call("reloadConfig")["changed"] == ["resources"]
    server.let_go(1)
    assert connection.answer_to(held(connection, 1))["result"]["status"] == 200
    assert "postern_resource_in_flight{" not in connection.call("metrics")["text"]
    server.let_go(0)
    assert connection.answer_to(slow)["result"]["status"] == 200


@pytest.mark.parametrize(
    "limits, problem",
    [
        ({"concurrency": 0}, "limits.concurrency"), ({"queue": -1}, "limits.queue"), ({"breaker": {"failures": 0}}, "failures"),
        ({"breaker": {"openFor": "1ms"}}, "openFor"), ({"breaker": {"openfor": "1s"}}, "did you mean openFor"),
        ({"concurency": 1}, "did you mean concurrency"),
    ],
)
def test_limits_that_make_no_sense_are_refused(start: Start, limits: Dict[str, Any], problem: str) -> None:
    with pytest.raises(StartError) as refused:
        start({"resources": {"open": {"limits": limits}}})
    assert problem in refused.value.log
