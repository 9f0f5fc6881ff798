"""Stands between the sidecar and its issuer's endpoints, and keeps every secret that passes."""
from __future__ import annotations

import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, List, Set
from urllib.parse import parse_qsl, quote, urlsplit

from .playground import Playground

#: Members of requests and answers that nobody but the two of them may see.
SECRET = {
    "access_token", "refresh_token", "id_token", "code", "code_verifier", "client_secret", "client_assertion", "assertion",
    "subject_token", "actor_token", "device_code", "token", "id_token_hint",
}


class Harvest:
    """A reverse proxy of all endpoints. With `echo`, tokens are refused in words that repeat the request, as clumsy
    servers do."""

    def __init__(self, playground: Playground) -> None:
        self.secrets: Dict[str, Set[str]] = {}
        self.echo = False
        harvest = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._carry(b"")

            def do_POST(self) -> None:
                self._carry(self.rfile.read(int(self.headers["Content-Length"])))

            def _carry(self, body: bytes) -> None:
                harvest.add_pairs(parse_qsl(body.decode()) + parse_qsl(urlsplit(self.path).query))
                scheme, _, credentials = self.headers.get("Authorization", "").partition(" ")
                harvest.add(f"authorization {scheme}", credentials)
                harvest.add("proof", self.headers.get("DPoP", ""))
                if harvest.echo and self.path.startswith("/oidc/token"):
                    said = {"error": "invalid_request", "error_description": f"cannot make sense of {body.decode()}"}
                    return self._answer(400, "application/json", json.dumps(said).encode())
                upstream = http.client.HTTPConnection("127.0.0.1", playground.port, timeout=10)
                try:
                    # `Host` goes along as it came: proofs of possession name the address that the sidecar knows.
                    upstream.request(self.command, self.path, body or None, dict(self.headers.items()))
                    answer = upstream.getresponse()
                    content, kind = answer.read(), answer.getheader("Content-Type", "")
                except (http.client.HTTPException, OSError):
                    self.close_connection = True
                    return
                finally:
                    upstream.close()
                if kind.startswith("application/json"):
                    try:
                        harvest.add_pairs(json.loads(content).items())
                    except (ValueError, AttributeError):
                        pass
                self._answer(answer.status, kind, content)

            def _answer(self, status: int, kind: str, content: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        base = f"http://127.0.0.1:{self._server.server_address[1]}/oidc"
        self.endpoints = {
            "token": f"{base}/token", "introspection": f"{base}/introspect", "revocation": f"{base}/revoke",
            "deviceAuthorization": f"{base}/device_authorization", "endSession": f"{base}/logout",
        }

    def add(self, name: str, value: str) -> None:
        if len(value) >= 8:
            self.secrets.setdefault(name, set()).add(value)

    def add_pairs(self, pairs: Any) -> None:
        for name, value in pairs:
            if name in SECRET and isinstance(value, str):
                self.add(name, value)

    def newest(self, name: str) -> str:
        return next(iter(self.secrets[name]))

    def found_in(self, text: str) -> List[str]:
        """The names of the secrets that stand in `text`, whole, percent-encoded, or one part of a token alone."""
        found = []
        for name, values in self.secrets.items():
            for value in values:
                parts = [part for part in value.split(".")[1:] if len(part) > 16] if value.count(".") in (2, 4) else []
                if any(form in text for form in [value, quote(value, safe=""), *parts]):
                    found.append(name)
        return sorted(set(found))

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
