"""An issuer that answers just what a test wants: metadata, key set, introspection."""
from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Optional, Tuple

Answer = Tuple[int, Dict[str, str], bytes]
Answering = Callable[["Asked"], Answer]


class Asked:
    """One request."""

    def __init__(self, method: str, path: str, headers: Dict[str, str], body: bytes) -> None:
        self.method, self.path, self.headers, self.body = method, path, headers, body


def document(value: Any, status: int = 200, **headers: str) -> Answer:
    """A JSON answer; header names have `_` for `-`."""
    fields = {"Content-Type": "application/json", **{name.replace("_", "-"): text for name, text in headers.items()}}
    return status, fields, json.dumps(value).encode()


class IssuerDouble:
    """Serves on loopback until `stop`. `answers` maps a path to a function; `asked` remembers every request."""

    def __init__(self) -> None:
        self.asked: List[Asked] = []
        self.answers: Dict[str, Answering] = {}
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._serve()

            def do_POST(self) -> None:
                self._serve()

            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                asked = Asked(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body)
                double.asked.append(asked)
                answering = double.answers.get(self.path.partition("?")[0])
                status, headers, content = answering(asked) if answering else document({}, 404)
                try:
                    # Without a date of its own the answer gets the machine's.
                    (self.send_response_only if "Date" in headers else self.send_response)(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self.base = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.metadata: Dict[str, Any] = {
            "issuer": self.base,
            "jwks_uri": f"{self.base}/jwks",
            "introspection_endpoint": f"{self.base}/introspect",
        }
        self.answers["/.well-known/openid-configuration"] = lambda _: document(self.metadata)

    def serve_keys(self, keys: Any, **headers: str) -> None:
        """`keys` is a key set, or bytes that are none."""
        content = keys if isinstance(keys, bytes) else json.dumps(keys).encode()
        fields = {"Content-Type": "application/json", **{n.replace("_", "-"): text for n, text in headers.items()}}
        self.answers["/jwks"] = lambda _: (200, fields, content)

    def count(self, path: str) -> int:
        return sum(1 for asked in self.asked if asked.path.partition("?")[0] == path)

    def settings(self, directory_secret: Optional[str] = None, **members: Any) -> Dict[str, Any]:
        """This issuer as one of a configuration."""
        own: Dict[str, Any] = {"issuer": self.base, "clientId": "shop"}
        if directory_secret:
            own.update(clientAuth="client_secret_basic", clientSecretFile=directory_secret)
        return {**own, **members}

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
