"""A resource server whose bodies are JWEs, made and read by joserfc, and that answers as a test says."""
from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Tuple

#: Status, media type and body of an answer.
Answer = Tuple[int, str, bytes]


class EncryptedServer:
    """Keeps what comes; `answer` makes what goes."""

    def __init__(self) -> None:
        self.requests: List[Tuple[str, Dict[str, str], bytes]] = []
        self.answer: Callable[[str], Answer] = lambda path: (204, "", b"")
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def respond(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                server.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                status, kind, content = server.answer(self.path)
                self.send_response(status)
                if status in (307, 308):
                    self.send_header("Location", kind)
                elif kind:
                    self.send_header("Content-Type", kind)
                if status != 204:
                    self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)
                self.wfile.flush()

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = respond

            def log_message(self, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        self.base = f"http://127.0.0.1:{self._server.server_address[1]}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
