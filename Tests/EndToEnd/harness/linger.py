"""A descriptor whose close takes time."""
from __future__ import annotations

import socket


def lingering_socket(listener: socket.socket) -> socket.socket:
    """A socket whose close waits for 20 s, because its peer reads nothing."""
    made = socket.create_connection(listener.getsockname())
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x14\x00\x00\x00")
    made.setblocking(False)
    try:
        while True:
            made.send(bytes(1 << 16))
    except BlockingIOError:
        return made
