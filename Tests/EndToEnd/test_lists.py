"""Lists in pages, and what one user's lists and writes mean for the others."""
from __future__ import annotations

import json
import os
import resource
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import expect
from harness.connection import Connection
from harness.sidecar import Sidecar
from harness.waiting import eventually

Start = Callable[..., Sidecar]
OTHER = 65534


@pytest.fixture
def shared(start: Start, directory: Path) -> Iterator[Sidecar]:
    """A sidecar for two users, whose store is a file."""
    directory.chmod(0o755)
    (directory / "store-key").write_text("ab" * 31 + "cd")
    (directory / "store-key").chmod(0o600)
    yield start({
        "listen": {"path": str(directory / "shared.sock"), "mode": "0666"},
        "peers": [{"uid": 0, "methods": ["*"]}, {"uid": OTHER, "methods": ["*"]}],
        "store": {"kind": "file", "path": str(directory / "store"), "keyFile": str(directory / "store-key")},
        "log": {"level": "error"},
    })


def grant(size: int = 1000) -> Dict[str, Any]:
    return {"issuer": "play", "grant": {"type": "tokens", "accessToken": "x" * size, "expiresIn": 3600}}


def make_sessions(sidecar: Sidecar, count: int) -> None:
    def some(share: int) -> None:
        with sidecar.connect(timeout=60) as connection:
            for _ in range(share):
                connection.call("createSession", grant())

    threads = [threading.Thread(target=some, args=(count // 16,)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def make_tasks(sidecar: Sidecar, count: int) -> None:
    """Tasks that have ended, with long URLs."""
    def some(share: int) -> None:
        with sidecar.connect(timeout=60) as connection:
            for _ in range(share):
                connection.answer_to(connection.request("fetchResource", {"resource": "open", "path": "u" * 1900}))

    threads = [threading.Thread(target=some, args=(count // 16,)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Neighbour:
    """Another user, who calls all the time; how long each call took, a second long alone and then beside others."""

    def __init__(self, sidecar: Sidecar, directory: Path) -> None:
        self.stop = directory / "stop"
        self.crowd = directory / "crowd"
        self.reader, writer = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            try:
                os.setgroups([])
                os.setgid(OTHER)
                os.setuid(OTHER)
                os.write(writer, json.dumps(self._calls(sidecar)).encode())
            finally:
                os._exit(0)
        os.close(writer)
        time.sleep(1)
        self.crowd.touch()

    def _calls(self, sidecar: Sidecar) -> Dict[str, Any]:
        alone: Dict[str, List[float]] = {"getInfo": [], "createSession": []}
        beside: Dict[str, List[float]] = {"getInfo": [], "createSession": []}

        def call(method: str, params: Dict[str, Any]) -> None:
            with sidecar.connect(timeout=60) as connection:
                while not self.stop.exists():
                    times = beside if self.crowd.exists() else alone
                    begin = time.monotonic()
                    connection.call(method, params)
                    times[method].append(time.monotonic() - begin)
                    time.sleep(0.005)

        threads = [threading.Thread(target=call, args=("getInfo", {})),
                   threading.Thread(target=call, args=("createSession", grant()))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return {method: [len(taken), max(alone[method]), max(taken)] for method, taken in beside.items()}

    def ends(self) -> Dict[str, Any]:
        self.stop.touch()
        text = b""
        while piece := os.read(self.reader, 65536):
            text += piece
        os.waitpid(self.child, 0)
        os.close(self.reader)
        return json.loads(text)


def assert_undisturbed(times: Dict[str, Any]) -> None:
    """Half a second is for a busy machine: on a quiet one no call took longer than 32 ms."""
    for method, (count, alone, beside) in times.items():
        assert count > 10 and beside < max(0.5, 5 * alone), times


@pytest.mark.thorough
@pytest.mark.skipif(os.getuid() != 0, reason="needs another uid")
def test_a_batch_of_lists_delays_no_other_user(shared: Sidecar, directory: Path) -> None:
    make_tasks(shared, 4096)
    before = shared.resident_kilobytes()
    neighbour = Neighbour(shared, directory)
    with shared.connect(timeout=120) as connection:
        for params in ({}, {"limit": 1000}, {"limit": 1}):
            connection.send([{"jsonrpc": "2.0", "id": n, "method": "listTasks", "params": params} for n in range(64)])
            answers = connection.receive()
            assert len(answers) == 64
            results = [answer["result"] for answer in answers if "result" in answer]
            assert len(results) >= (10 if params.get("limit", 0) == 1000 else 64)
            for result in results:
                assert result["tasks"] and len(json.dumps(result)) < 1.1 * (1 << 20)
    assert_undisturbed(neighbour.ends())
    assert shared.resident_kilobytes() - before < 250_000


@pytest.mark.thorough
@pytest.mark.skipif(os.getuid() != 0, reason="needs another uid")
@pytest.mark.parametrize("count", [2000, pytest.param(9984, marks=pytest.mark.slow)])
def test_lists_of_many_sessions_delay_no_other_user(shared: Sidecar, directory: Path, count: int) -> None:
    make_sessions(shared, count)
    neighbour = Neighbour(shared, directory)
    callers = [shared.connect(timeout=120) for _ in range(8)]
    for caller in callers:
        caller.send({"jsonrpc": "2.0", "id": 1, "method": "listSessions", "params": {"limit": 1000}})
    pages = [caller.receive()["result"] for caller in callers]
    assert all(page["sessions"] and page["nextCursor"] for page in pages)
    assert len({json.dumps(page["sessions"]) for page in pages}) == 1
    names: List[str] = []
    cursor: Dict[str, Any] = {}
    while True:
        page = callers[0].call("listSessions", {"limit": 300, **cursor})
        names += [session["session"] for session in page["sessions"]]
        if "nextCursor" not in page:
            break
        cursor = {"cursor": page["nextCursor"]}
    for caller in callers:
        caller.close()
    assert len(names) == len(set(names)) == count
    assert_undisturbed(neighbour.ends())


def test_a_cursor_is_one_users_and_ends_with_the_process(shared: Sidecar) -> None:
    make_sessions(shared, 16)
    with shared.connect() as connection:
        cursor = connection.call("listSessions", {"limit": 3})["nextCursor"]
        assert len(connection.call("listSessions", {"cursor": cursor})["sessions"]) == 13
        for wrong in (cursor[:-1], "x", ""):
            assert expect.fault(connection.error("listSessions", {"cursor": wrong}), -32602)["path"] == "/cursor"
        assert expect.fault(connection.error("listTasks", {"cursor": cursor}), -32602)["path"] == "/cursor"
        if os.getuid() == 0:
            script = [("listSessions", {"cursor": cursor})]
            assert [answer["code"] for answer in as_other(shared, script)] == [-32602]


def as_other(sidecar: Sidecar, calls: List[Any]) -> List[Dict[str, Any]]:
    """The errors that another user gets."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(OTHER)
            os.setuid(OTHER)
            with sidecar.connect() as connection:
                os.write(writer, json.dumps([connection.error(*call) for call in calls]).encode())
        finally:
            os._exit(0)
    os.close(writer)
    text = os.read(reader, 65536)
    os.waitpid(child, 0)
    os.close(reader)
    return json.loads(text)


def test_what_the_sessions_of_one_user_hold_is_bounded(start: Start, connect: Callable[..., Connection]) -> None:
    sidecar = start({"limits": {"sessionBytesPerUid": "128KiB"}})
    connection = connect(sidecar)
    made = []
    for _ in range(20):
        answer = connection.answer_to(connection.request("createSession", grant(16_000)))
        if "error" in answer:
            break
        made.append(answer["result"]["session"])
    assert 3 <= len(made) <= 10
    fault = expect.fault(answer["error"], -32009)
    assert fault["retryable"] is False and "bytes" in answer["error"]["message"]
    connection.call("endSession", {"session": made[0]})
    connection.call("createSession", grant(8_000))


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_what_is_made_at_one_moment_is_bounded_as_well(start: Start, directory: Path, kind: str) -> None:
    """Catches a bound that each call compares with what there was before the others."""
    store = {"kind": kind, **({"path": str(directory / "store")} if kind == "file" else {})}
    sidecar = start({"limits": {"sessionBytesPerUid": "128KiB"}, "store": store})
    connections = [sidecar.connect(timeout=60) for _ in range(8)]
    try:
        # 256 of one user may be under way.
        identifiers = [(each, each.request("createSession", grant(10_000))) for each in connections for _ in range(25)]
        answers = [each.answer_to(identifier) for each, identifier in identifiers]
    finally:
        for each in connections:
            each.close()
    made = [answer for answer in answers if "result" in answer]
    assert 5 <= len(made) and len(made) * 10_000 <= 128 << 10
    for answer in answers:
        if "error" in answer:
            fault = expect.fault(answer["error"], -32009)
            assert fault["retryable"] is False and "bytes" in answer["error"]["message"]


def test_a_write_that_failed_shows_in_health_at_once(start: Start, directory: Path) -> None:
    """A disk quota as the process sees it: files cannot grow, and nothing else shows that."""
    sidecar = start({
        "store": {"kind": "file", "path": str(directory / "store")}, "health": {"askIssuers": False}})
    with sidecar.connect() as connection, sidecar.connect() as watcher:
        connection.call("createSession", grant())
        watcher.call("subscribe", {"events": ["event.healthChanged"]})
        eventually(lambda: connection.call("health")["status"] == "ok")
        before = resource.prlimit(sidecar.process.pid, resource.RLIMIT_FSIZE)
        # What stands in the log can be written over; what makes it longer cannot.
        size = (directory / "store" / "sessions.db-wal").stat().st_size
        resource.prlimit(sidecar.process.pid, resource.RLIMIT_FSIZE, (min(size, 4096), before[1]))
        expect.fault(connection.error("createSession", grant(16_000)), 5008)
        health = connection.call("health")
        assert health["status"] == "down" and health["checks"]["store"]["status"] == "down"
        assert watcher.receive()["params"]["status"] == "down"
        resource.prlimit(sidecar.process.pid, resource.RLIMIT_FSIZE, before)
        connection.call("createSession", grant())
        eventually(lambda: connection.call("health")["status"] == "ok")
        assert watcher.receive()["params"]["status"] == "ok"
