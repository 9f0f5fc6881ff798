"""An issuer and an API under a name that nothing but a proxy can resolve."""
from __future__ import annotations

import json
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, List, Optional, Tuple

from .certificates import Authority


class NamedService:
    """Serves on loopback until `stop`, over TLS where there is an `authority`, which has issued a certificate for
    `name`. `asked` has each request's method, path, header fields and number of its connection. Its URLs have the
    usual port, or (`explicit`) the one that it listens on."""

    def __init__(
        self, name: str, authority: Optional[Authority] = None, redirect: str = "", client: bool = False, explicit: bool = False,
    ) -> None:
        self.name, self.redirect = name, redirect
        self.asked: List[Tuple[str, str, Dict[str, str], int]] = []
        self.keys: List[Dict[str, Any]] = []
        service = self

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            accepted = 0

            def get_request(self) -> Any:
                connection, address = super().get_request()
                Server.accepted += 1
                if authority:
                    connection = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
                return connection, (address, Server.accepted)

            def handle_error(self, *_: Any) -> None:
                pass

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                if authority:
                    self.request.settimeout(20)
                    self.request.do_handshake()
                super().setup()

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                fields = {name.lower(): value for name, value in self.headers.items()}
                number = self.client_address[1]
                service.asked.append((self.command, self.path, fields, number))
                if self.path.startswith("/api/events"):
                    return self.stream()
                status, more, document = service.answer(self, body, number)
                content = json.dumps(document).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **more}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_POST = do_GET

            def stream(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for number in range(3):
                    piece = f"data: {number}\n\n".encode()
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.flush()
                    time.sleep(0.05)
                self.wfile.write(b"0\r\n\r\n")

            def log_message(self, *_: Any) -> None:
                pass

        if authority:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(authority.certificate(name), authority.key(name))
            if client:
                context.load_verify_locations(authority.file)
                context.verify_mode = ssl.CERT_REQUIRED
        self._server = Server(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]
        scheme, port = ("https", 443) if authority else ("http", 80)
        self.base = f"{scheme}://{name}"
        if explicit:
            port = self.port
            self.base += f":{port}"
        #: As a proxy's `hosts`.
        self.hosts = {f"{name}:{port}": self.port}
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def paths(self) -> List[str]:
        return [path.partition("?")[0] for _, path, _, _ in self.asked]

    def answer(self, handler: Any, body: bytes, number: int) -> Tuple[int, Dict[str, str], Any]:
        path = handler.path.partition("?")[0]
        if path.endswith("/.well-known/openid-configuration"):
            return 200, {}, {
                "issuer": self.base, "token_endpoint": f"{self.base}/token", "jwks_uri": f"{self.base}/jwks",
                "introspection_endpoint": f"{self.base}/introspect",
                "token_endpoint_auth_methods_supported": ["client_secret_basic"]}
        if path == "/token":
            return 200, {"Cache-Control": "no-store"}, {
                "access_token": "opaque-token", "token_type": "Bearer", "expires_in": 300}
        if path == "/jwks":
            return 200, {}, {"keys": self.keys}
        if path == "/introspect":
            return 200, {}, {"active": False}
        if path == "/access/v1/evaluation":
            return 200, {}, {"decision": True}
        if path == "/api/away":
            return 302, {"Location": self.redirect}, {}
        if path == "/api/refused":
            return 407, {"Proxy-Authenticate": "Basic realm=x"}, {}
        if not path.startswith("/api/"):
            return 404, {}, {}
        fields = {name.lower(): value for name, value in handler.headers.items()}
        return 200, {}, {"connection": number, "bytes": len(body), "headers": fields}
