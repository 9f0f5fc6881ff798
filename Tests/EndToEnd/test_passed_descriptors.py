"""Descriptors that a caller sends over the socket (SCM_RIGHTS): the sidecar takes none, so it need not close any."""
from __future__ import annotations

import array
import os
import socket
from typing import Callable

import pytest

from harness.sidecar import Sidecar

Start = Callable[..., Sidecar]
KERNEL = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])


@pytest.mark.skipif(KERNEL < (6, 16), reason="SO_PASSRIGHTS came with Linux 6.16 (a known gap of isolation.md)")
def test_a_descriptor_that_is_sent_is_rejected(start: Start) -> None:
    """Catches an event loop that closes what a caller sends: a socket can make that wait for as long as its owner
    likes."""
    sidecar = start()
    with sidecar.connect() as connection, sidecar.connect() as other:
        listener = socket.create_server(("127.0.0.1", 0))
        sent = array.array("i", [listener.fileno()])
        for caller in (connection, other):
            with pytest.raises(PermissionError):
                caller.socket.sendmsg([b"{"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, sent)])
        listener.close()
        for caller in (connection, other):
            assert caller.call("getInfo")["name"] == "postern"
