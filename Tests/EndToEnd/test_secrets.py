"""No secret leaves the sidecar: every grant and failure at log level trace, then each secret looked for in log,
metrics and answers."""
from __future__ import annotations

import json
import time
from typing import Any, Callable, Dict, Iterator, List
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from harness import expect
from harness.browser import announce_login, authorize, callback_of
from harness.connection import Connection
from harness.harvest import Harvest
from harness.playground import Playground
from harness.sidecar import Sidecar

REDIRECT = "http://127.0.0.1:8765/callback"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
#: Secrets that never reach a provider, because they are refused before.
CALLERS = {"sso token": "sso-token-of-alice-0123456789", "assertion": "eyJub25zZW5zZSI6MX0.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl"}


@pytest.fixture
def harvest(playground: Playground) -> Iterator[Harvest]:
    started = Harvest(playground)
    yield started
    started.stop()


@pytest.fixture
def sidecar(start: Callable[..., Sidecar], playground: Playground, harvest: Harvest, directory: Any) -> Sidecar:
    key = directory / "client-key.pem"
    key.write_bytes(playground.request("GET", "/playground/clientKey")[2])
    (directory / "store-key").write_text("ab" * 31 + "cd")
    for file in [key, directory / "store-key"]:
        file.chmod(0o600)
    common = {"issuer": playground.issuer, "scope": "openid offline_access orders", "endpoints": harvest.endpoints}
    shop = {**common, "clientId": "shop", "clientSecret": "shopsecret"}
    resource = {"baseUrl": playground.base + "/resource/", "issuer": "shop", "scope": "orders"}
    return start({
        "log": {"level": "trace", "format": "json"},
        "store": {"kind": "file", "path": str(directory / "store"), "keyFile": str(directory / "store-key")},
        "tokens": {"leaveTheSidecar": True},
        "issuers": {
            "shop": {**shop, "implicit": {"grant": "token_exchange", "scope": "profile"}},
            "post": {**shop, "clientAuth": "client_secret_post"},
            "signed": {**common, "clientId": "jwtclient", "clientAuth": "private_key_jwt", "clientKeyFile": str(key),
                       "idToken": {"algorithms": ["ES256"]}},
            "bound": {**common, "clientId": "dpopclient", "clientAuth": "none", "idToken": {"algorithms": ["EdDSA"]}},
        },
        "resources": {
            "mine": {**resource, "auth": "user"}, "news": {**resource, "auth": "implicit", "scope": "profile"},
            "proven": {**resource, "auth": "user", "issuer": "bound", "senderConstraint": "dpop"},
        },
    })


class Caller:
    """A connection whose every answer is kept, whatever it says."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.answers: List[Dict[str, Any]] = []

    def ask(self, method: str, **params: Any) -> Any:
        answer = self.connection.answer_to(self.connection.request(method, params))
        self.answers.append(answer)
        return answer.get("result")

    def login(self, playground: Playground, issuer: str = "shop", **params: Any) -> Any:
        announce_login(playground)
        begun = self.ask("beginAuthorization", issuer=issuer, redirectUri=REDIRECT, **params)
        return self.ask("completeAuthorization", **callback_of(begun))

    def create(self, issuer: str = "shop", **grant: Any) -> Any:
        return self.ask("createSession", issuer=issuer, grant=grant)


def grants(caller: Caller, playground: Playground, harvest: Harvest) -> List[str]:
    """A session from every grant; their handles."""
    sessions = [caller.login(playground, issuer) for issuer in ["shop", "post", "signed", "bound"]]
    device = caller.ask("beginDeviceAuthorization", issuer="shop")
    begun = time.monotonic()
    playground.request(
        "POST", "/playground/device", json.dumps({"userCode": device["userCode"], "user": "alice"}).encode())
    announce_login(playground)
    query = urlencode({
        "response_type": "code", "client_id": "shop", "redirect_uri": REDIRECT, "scope": "openid offline_access orders",
        "state": "s", "code_challenge": CHALLENGE, "code_challenge_method": "S256"})
    code = parse_qs(urlsplit(authorize(f"{playground.issuer}/authorize?{query}")).query)["code"][0]
    sessions.append(caller.create(type="authorization_code", code=code, codeVerifier=VERIFIER, redirectUri=REDIRECT))
    # What a caller hands in is never told back, either.
    token = caller.connection.call("getAccessToken", {"issuer": "shop", "session": sessions[0]["session"]})["accessToken"]
    sessions += [
        caller.create(type="token_exchange", subjectToken=token),
        caller.create(type="tokens", accessToken=token, expiresIn=60, scope="orders"),
        caller.create(type="implicit", profile="user-1001"),
    ]
    caller.create(type="refresh_token", refreshToken=harvest.newest("refresh_token"))
    caller.create(type="jwt_bearer", assertion=CALLERS["assertion"])
    caller.create(type="sso", ssoToken=CALLERS["sso token"])
    caller.create(type="tokens", ssoToken=CALLERS["sso token"])
    caller.ask("introspectToken", issuer="shop", token=token)
    caller.ask("validateAccessToken", issuer="shop", accessToken=token, audience="elsewhere")
    for id_token in list(harvest.secrets["id_token"]):
        caller.ask("validateIdToken", issuer="shop", idToken=id_token)
        caller.ask("validateIdToken", issuer="shop", idToken=id_token + "x", nonce="another")
    time.sleep(max(0, device["intervalMs"] / 1000 + 0.05 - (time.monotonic() - begun)))
    sessions.append(caller.ask("completeDeviceAuthorization", handle=device["handle"]))
    assert all(sessions), caller.answers
    return [session["session"] for session in sessions]


def failures(caller: Caller, playground: Playground, harvest: Harvest, handles: List[str]) -> None:
    """Everything that a provider and a resource server can do wrong."""
    for kind in ["serverError", "html", "malformedJSON", "refuseCredentials", "emptyUnauthorized", "cutAnswer"]:
        playground.faults(token={"kind": kind, "times": 1})
        caller.ask("refreshSession", session=handles[0])
        playground.faults(token={"kind": kind, "times": 1})
        caller.create(type="refresh_token", refreshToken=harvest.newest("refresh_token"))
    playground.faults(token=None)
    for kind in ["wrongNonce", "badSignature", "wrongHash"]:
        playground.faults(idToken={"kind": kind, "times": 1})
        caller.login(playground)
    playground.faults(idToken=None, resource={"kind": "unauthorized", "times": 2})
    caller.ask("fetchResource", resource="mine", path="orders", session=handles[1])
    caller.ask("completeAuthorization", callbackUrl=f"{REDIRECT}?code={VERIFIER}&state={VERIFIER}", state=VERIFIER)
    caller.ask("completeAuthorization", callbackUrl=f"{REDIRECT}?code={VERIFIER}&state={VERIFIER}", state=CHALLENGE)
    harvest.echo = True
    caller.ask("refreshSession", session=handles[2])
    caller.create(type="refresh_token", refreshToken=harvest.newest("refresh_token"))
    caller.create(type="authorization_code", code="code-of-nobody-12345678", codeVerifier=VERIFIER, redirectUri=REDIRECT)
    harvest.echo = False
    playground.faults(revokeRefreshTokens=True)
    caller.ask("refreshSession", session=handles[3])


def test_no_secret_is_in_log_metrics_or_answers(sidecar: Sidecar, playground: Playground, harvest: Harvest) -> None:
    for name, value in [*CALLERS.items(), ("code_verifier", VERIFIER), ("store key", "ab" * 31 + "cd")]:
        harvest.add(name, value)
    for secret in ["shopsecret", "svcsecret"]:
        harvest.add("client_secret", secret)
    with sidecar.connect(timeout=30) as connection:
        caller = Caller(connection)
        caller.ask("subscribe", events=["event.sessionRefreshed", "event.sessionEnded"])
        handles = grants(caller, playground, harvest)
        for handle in handles:
            caller.ask("fetchResource", resource="mine", path="orders", session=handle)
            caller.ask("fetchResource", resource="news", path="echo", session=handle)
            caller.ask("fetchResource", resource="proven", path="orders", session=handle)
            caller.ask("refreshSession", session=handle)
            caller.ask("getSession", session=handle)
        failures(caller, playground, harvest, handles)
        caller.ask("listSessions")
        caller.ask("revokeToken", issuer="shop", token=harvest.newest("access_token"))
        for handle in handles:
            caller.ask("endSession", session=handle)
        caller.ask("health")
        metrics = json.dumps(caller.ask("metrics"))
        told = caller.answers + connection.others()
    sidecar.stop()
    log = sidecar.log()

    # Everything that was to be found has passed by.
    assert set(harvest.secrets) >= {
        "access_token", "refresh_token", "id_token", "code", "code_verifier", "device_code", "client_assertion",
        "subject_token", "token", "id_token_hint", "authorization Basic", "proof", "client_secret", "sso token", "store key",
    }, sorted(harvest.secrets)
    assert "session ended" in log and len(log.splitlines()) > 100, "the log is at level trace"
    assert sum("error" in answer for answer in told) > 20
    assert harvest.found_in(log) == []
    assert harvest.found_in(metrics) == []
    for answer in told:
        assert harvest.found_in(json.dumps(answer)) == [], answer.get("error", {}).get("code")
    for handle in handles:
        assert handle not in log and handle not in metrics
    everything = log + metrics + json.dumps(told)
    assert not expect.LIKE_A_TOKEN.search(everything), "something that looks like a token"
    assert "PRIVATE KEY" not in everything and '"d":' not in everything, "something that looks like a key"
