"""A program on the gateway's socket, and a resource server behind it that shows what it got."""
from __future__ import annotations

import hashlib
import http.client
import json
import select
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, List, Optional, Tuple
from urllib.parse import parse_qsl

from .loopback import Loopback


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout: float = 20.0) -> None:
        super().__init__("postern", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    """A response, read to its end."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(path: str, method: str, target: str, body: Any = None, headers: Optional[Dict[str, str]] = None, **options: Any) -> Answer:
    """One request over a connection of its own."""
    connection = UnixConnection(path)
    try:
        connection.request(method, target, body=body, headers=headers or {}, **options)
        return Answer(connection.getresponse())
    finally:
        connection.close()


class Upstream(ThreadingHTTPServer):
    """`/v1/echo` shows the request, `/v1/fields?…` answers with the fields of its query, `/v1/events` sends events as
    the test lets it, `/v1/hang` waits until the client is gone, `/v1/file` has ranges and a validator."""

    daemon_threads = True
    request_queue_size = 128
    FILE = bytes(range(256)) * 8

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seen: List[Tuple[str, str]] = []
        self.next_event = threading.Semaphore(0)
        self.hanging = threading.Event()
        self.left: List[float] = []
        self.broken = threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)
        self.base = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self) -> None:
        for _ in range(1000):
            self.next_event.release()
        self.shutdown()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        pass


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Upstream

    def log_message(self, *_: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self._serve
        raise AttributeError(name)

    def _serve(self) -> None:
        path, _, query = self.path.partition("?")
        with self.server.lock:
            self.server.seen.append((self.command, self.path))
        serve = getattr(self, "_" + path.rsplit("/", 1)[-1], self._echo)
        serve(query)

    def _read(self) -> Tuple[int, str]:
        """Length and hash of the body; notes one that breaks off."""
        try:
            return self._body()
        except (ValueError, OSError):
            self.server.broken.set()
            self.close_connection = True
            raise

    def _body(self) -> Tuple[int, str]:
        digest, count = hashlib.sha256(), 0
        if self.headers.get("Transfer-Encoding") == "chunked":
            while True:
                size = int(self.rfile.readline() or b"broken off", 16)
                digest.update(self.rfile.read(size))
                count += size
                self.rfile.readline()
                if size == 0:
                    return count, digest.hexdigest()
        left = int(self.headers.get("Content-Length", 0))
        while left:
            piece = self.rfile.read(min(left, 1 << 16))
            if not piece:
                raise ConnectionError("the request ended within its body")
            digest.update(piece)
            count += len(piece)
            left -= len(piece)
        return count, digest.hexdigest()

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and status not in (204, 304):
            self.wfile.write(body)

    def _echo(self, _: str) -> None:
        count, digest = self._read()
        seen = {
            "method": self.command, "path": self.path, "headers": [[name.lower(), value] for name, value in self.headers.items()],
            "length": count, "sha256": digest}
        self._answer(200, json.dumps(seen).encode(), Content_Type="application/json", X_Seen="yes")

    def _fields(self, query: str) -> None:
        self._read()
        fields = parse_qsl(query)
        status = int(dict(fields).get("status", 200))
        self.send_response(status)
        for name, value in fields:
            if name != "status":
                self.send_header(name, value)
        self.send_header("Content-Length", "2")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b"ok")

    def _events(self, _: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        number = 0
        while True:
            self.server.next_event.acquire()
            number += 1
            event = f"data: {number} {time.monotonic()}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()

    def _hang(self, _: str) -> None:
        self.server.hanging.set()
        select.select([self.connection], [], [], 30)
        self.server.left.append(time.monotonic())
        self.close_connection = True

    def _stall(self, _: str) -> None:
        """Does not read the body."""
        self.server.hanging.set()
        time.sleep(5)
        self.close_connection = True

    def _early(self, _: str) -> None:
        """Responds without reading the body."""
        self._answer(413, b"too much")
        self.close_connection = True

    def _cut(self, query: str) -> None:
        self.send_response(200)
        if query == "chunked":
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", "1000000")
        self.end_headers()
        self.wfile.write(b"400\r\n" + b"x" * 1024 + b"\r\n" if query == "chunked" else b"x" * 1024)
        self.wfile.flush()
        self.close_connection = True

    def _miscoded(self, _: str) -> None:
        """A body in another coding than it states."""
        self._answer(200, b"no such coding", Content_Encoding="gzip")

    def _gzip(self, _: str) -> None:
        """Compresses whatever it was requested."""
        import gzip
        self._answer(200, gzip.compress(b"text " * 1000), Content_Encoding="gzip", Content_Type="text/plain")

    def _large(self, query: str) -> None:
        size = int(query)
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        piece = b"x" * (1 << 16)
        while size > 0:
            self.wfile.write(piece[:size])
            size -= len(piece)

    def _file(self, _: str) -> None:
        content, tag = self.server.FILE, '"v1"'
        if self.headers.get("If-None-Match") == tag:
            return self._answer(304, b"", ETag=tag)
        requested = self.headers.get("Range")
        if not requested:
            return self._answer(200, content, ETag=tag, Accept_Ranges="bytes")
        start, _, end = requested.partition("=")[2].partition("-")
        part = content[int(start):int(end) + 1]
        return self._answer(206, part, ETag=tag, Content_Range=f"bytes {start}-{end}/{len(content)}")


class IgnoringServer:
    """A server that takes bodies for requests. The response is the path; that of `/hidden` comes when the next request has
    come."""

    def __init__(self) -> None:
        self._loopback = Loopback(self._serve)
        self.base = f"http://127.0.0.1:{self._loopback.port}"
        #: The paths of the requests on each connection.
        self.connections: Dict[int, List[str]] = {}
        self._loopback.start()

    def __enter__(self) -> "IgnoringServer":
        return self

    def __exit__(self, *_: object) -> None:
        self._loopback.stop()

    def _serve(self, client: socket.socket, number: int) -> None:
        received, waiting = b"", b""
        while True:
            head, end, rest = received.lstrip(b"\r\n").partition(b"\r\n\r\n")
            if not end:
                piece = client.recv(65536)
                if not piece:
                    return
                received += piece
                continue
            received = rest
            path = head.split(b" ")[1]
            self.connections.setdefault(number, []).append(path.decode())
            response = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(path), path)
            if path == b"/hidden":
                waiting += response
                continue
            client.sendall(waiting + response)
            waiting = b""
