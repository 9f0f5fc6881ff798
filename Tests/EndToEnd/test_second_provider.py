"""A second real OpenID provider, idpyoidc: what glewlwyd has not, EdDSA ID tokens and token exchange, and the rest
beside.

Ways of its own, found here: it answers a spent refresh token with `invalid_request`; a revocation with text; and it
puts `client_id` into the redirect.
"""
from __future__ import annotations

import base64
import json
from typing import Any, Callable, Dict, Iterator

import pytest

from harness import expect
from harness.browser import callback_of
from harness.connection import Connection
from harness.idpyoidc import REDIRECT, IdpyOIDC
from harness.sidecar import Sidecar


@pytest.fixture(scope="module")
def provider() -> Iterator[IdpyOIDC]:
    started = IdpyOIDC()
    yield started
    started.stop()


@pytest.fixture
def sidecar(start: Callable[..., Sidecar], provider: IdpyOIDC) -> Sidecar:
    common = {"issuer": provider.issuer, "clientAuth": "client_secret_basic", "idToken": {"algorithms": ["EdDSA"]}}
    return start({
        "issuers": {
            "shop": {**common, "clientId": "shop", "clientSecret": "shopsecret", "scope": "openid offline_access"},
            "back": {**common, "clientId": "back", "clientSecret": "backsecret", "scope": "openid"},
            "rsa": {**common, "clientId": "shop", "clientSecret": "shopsecret", "idToken": {"algorithms": ["RS256"]}},
        },
        "resources": {
            "mine": {"baseUrl": f"{provider.issuer}/", "issuer": "shop", "auth": "user", "scope": "openid"},
            "backs": {"baseUrl": f"{provider.issuer}/", "issuer": "back", "auth": "user", "scope": "openid"},
        },
        "tokens": {"leaveTheSidecar": True},
    })


@pytest.fixture
def connection(sidecar: Sidecar) -> Iterator[Connection]:
    with sidecar.connect() as opened:
        yield opened


def login(connection: Connection) -> Dict[str, Any]:
    # OpenID Connect Core 11: offline access is for consent that has been asked for.
    begun = connection.call("beginAuthorization", {"issuer": "shop", "redirectUri": REDIRECT, "prompt": "consent"})
    return connection.call("completeAuthorization", callback_of(begun))


def access_token(connection: Connection, **params: Any) -> str:
    return connection.call("getAccessToken", {"issuer": "shop", **params})["accessToken"]


def test_a_login_whose_id_token_is_signed_with_eddsa(connection: Connection, provider: IdpyOIDC) -> None:
    session = login(connection)
    assert session["claims"]["iss"] == provider.issuer and session["claims"]["aud"] == ["shop"]
    assert session["scope"] == "openid offline_access" and session["subject"] == session["claims"]["sub"]
    answer = connection.call("fetchResource", {"resource": "mine", "path": "userinfo", "session": session["session"]})
    assert answer["status"] == 200 and json.loads(answer["body"])["sub"] == session["subject"]


def test_an_eddsa_id_token_is_validated(connection: Connection, provider: IdpyOIDC) -> None:
    token = provider.tokens(nonce="once")["id_token"]
    header, payload, signature = token.split(".")
    assert json.loads(base64.urlsafe_b64decode(header + "=="))["alg"] == "EdDSA"
    asked = {"issuer": "shop", "idToken": token, "nonce": "once"}
    verdict = connection.call("validateIdToken", asked)
    assert verdict["valid"] is True and verdict["claims"]["nonce"] == "once"
    forged = f"{header}.{payload}.{('A' if signature[0] != 'A' else 'B') + signature[1:]}"
    for changes, code in [
        ({"idToken": forged}, "bad_signature"), ({"nonce": "twice"}, "nonce_mismatch"),
        ({"issuer": "back"}, "aud_mismatch"), ({"issuer": "rsa"}, "alg_not_allowed"),
    ]:
        verdict = connection.call("validateIdToken", {**asked, **changes})
        assert verdict["valid"] is False and verdict["error"]["code"] == code, verdict


def test_refresh_tokens_rotate_and_a_spent_one_is_refused(connection: Connection, provider: IdpyOIDC) -> None:
    session = login(connection)["session"]
    seen = {access_token(connection, session=session)}
    for _ in range(3):
        connection.call("refreshSession", {"session": session})
        seen.add(access_token(connection, session=session))
    assert len(seen) == 4, "three renewals, each with the refresh token of the one before"
    tokens = provider.tokens()
    grant = {"type": "refresh_token", "refreshToken": tokens["refresh_token"]}
    assert connection.call("createSession", {"issuer": "shop", "grant": grant})["subject"]
    error = connection.error("createSession", {"issuer": "shop", "grant": grant})
    assert expect.fault(error, 5003)["error"] == "invalid_request"


def test_a_token_is_exchanged_for_one_of_another_client(connection: Connection, provider: IdpyOIDC) -> None:
    """RFC 8693: a service behind the shop acts for the shop's user with a token of its own."""
    session = login(connection)
    theirs = access_token(connection, session=session["session"])
    grant = {"type": "token_exchange", "subjectToken": theirs}
    exchanged = connection.call("createSession", {"issuer": "back", "grant": grant})
    assert exchanged["kind"] == "user" and exchanged["issuer"] == "back"
    ours = access_token(connection, issuer="back", session=exchanged["session"])
    claims = json.loads(base64.urlsafe_b64decode(ours.split(".")[1] + "=="))
    assert claims["client_id"] == "back" and claims["sub"] == session["subject"] and ours != theirs
    # It names no audience, and idpyoidc tells clients only of tokens that name them; that it is good its own page says.
    answer = connection.call(
        "fetchResource", {"resource": "backs", "path": "userinfo", "session": exchanged["session"]})
    assert answer["status"] == 200 and json.loads(answer["body"])["sub"] == session["subject"]
    for changes in [{"subjectToken": "nonsense"}, {"subjectTokenType": "urn:ietf:params:oauth:token-type:saml2"}]:
        error = connection.error("createSession", {"issuer": "back", "grant": {**grant, **changes}})
        assert expect.fault(error, 5003)["error"] == "invalid_request"


def test_introspection_revocation_and_the_end_of_a_session(connection: Connection, provider: IdpyOIDC) -> None:
    session = login(connection)["session"]
    token = access_token(connection, session=session)
    asked = {"issuer": "shop", "token": token, "requiredScopes": ["openid"]}
    assert connection.call("introspectToken", asked)["valid"] is True
    assert connection.call("revokeToken", {"issuer": "shop", "token": token}) == {"revoked": True}
    assert connection.call("introspectToken", asked)["error"]["code"] == "inactive"
    connection.call("refreshSession", {"session": session})
    again = access_token(connection, session=session)
    assert connection.call("introspectToken", {**asked, "token": again})["valid"] is True
    assert connection.call("endSession", {"session": session}) == {"ended": True, "upstream": "ended"}
    assert connection.call("introspectToken", {**asked, "token": again})["error"]["code"] == "inactive"
