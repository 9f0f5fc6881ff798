"""What the sidecar asks for once for everybody: one user's calls neither spend nor spoil it for another."""
from __future__ import annotations

import itertools
import time
from typing import Any, Callable, Dict, Iterator, List
from urllib.parse import parse_qs

import pytest

from harness import expect
from harness.connection import Connection
from harness.issuer import IssuerDouble, document
from harness.sidecar import Sidecar
from harness.signing import SigningKey
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all

Start = Callable[..., Sidecar]
pytestmark = needs_root


def token(key: SigningKey, issuer: IssuerDouble, **header: Any) -> str:
    now = int(time.time())
    return key.sign({"iss": issuer.base, "sub": "alice", "aud": "shop", "iat": now, "exp": now + 60}, **header)


def judge(connection: Connection, text: str) -> Dict[str, Any]:
    return connection.call("validateIdToken", {"idToken": text, "issuer": "corp"})


def test_unknown_kids_of_one_user_hide_no_new_key_from_another(
    start: Start, issuer: IssuerDouble, rsa: SigningKey
) -> None:
    """Catches a cool-down that all users share."""
    issuer.serve_keys(rsa.jwks(kid="old"))
    sidecar = start({"issuers": {"corp": issuer.settings(jwks={"cooldown": "1h"})}, **BOTH})
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        for number in range(10):
            expect.refusal(judge(alice, token(rsa, issuer, kid=f"unknown-{number}")), "key_not_found", "kid")
        assert issuer.count("/jwks") == 2, "the first load and one refetch"
        issuer.serve_keys(rsa.jwks())
        expect.refusal(judge(alice, token(rsa, issuer)), "key_not_found", "kid")
        assert judge(bob, token(rsa, issuer))["valid"] is True
        assert judge(alice, token(rsa, issuer))["valid"] is True
    assert issuer.count("/jwks") == 3


@pytest.fixture
def settings(issuer: IssuerDouble) -> Iterator[Dict[str, Any]]:
    """An issuer of which only the newest token is good, and resources that look."""
    numbers = itertools.count(1)
    newest = [""]

    def give(_: Any) -> Any:
        newest[0] = f"t-{next(numbers)}"
        return document({"access_token": newest[0], "token_type": "Bearer", "expires_in": 600})

    def serve(asked: Any) -> Any:
        refused = asked.path == "/refusing" or asked.headers.get("authorization") != f"Bearer {newest[0]}"
        return document({}, 401, WWW_Authenticate='Bearer error="invalid_token"') if refused else document({})

    issuer.metadata["token_endpoint"] = f"{issuer.base}/token"
    issuer.answers.update({"/token": give, "/good": serve, "/refusing": serve})
    yield {
        "issuers": {"double": issuer.settings()},
        "resources": {"r": {"baseUrl": issuer.base + "/", "auth": "clientCredentials", "issuer": "double"}},
        "tokens": {"leaveTheSidecar": True}, **BOTH,
    }


@pytest.mark.parametrize("method, params", [
    ("getAccessToken", {"resource": "r", "minTtlSeconds": 86_400}),
    ("getAccessToken", {"resource": "r", "minTtlSeconds": 600}),
    ("fetchResource", {"resource": "r", "path": "refusing"}),
])
def test_replacements_of_a_shared_token_are_bounded(
    start: Start, issuer: IssuerDouble, settings: Dict[str, Any], method: str, params: Dict[str, Any]
) -> None:
    """Catches a user who has a new token made with every call, which ends the one that others use."""
    sidecar = start(settings)
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        fetch = lambda: bob.call("fetchResource", {"resource": "r", "path": "good"})
        assert fetch()["status"] == 200
        for _ in range(40):
            result = alice.call(method, params)
            assert result.get("status", 401) == 401
        assert issuer.count("/token") <= 6
        # What is another user's to replace is left to them: here by an issuer that has ended the token.
        assert fetch()["status"] == 200
        issuer.answers["/token"](None)
        result = fetch()
        assert result["status"] == 200 and result["tokenRefreshed"] is True


def revocations(issuer: IssuerDouble) -> List[str]:
    """The tokens that the issuer was asked to revoke."""
    forms = [parse_qs(asked.body.decode()) for asked in issuer.asked if asked.path == "/revoke"]
    return [form["token"][0] for form in forms]


def test_a_shared_token_is_not_revoked_for_everybody(
    start: Start, issuer: IssuerDouble, settings: Dict[str, Any]
) -> None:
    """Catches a user who has the token revoked that another one's fetches carry."""
    issuer.metadata["revocation_endpoint"] = f"{issuer.base}/revoke"
    issuer.answers["/revoke"] = lambda _: document({})
    issuer.answers["/token"] = lambda _: document(
        {"access_token": "identifies-the-token.signs-the-token-here", "token_type": "Bearer", "expires_in": 600})
    issuer.answers["/good"] = lambda _: document({})
    sidecar = start(settings)
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        assert bob.call("fetchResource", {"resource": "r", "path": "good"})["status"] == 200
        shared = alice.call("getAccessToken", {"resource": "r"})["accessToken"]
        # Some servers look a token up by its last part, or without regard to case.
        for spelling in (shared, f" {shared}\n", shared.upper(), "x.signs-the-token-here", "identifies-the-token.x"):
            fault = expect.fault(alice.error("revokeToken", {"issuer": "double", "token": spelling}), -32020)
            assert fault["retryable"] is False and fault["outcome"] == "not_sent"
        for grant in ({"accessToken": shared}, {"accessToken": "own", "refreshToken": shared}):
            made = alice.call("createSession", {"issuer": "double", "grant": {"type": "tokens", **grant}})
            session = {"session": made["session"]}
            expect.fault(alice.error("revokeToken", session), -32020)
            upstream = "ended" if "refreshToken" in grant else "none"
            assert alice.call("endSession", session) == {"ended": True, "upstream": upstream}
        assert revocations(issuer) == ["own"]
        # What is a user's own is revoked as ever.
        assert alice.call("revokeToken", {"issuer": "double", "token": "another"}) == {"revoked": True}
        assert revocations(issuer) == ["own", "another"]
        assert bob.call("fetchResource", {"resource": "r", "path": "good"})["status"] == 200
    assert issuer.count("/token") == 1
