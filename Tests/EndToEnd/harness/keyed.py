"""A resource server that accepts API keys, on any loopback address, with or without TLS."""
from __future__ import annotations

import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Callable, Dict, List, Optional, Tuple

from .certificates import Authority

Answer = Tuple[int, Dict[str, str], bytes]


class Request:
    """One request as it came: header names in lower case, with all values."""

    def __init__(self, method: str, target: str, headers: Dict[str, List[str]], body: bytes) -> None:
        self.method, self.target, self.headers, self.body = method, target, headers, body

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]

    def shows(self, secret: str) -> bool:
        """Whether the secret is in its target or in a header."""
        return secret in self.target or any(secret in value for values in self.headers.values() for value in values)


class KeyedServer:
    """Serves until `stop`. `answers` maps a path to a function; other paths are 200 with the body `ok`."""

    def __init__(self, host: str = "127.0.0.1", authority: Optional[Authority] = None, name: str = "server") -> None:
        self.requests: List[Request] = []
        self.answers: Dict[str, Callable[[Request], Answer]] = {}
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Each answer is two writes, and its end must not wait for an acknowledgement.
            wbufsize = -1
            disable_nagle_algorithm = True

            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                headers: Dict[str, List[str]] = {}
                for header, value in self.headers.items():
                    headers.setdefault(header.lower(), []).append(value)
                request = Request(self.command, self.path, headers, body)
                double.requests.append(request)
                answering = double.answers.get(request.path)
                status, fields, content = answering(request) if answering else (200, {}, b"ok")
                self.send_response(status)
                for header, value in fields.items():
                    self.send_header(header, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
                self.wfile.flush()

            do_GET = do_POST = _serve

            def log_message(self, *arguments: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_: object) -> None:
                pass

        self._server = Server((host, 0), Handler)
        self.port: int = self._server.server_address[1]
        self.base = f"http://{host}:{self.port}"
        if authority:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(authority.certificate(name), authority.key(name))
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            self.base = f"https://{host}:{self.port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def redirects(self, path: str, to: str, status: int = 302) -> None:
        self.answers[path] = lambda _: (status, {"Location": to}, b"")

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
