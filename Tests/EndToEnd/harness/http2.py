"""A server that speaks HTTP/2 (RFC 9113) by hand, as badly as a test wants it to."""
from __future__ import annotations

import socket
import ssl
import struct
import threading
from typing import Callable, Dict, List, Optional, Tuple

from .certificates import Authority
from .loopback import Loopback

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, ALTSVC = 0, 1, 2, 3, 4, 6, 7, 10
END_STREAM, ACK, END_HEADERS = 1, 1, 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def head(stream: int, length: Optional[int] = None) -> bytes:
    """The head of a 200, with `content-length` where one is given (RFC 7541, static table)."""
    block = b"\x88"
    if length is not None:
        text = str(length).encode()
        block += b"\x0f\x0d" + bytes([len(text)]) + text
    return frame(HEADERS, END_HEADERS, stream, block)


def whole(stream: int, body: bytes) -> bytes:
    return head(stream, len(body)) + frame(DATA, END_STREAM, stream, body)


#: Answers the request on a stream: `(connection, its number, stream)`.
Answering = Callable[[ssl.SSLSocket, int, int], None]


class HTTP2Server:
    """Serves on loopback until `stop`; over HTTP/1.1 where the client offers nothing else."""

    def __init__(
        self, authority: Authority, answer: Answering, settings: Callable[[int], bytes] = lambda _: b""
    ) -> None:
        self.answer, self.settings = answer, settings
        #: What was agreed on, by connection.
        self.protocols: List[Optional[str]] = []
        #: The connection and stream of each request.
        self.requests: List[Tuple[int, int]] = []
        #: What came with each of them.
        self.bodies: Dict[Tuple[int, int], bytes] = {}
        self.open = 0
        self._stopped = threading.Event()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(authority.certificate("server"), authority.key("server"))
        self._context.set_alpn_protocols(["h2", "http/1.1"])
        self._loopback = Loopback(self._serve)
        self.base = f"https://127.0.0.1:{self._loopback.port}"
        self._loopback.start()

    @property
    def is_stopped(self) -> bool:
        return self._stopped.is_set()

    def stop(self) -> None:
        self._stopped.set()
        self._loopback.stop()

    def _serve(self, plain: socket.socket, _: int) -> None:
        connection = self._context.wrap_socket(plain, server_side=True)
        number = len(self.protocols)
        self.protocols.append(connection.selected_alpn_protocol())
        self.open += 1
        try:
            if self.protocols[number] == "h2":
                self._speak(connection, number)
            else:
                self._speak_old(connection)
        finally:
            self.open -= 1
            connection.close()

    def _speak_old(self, connection: ssl.SSLSocket) -> None:
        received = b""
        while True:
            more = connection.recv(65536)
            if not more:
                return
            received += more
            if received.endswith(b"\r\n\r\n"):
                received = b""
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold")

    def _speak(self, connection: ssl.SSLSocket, number: int) -> None:
        assert self._exactly(connection, len(PREFACE)) == PREFACE
        connection.sendall(frame(SETTINGS, 0, 0, self.settings(number)))
        while True:
            start = self._exactly(connection, 9)
            if start is None:
                return
            length, kind, flags = int.from_bytes(start[:3], "big"), start[3], start[4]
            stream = int.from_bytes(start[5:], "big") & 0x7FFF_FFFF
            payload = self._exactly(connection, length)
            if payload is None:
                return
            if kind == SETTINGS and not flags & ACK:
                connection.sendall(frame(SETTINGS, ACK, 0))
            elif kind == PING and not flags & ACK:
                connection.sendall(frame(PING, ACK, 0, payload))
            if kind == DATA:
                self.bodies[number, stream] = self.bodies.get((number, stream), b"") + payload
            if kind in (HEADERS, DATA) and flags & END_STREAM:
                self.requests.append((number, stream))
                self.answer(connection, number, stream)

    @staticmethod
    def _exactly(connection: ssl.SSLSocket, count: int) -> Optional[bytes]:
        received = b""
        while len(received) < count:
            more = connection.recv(count - len(received))
            if not more:
                return None
            received += more
        return received
