"""Section 4.1: tasks are seen, held and ended by their owner, and answered exactly once."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any, Callable, List, Tuple

import pytest

from harness import expect
from harness.connection import Connection
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually

Connect = Callable[..., Connection]


def begin(connection: Connection, path: str = "slow?ms=60000", **params: Any) -> Any:
    return connection.request("fetchResource", {"resource": "open", "path": path, "task": "mine", **params})


def state(connection: Connection, task: str = "mine") -> str:
    return connection.call("getTask", {"task": task})["state"]


def test_a_task_is_seen_from_every_connection_of_its_owner(
    connection: Connection, sidecar: Sidecar, connect: Connect, playground: Playground
) -> None:
    begin(connection, method="post", body="x" * 1000)
    other = connect(sidecar)
    # Two connections: the second may ask before the first has begun.
    eventually(lambda: "result" in other.answer_to(other.request("getTask", {"task": "mine"})))
    eventually(lambda: other.call("getTask", {"task": "mine"})["sentBytes"] == 1000)
    task = other.call("getTask", {"task": "mine"})
    assert task["state"] == "running" and task["method"] == "POST" and task["receivedBytes"] == 0
    assert task["url"] == playground.base + "/open/slow?ms=60000"
    assert expect.RFC3339_MILLISECONDS.match(task["startedAt"])
    assert set(task) == {"task", "state", "method", "url", "startedAt", "receivedBytes", "sentBytes"}
    assert [one["task"] for one in other.call("listTasks")["tasks"]] == ["mine"]
    expect.fault(other.error("fetchResource", {"resource": "open", "path": "echo", "task": "mine"}), -32602, "/task")


def test_tasks_are_listed_by_their_state(connection: Connection, sidecar: Sidecar, connect: Connect) -> None:
    for path in ["echo", "echo"]:
        connection.call("fetchResource", {"resource": "open", "path": path})
    begin(connection)
    other = connect(sidecar)
    eventually(lambda: "result" in other.answer_to(other.request("getTask", {"task": "mine"})))

    def listed(**params: Any) -> List[Tuple[str, bool]]:
        tasks = other.call("listTasks", params)["tasks"]
        return [(one["state"], one["task"] == "mine") for one in tasks]

    assert listed() == [("running", True), ("completed", False), ("completed", False)]
    assert listed(state="running") == [("running", True)]
    assert listed(state="completed") == [("completed", False)] * 2
    assert listed(state="cancelled") == listed(state="suspended") == []
    first = other.call("listTasks", {"state": "completed", "limit": 1})
    rest = other.call("listTasks", {"state": "completed", "limit": 1, "cursor": first["nextCursor"]})
    assert first["tasks"] != rest["tasks"] and len(rest["tasks"]) == 1 and "nextCursor" not in rest
    other.call("suspendTask", {"task": "mine"})
    assert listed(state="suspended") == [("suspended", True)] and listed(state="running") == []
    expect.fault(other.error("listTasks", {"state": "ended"}), -32602, "/state")


@pytest.mark.parametrize("seconds", [0.3, 1.0])
def test_meta_timeout_ends_a_paused_fetch_too(connection: Connection, sidecar: Sidecar, connect: Connect, seconds: float) -> None:
    """Catches a bound of the whole call that a task, whose own time stands still, is exempt from."""
    began = time.monotonic()
    identifier = begin(connection, meta={"timeoutMs": int(seconds * 1000)})
    other = connect(sidecar)
    eventually(lambda: "result" in other.answer_to(other.request("suspendTask", {"task": "mine"})))
    expect.fault(connection.answer_to(identifier)["error"], -32022)
    assert seconds <= time.monotonic() - began < seconds + 3
    eventually(lambda: state(other) == "cancelled")
    assert connection.works()


def test_a_cancelled_task_answers_its_call_once(connection: Connection, sidecar: Sidecar, connect: Connect) -> None:
    identifier = begin(connection)
    other = connect(sidecar)
    eventually(lambda: "result" in other.answer_to(other.request("getTask", {"task": "mine"})))
    assert other.call("cancelTask", {"task": "mine"})["state"] == "cancelled"
    expect.fault(connection.answer_to(identifier)["error"], -32800)
    assert other.call("cancelTask", {"task": "mine"})["state"] == "cancelled"
    assert connection.call("resumeTask", {"task": "mine"})["state"] == "cancelled"
    assert connection.works() and connection.others() == []
    # Its name is free again.
    result = connection.call("fetchResource", {"resource": "open", "path": "echo", "task": "mine"})
    assert result["task"] == "mine" and state(connection) == "completed"


def test_cancel_and_completion_race_to_one_answer(connection: Connection, sidecar: Sidecar, connect: Connect) -> None:
    """Whoever wins, the call is answered once and the state says the same as the answer."""
    other = connect(sidecar)
    outcomes = set()
    for number in range(150):
        name = f"race-{number}"
        identifier = connection.request("fetchResource", {"resource": "open", "path": "echo", "task": name})
        if number % 3:
            time.sleep(0.0004 * (number % 7))
        seen = other.answer_to(other.request("cancelTask", {"task": name}))
        answer = connection.answer_to(identifier)
        final = other.answer_to(other.request("getTask", {"task": name}))
        if "error" in seen:
            assert seen["error"]["code"] == 1016 and "result" in answer, "cancelled before it was there"
            continue
        outcomes.add(seen["result"]["state"])
        assert final["result"]["state"] == seen["result"]["state"]
        assert ("error" in answer) == (seen["result"]["state"] == "cancelled"), (answer, seen)
    assert connection.others() == [] and outcomes


def test_time_stands_still_for_a_suspended_task(connection: Connection) -> None:
    identifier = begin(connection, "slow?ms=2500", timeoutMs=3500)
    eventually(lambda: "result" in connection.answer_to(connection.request("getTask", {"task": "mine"})))
    assert connection.call("suspendTask", {"task": "mine"})["state"] == "suspended"
    assert connection.call("suspendTask", {"task": "mine"})["state"] == "suspended"
    time.sleep(4)
    assert state(connection) == "suspended"
    assert connection.call("resumeTask", {"task": "mine"})["state"] == "running"
    assert connection.answer_to(identifier)["result"]["status"] == 200
    assert state(connection) == "completed"


def test_a_suspended_task_moves_no_bytes_and_can_be_cancelled(connection: Connection) -> None:
    identifier = begin(connection, "bytes/50000000", stream=True, timeoutMs=60000)
    connection.receive()
    connection.call("suspendTask", {"task": "mine"})
    before = connection.call("getTask", {"task": "mine"})["receivedBytes"]
    received = lambda: connection.call("getTask", {"task": "mine"})["receivedBytes"]
    eventually(lambda: received() == (time.sleep(0.3), received())[1], what="a stand")
    after = received()
    time.sleep(0.3)
    assert received() == after
    assert after - before <= 1 << 20 and after < 50000000
    connection.call("cancelTask", {"task": "mine"})
    expect.fault(connection.answer_to(identifier)["error"], -32800)


def test_after_resuming_the_timeout_goes_on(connection: Connection) -> None:
    identifier = begin(connection, "slow?ms=60000", timeoutMs=700)
    eventually(lambda: "result" in connection.answer_to(connection.request("getTask", {"task": "mine"})))
    connection.call("suspendTask", {"task": "mine"})
    time.sleep(1)
    connection.call("resumeTask", {"task": "mine"})
    expect.fault(connection.answer_to(identifier)["error"], -32022)


@pytest.mark.parametrize("method", ["getTask", "suspendTask", "resumeTask", "cancelTask"])
def test_unknown_tasks(connection: Connection, method: str) -> None:
    expect.fault(connection.error(method, {"task": "nobody's"}), 1016)


def test_a_lost_connection_ends_its_tasks(sidecar: Sidecar, connect: Connect) -> None:
    first, other = connect(sidecar), connect(sidecar)
    begin(first)
    eventually(lambda: "result" in other.answer_to(other.request("getTask", {"task": "mine"})))
    first.close()
    eventually(lambda: state(other) == "cancelled")


@pytest.mark.skipif(os.getuid() != 0, reason="needs another uid")
def test_another_user_sees_no_task(
    start: Callable[..., Sidecar], connect: Connect
) -> None:
    sidecar = start({"listen": {"mode": "0666"}, "peers": [
        {"uid": 0, "methods": ["*"]}, {"uid": 65534, "methods": ["*"]}]})
    os.chmod(os.path.dirname(sidecar.path), 0o755)
    connection = connect(sidecar)
    begin(connection)
    eventually(lambda: "result" in connection.answer_to(connection.request("getTask", {"task": "mine"})))
    script = (
        "import json,os,socket,sys\nos.setuid(65534)\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n"
        "f=s.makefile('rw')\n"
        "for m in ['getTask','cancelTask','suspendTask']:\n"
        "  f.write(json.dumps({'jsonrpc':'2.0','id':1,'method':m,'params':{'task':'mine'}})+'\\n');f.flush();print(f.readline())\n"
        "f.write(json.dumps({'jsonrpc':'2.0','id':1,'method':'listTasks'})+'\\n');f.flush();print(f.readline())\n")
    run = subprocess.run([sys.executable, "-c", script, sidecar.path], capture_output=True, text=True, timeout=20)
    answers = [json.loads(line) for line in run.stdout.splitlines() if line.strip()]
    assert [answer["error"]["code"] for answer in answers[:3]] == [1016] * 3, run
    assert answers[3]["result"] == {"tasks": []}
    assert state(connection) == "running"


@pytest.mark.thorough
def test_requests_refused_for_their_length_are_not_kept(sidecar: Sidecar, connect: Connect) -> None:
    connection = connect(sidecar)
    connection.error("fetchResource", {"resource": "open", "path": "x" * 8_000_000, "task": "path"})
    connection.error("fetchResource", {"resource": "open", "path": "x", "method": "m" * 8_000_000, "task": "method"})
    before = sidecar.resident_kilobytes()
    for _ in range(12):
        connection.error("fetchResource", {"resource": "open", "path": "x" * 8_000_000})
    eventually(lambda: sidecar.resident_kilobytes() - before < 40_000)
    path, method = connection.call("getTask", {"task": "path"}), connection.call("getTask", {"task": "method"})
    assert path["url"] == "x" * 2048 + "…" and method["method"] == "M" * 32 + "…"
    assert len(connection.call("listTasks")["tasks"]) == 14
