"""glewlwyd, a real OpenID provider from Debian, and a resource server that takes its tokens.

The resource server introspects every token at the provider (RFC 7662), as a resource server would.
"""
from __future__ import annotations

import base64
import http.cookiejar
import http.server
import json
import os
import signal
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Dict, List, Tuple

from .waiting import eventually

SCRIPT = Path(__file__).resolve().parents[2] / "Providers" / "glewlwyd.sh"
TOKEN_SECONDS = 4


class Provider:
    """glewlwyd on a port of its own; `stop` and `start` keep its data."""

    def __init__(self, directory: Path, *options: str, token_seconds: int = TOKEN_SECONDS) -> None:
        self.directory = directory
        self.options = ["--token-seconds", str(token_seconds), *options]
        self.port = 0
        self.process = 0
        self.start()

    def start(self) -> None:
        keep = ["--keep"] if self.port else []
        command = [
            str(SCRIPT), *keep, "--parent", str(os.getpid()), *self.options,
            str(self.directory), str(self.port),
        ]
        output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
        process, port = output.split()
        self.process, self.port = int(process), int(port)

    def stop(self) -> None:
        if self.process:
            os.kill(self.process, signal.SIGTERM)
            gone = self.process
            self.process = 0
            eventually(lambda: not Path(f"/proc/{gone}").exists(), what="the provider's end")

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/oidc"

    def introspect(self, token: str) -> Dict[str, Any]:
        return self.post("introspect", token=token)[1]

    def post(self, path: str, **form: str) -> Tuple[int, Dict[str, Any]]:
        """One request of the client's, made directly, around the sidecar; an empty body is an empty document."""
        credentials = base64.b64encode(b"svc:svcsecret").decode()
        request = urllib.request.Request(
            f"{self.issuer}/{path}", urllib.parse.urlencode(form).encode(), {"Authorization": f"Basic {credentials}"})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"{}")


class Resource:
    """A resource server that asks the provider about every token."""

    def __init__(self, provider: Provider) -> None:
        self.tokens: List[str] = []
        self.refused = 0
        resource = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                token = self.headers.get("Authorization", "").replace("Bearer ", "", 1)
                try:
                    active = bool(token) and provider.introspect(token).get("active") is True
                except (urllib.error.URLError, OSError):
                    active = False
                body = json.dumps({"orders": [1, 2]} if active else {"error": "invalid_token"}).encode()
                self.send_response(200 if active else 401)
                if active:
                    resource.tokens.append(token)
                else:
                    resource.refused += 1
                    self.send_header("WWW-Authenticate", 'Bearer realm="orders", error="invalid_token"')
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/"

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Browser:
    """A browser in which alice has logged in at the provider and agreed to everything."""

    class _StaysHere(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *arguments: Any) -> None:
            return None

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(cookies, self._StaysHere)
        base = f"http://127.0.0.1:{provider.port}/api/auth/"
        self._send("POST", base, {"username": "alice", "password": "alicepw"})
        self._send("PUT", base + "grant/svc", {"scope": "openid orders"})

    def authorize(self, url: str) -> str:
        """Where the provider sends the browser."""
        try:
            self._opener.open(url + "&g_continue", timeout=20).close()
        except urllib.error.HTTPError as redirect:
            assert redirect.code == 302, redirect.code
            return redirect.headers["Location"]
        raise AssertionError("the provider shows a page instead of a redirect")

    def log_out(self, sid: str) -> None:
        """What the provider's page sends when its user confirms the end of a session: the provider then posts logout
        tokens to the clients of that session."""
        base = self._provider.issuer
        request = urllib.request.Request(f"{base}/session/{sid}", method="DELETE")
        with self._opener.open(request, timeout=20) as answer:
            assert answer.status == 200

    def _send(self, method: str, url: str, body: Any) -> None:
        request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"}, method=method)
        with self._opener.open(request, timeout=20) as answer:
            assert answer.status == 200
