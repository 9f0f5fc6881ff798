"""Sections 3 and 4.1: debuggers and core dumps."""
from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, Callable, Iterator

import pytest

from harness import expect
from harness.connection import Connection
from harness.sidecar import Sidecar

TRACER = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
if libc.ptrace(0x4206, int(sys.argv[1]), None, None) != 0:
    print("no", ctypes.get_errno(), flush=True)
else:
    print("yes", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def attach() -> Iterator[Callable[[Sidecar], subprocess.Popen]]:
    tracers = []

    def attach(sidecar: Sidecar) -> subprocess.Popen:
        tracer = subprocess.Popen(
            [sys.executable, "-c", TRACER, str(sidecar.process.pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)
        tracers.append(tracer)
        answer = tracer.stdout.readline().strip()
        if answer != "yes":
            assert os.getuid() != 0, f"root may not trace here: {answer}"
            pytest.skip(f"this machine lets nobody trace: {answer}")
        return tracer

    yield attach
    for tracer in tracers:
        tracer.stdin.close()
        tracer.wait(10)


def test_nothing_is_fetched_while_a_debugger_is_attached(
    connection: Connection, sidecar: Sidecar, attach: Any
) -> None:
    fetch = {"resource": "open", "path": "echo"}
    assert connection.call("fetchResource", fetch)["status"] == 200
    tracer = attach(sidecar)
    error = connection.error("fetchResource", fetch)
    expect.fault(error, 1014)
    assert error["data"]["outcome"] == "not_sent"
    assert connection.works(), "everything else goes on"
    tracer.stdin.close()
    tracer.wait(10)
    assert connection.call("fetchResource", fetch)["status"] == 200


def test_the_check_can_be_switched_off(
    start: Callable[..., Sidecar], connect: Callable[..., Connection], attach: Any
) -> None:
    sidecar = start({"hardening": {"debuggerCheck": False}})
    connection = connect(sidecar)
    features = connection.call("getInfo")["features"]
    assert "hardening.debuggerCheck" not in features and "hardening.noCoreDumps" in features
    attach(sidecar)
    assert connection.call("fetchResource", {"resource": "open", "path": "echo"})["status"] == 200


def test_the_process_leaves_no_core_dump(sidecar: Sidecar) -> None:
    limits = open(f"/proc/{sidecar.process.pid}/limits", encoding="ascii").read()
    line = next(line for line in limits.splitlines() if line.startswith("Max core file size"))
    assert line.split()[4:6] == ["0", "0"]
    # What the kernel takes for not dumpable belongs to root: also for a process of another user, who cannot attach
    # then.
    assert os.stat(f"/proc/{sidecar.process.pid}/environ").st_uid == 0
