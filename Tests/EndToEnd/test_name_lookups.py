"""Names whose server is silent: glibc's look-up cannot be stopped, and outlives the fetch that wanted it."""
from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Callable, Dict, Iterator, List

import pytest

from harness import expect
from harness.sidecar import Sidecar
from harness.strays import Stray, StrayServer
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all
from harness.waiting import eventually

#: What one user may have going on at one origin, of 64 places: three times what is left.
SHARE = 48


class SilentNameServer:
    """Answers that a name does not exist, once it is told to speak."""

    def __init__(self) -> None:
        self.speaks = False
        #: The ports that asked, one for each look-up, and when.
        self.askers: Dict[int, float] = {}
        #: How many questions there were: two at least for each look-up.
        self.questions = 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.53", 53))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                question, asker = self.socket.recvfrom(4096)
            except OSError:
                return
            if not question:
                return
            self.askers.setdefault(asker[1], time.monotonic())
            self.questions += 1
            if self.speaks:
                # NXDOMAIN; the question as it came, without what may be behind it.
                end = question.index(b"\0", 12) + 5
                self.socket.sendto(question[:2] + b"\x81\x83\0\1\0\0\0\0\0\0" + question[12:end], asker)

    def stop(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", self.socket.getsockname())
        self.socket.close()


@pytest.fixture
def name_server() -> Iterator[SilentNameServer]:
    try:
        server = SilentNameServer()
    except OSError as error:
        pytest.skip(f"no name server can be had here: {error}")
    yield server
    server.stop()


@pytest.fixture
def patience() -> int:
    """For how many seconds the silent server is waited for."""
    return 3


@pytest.fixture
def launcher(directory: Path, name_server: SilentNameServer, patience: int) -> List[str]:
    """Starts a program whose names are asked of the silent server."""
    file = directory / "resolv.conf"
    file.write_text(f"nameserver 127.0.0.53\noptions timeout:{patience} attempts:1\n")
    file.chmod(0o644)
    launcher = ["unshare", "-m", "sh", "-c", f'mount --bind {file} /etc/resolv.conf && exec "$@"', "sh"]
    if subprocess.run([*launcher, "true"], capture_output=True).returncode != 0:
        pytest.skip("no namespaces here")
    return launcher


@pytest.fixture
def server() -> Iterator[StrayServer]:
    server = StrayServer(stray=lambda *_: Stray(b"", closes=True))
    yield server
    server.stop()


def threads(sidecar: Sidecar) -> int:
    return len(os.listdir(f"/proc/{sidecar.process.pid}/task"))


def descriptors(sidecar: Sidecar) -> int:
    return len(os.listdir(f"/proc/{sidecar.process.pid}/fd"))


def give_up(sidecar: Sidecar, times: int, **params: int) -> float:
    """ALICE fetches from the name and gives up, so often; returns the longest that she waited."""
    longest = 0.0
    with connect_as(ALICE, sidecar) as connection:
        for _ in range(times // 10):
            began = time.monotonic()
            calls = [
                connection.request("fetchResource", {"resource": "silent", "path": "x", **params}) for _ in range(10)
            ]
            for call in calls:
                assert "error" in connection.answer_to(call)
            longest = max(longest, time.monotonic() - began)
    return longest


def configured(directory: Path, server: StrayServer) -> dict:
    open_to_all(directory)
    return {
        **BOTH,
        "issuers": None,
        "resources": {
            "orders": None,
            "silent": {"baseUrl": "https://silent.test/", "auth": "none"},
            "near": {"baseUrl": server.base + "/", "auth": "none"},
        },
    }


@needs_root
def test_look_ups_that_outlive_their_fetches_are_bounded_and_end(
    start: Callable[..., Sidecar], directory: Path, name_server: SilentNameServer, launcher: List[str],
    server: StrayServer,
) -> None:
    sidecar = start(configured(directory, server), launcher=launcher)
    with connect_as(BOB, sidecar) as other:
        assert other.call("fetchResource", {"resource": "near", "path": "x"})["status"] == 200
        idle, opened = threads(sidecar), descriptors(sidecar)
        # Less than the look-up takes.
        assert give_up(sidecar, 300, timeoutMs=20) < 2.9
        # Each fetch that gave up would leave a thread and two descriptors behind otherwise.
        assert threads(sidecar) - idle <= SHARE + 8
        assert descriptors(sidecar) - opened <= 3 * SHARE + 8
        # None ends before the server was waited for; later ones may take the places of those that have ended.
        asked = sorted(name_server.askers.values())
        assert len([when for when in asked if when < asked[0] + 2.9]) <= SHARE
        assert other.call("fetchResource", {"resource": "near", "path": "x"})["status"] == 200
        # BOB has a place at the same origin, and is told what became of the name, not that he waited for nothing.
        name_server.speaks = True
        call = {"resource": "silent", "path": "x", "timeoutMs": 2000}
        assert expect.fault(other.error("fetchResource", call), 1009)["outcome"] == "not_sent"
        eventually(lambda: threads(sidecar) - idle <= 8, what="the end of the look-ups")
        # Nor does ALICE wait any more: her places are there again.
        before = name_server.questions
        give_up(sidecar, 100, timeoutMs=2000)
        assert name_server.questions - before >= 100


@needs_root
@pytest.mark.parametrize("patience", [20])
def test_look_ups_that_take_longer_than_connecting_may_are_bounded(
    start: Callable[..., Sidecar], directory: Path, name_server: SilentNameServer, launcher: List[str],
    server: StrayServer,
) -> None:
    sidecar = start(configured(directory, server), launcher=launcher)
    idle = threads(sidecar)
    connections = [connect_as(ALICE, sidecar) for _ in range(3)]
    call = {"resource": "silent", "path": "x", "timeoutMs": 13_000}
    calls = [(each, each.request("fetchResource", call)) for each in connections for _ in range(30)]
    codes = [connection.answer_to(identifier)["error"]["code"] for connection, identifier in calls]
    # After ten seconds they are told that the name was not resolved. Those who wait would begin then, beside the
    # others' look-ups.
    assert codes.count(1009) == SHARE
    # Threads of the sidecar's own come and go, too.
    assert SHARE - 8 <= threads(sidecar) - idle <= SHARE + 8
    for connection in connections:
        connection.close()
    eventually(lambda: threads(sidecar) - idle <= 8, seconds=30, what="the end of the look-ups")
