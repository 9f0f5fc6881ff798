"""An issuer and a resource server over TLS (RFC 8705): who shows which certificate, and which tokens are bound to
it."""
from __future__ import annotations

import base64
import hashlib
import json
import secrets
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, List, Optional, Tuple
from urllib.parse import parse_qs

from .certificates import Authority


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    context: ssl.SSLContext

    def get_request(self) -> Tuple[Any, Any]:
        plain, address = self.socket.accept()
        return self.context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False), address

    def shutdown_request(self, request: Any) -> None:
        try:
            # Unread bytes would make the end a reset, in which an alert before it is lost.
            socket.socket.shutdown(request, socket.SHUT_WR)
            request.settimeout(1)
            while socket.socket.recv(request, 4096):
                pass
        except OSError:
            pass
        self.close_request(request)


class MutualTLS:
    """`issuer`, whose metadata names aliases on another port that demands certificates, and `resource` on a third."""

    def __init__(self, authority: Authority) -> None:
        self.authority = authority
        self.tokens: Dict[str, Optional[str]] = {}
        self.keys: Dict[str, Any] = {"keys": []}
        self.asked: List[Tuple[str, str, str]] = []
        self._servers: List[_Server] = []
        self.issuer = self._listen("issuer", ssl.CERT_OPTIONAL)
        self.alias = self._listen("alias", ssl.CERT_REQUIRED)
        self.resource = self._listen("resource", ssl.CERT_OPTIONAL)
        self.demanding = self._listen("demanding", ssl.CERT_REQUIRED)

    def stop(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def seen(self, where: str) -> List[str]:
        """The clients that were seen there, by common name; empty for one without certificate."""
        return [client for place, _, client in self.asked if place == where]

    def metadata(self) -> Dict[str, Any]:
        return {
            "issuer": self.issuer,
            "token_endpoint": f"{self.issuer}/token",
            "revocation_endpoint": f"{self.issuer}/revoke",
            "tls_client_certificate_bound_access_tokens": True,
            "token_endpoint_auth_methods_supported": ["tls_client_auth", "client_secret_basic"],
            "mtls_endpoint_aliases": {"token_endpoint": f"{self.alias}/token"},
        }

    def answer(self, place: str, handler: Any, client: str, thumbprint: Optional[str]) -> Tuple[int, Dict[str, Any]]:
        path = handler.path.partition("?")[0]
        if path.endswith("/.well-known/openid-configuration"):
            return 200, self.metadata()
        if path == "/jwks":
            return 200, self.keys
        if path == "/token":
            form = parse_qs(handler.rfile.read(int(handler.headers.get("Content-Length", "0"))).decode())
            # The registered subject of the client `mtlsclient` is its name; a secret will do for another one.
            if form.get("client_id") == ["mtlsclient"] and client != "mtlsclient":
                return 401, {"error": "invalid_client"}
            token = secrets.token_urlsafe(16)
            self.tokens[token] = thumbprint
            return 200, {"access_token": token, "token_type": "Bearer", "expires_in": 300}
        authorization = handler.headers.get("Authorization")
        if authorization is None and not path.startswith("/bound"):
            return 200, {"client": client}
        token = (authorization or "").removeprefix("Bearer ")
        if token not in self.tokens or self.tokens[token] != thumbprint:
            return 401, {"error": "invalid_token", "bound": self.tokens.get(token) is not None}
        return 200, {"client": client, "bound": self.tokens[token] is not None}

    def _listen(self, place: str, demand: ssl.VerifyMode) -> str:
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                self.request.settimeout(20)
                self.request.do_handshake()
                super().setup()

            def do_GET(self) -> None:
                certificate = self.request.getpeercert(binary_form=True)
                subject = dict(part[0] for part in (self.request.getpeercert() or {}).get("subject", ()))
                thumbprint = certificate and base64.urlsafe_b64encode(hashlib.sha256(certificate).digest()).decode()
                client = subject.get("commonName", "")
                double.asked.append((place, self.path, client))
                status, document = double.answer(place, self, client, thumbprint)
                content = json.dumps(document).encode()
                self.send_response(status)
                if status == 401:
                    self.send_header("WWW-Authenticate", 'Bearer error="invalid_token"')
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_POST = do_GET

            def log_message(self, *arguments: Any) -> None:
                pass

        server = _Server(("127.0.0.1", 0), Handler)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.context.load_cert_chain(self.authority.chain("server", "middle"), self.authority.key("server"))
        server.context.load_verify_locations(self.authority.file)
        server.context.verify_mode = demand
        self._servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return f"https://127.0.0.1:{server.server_address[1]}"
