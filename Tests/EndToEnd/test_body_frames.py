"""Streamed bodies in frames (`bodyAs: "frames"`): bytes as they are between JSON messages of the same connection."""
from __future__ import annotations

import json
import os
import time
from typing import Any, Callable, Dict, List, Tuple

import pytest

from harness import expect
from harness.connection import Connection
from harness.echo import EchoServer, pattern
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all

Start = Callable[..., Sidecar]
STREAM = {"resource": "echo", "stream": True, "bodyAs": "frames"}


@pytest.fixture
def sidecar(start: Start, echo: EchoServer) -> Sidecar:
    return start({**BOTH, "resources": {"echo": {"baseUrl": echo.base, "auth": "none"}}})


def receive(connection: Connection) -> Tuple[Dict[str, str], bytes]:
    """The next frame's fields by lower-case name, and its bytes."""
    block = connection._until(b"\r\n\r\n")
    fields = {}
    for line in block.split(b"\r\n"):
        name, _, value = line.partition(b":")
        fields[name.decode().strip().lower()] = value.decode().strip()
    while len(connection._received) < int(fields["content-length"]):
        connection._fill()
    length = int(fields["content-length"])
    data, connection._received = connection._received[:length], connection._received[length:]
    return fields, data


def collect(connection: Connection, count: int) -> Tuple[Dict[str, bytes], Dict[Any, Any], List[Any]]:
    """Bodies by task, responses by id, and the other messages, until there are `count` responses."""
    bodies: Dict[str, bytes] = {}
    answers: Dict[Any, Any] = {}
    others: List[Any] = []
    while len(answers) < count:
        fields, data = receive(connection)
        if "postern-task" in fields:
            assert fields["content-type"] == "application/octet-stream" and data
            bodies[fields["postern-task"]] = bodies.get(fields["postern-task"], b"") + data
            continue
        message = json.loads(data)
        if "id" in message:
            answers[message["id"]] = message
        else:
            others.append(message)
    return bodies, answers, others


@pytest.mark.parametrize("size", [0, 1, 49_152, 3_000_000])
def test_a_body_comes_in_frames(sidecar: Sidecar, size: int) -> None:
    with sidecar.connect("headers") as connection:
        connection.request("fetchResource", {**STREAM, "path": f"pattern/{size}", "task": "mine"}, 1)
        bodies, answers, others = collect(connection, 1)
        assert bodies.get("mine", b"") == pattern(size) and not others
        assert answers[1]["result"]["status"] == 200 and "body" not in answers[1]["result"]
        assert connection.works()


def test_the_head_comes_before_the_frames(sidecar: Sidecar) -> None:
    with sidecar.connect("headers") as connection:
        connection.request("fetchResource", {**STREAM, "path": "pattern/100", "streamHead": True, "task": "t"}, 1)
        fields, data = receive(connection)
        assert "postern-task" not in fields and json.loads(data)["method"] == "fetchResource.head"
        assert receive(connection) == (
            {"content-length": "100", "content-type": "application/octet-stream", "postern-task": "t"}, pattern(100))
        assert json.loads(receive(connection)[1])["id"] == 1


def test_many_streams_of_one_connection_do_not_mix(sidecar: Sidecar) -> None:
    """Each frame names its task; other calls are answered between them."""
    with sidecar.connect("headers", timeout=30) as connection:
        for number in range(20):
            params = {**STREAM, "path": f"pattern/{100_000 + number}-{number}", "task": f"t{number}"}
            connection.request("fetchResource", params, number)
            connection.request("getInfo", {}, f"info-{number}")
        bodies, answers, _ = collect(connection, 40)
        assert all("result" in answer for answer in answers.values())
        for number in range(20):
            assert bodies[f"t{number}"] == pattern(100_000 + number, number)


@needs_root
def test_two_users_streams_do_not_mix(sidecar: Sidecar) -> None:
    """With the same name for their tasks."""
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar, "headers") as alice, connect_as(BOB, sidecar, "headers") as bob:
        for user, seed in ((alice, 1), (bob, 2)):
            user.request("fetchResource", {**STREAM, "path": f"pattern/1000000-{seed}", "task": "same"}, 1)
        for user, seed in ((alice, 1), (bob, 2)):
            assert collect(user, 1)[0]["same"] == pattern(1_000_000, seed)


@pytest.mark.parametrize("task, field", [("ä b", "%C3%A4%20b"), ("a\r\nX: y", "a%0D%0AX:%20y"), ("100%", "100%25")])
def test_a_tasks_name_cannot_break_a_frame(sidecar: Sidecar, task: str, field: str) -> None:
    """Catches a name that ends its field and begins another one."""
    with sidecar.connect("headers") as connection:
        connection.request("fetchResource", {**STREAM, "path": "pattern/10", "task": task}, 1)
        bodies, answers, _ = collect(connection, 1)
        assert bodies == {field: pattern(10)} and answers[1]["result"]["task"] == task


def test_where_frames_are_not_possible(sidecar: Sidecar) -> None:
    with sidecar.connect("stream") as connection:
        error = connection.error("fetchResource", {**STREAM, "path": "pattern/10"})
        assert (error["code"], error["data"]["path"]) == (-32602, "/bodyAs")
    with sidecar.connect("headers") as connection:
        error = connection.error("fetchResource", {"resource": "echo", "path": "pattern/10", "bodyAs": "frames"})
        assert (error["code"], error["data"]["path"]) == (-32602, "/bodyAs")
        expect.fault(connection.error("fetchResource", {**STREAM, "bodyAs": "lines"}), -32602)


def test_a_reader_that_sleeps_costs_no_memory(sidecar: Sidecar) -> None:
    """The server waits instead; another connection is served meanwhile."""
    with sidecar.connect("headers", timeout=30) as connection, sidecar.connect() as other:
        connection.request("fetchResource", {**STREAM, "path": "pattern/100000000", "task": "t"}, 1)
        time.sleep(1)
        pages = int(open(f"/proc/{sidecar.process.pid}/statm").read().split()[1])
        assert pages * os.sysconf("SC_PAGE_SIZE") < 100 << 20
        assert other.works()
