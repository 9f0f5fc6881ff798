"""`resources.NAME.limits`: so many at a time, a queue in order, and a breaker."""
from __future__ import annotations

import re
import time
from typing import Any, Callable, Dict, List

import pytest

from harness import expect
from harness.connection import Connection
from harness.playground import Playground
from harness.sidecar import Sidecar, StartError
from harness.waiting import eventually

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]


def limited(start: Start, connect: Connect, limits: Dict[str, Any], resource: str = "open", **changes: Any) -> Connection:
    return connect(start({"resources": {resource: {"limits": limits, **changes}}}))


def ask(connection: Connection, path: str, resource: str = "open", **params: Any) -> Any:
    return connection.request("fetchResource", {"resource": resource, "path": path, **params})


def sample(connection: Connection, name: str, **labels: str) -> float:
    """One value of the metrics; 0 where there is none."""
    for line in connection.call("metrics")["text"].splitlines():
        match = re.fullmatch(name + r"(?:\{(.*)\})? (\S+)", line)
        if match and dict(re.findall(r'(\w+)="([^"]*)"', match[1] or "")).items() >= labels.items():
            return float(match[2])
    return 0


def test_so_many_at_a_time_and_the_others_in_order(start: Start, connect: Connect, playground: Playground) -> None:
    connection = limited(start, connect, {"concurrency": 2})
    identifiers = [ask(connection, "slow?ms=150") for _ in range(6)]
    eventually(lambda: sample(connection, "postern_resource_waiting", resource="open") == 4)
    assert sample(connection, "postern_resource_in_flight", resource="open", origin=playground.base) == 2
    waits: List[int] = []
    for identifier in identifiers:
        result = connection.answer_to(identifier)["result"]
        assert result["status"] == 200 and result["timing"]["totalMs"] >= result["timing"]["queueMs"]
        waits.append(result["timing"]["queueMs"])
    assert waits[0] < 100 and waits[1] < 100
    assert all(wait > 100 for wait in waits[2:]) and all(wait > 250 for wait in waits[4:])
    assert sample(connection, "postern_resource_in_flight", resource="open") == 0


def test_more_than_the_queue_holds_is_overloaded(start: Start, connect: Connect, playground: Playground) -> None:
    connection = limited(start, connect, {"concurrency": 1, "queue": 1})
    slow = ask(connection, "slow?ms=400")
    eventually(lambda: playground.statistics()["openRequests"] == 1)
    queued = ask(connection, "echo")
    eventually(lambda: sample(connection, "postern_resource_waiting", resource="open") == 1)
    error = connection.error("fetchResource", {"resource": "open", "path": "echo", "method": "POST"})
    data = expect.fault(error, -32009)
    assert data["outcome"] == "not_sent" and data["retryable"] is True and data["retryAfterMs"] == 1000
    assert connection.answer_to(slow)["result"]["status"] == connection.answer_to(queued)["result"]["status"] == 200
    assert playground.statistics()["openRequests"] == 2
    assert sample(connection, "postern_resource_refused_total", resource="open", reason="overloaded") == 1
    # Other resources have no part in it.
    assert connection.call("fetchResource", {"resource": "orders", "path": "orders"})["status"] == 200


def test_whoever_waits_can_be_cancelled_and_runs_out_of_time(start: Start, connect: Connect, playground: Playground) -> None:
    connection = limited(start, connect, {"concurrency": 1})
    slow = ask(connection, "slow?ms=1500")
    eventually(lambda: playground.statistics()["openRequests"] == 1)
    hurried = [ask(connection, "echo", timeoutMs=100), ask(connection, "echo", meta={"timeoutMs": 100})]
    cancelled, last = ask(connection, "echo", task="mine"), ask(connection, "echo")
    for identifier in hurried:
        assert expect.fault(connection.answer_to(identifier)["error"], -32022)["outcome"] == "not_sent"
    eventually(lambda: sample(connection, "postern_resource_waiting", resource="open") == 2)
    assert connection.call("cancelTask", {"task": "mine"})["state"] == "cancelled"
    expect.fault(connection.answer_to(cancelled)["error"], -32800)
    assert connection.answer_to(slow)["result"]["status"] == 200
    assert connection.answer_to(last)["result"]["status"] == 200
    assert playground.statistics()["openRequests"] == 2
    assert sample(connection, "postern_resource_waiting", resource="open") == 0


def test_a_suspended_task_lets_those_behind_it_go(start: Start, connect: Connect, playground: Playground) -> None:
    connection = limited(start, connect, {"concurrency": 1})
    slow = ask(connection, "slow?ms=1000")
    eventually(lambda: playground.statistics()["openRequests"] == 1)
    mine = ask(connection, "echo", task="mine", timeoutMs=2000)
    eventually(lambda: sample(connection, "postern_resource_waiting", resource="open") == 1)
    behind = ask(connection, "echo")
    eventually(lambda: sample(connection, "postern_resource_waiting", resource="open") == 2)
    assert connection.call("suspendTask", {"task": "mine"})["state"] == "suspended"
    assert connection.answer_to(slow)["result"]["status"] == 200
    assert connection.answer_to(behind)["result"]["status"] == 200
    time.sleep(1.5)
    # Its time has stood still.
    assert connection.call("resumeTask", {"task": "mine"})["state"] == "running"
    assert connection.answer_to(mine)["result"]["status"] == 200


def broken(playground: Playground) -> Dict[str, Any]:
    return {"baseUrl": playground.misbehaving + "/", "auth": "none", "timeout": "5s"}


def test_an_origin_that_fails_again_and_again_is_left_alone(
    start: Start, connect: Connect, playground: Playground
) -> None:
    limits = {"breaker": {"failures": 3, "openFor": "700ms"}}
    connection = limited(start, connect, limits, "broken", **broken(playground))
    params = {"resource": "broken", "path": "close", "method": "POST"}
    for _ in range(3):
        assert expect.fault(connection.error("fetchResource", params), 1009)["outcome"] == "sent_no_reply"
    assert sample(connection, "postern_resource_breaker_state", resource="broken", origin=playground.misbehaving) == 2
    for _ in range(5):
        data = expect.fault(connection.error("fetchResource", params), 1009)
        assert data["outcome"] == "not_sent" and data["retryable"] is True and 0 < data["retryAfterMs"] <= 700
    assert playground.statistics()["misbehavingRequests"] == 3
    assert sample(connection, "postern_resource_refused_total", resource="broken", reason="breaker_open") == 5
    # One goes to see, and finds it no better; the next one finds it mended.
    time.sleep(0.75)
    assert expect.fault(connection.error("fetchResource", params), 1009)["outcome"] == "sent_no_reply"
    assert expect.fault(connection.error("fetchResource", params), 1009)["outcome"] == "not_sent"
    time.sleep(0.75)
    for _ in range(3):
        assert connection.call("fetchResource", {**params, "path": "ok"})["status"] == 200
    assert sample(connection, "postern_resource_breaker_state", resource="broken") == 0
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
    expect.fault(connection.answer_to(ask(connection, "stall", "broken", timeoutMs=100))["error"], -32022)
    cancelled = ask(connection, "stall", "broken", task="mine")
    eventually(lambda: playground.statistics()["misbehavingRequests"] == 2)
    connection.call("cancelTask", {"task": "mine"})
    expect.fault(connection.answer_to(cancelled)["error"], -32800)
    assert connection.answer_to(ask(connection, "ok", "broken"))["result"]["status"] == 200


def test_a_server_that_stalls_for_the_resources_own_timeout_is_left_alone(
    start: Start, connect: Connect, playground: Playground
) -> None:
    limits = {"breaker": {"failures": 1, "openFor": "1m"}}
    connection = limited(start, connect, limits, "broken", **{**broken(playground), "timeout": "300ms"})
    expect.fault(connection.answer_to(ask(connection, "stall", "broken"))["error"], -32022)
    expect.fault(connection.answer_to(ask(connection, "ok", "broken"))["error"], 1009)


def test_many_callers_at_once_stay_within_the_bound(start: Start, connect: Connect, playground: Playground) -> None:
    connection = limited(start, connect, {"concurrency": 3, "queue": 200})
    identifiers = [ask(connection, f"echo/{number}", timeoutMs=9000) for number in range(120)]
    for identifier in identifiers:
        assert connection.answer_to(identifier)["result"]["status"] == 200
    # One of them is this question's, one each the reset's before the test.
    assert playground.statistics()["connections"] <= 3 + 7


def test_limits_follow_a_reload(start: Start, connect: Connect, configuration: Dict[str, Any]) -> None:
    sidecar = start({"resources": {"open": {"limits": {"concurrency": 1, "queue": 0}}}})
    connection = connect(sidecar)
    slow = ask(connection, "slow?ms=1000")
    eventually(lambda: sample(connection, "postern_resource_in_flight", resource="open") == 1)
    expect.fault(connection.answer_to(ask(connection, "echo"))["error"], -32009)
    sidecar.write(configuration)
    assert connection.call("reloadConfig")["changed"] == ["resources"]
    assert connection.answer_to(ask(connection, "echo"))["result"]["status"] == 200
    assert "postern_resource_in_flight{" not in connection.call("metrics")["text"]
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
