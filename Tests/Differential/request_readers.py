"""The readers of requests: nginx, haproxy and the gateway, each in front of a server that records what reaches it."""

from __future__ import annotations

import re
import select
import shutil
import socket
import socketserver
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, List, NamedTuple, Tuple

from harness.ports import free_port

from starting import Program

SYSTEM = "/usr/sbin:/usr/bin:/sbin:/bin"
NGINX, HAPROXY = shutil.which("nginx", path=SYSTEM), shutil.which("haproxy", path=SYSTEM)

#: How long nothing may come before a request counts as unfinished, in seconds.
SILENCE = 0.3


class Seen(NamedTuple):
    """One request, as it reached the server."""

    method: str
    target: str
    body: bytes
    #: The fields whose names begin with `X-T`, the ones that the cases have; names in lower case.
    fields: Tuple[Tuple[str, str], ...]


class Unreadable(Exception):
    """What came is no request, or can be read in two ways."""


class Upstream:
    """An HTTP server that records the requests it gets, and reads them as strictly as RFC 9112 allows."""

    def __init__(self) -> None:
        self.seen: List[Seen] = []
        self.faults: List[str] = []
        self._lock = threading.Lock()
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                outer._serve(self.request)

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True
            request_queue_size = 128

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def take(self) -> Tuple[List[Seen], List[str]]:
        """What has been recorded since the last call."""
        with self._lock:
            seen, faults = self.seen, self.faults
            self.seen, self.faults = [], []
        return seen, faults

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(10)
        stream = Bytes(connection)
        while True:
            try:
                request, fault = read_request(stream), None
            except Unreadable as error:
                request, fault = None, f"{error}: {stream.taken[:600]!r}"
            except (EOFError, OSError):
                return
            with self._lock:
                if fault is not None:
                    self.faults.append(fault)
                elif request is not None:
                    self.seen.append(request)
            if request is None:
                connection.close()
                return
            stream.taken = b""
            try:
                body = b"" if request.method == "HEAD" else b"ok"
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + body)
            except OSError:
                return


class Bytes:
    """The bytes of a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._waiting = b""
        self.taken = b""

    def until(self, end: bytes) -> bytes:
        while end not in self._waiting:
            self._receive()
        return self.exactly(self._waiting.index(end) + len(end))

    def exactly(self, count: int) -> bytes:
        while len(self._waiting) < count:
            self._receive()
        data, self._waiting = self._waiting[:count], self._waiting[count:]
        self.taken += data
        return data

    def _receive(self) -> None:
        data = self._connection.recv(65_536)
        if not data:
            raise EOFError
        self._waiting += data


TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def read_request(stream: Bytes) -> Seen:
    head = stream.until(b"\r\n\r\n")[:-4]
    if re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n", head):
        raise Unreadable("a control character")
    line, *rest = head.split(b"\r\n")
    found = re.fullmatch(rb"(" + TOKEN.pattern + rb") (\S+) HTTP/1\.[01]", line)
    if not found:
        raise Unreadable("not a request line")
    fields: List[Tuple[str, str]] = []
    for each in rest:
        name, colon, value = each.partition(b":")
        if not colon or not TOKEN.fullmatch(name):
            raise Unreadable("not a field")
        fields.append((name.decode().lower(), value.strip(b" \t").decode("latin-1")))
    body = read_body(stream, fields)
    kept = tuple((name, value) for name, value in fields if name.startswith("x-t"))
    return Seen(found[1].decode(), origin_form(found[2].decode("latin-1")), body, kept)


def read_body(stream: Bytes, fields: List[Tuple[str, str]]) -> bytes:
    lengths = [value for name, value in fields if name == "content-length"]
    codings = [value for name, value in fields if name == "transfer-encoding"]
    if sum(name == "host" for name, _ in fields) > 1:
        raise Unreadable("several fields Host")
    if len(lengths) + len(codings) > 1:
        raise Unreadable("two framings")
    if codings:
        if codings[0].lower() != "chunked":
            raise Unreadable("an unknown coding")
        body = b""
        while True:
            size = stream.until(b"\r\n")[:-2]
            if not re.fullmatch(rb"[0-9A-Fa-f]{1,16}(;[^\r\n\x00]*)?", size):
                raise Unreadable("not the size of a chunk")
            count = int(size.partition(b";")[0], 16)
            if count == 0:
                break
            body += stream.exactly(count)
            if stream.exactly(2) != b"\r\n":
                raise Unreadable("no CR LF behind a chunk")
        while (trailer := stream.until(b"\r\n")) != b"\r\n":
            if not TOKEN.fullmatch(trailer.partition(b":")[0]):
                raise Unreadable("not a trailer")
        return body
    if lengths:
        if not re.fullmatch(r"[0-9]{1,18}", lengths[0]):
            raise Unreadable("not a length")
        return stream.exactly(int(lengths[0]))
    return b""


def origin_form(target: str) -> str:
    """RFC 9112 section 3.2.2: a proxy may pass the absolute form on; it means the same."""
    found = re.match(r"(?i)http://[^/?#]*", target)
    if not found:
        return target
    rest = target[found.end():]
    return rest if rest.startswith("/") else "/" + rest


@dataclass
class Outcome:
    """What became of the bytes that a connection was sent."""

    seen: List[Seen]
    #: What the server could not read, each with its reason.
    faults: List[str]
    #: The statuses of the responses, the interim ones left out.
    statuses: List[int]
    #: Whether the reader ended the connection; if not, it waits for more.
    is_closed: bool
    response: bytes = field(repr=False)


@dataclass
class Reader:
    """One of the programs that are compared."""

    name: str
    upstream: Upstream
    connect: Callable[[], socket.socket]

    def outcome(self, data: bytes, piecemeal: bool = False, silence: float = SILENCE) -> Outcome:
        """Sends some bytes on a connection of their own, in one write or in one for each byte."""
        self.upstream.take()
        response, is_closed = exchange(self.connect, data, piecemeal, silence)
        seen, faults = self.upstream.take()
        return Outcome(seen, faults, statuses(response), is_closed, response)


def exchange(connect: Callable[[], socket.socket], data: bytes, piecemeal: bool, silence: float) -> Tuple[bytes, bool]:
    """All that comes back, and whether the other side ended the connection."""
    with connect() as connection:
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        pieces = [data[index : index + 1] for index in range(len(data))] if piecemeal else [data]
        response = b""
        while True:
            ready, writable, _ = select.select([connection], [connection] if pieces else [], [], silence)
            if not ready and not writable:
                return response, False
            try:
                if ready:
                    received = connection.recv(65_536)
                    if not received:
                        return response, True
                    response += received
                elif pieces:
                    sent = connection.send(pieces[0])
                    pieces[0] = pieces[0][sent:]
                    if not pieces[0]:
                        pieces.pop(0)
                    if piecemeal:
                        time.sleep(0.0002)  # so that the other side reads each byte by itself
            except BlockingIOError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                # Closed with bytes unread; what has come before may still be read.
                pieces = []
                try:
                    while received := connection.recv(65_536):
                        response += received
                except OSError:
                    pass
                return response, True


def statuses(response: bytes) -> List[int]:
    """The final statuses. The bodies of the servers here have no text that looks like a status line."""
    found = [int(status) for status in re.findall(rb"HTTP/1\.[01] ([0-9]{3})", response)]
    return [status for status in found if status >= 200]


def nginx(directory: Path, upstream: Upstream) -> Tuple[Program, int]:
    """nginx as a plain proxy: nothing but where to listen and where to forward to."""
    port = free_port()
    temporary = "".join(
        f"{kind}_temp_path {directory}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (directory / "nginx.conf").write_text(f"""
        daemon off; master_process off; pid {directory}/nginx.pid; error_log {directory}/error.log;
        events {{ worker_connections 256; }}
        http {{
          access_log off;
          {temporary}
          client_header_timeout 1s; client_body_timeout 1s;
          server {{
            listen 127.0.0.1:{port};
            location / {{ proxy_pass http://127.0.0.1:{upstream.port}; proxy_http_version 1.1; }}
          }}
        }}
        """)
    return Program([NGINX or "nginx", "-p", str(directory), "-c", str(directory / "nginx.conf")], directory, port), port


def haproxy(directory: Path, upstream: Upstream) -> Tuple[Program, int]:
    """haproxy in its HTTP mode, with nothing switched on or off."""
    port = free_port()
    (directory / "haproxy.cfg").write_text(f"""
        defaults
          mode http
          timeout connect 5s
          timeout server 10s
          timeout client 2s
          timeout http-request 2s
        frontend f
          bind 127.0.0.1:{port}
          default_backend b
        backend b
          http-reuse never
          server s 127.0.0.1:{upstream.port}
        """.replace("\n        ", "\n"))
    return Program([HAPROXY or "haproxy", "-db", "-f", str(directory / "haproxy.cfg")], directory, port), port
