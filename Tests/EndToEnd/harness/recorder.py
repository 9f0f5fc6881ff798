"""A way to the playground that remembers every request, and answers in its place where a test says so."""
from __future__ import annotations

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Optional, Tuple
from urllib.parse import urlsplit

Answer = Tuple[int, Dict[str, str], bytes]


class Recorded:
    """One request."""

    def __init__(self, method: str, target: str, headers: Dict[str, str], body: bytes) -> None:
        self.method, self.target, self.headers, self.body = method, target, headers, body

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]


class Recorder:
    """Serves on loopback until `stop`. `instead` may answer a request itself."""

    def __init__(self, upstream: str) -> None:
        self.requests: List[Recorded] = []
        self.instead: Callable[[Recorded], Optional[Answer]] = lambda _: None
        recorder = self
        host = urlsplit(upstream).netloc

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                fields = {name.lower(): value for name, value in self.headers.items()}
                recorded = Recorded(self.command, self.path, fields, body)
                recorder.requests.append(recorded)
                own = recorder.instead(recorded)
                try:
                    if own is not None:
                        self._answer(own[0], list(own[1].items()), own[2])
                    else:
                        self._pass_on(body)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            do_POST = do_GET

            def _pass_on(self, body: bytes) -> None:
                connection = http.client.HTTPConnection(host, timeout=30)
                try:
                    kept = {name: value for name, value in self.headers.items() if name.lower() != "host"}
                    connection.request(self.command, self.path, body=body or None, headers=kept)
                    response = connection.getresponse()
                    self._answer(response.status, response.getheaders(), response.read())
                finally:
                    connection.close()

            def _answer(self, status: int, headers: List[Tuple[str, str]], content: bytes) -> None:
                self.send_response(status)
                for name, value in headers:
                    if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        self.base = f"http://127.0.0.1:{self._server.server_address[1]}"

    def to(self, end: str) -> List[Recorded]:
        """The requests whose path ends so."""
        return [request for request in list(self.requests) if request.path.endswith(end)]

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
