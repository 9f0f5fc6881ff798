"""A real OpenID provider, glewlwyd from Debian: discovery, client credentials, introspection, expiry, refusal, outage.

The resource server is this file's own: it introspects every token at the provider (RFC 7662), as a resource server would.
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
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness.waiting import eventually

SCRIPT = Path(__file__).resolve().parents[1] / "Providers" / "glewlwyd.sh"
TOKEN_SECONDS = 4


class Provider:
    """glewlwyd on a port of its own; `stop` and `start` keep its data."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = 0
        self.process = 0
        self.start()

    def start(self) -> None:
        keep = ["--keep"] if self.port else []
        command = [
            str(SCRIPT), *keep, "--token-seconds", str(TOKEN_SECONDS), "--parent", str(os.getpid()), str(self.directory), str(self.port),
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
        credentials = base64.b64encode(b"svc:svcsecret").decode()
        request = urllib.request.Request(
            f"{self.issuer}/introspect", urllib.parse.urlencode({"token": token}).encode(), {"Authorization": f"Basic {credentials}"},
        )
        with urllib.request.urlopen(request, timeout=5) as response:
            return json.load(response)


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


@pytest.fixture
def provider(directory: Path) -> Iterator[Provider]:
    started = Provider(directory / "glewlwyd")
    yield started
    started.stop()


@pytest.fixture
def resource(provider: Provider) -> Iterator[Resource]:
    started = Resource(provider)
    yield started
    started.stop()


@pytest.fixture
def with_provider(start: Callable[..., Any], provider: Provider, resource: Resource) -> Callable[..., Any]:
    """Starts a sidecar whose one resource takes the provider's tokens."""

    def build(**issuer: Any) -> Any:
        corp = {"issuer": provider.issuer, "clientId": "svc", "clientSecret": "svcsecret", "scope": None, **issuer}
        corp = {name: value for name, value in corp.items() if value is not None}
        orders = {"baseUrl": resource.base, "issuer": "corp", "auth": "device", "scope": "orders"}
        return start({"issuers": {"corp": corp}, "resources": {"real": orders}})

    return build


def fetch(sidecar: Any) -> Any:
    with sidecar.connect() as connection:
        return connection.answer_to(connection.request("fetchResource", {"resource": "real", "path": "orders"}))


def result(sidecar: Any) -> Dict[str, Any]:
    message = fetch(sidecar)
    assert "result" in message, message
    return message["result"]


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_device_token_of_a_real_provider_opens_the_resource(with_provider: Any, resource: Resource, method: str) -> None:
    sidecar = with_provider(clientAuth=method)
    for _ in range(3):
        answer = result(sidecar)
        assert answer["status"] == 200
        assert json.loads(answer["body"]) == {"orders": [1, 2]}
    assert len(set(resource.tokens)) == 1, "three fetches, one token"
    assert resource.tokens[0] not in json.dumps(answer)


def test_an_expired_token_is_renewed_and_no_caller_notices(with_provider: Any, resource: Resource) -> None:
    sidecar = with_provider()

    def renewed() -> bool:
        assert result(sidecar)["status"] == 200
        return len(set(resource.tokens)) >= 3

    eventually(renewed, seconds=6 * TOKEN_SECONDS, what="two renewals")


def test_a_wrong_secret_is_device_not_authenticated(with_provider: Any, resource: Resource) -> None:
    # glewlwyd answers 403 with an empty body: no OAuth error to lean on.
    error = fetch(with_provider(clientSecret="wrong"))["error"]
    assert error["code"] == 1003
    assert error["data"]["reason"] == "device_not_authenticated"
    assert error["data"]["upstream"]["status"] == 403
    assert error["data"]["retryable"] is False
    assert error["data"]["outcome"] == "not_sent"
    assert resource.tokens == [] and resource.refused == 0


def test_the_provider_may_be_down_and_come_back(with_provider: Any, provider: Provider, resource: Resource) -> None:
    provider.stop()
    sidecar = with_provider()
    error = fetch(sidecar)["error"]
    assert error["data"]["reason"] == "server_unreachable"
    assert error["data"]["retryable"] is True
    with sidecar.connect() as connection:
        health = connection.call("health")
    assert health["status"] == "degraded"
    assert health["checks"]["issuer.corp"]["status"] == "degraded"

    provider.start()
    eventually(lambda: fetch(sidecar).get("result", {}).get("status") == 200, seconds=20, what="a fetch after the outage")
    with sidecar.connect() as connection:
        assert connection.call("health")["status"] == "ok"


def test_an_outage_of_the_provider_leaves_the_refusal_as_it_stood(with_provider: Any, provider: Provider) -> None:
    sidecar = with_provider()
    assert result(sidecar)["status"] == 200
    provider.stop()
    # The resource cannot introspect either and refuses the token; no other can be got: its answer is the result.
    answer = result(sidecar)
    assert (answer["status"], answer["attempts"], answer["tokenRefreshed"]) == (401, 1, False)
    provider.start()
    eventually(lambda: fetch(sidecar).get("result", {}).get("status") == 200, seconds=20, what="a fetch after the outage")


def test_no_secret_of_the_provider_is_in_the_log(with_provider: Any, resource: Resource) -> None:
    sidecar = with_provider()
    assert result(sidecar)["status"] == 200
    log = sidecar.log()
    assert "svcsecret" not in log
    assert resource.tokens[0] not in log


class Browser:
    """A browser in which alice has logged in at the provider and agreed to everything."""

    class _StaysHere(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *arguments: Any) -> None:
            return None

    def __init__(self, provider: Provider) -> None:
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(cookies, self._StaysHere)
        base = f"http://127.0.0.1:{provider.port}/api/auth/"
        self._send("POST", base, {"username": "alice", "password": "alicepw"})
        self._send("PUT", base + "grant/svc", {"scope": "openid orders"})

    def authorize(self, url: str) -> str:
        """Where the provider sends the browser."""
        with pytest.raises(urllib.error.HTTPError) as redirect:
            self._opener.open(url + "&g_continue", timeout=5)
        assert redirect.value.code == 302
        return redirect.value.headers["Location"]

    def _send(self, method: str, url: str, body: Any) -> None:
        request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"}, method=method)
        with self._opener.open(request, timeout=5) as answer:
            assert answer.status == 200


def test_a_user_of_a_real_provider(
    start: Callable[..., Any], provider: Provider, resource: Resource
) -> None:
    """Code with PKCE, a real ID token, a rotating refresh token, introspection, revocation."""
    corp = {"issuer": provider.issuer, "clientId": "svc", "clientSecret": "svcsecret", "scope": "openid orders"}
    mine = {"baseUrl": resource.base, "issuer": "corp", "auth": "user", "scope": "orders"}
    sidecar = start({
        "issuers": {"corp": corp}, "resources": {"mine": mine}, "tokens": {"leaveTheSidecar": True},
    })
    browser = Browser(provider)
    with sidecar.connect() as connection:
        begun = connection.call("beginAuthorization", {"issuer": "corp", "redirectUri": "http://127.0.0.1/cb"})
        callback = browser.authorize(begun["authorizationUrl"])
        session = connection.call("completeAuthorization", {"callbackUrl": callback})
        assert session["claims"]["iss"] == provider.issuer and session["claims"]["aud"] == "svc"
        handle = session["session"]
        for _ in range(3):
            assert connection.call("fetchResource", {"resource": "mine", "path": "orders"})["status"] == 200
            connection.call("refreshSession", {"session": handle})
        assert len(set(resource.tokens)) == 3
        token = connection.call("getAccessToken", {"resource": "mine"})["accessToken"]
        asked = {"issuer": "corp", "token": token, "requiredScopes": ["orders"]}
        assert connection.call("introspectToken", asked)["valid"] is True
        judged = {"issuer": "corp", "accessToken": token, "audience": "openid orders", "requiredScopes": ["orders"]}
        assert connection.call("validateAccessToken", judged)["claims"]["client_id"] == "svc"
        wrong = connection.call("validateIdToken", {"issuer": "corp", "idToken": token})
        assert wrong["error"]["code"] == "wrong_token_type"
        assert connection.call("endSession", {"session": handle}) == {"ended": True, "upstream": "ended"}
        assert connection.call("introspectToken", asked)["error"]["code"] == "inactive"
        again = connection.error("completeAuthorization", {"callbackUrl": callback})
        assert again["code"] == 5006


def test_a_session_survives_an_outage_of_a_real_provider(
    start: Callable[..., Any], provider: Provider, resource: Resource
) -> None:
    corp = {"issuer": provider.issuer, "clientId": "svc", "clientSecret": "svcsecret", "scope": "openid orders"}
    sidecar = start({"issuers": {"corp": corp}})
    browser = Browser(provider)
    with sidecar.connect() as connection:
        begun = connection.call("beginAuthorization", {"issuer": "corp", "redirectUri": "http://127.0.0.1/cb"})
        callback = browser.authorize(begun["authorizationUrl"])
        handle = connection.call("completeAuthorization", {"callbackUrl": callback})["session"]
        provider.stop()
        assert connection.error("refreshSession", {"session": handle})["code"] == 5004
        assert connection.call("getSession", {"session": handle})["session"] == handle
        provider.start()
        assert connection.call("refreshSession", {"session": handle})["session"] == handle
