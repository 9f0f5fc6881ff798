"""A resource server on loopback that sends and takes bodies of any size."""
from __future__ import annotations

import hashlib
import http.server
import threading
from typing import Dict, List, Tuple


def pattern(size: int, seed: int = 0) -> bytes:
    """So many bytes in which nothing comes twice."""
    block = b"".join(hashlib.sha256(b"%d-%d" % (seed, number)).digest() for number in range(min(size, 1 << 16) // 32 + 1))
    return (block * (size // len(block) + 1))[:size]


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "EchoServer"

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            pieces: List[bytes] = []
            while True:
                size = int(self.rfile.readline() or b"broken off", 16)
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
                if size == 0:
                    return b"".join(pieces)
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        if len(body) < length:
            raise ConnectionError("the request ended within its body")
        return body

    def _serve(self) -> None:
        body = self._body()
        with self.server.lock:
            self.server.requests.append((self.command, self.path, dict(self.headers), body))
        name, _, argument = self.path.strip("/").partition("/")
        if name == "pattern":
            size, _, seed = argument.partition("-")
            return self._answer(200, pattern(int(size), int(seed or 0)))
        if name == "status":
            return self._answer(int(argument), b"status " + argument.encode())
        if name == "redirect":
            status, _, target = argument.partition("-")
            self.send_response(int(status))
            self.send_header("Location", "/" + target)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if name == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            self.wfile.write(pattern(1000))
            self.close_connection = True
            return None
        return self._answer(200, body)

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _serve

    def log_message(self, *_: object) -> None:
        pass


class EchoServer(http.server.ThreadingHTTPServer):
    """Answers `/echo` with the request's body, `/pattern/SIZE-SEED` with `pattern`, `/status/CODE` with that status,
    `/redirect/CODE-PATH` with a redirect, and `/cut` with a body that breaks off. Notes the requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lock = threading.Lock()
        self.requests: List[Tuple[str, str, Dict[str, str], bytes]] = []
        self.base = f"http://127.0.0.1:{self.server_address[1]}/"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        pass
