"""Socket activation and notification, spoken with systemd's own program and a notify socket of the test."""
from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest

from harness import settings
from harness.connection import Connection
from harness.playground import Playground
from harness.sidecar import Sidecar
from machines.files import needs, postern

SERVING = {"READY": "1", "STATUS": "Serving"}


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

    def is_quiet(self) -> bool:
        self.socket.settimeout(0.2)
        try:
            self.socket.recv(4096)
            return False
        except socket.timeout:
            return True


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
    assert manager.is_quiet()


def test_a_reload_is_said_from_its_begin_to_its_end(sidecar: Sidecar, manager: NotifySocket) -> None:
    manager.next()
    before = time.clock_gettime(time.CLOCK_MONOTONIC)
    sidecar.signal(signal.SIGHUP)
    begun = manager.next()
    assert begun["RELOADING"] == "1"
    # systemd takes a RELOADING=1 from before its own signal for an older one's.
    assert before <= int(begun["MONOTONIC_USEC"]) / 1e6 <= time.clock_gettime(time.CLOCK_MONOTONIC)
    assert manager.next() == SERVING


def test_a_failed_reload_ends_too_and_shows_in_the_status(sidecar: Sidecar, manager: NotifySocket) -> None:
    manager.next()
    sidecar.write("nonsense: [")
    sidecar.signal(signal.SIGHUP)
    assert manager.next()["RELOADING"] == "1"
    ended = manager.next()
    assert ended["READY"] == "1" and "reload failed" in ended["STATUS"]


def test_stopping_is_said_before_pending_requests_are_answered(sidecar: Sidecar, manager: NotifySocket) -> None:
    manager.next()
    with sidecar.connect() as connection:
        pending = connection.request("fetchResource", {"resource": "open", "path": "slow", "parameters": {"ms": 800}})
        assert connection.works()
        sidecar.signal(signal.SIGTERM)
        assert manager.next()["STOPPING"] == "1"
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
    try:
        path = directory / "activated.sock"
        deadline = time.monotonic() + 10
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        with Connection(str(path)) as connection:
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
