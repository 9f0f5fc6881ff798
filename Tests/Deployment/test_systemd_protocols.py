"""Socket activation and notification, spoken with systemd's own program and a notify socket of the test."""
from __future__ import annotations

import ctypes
import os
import select
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

import pytest

from harness import settings
from harness.connection import Connection
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually
from machines.files import needs, postern

SERVING = {"READY": "1", "STATUS": "Serving 0 connections"}


class NotifySocket:
    """The service manager's end of sd_notify(3)."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + address[1:] if address.startswith("@") else address)
        self.socket.settimeout(10)

    def next(self) -> Dict[str, str]:
        lines = self.socket.recv(4096).decode().split("\n")
        return dict(line.split("=", 1) for line in lines if line)

    def says(self, seconds: float, what: str) -> bool:
        """Whether `what` is among what it is told within so many seconds."""
        end = time.monotonic() + seconds
        said = self.waiting()
        while what not in said and (left := end - time.monotonic()) > 0:
            if select.select([self.socket], [], [], left)[0]:
                said += self.waiting()
        return what in said

    def waiting(self) -> str:
        """All that is there to be read."""
        said = ""
        while select.select([self.socket], [], [], 0)[0]:
            said += self.socket.recv(4096).decode() + "\n"
        return said


@pytest.fixture(params=["path", "abstract"])
def manager(request: Any, directory: Path) -> Iterator[NotifySocket]:
    address = str(directory / "notify") if request.param == "path" else f"@postern-test-{os.getpid()}"
    notify = NotifySocket(address)
    yield notify
    notify.socket.close()


@pytest.fixture
def sidecar(directory: Path, playground: Playground, manager: NotifySocket) -> Iterator[Sidecar]:
    running = Sidecar(directory, settings.standard(directory, playground), environment={"NOTIFY_SOCKET": manager.address})
    yield running
    running.stop()


def test_ready_is_said_once_when_it_can_be_connected_to(sidecar: Sidecar, manager: NotifySocket) -> None:
    assert manager.next() == SERVING
    with sidecar.connect() as connection:
        assert connection.works()
    assert not manager.says(0.2, "READY")


def test_a_reload_is_said_from_its_begin_to_its_end(sidecar: Sidecar, manager: NotifySocket) -> None:
    manager.next()
    before = time.clock_gettime(time.CLOCK_MONOTONIC)
    sidecar.signal(signal.SIGHUP)
    begun = manager.next()
    assert begun["RELOADING"] == "1"
    # systemd takes a RELOADING=1 from before its own signal for an older one's.
    assert before <= int(begun["MONOTONIC_USEC"]) / 1e6 <= time.clock_gettime(time.CLOCK_MONOTONIC)
    ended = manager.next()
    assert ended["READY"] == "1" and ended["STATUS"].startswith("Serving ")


def test_a_reload_by_a_caller_is_said_too(sidecar: Sidecar, manager: NotifySocket) -> None:
    manager.next()
    with sidecar.connect() as connection:
        connection.call("reloadConfig")
        assert "MONOTONIC_USEC" in manager.next()
        assert manager.next()["READY"] == "1"


def test_a_failed_reload_ends_too_and_shows_in_the_status(sidecar: Sidecar, manager: NotifySocket) -> None:
    manager.next()
    sidecar.write("nonsense: [")
    sidecar.signal(signal.SIGHUP)
    assert manager.next()["RELOADING"] == "1"
    ended = manager.next()
    assert ended["READY"] == "1" and "reload failed" in ended["STATUS"] and "postern.yaml:2:1: not YAML" in ended["STATUS"]


def test_stopping_is_said_before_pending_requests_are_answered(sidecar: Sidecar, manager: NotifySocket) -> None:
    manager.next()
    with sidecar.connect() as connection:
        pending = connection.request("fetchResource", {"resource": "open", "path": "slow", "parameters": {"ms": 800}})
        assert connection.works()
        sidecar.signal(signal.SIGTERM)
        stopping = manager.next()
        assert stopping["STOPPING"] == "1" and stopping["STATUS"].startswith("Draining ")
        assert connection.answer_to(pending)["result"]["status"] == 200
    assert sidecar.wait() == 0


@pytest.mark.parametrize("address", ["", "/", "@", "relative", "/nowhere/notify", "/" + "n" * 200])
def test_a_notify_socket_that_cannot_be_told_stops_nobody(address: str, directory: Path, playground: Playground) -> None:
    running = Sidecar(directory, settings.standard(directory, playground), environment={"NOTIFY_SOCKET": address})
    try:
        with running.connect() as connection:
            assert connection.works()
    finally:
        running.stop()
    assert running.wait() == 0


# MARK: signs of life


def watched(directory: Path, playground: Playground, manager: NotifySocket, pid: Optional[str] = None) -> Sidecar:
    environment = {"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "800000"}
    if pid is not None:
        environment["WATCHDOG_PID"] = pid
    return Sidecar(directory, settings.standard(directory, playground), environment=environment)


def pings(manager: NotifySocket, seconds: float) -> List[float]:
    """When signs of life came, within so many seconds."""
    came: List[float] = []
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        manager.socket.settimeout(left)
        try:
            if "WATCHDOG=1" in manager.socket.recv(4096).decode():
                came.append(time.monotonic())
        except socket.timeout:
            break
    manager.socket.settimeout(10)
    return came


def is_stopped(task: Path) -> bool:
    stat = task / "stat"
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "T"


def is_punctual(came: List[float]) -> bool:
    return len(came) >= 6 and max(late - early for early, late in zip(came, came[1:])) < 0.8


def test_a_sign_of_life_comes_twice_in_the_managers_time(
    directory: Path, playground: Playground, manager: NotifySocket
) -> None:
    running = watched(directory, playground, manager)
    try:
        assert manager.next() == SERVING
        # The machine may pause for longer than that; not again and again.
        assert any(is_punctual(pings(manager, 3)) for _ in range(5))
        running.signal(signal.SIGSTOP)
        tasks = list(Path(f"/proc/{running.process.pid}/task").iterdir())
        eventually(lambda: all(is_stopped(task) for task in tasks))
        manager.waiting()
        assert not manager.says(1.5, "WATCHDOG=1")
        running.signal(signal.SIGCONT)
        assert manager.says(10, "WATCHDOG=1")
    finally:
        running.stop()


def test_a_watchdog_for_another_process_is_not_answered(
    directory: Path, playground: Playground, manager: NotifySocket
) -> None:
    running = watched(directory, playground, manager, pid="1")
    try:
        assert manager.next() == SERVING
        assert pings(manager, 1.5) == []
    finally:
        running.stop()


PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207


@pytest.mark.parametrize("thread", ["postern-curl", "postern-loop"])
def test_one_thread_that_hangs_is_enough_for_no_sign_of_life(
    directory: Path, playground: Playground, manager: NotifySocket, thread: str
) -> None:
    """The rest of the process goes on: whoever gives signs of life by a timer alone would not notice."""
    running = watched(directory, playground, manager)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    try:
        assert manager.next() == SERVING
        assert manager.says(10, "WATCHDOG=1")
        tasks = Path(f"/proc/{running.process.pid}/task")
        hanging = next(int(task.name) for task in tasks.iterdir() if (task / "comm").read_text().startswith(thread))
        if libc.ptrace(PTRACE_SEIZE, hanging, None, None) != 0:
            pytest.skip("this user may stop no thread of another process")
        libc.ptrace(PTRACE_INTERRUPT, hanging, None, None)
        os.waitpid(hanging, 0x40000000)
        # A look that had begun before may still give a sign; from the first that ends without one on there is none.
        before = running.log().count("no heartbeat")
        eventually(lambda: running.log().count("no heartbeat") > before)
        manager.waiting()
        assert not manager.says(1.5, "WATCHDOG=1")
        libc.ptrace(PTRACE_DETACH, hanging, None, None)
        assert manager.says(10, "WATCHDOG=1")
    finally:
        running.stop()


def test_the_status_says_how_many_are_connected(sidecar: Sidecar, manager: NotifySocket) -> None:
    manager.next()
    with sidecar.connect() as connection:
        assert connection.works()
        assert manager.next() == {"STATUS": "Serving 1 connection"}


# MARK: activation


def activate(directory: Path, configuration: Dict[str, Any], extra: List[str]) -> "subprocess.Popen[bytes]":
    running = Sidecar.__new__(Sidecar)
    running.configuration_path = directory / "postern.yaml"
    running.write(configuration)
    command = ["systemd-socket-activate", "--listen", str(directory / "activated.sock"), *extra]
    command += [postern(), "serve", "--config", str(running.configuration_path)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_the_first_connection_starts_it_and_is_served(
    directory: Path, playground: Playground, manager: NotifySocket
) -> None:
    needs("systemd-socket-activate")
    configuration = settings.standard(directory, playground)
    process = activate(directory, configuration, ["--setenv", f"NOTIFY_SOCKET={manager.address}"])
    path = directory / "activated.sock"

    def connected() -> Optional[Connection]:
        try:
            return Connection(str(path))
        except (FileNotFoundError, ConnectionRefusedError):  # the name is there before it is listened at
            return None

    try:
        with eventually(connected, what="the socket") as connection:
            assert connection.call("fetchResource", {"resource": "orders", "path": "orders"})["status"] == 200
        assert manager.next() == SERVING
        assert not Path(configuration["listen"]["path"]).exists()
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        # It is the service manager's: whoever comes next waits there for the next start.
        assert path.exists()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(10)
