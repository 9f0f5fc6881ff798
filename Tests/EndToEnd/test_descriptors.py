"""File descriptors: what is kept for upstreams and files, and what too few of them come to."""
from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import time
from pathlib import Path
from typing import Callable, Iterator, List, Optional, Set

import pytest

from harness import expect
from harness.connection import Connection
from harness.sidecar import Sidecar, StartError
from harness.users import ALICE, BOB, BOTH, acting_as, needs_root, open_to_all
from harness.waiting import eventually
from test_resource_limits import sample
from test_status_server import get, port_of

Start = Callable[..., Sidecar]


def limited(count: int) -> List[str]:
    return ["sh", "-c", f'ulimit -n {count}; exec "$@"', "sh"]


def accepted(sidecar: Sidecar) -> Optional[Connection]:
    """A connection; None while as many wait to be accepted as may."""
    try:
        return sidecar.connect()
    except BlockingIOError:
        return None


def test_idle_connections_leave_descriptors_for_upstreams(start: Start) -> None:
    sidecar = start(launcher=limited(256))
    assert "fewer connections than limits.connections" in sidecar.log()
    idle: List[Connection] = []
    try:
        first = sidecar.connect()
        idle.append(first)
        assert first.works()
        for _ in range(250):
            idle.append(eventually(lambda: accepted(sidecar), what="room in the backlog"))
        refusal = idle[-1].receive()
        expect.error(refusal, -32009, None)  # type: ignore[arg-type]
        slow = [
            first.request("fetchResource", {"resource": "open", "path": "slow", "parameters": {"ms": 200 + number}})
            for number in range(16)
        ]
        for identifier in slow:
            assert first.answer_to(identifier)["result"]["status"] == 200
    finally:
        for connection in idle:
            connection.close()


@needs_root
def test_with_few_descriptors_one_user_leaves_connections_to_another(start: Start, directory: Path) -> None:
    """Catches a limit of open files by which the total shrinks, and the share of one user does not: on either socket."""
    path = str(directory / "http.sock")
    sidecar = start({**BOTH, "gateway": {"listen": {"path": path, "mode": "0666"}}}, launcher=limited(512))
    sidecar.awaits_log("gateway listening")
    open_to_all(sidecar.directory)
    directory.chmod(0o755)
    request = b"GET /unknown HTTP/1.1\r\nHost: postern\r\n\r\n"
    with contextlib.ExitStack() as opened:
        def gateway() -> bool:
            """Whether another connection to the gateway, which is kept, is served."""
            client = opened.enter_context(socket.socket(socket.AF_UNIX))
            client.settimeout(20)
            client.connect(path)
            try:
                client.sendall(request)
                return client.recv(65536).startswith(b"HTTP/1.1 404 ")
            except OSError:
                # So many are rejected at once that some are closed before they have said anything.
                return False

        def main() -> bool:
            connection = opened.enter_context(sidecar.connect())
            try:
                return connection.works()
            except (AssertionError, EOFError, OSError):
                return False

        for served in (gateway, main):
            with acting_as(ALICE):
                alice = sum([served() for _ in range(150)])
            with acting_as(BOB):
                bob = sum([served() for _ in range(8)])
            assert 8 <= alice < 100 and bob == 8, (served.__name__, alice, bob)


@pytest.mark.parametrize("count", [20, 64, 128])
def test_too_few_descriptors_are_a_message_and_status_78(start: Start, count: int) -> None:
    with pytest.raises(StartError) as failure:
        start(launcher=limited(count))
    assert failure.value.status == 78
    assert f"RLIMIT_NOFILE) is {count}" in failure.value.log


def descriptors(sidecar: Sidecar) -> Set[int]:
    return {int(number) for number in os.listdir(f"/proc/{sidecar.process.pid}/fd")}


@contextlib.contextmanager
def none_left(sidecar: Sidecar, connection: Connection) -> Iterator[None]:
    """The sidecar, with this one connection, can open nothing more."""
    before = resource.prlimit(sidecar.process.pid, resource.RLIMIT_NOFILE)
    # Those of the connection by which the start was noticed go away late.
    eventually(lambda: sample(connection, "postern_connections") == 1, what="the end of other connections")
    used = descriptors(sidecar)
    time.sleep(0.2)
    while used != descriptors(sidecar):
        used = descriptors(sidecar)
        time.sleep(0.2)
    # No lower: poll(2) takes no more descriptors than the limit either.
    free = next(number for number in range(len(used) + 1) if number not in used)
    resource.prlimit(sidecar.process.pid, resource.RLIMIT_NOFILE, (free, before[1]))
    try:
        yield
    finally:
        resource.prlimit(sidecar.process.pid, resource.RLIMIT_NOFILE, before)


def processor_time(sidecar: Sidecar) -> float:
    fields = Path(f"/proc/{sidecar.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_fetch_without_descriptors_says_that_the_sidecar_has_run_out(start: Start) -> None:
    sidecar = start()
    with sidecar.connect() as connection:
        assert connection.works()
        with none_left(sidecar, connection):
            for path in ("x", "y"):
                data = expect.fault(connection.error("fetchResource", {"resource": "open", "path": path}), -32009)
                assert data["outcome"] == "not_sent" and data["retryable"] is True and data["retryAfterMs"] > 0
        assert connection.call("fetchResource", {"resource": "open", "path": "echo"})["status"] == 200


def test_a_reload_without_descriptors_is_made_up_for(start: Start) -> None:
    sidecar = start()
    with sidecar.connect() as connection:
        assert connection.call("health")["status"] == "ok"
        with none_left(sidecar, connection):
            sidecar.signal(signal.SIGHUP)
            eventually(lambda: connection.call("health")["status"] == "degraded", what="health that tells of it")
        eventually(lambda: connection.call("health")["status"] == "ok", what="a reload that nobody asked for")
        sidecar.awaits_log("configuration reloaded")


def test_the_status_listener_rests_while_descriptors_are_out(start: Start) -> None:
    sidecar = start({"http": {"listen": "127.0.0.1:0"}})
    port = port_of(sidecar)
    assert get(port, "/healthz")[0] == 200
    with sidecar.connect() as connection, none_left(sidecar, connection), socket.create_connection(("127.0.0.1", port)):
        time.sleep(0.2)
        before = processor_time(sidecar)
        time.sleep(1)
        assert processor_time(sidecar) - before < 0.3
    assert get(port, "/healthz")[0] == 200
