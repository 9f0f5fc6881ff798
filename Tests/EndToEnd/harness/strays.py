"""A server that sends what nobody asked for: after an answer, before the next request on the connection."""
from __future__ import annotations

import fcntl
import json
import socket
import ssl
import struct
import termios
import threading
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from .loopback import Loopback
from .waiting import eventually


#: The state of a connection that is no more, in <netinet/tcp.h>.
TCP_CLOSE = 7


class Request(NamedTuple):
    """One request as it came."""

    method: str
    path: str
    headers: Dict[str, str]
    body: bytes
    #: The connection it came over, counted from 0.
    connection: int


class Stray(NamedTuple):
    """What follows an answer."""

    bytes: bytes
    closes: bool = False


def response(document: Any, status: str = "200 OK") -> bytes:
    body = json.dumps(document).encode()
    return b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        status.encode(), len(body), body)


def echo(request: Request) -> bytes:
    """An answer that says which request it belongs to."""
    return response({"path": request.path, "method": request.method, "body": request.body.decode()})


def deliver(connection: socket.socket) -> None:
    """Returns when the other side's kernel has everything, or has reset the connection: then it acknowledges nothing
    more."""
    def waiting() -> int:
        if connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == TCP_CLOSE:
            return 0
        return struct.unpack("i", fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, b"\0" * 4))[0]

    while waiting():
        time.sleep(0.0005)


class StrayServer:
    """Answers by `answer`, and sends what `stray` gives for the request afterwards. Serves on loopback until `stop`."""

    def __init__(
        self, answer: Callable[[Request], bytes] = echo,
        stray: Callable[[Request, bytes], Optional[Stray]] = lambda *_: None,
        context: Optional[ssl.SSLContext] = None,
    ) -> None:
        self.answer, self.stray, self.context = answer, stray, context
        self.requests: List[Request] = []
        #: The paths after whose answers everything has reached the other side.
        self.settled: List[str] = []
        #: Cleared, it holds back what nobody asked for: it comes in a read of its own then, whenever the answer is
        #: read.
        self.may_stray = threading.Event()
        self.may_stray.set()
        self._loopback = Loopback(self._serve)
        scheme = "https" if context else "http"
        self.base = f"{scheme}://127.0.0.1:{self._loopback.port}"
        self._loopback.start()

    @property
    def accepted(self) -> int:
        return self._loopback.accepted

    def stop(self) -> None:
        self._loopback.stop()

    def awaits(self, path: str, count: int = 1) -> None:
        """Returns when the strays behind that answer wait on the other side."""
        eventually(lambda: self.settled.count(path) >= count, what=f"the end of {path}")

    def _serve(self, connection: socket.socket, number: int) -> None:
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
            received = b""
            while True:
                request, received = self._read(connection, received, number)
                if request is None:
                    return
                self.requests.append(request)
                answer = self.answer(request)
                connection.sendall(answer)
                stray = self.stray(request, answer)
                if stray is not None:
                    # In a segment of its own.
                    deliver(connection)
                    self.may_stray.wait(30)
                    connection.sendall(stray.bytes)
                    deliver(connection)
                self.settled.append(request.path)
                if stray is not None and stray.closes:
                    return
        finally:
            connection.close()

    @staticmethod
    def _read(connection: socket.socket, received: bytes, number: int) -> Tuple[Optional[Request], bytes]:
        while b"\r\n\r\n" not in received:
            more = connection.recv(65536)
            if not more:
                return None, b""
            received += more
        head, received = received.split(b"\r\n\r\n", 1)
        line, *fields = head.decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        length = int(headers.get("content-length", "0"))
        while len(received) < length:
            more = connection.recv(65536)
            if not more:
                return None, b""
            received += more
        method, path, _ = line.split(" ", 2)
        return Request(method, path, headers, received[:length], number), received[length:]
