"""Users whom no rule names may connect, to be told so: what they do costs nobody else."""
from __future__ import annotations

import array
import contextlib
import json
import os
import signal
import socket
import time
from typing import Any, Callable, Dict, Iterator

import pytest

from harness import expect
from harness.linger import lingering_socket
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, as_user, connect_as, needs_root, open_to_all

pytestmark = needs_root


def flood(path: str) -> None:
    """Connects, sends what the kernel takes of tiny texts, closes, again and again."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        sockets = []
        for _ in range(500):
            one = socket.socket(socket.AF_UNIX)
            one.setblocking(False)
            sockets.append(one)
            try:
                one.connect(path)
                one.send(b"[]" * 50000)
            except OSError:
                pass
        for one in sockets:
            one.close()


@pytest.fixture
def sidecar(start: Callable[..., Sidecar]) -> Iterator[Sidecar]:
    settings: Dict[str, Any] = {
        "listen": {"mode": "0666"}, "store": {"kind": "memory"}, "peers": [{"uid": ALICE, "methods": ["*"]}],
        "log": {"level": "error"},
    }
    sidecar = start(settings)
    open_to_all(sidecar.directory)
    yield sidecar


def test_who_connects_and_floods_without_end_does_not_keep_others_out(sidecar: Sidecar) -> None:
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(BOB)
            os.setuid(BOB)
            flood(str(sidecar.path))
        finally:
            os._exit(1)
    try:
        longest = 0.0
        end = time.monotonic() + 4
        while time.monotonic() < end:
            begin = time.monotonic()
            with socket.socket(socket.AF_UNIX) as alice:
                # Without a timeout: where the queue of the listening socket is full it waits its turn.
                as_user(ALICE, lambda: alice.connect(str(sidecar.path)))
                alice.settimeout(60)
                alice.sendall(b'{"jsonrpc":"2.0","id":1,"method":"getInfo"}\n')
                assert b'"result"' in alice.recv(1 << 16)
            longest = max(longest, time.monotonic() - begin)
        assert os.waitpid(child, os.WNOHANG) == (0, 0), "it floods no more"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    # On a debug binary and a busy machine; with every byte framed where it is read it was three times as long and more.
    assert longest < 6, f"{longest:.3f} s"


def rejected_while_a_close_waits(path: str, listener: socket.socket) -> None:
    """Passes a socket whose close waits, and then makes more connections with unread bytes than one user may have."""
    with socket.socket(socket.AF_UNIX) as first:
        first.connect(path)
        passed = lingering_socket(listener)
        first.sendmsg([b" "], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [passed.fileno()]))])
        passed.close()
    for _ in range(1500):
        with socket.socket(socket.AF_UNIX) as one:
            with contextlib.suppress(OSError):
                one.connect(path)
                one.send(b"[]" * 1000)


def test_connections_that_wait_to_be_closed_take_no_descriptor_of_another_user(sidecar: Sidecar) -> None:
    """Catches descriptors beyond a user's share that fill the room of all, for as long as that user likes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.setgroups([])
                os.setgid(BOB)
                os.setuid(BOB)
                rejected_while_a_close_waits(str(sidecar.path), listener)
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        with connect_as(ALICE, sidecar) as alice:
            assert alice.works()


def test_a_stranger_has_few_connections(sidecar: Sidecar) -> None:
    taken = [connect_as(BOB, sidecar) for _ in range(16)]
    for connection in taken:
        expect.fault(connection.error("getInfo"), -32020)
    with connect_as(BOB, sidecar) as more:
        expect.error(json.loads(more.receive_text()), -32009, None)
    mine = [connect_as(ALICE, sidecar) for _ in range(64)]
    assert all(connection.works() for connection in mine)
    for connection in taken + mine:
        connection.close()
