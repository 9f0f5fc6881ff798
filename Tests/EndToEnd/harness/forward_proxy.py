"""A forward proxy (RFC 9110 section 9.3.6): what goes through it is written down, and it is as bad as a test wants."""
from __future__ import annotations

import base64
import select
import socket
import ssl
import threading
import time
from typing import Callable, Dict, List, NamedTuple, Optional

from .loopback import Loopback


class Request(NamedTuple):
    """The head of one request to the proxy."""

    connection: int
    line: str
    fields: Dict[str, str]

    @property
    def target(self) -> str:
        return self.line.split(" ")[1]


#: Answers a request in place of the proxy: `(connection, request)`; True: the proxy goes on as usual.
Misbehaving = Callable[[socket.socket, Request], bool]


class ForwardProxy:
    """Serves on loopback until `stop`. `hosts` maps `name:port` to a port on loopback: no name is resolved here, nor
    could it be. With `credentials` (`name:password`) it demands them, and with a `context` it has TLS itself."""

    def __init__(
        self, hosts: Dict[str, int], credentials: Optional[str] = None, context: Optional[ssl.SSLContext] = None,
        port: int = 0,
    ) -> None:
        self.hosts, self.credentials, self._context = hosts, credentials, context
        self.requests: List[Request] = []
        self.misbehaving: Optional[Misbehaving] = None
        #: Seconds before the proxy reads from a server: what comes meanwhile is one piece, and one record of its TLS.
        self.gathers = 0.0
        #: Tunnels that are open now.
        self.open = 0
        self._lock = threading.Lock()
        self._loopback = Loopback(self._serve)
        self.port = self._loopback.port
        self.url = f"http{'s' if context else ''}://127.0.0.1:{self.port}"
        self._loopback.start()

    def stop(self) -> None:
        self._loopback.stop()

    @property
    def accepted(self) -> int:
        return self._loopback.accepted

    def targets(self) -> List[str]:
        return [request.target for request in self.requests]

    def _serve(self, connection: socket.socket, number: int) -> None:
        if self._context:
            connection = self._context.wrap_socket(connection, server_side=True)
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = connection.recv(1)
            if not byte:
                return
            head += byte
            if head == b"\x16":
                # TLS, where this proxy has none.
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
                return
        line, *fields = head.decode("latin-1").split("\r\n")[:-2]
        request = Request(number, line, {n.lower(): v.strip() for n, _, v in (one.partition(":") for one in fields)})
        with self._lock:
            self.requests.append(request)
        if self.misbehaving and not self.misbehaving(connection, request):
            return
        expected = self.credentials and "Basic " + base64.b64encode(self.credentials.encode()).decode()
        if expected and request.fields.get("proxy-authorization") != expected:
            connection.sendall(
                b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"p\"\r\n"
                b"Content-Length: 0\r\nConnection: close\r\n\r\n")
            return
        if request.line.startswith("CONNECT "):
            self._tunnel(connection, request.target)
        else:
            self._forward(connection, request)

    def _tunnel(self, connection: socket.socket, target: str) -> None:
        port = self.hosts.get(target)
        if port is None:
            connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            return
        with socket.create_connection(("127.0.0.1", port)) as server:
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            self._pump(connection, server)

    def _forward(self, connection: socket.socket, request: Request) -> None:
        """One request in absolute form (RFC 9112 section 3.2.2)."""
        method, target, version = request.line.split(" ")
        host, _, path = target.removeprefix("http://").partition("/")
        port = self.hosts.get(host if ":" in host else f"{host}:80")
        if port is None:
            connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            return
        with socket.create_connection(("127.0.0.1", port)) as server:
            fields = [f"{n}: {v}" for n, v in request.fields.items() if not n.startswith("proxy-")]
            server.sendall("\r\n".join([f"{method} /{path} {version}", *fields, "", ""]).encode("latin-1"))
            self._pump(connection, server)

    def _pump(self, one: socket.socket, other: socket.socket) -> None:
        with self._lock:
            self.open += 1
        try:
            ends = [one, other]
            while True:
                waiting = isinstance(one, ssl.SSLSocket) and one.pending() > 0
                readable = [one] if waiting else select.select(ends, [], [], 60)[0]
                if not readable:
                    return
                for end in readable:
                    if end is other:
                        time.sleep(self.gathers)
                    data = end.recv(1 << 16)
                    if not data:
                        return
                    (other if end is one else one).sendall(data)
        finally:
            with self._lock:
                self.open -= 1
