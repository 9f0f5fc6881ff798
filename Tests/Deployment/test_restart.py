"""A restart that no caller notices: another process keeps the listening socket, as systemd does, during the restart."""
from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Iterator, List

import pytest

from harness import settings
from harness.playground import Playground
from harness.waiting import eventually
from machines.files import ROOT, postern

sys.path.insert(0, str(ROOT / "clients" / "python" / "src"))

import postern_auth as client  # noqa: E402

CALLERS = 6
RESTARTS = 6


# Passes the socket as descriptor 3 to the program that takes this one's place, and so its process id.
PASS = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
"""


class ServiceManager:
    """Holds the socket and starts one process after the other on it (sd_listen_fds(3))."""

    def __init__(self, directory: Path, configuration: Any) -> None:
        self.path = str(directory / "held.sock")
        self.log = directory / "postern.log"
        self.configuration = directory / "postern.yaml"
        self.configuration.write_text(json.dumps(configuration))
        self.listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listening.bind(self.path)
        self.listening.listen(256)
        self.processes: List["subprocess.Popen[bytes]"] = []

    def start(self) -> "subprocess.Popen[bytes]":
        with open(self.log, "ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", PASS, str(self.listening.fileno())]
                + [postern(), "serve", "--config", str(self.configuration)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[self.listening.fileno()])
        self.processes.append(process)
        return process

    def listened(self) -> int:
        return self.log.read_text().count('"listening"')

    def end(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait(10)
        self.listening.close()


@pytest.fixture
def manager(directory: Path, playground: Playground) -> Iterator[ServiceManager]:
    held = ServiceManager(directory, settings.standard(directory, playground))
    yield held
    held.end()


class Callers:
    """Each makes call after call with the Python client, or connects for each; rejected and lost ones are recorded."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.problems: List[str] = []
        self.answered = 0
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(number,)) for number in range(CALLERS)]
        self._threads.append(threading.Thread(target=self._connect))
        for thread in self._threads:
            thread.start()

    def _work(self, number: int) -> None:
        try:
            with client.Client(self.path, timeout=30) as sidecar:
                while not self._ends.is_set():
                    status = sidecar.fetch_resource("orders" if number % 2 else "open", "orders" if number % 2 else "echo").status
                    assert status == 200, status
                    assert sidecar.call("getInfo")["name"] == "postern"
                    self.answered += 2
        except BaseException as error:  # noqa: B902
            self.problems.append(repr(error))

    def _connect(self) -> None:
        """Whoever comes while nobody serves waits in the queue."""
        while not self._ends.is_set():
            try:
                with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                    connection.settimeout(30)
                    connection.connect(self.path)
                # The queue must not get full, however long the successor takes: that is EAGAIN at once.
                time.sleep(0.02)
            except OSError as error:
                self.problems.append(repr(error))

    def end(self) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join(40)


@pytest.mark.parametrize("overlaps", [True, False], ids=["successor first", "one after the other"])
def test_no_connection_is_refused_and_no_answer_lost_while_the_process_is_replaced(
    manager: ServiceManager, overlaps: bool
) -> None:
    current = manager.start()
    eventually(lambda: manager.listened() == 1)
    callers = Callers(manager.path)
    try:
        for round_ in range(RESTARTS):
            time.sleep(0.3)
            if overlaps:
                # The old one drains while the new one serves already.
                current.send_signal(signal.SIGTERM)
                following = manager.start()
                assert current.wait(40) == 0
            else:
                # As `systemctl restart`: for a moment nobody serves.
                current.send_signal(signal.SIGTERM)
                assert current.wait(40) == 0
                following = manager.start()
            current = following
            eventually(lambda: manager.listened() == round_ + 2)
        time.sleep(0.3)
    finally:
        callers.end()
    assert callers.problems == [], callers.problems[:5]
    assert callers.answered > RESTARTS * CALLERS
    assert os.path.exists(manager.path)
    print(f"\n{RESTARTS} restarts, {callers.answered} answers")


def test_a_call_that_takes_longer_than_the_start_of_the_successor_is_answered_by_its_predecessor(
    manager: ServiceManager
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as upstream:
        upstream.settimeout(20)
        configuration = json.loads(manager.configuration.read_text())
        base = f"http://127.0.0.1:{upstream.getsockname()[1]}/"
        configuration["resources"]["held"] = {"baseUrl": base, "auth": "none"}
        manager.configuration.write_text(json.dumps(configuration))
        first = manager.start()
        with client.Client(manager.path, timeout=30) as sidecar:
            pending = sidecar.start("fetchResource", {"resource": "held", "path": "x"})
            asked, _ = upstream.accept()
            with asked:
                first.send_signal(signal.SIGTERM)
                manager.start()
                # The same client: what is new goes to the successor.
                assert sidecar.fetch_resource("open", "echo").status == 200
                assert first.poll() is None and not pending.done()
                asked.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                assert pending.result()["status"] == 200
        assert first.wait(10) == 0
