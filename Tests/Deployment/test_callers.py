"""Callers in PID namespaces of their own: the sidecar sees no process id, and their end all the same (SO_PEERPIDFD)."""
from __future__ import annotations

import os
import select
import subprocess
from pathlib import Path
from typing import Iterator

import pytest

from harness import settings
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually
from machines.files import needs_namespaces

SECLUDED = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]

# Connects, asks, and leaves the connection to a child; the child says `end` when the connection has ended.
CALLER = """
import os, socket, sys
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[1])
    connection.sendall(b'{"jsonrpc":"2.0","id":1,"method":"fetchResource","params":{"resource":"open","path":"slow?ms=20000"}}\\n')
    middle = int(sys.argv[2])
    if middle and os.fork() == 0:
        connection.settimeout(30)
        while connection.recv(4096): pass
        print("end", flush=True)
        os._exit(0)
    if not middle:
        print("holding", flush=True)
        connection.recv(1)
"""


@pytest.fixture
def secluded(directory: Path, playground: Playground) -> Iterator[Sidecar]:
    needs_namespaces()
    configuration = settings.standard(directory, playground)
    configuration["log"] = {"level": "debug"}
    running = Sidecar(directory, configuration, launcher=SECLUDED)
    yield running
    # `unshare` waits for its child; with it the child goes.
    running.process.kill()
    running.process.wait(10)


def caller(sidecar: Sidecar, leaves_it_to_a_child: bool) -> "subprocess.Popen[bytes]":
    # A shell is the namespace's first process: with that one all others would end.
    script = 'python3 -c "$0" "$1" "$2"; sleep 20'
    return subprocess.Popen(
        [*SECLUDED, "sh", "-c", script, CALLER, sidecar.path, str(int(leaves_it_to_a_child))],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)


def end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait(10)
    assert process.stdout is not None
    process.stdout.close()


def test_the_end_of_a_caller_in_another_namespace_ends_its_connection_though_a_child_holds_it(
    secluded: Sidecar, playground: Playground
) -> None:
    playground.reset()
    process = caller(secluded, leaves_it_to_a_child=True)
    try:
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], 15)[0] and process.stdout.readline() == b"end\n"
        eventually(lambda: playground.statistics()["abandonedRequests"] == 1)
        secluded.awaits_log("the caller's process has exited")
    finally:
        end(process)


def test_a_caller_in_another_namespace_is_not_taken_for_one_that_has_ended(
    secluded: Sidecar, playground: Playground
) -> None:
    """Its process id reads 0 here, which is nobody's."""
    playground.reset()
    process = caller(secluded, leaves_it_to_a_child=False)
    try:
        assert process.stdout is not None and process.stdout.readline() == b"holding\n"
        eventually(lambda: playground.statistics()["openRequests"] == 1)
        # Longer than two looks.
        assert not select.select([process.stdout], [], [], 6)[0]
        assert playground.statistics()["abandonedRequests"] == 0
        assert "has ended" not in secluded.log()
    finally:
        end(process)
    eventually(lambda: playground.statistics()["abandonedRequests"] == 1)
    assert os.path.exists(secluded.path)
