"""A real OpenID provider, glewlwyd from Debian: discovery, client credentials, introspection, expiry, refusal, outage;
users with pushed requests, rotation with reuse detection, revocation. Its device flow is in `test_browser.py`."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Dict, Iterator
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from harness import expect

from harness.glewlwyd import TOKEN_SECONDS, Browser, Provider, Resource
from harness.waiting import eventually


@pytest.fixture
def provider(request: pytest.FixtureRequest, directory: Path) -> Iterator[Provider]:
    """Its access tokens outlive a test, unless that asks for short-lived ones."""
    started = Provider(directory / "glewlwyd", token_seconds=getattr(request, "param", 60))
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
        orders = {"baseUrl": resource.base, "issuer": "corp", "auth": "clientCredentials", "scope": "orders"}
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


@pytest.mark.parametrize("provider", [TOKEN_SECONDS], indirect=True)
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
        callback = {"callbackUrl": browser.authorize(begun["authorizationUrl"]), "state": begun["state"]}
        session = connection.call("completeAuthorization", callback)
        assert session["claims"]["iss"] == provider.issuer and session["claims"]["aud"] == "svc"
        handle = session["session"]
        for _ in range(3):
            assert connection.call("fetchResource", {"resource": "mine", "path": "orders", "session": handle})["status"] == 200
            connection.call("refreshSession", {"session": handle})
        assert len(set(resource.tokens)) == 3
        token = connection.call("getAccessToken", {"resource": "mine", "session": handle})["accessToken"]
        asked = {"issuer": "corp", "token": token, "requiredScopes": ["orders"]}
        assert connection.call("introspectToken", asked)["valid"] is True
        judged = {"issuer": "corp", "accessToken": token, "audience": "openid orders", "requiredScopes": ["orders"]}
        assert connection.call("validateAccessToken", judged)["claims"]["client_id"] == "svc"
        wrong = connection.call("validateIdToken", {"issuer": "corp", "idToken": token})
        assert wrong["error"]["code"] == "wrong_token_type"
        assert connection.call("endSession", {"session": handle}) == {"ended": True, "upstream": "ended"}
        assert connection.call("introspectToken", asked)["error"]["code"] == "inactive"
        again = connection.error("completeAuthorization", callback)
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
        handle = connection.call("completeAuthorization", {"callbackUrl": callback, "state": begun["state"]})["session"]
        provider.stop()
        assert connection.error("refreshSession", {"session": handle})["code"] == 5004
        assert connection.call("getSession", {"session": handle})["session"] == handle
        provider.start()
        assert connection.call("refreshSession", {"session": handle})["session"] == handle


CORP = {"clientId": "svc", "clientSecret": "svcsecret", "scope": "openid orders"}
REDIRECT = "http://127.0.0.1/cb"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def refresh_token(provider: Provider, browser: Browser) -> str:
    """A refresh token of alice's, obtained around the sidecar."""
    query = urlencode({
        "response_type": "code", "client_id": "svc", "redirect_uri": REDIRECT, "scope": "openid orders", "state": "s",
        "nonce": "n", "code_challenge": CHALLENGE, "code_challenge_method": "S256"})
    code = parse_qs(urlsplit(browser.authorize(f"{provider.issuer}/auth?{query}")).query)["code"][0]
    status, tokens = provider.post(
        "token", grant_type="authorization_code", code=code, redirect_uri=REDIRECT, code_verifier=VERIFIER)
    assert status == 200, tokens
    return tokens["refresh_token"]


def test_a_request_is_pushed_to_a_real_provider(start: Callable[..., Any], provider: Provider) -> None:
    """RFC 9126: the browser carries a reference, nothing else."""
    with start({"issuers": {"corp": {"issuer": provider.issuer, **CORP}}}).connect() as connection:
        begun = connection.call("beginAuthorization", {"issuer": "corp", "redirectUri": REDIRECT})
        query = parse_qs(urlsplit(begun["authorizationUrl"]).query)
        assert set(query) == {"client_id", "request_uri"}
        callback = Browser(provider).authorize(begun["authorizationUrl"])
        assert connection.call("completeAuthorization", {"callbackUrl": callback, "state": begun["state"]})["scope"] == "openid orders"


def test_a_storm_of_renewals_at_a_provider_with_reuse_detection(
    start: Callable[..., Any], provider: Provider, resource: Resource
) -> None:
    """Every renewal spends the refresh token; two with the same one would break the chain, and the session with it."""
    mine = {"baseUrl": resource.base, "issuer": "corp", "auth": "user", "scope": "orders"}
    sidecar = start({"issuers": {"corp": {"issuer": provider.issuer, **CORP}}, "resources": {"mine": mine}})
    browser = Browser(provider)
    with sidecar.connect(timeout=60) as connection, sidecar.connect(timeout=60) as other:
        grant = {"type": "refresh_token", "refreshToken": refresh_token(provider, browser)}
        handle = connection.call("createSession", {"issuer": "corp", "grant": grant})["session"]
        for _ in range(3):
            renewals = [(one, one.request("refreshSession", {"session": handle})) for one in [connection, other] * 10]
            fetch = {"resource": "mine", "session": handle}
            fetches = [(one, one.request("fetchResource", fetch)) for one in [connection, other] * 5]
            for one, identifier in renewals:
                assert one.answer_to(identifier)["result"]["session"] == handle
            for one, identifier in fetches:
                assert one.answer_to(identifier)["result"]["status"] == 200
        assert connection.call("refreshSession", {"session": handle})["session"] == handle


def test_a_stolen_refresh_token_is_worth_nothing_in_the_end(start: Callable[..., Any], provider: Provider) -> None:
    """Somebody else presents the token that the sidecar has spent: the provider breaks the chain (RFC 9700 section
    4.14).

    It says so with 400 and nothing else. Only `invalid_grant` ends a session here, because a 400 may be anything; so
    this session is kept, and each renewal fails with what the provider said.
    """
    with start({"issuers": {"corp": {"issuer": provider.issuer, **CORP}}}).connect() as connection:
        stolen = refresh_token(provider, Browser(provider))
        grant = {"type": "refresh_token", "refreshToken": stolen}
        handle = connection.call("createSession", {"issuer": "corp", "grant": grant})["session"]
        assert connection.call("refreshSession", {"session": handle})["session"] == handle
        status, body = provider.post("token", grant_type="refresh_token", refresh_token=stolen)
        assert status == 400 and "access_token" not in body
        error = connection.error("refreshSession", {"session": handle})
        data = expect.fault(error, 5003)
        assert data["status"] == 400 and data["retryable"] is False and stolen not in json.dumps(error)
        assert connection.call("endSession", {"session": handle})["ended"] is True


def test_the_end_of_a_session_reaches_a_real_provider(
    start: Callable[..., Any], provider: Provider, resource: Resource
) -> None:
    """Both tokens are revoked (RFC 7009). The session itself glewlwyd ends when its user says so on its page: it
    answers the request of RP-Initiated Logout with a redirect there, which is all that can be had without the
    browser."""
    mine = {"baseUrl": resource.base, "issuer": "corp", "auth": "user", "scope": "orders"}
    sidecar = start({
        "issuers": {"corp": {"issuer": provider.issuer, **CORP}}, "resources": {"mine": mine},
        "tokens": {"leaveTheSidecar": True},
    })
    with sidecar.connect() as connection:
        token = refresh_token(provider, Browser(provider))
        grant = {"type": "refresh_token", "refreshToken": token}
        handle = connection.call("createSession", {"issuer": "corp", "grant": grant})["session"]
        access = connection.call("getAccessToken", {"resource": "mine", "session": handle})["accessToken"]
        assert provider.introspect(access)["active"] is True
        assert connection.call("endSession", {"session": handle}) == {"ended": True, "upstream": "ended"}
        assert provider.introspect(access)["active"] is False
        expect.fault(connection.error("fetchResource", {"resource": "mine", "session": handle}), 5001)
