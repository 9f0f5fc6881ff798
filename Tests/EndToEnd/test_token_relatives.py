"""Section 4.3: access tokens, logout tokens, introspection, each with its own rules."""
from __future__ import annotations

import base64
import json
import re
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict
from urllib.parse import parse_qs

import pytest

from harness import expect
from harness.connection import Connection
from harness.issuer import IssuerDouble, document
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.signing import SigningKey
from harness.waiting import eventually

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]
NOW = 1_700_000_000
ISSUER = "https://idp.example.com"
LOGOUT = "http://schemas.openid.net/event/backchannel-logout"


def changed(good: Dict[str, Any], changes: Dict[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in {**good, **changes}.items() if value is not None}


@pytest.fixture
def sidecar(start: Start) -> Sidecar:
    return start({"development": {"plainHTTPOnLoopback": True, "callerClock": True}})


@pytest.fixture
def pieces(rsa: SigningKey) -> Dict[str, Any]:
    return {"expectedIssuer": ISSUER, "jwks": rsa.jwks(), "now": NOW}


def access(**changes: Any) -> Dict[str, Any]:
    good = {"iss": ISSUER, "sub": "alice", "aud": "api", "client_id": "shop", "exp": NOW + 60, "iat": NOW, "jti": "1",
            "scope": "read write"}
    return changed(good, changes)


@pytest.mark.parametrize(
    "changes, header, params, code",
    [
        ({}, {}, {}, None),
        ({}, {"typ": "application/at+jwt"}, {}, None),
        ({}, {"typ": "JWT"}, {}, "wrong_token_type"),
        ({}, {"typ": None}, {}, "wrong_token_type"),
        ({"aud": "other"}, {}, {}, "aud_mismatch"),
        ({"aud": ["other", "api"]}, {}, {}, None),
        ({"client_id": None}, {}, {}, "missing_claim"),
        ({"jti": None}, {}, {}, "missing_claim"),
        ({"sub": None}, {}, {}, "missing_claim"),
        ({"exp": NOW - 31}, {}, {}, "token_expired"),
        ({}, {}, {"clientId": "shop"}, None),
        ({}, {}, {"clientId": "other"}, "client_id_mismatch"),
        ({}, {}, {"requiredScopes": ["write", "read"]}, None),
        ({}, {}, {"requiredScopes": ["wri"]}, "insufficient_scope"),
        ({"scope": None}, {}, {"requiredScopes": ["read"]}, "insufficient_scope"),
        ({"cnf": {"jkt": "T"}}, {}, {}, "confirmation_required"),
        ({"cnf": {"jkt": "T"}}, {}, {"confirmation": {"jkt": "T"}}, None),
        ({"cnf": {"jkt": "T"}}, {}, {"confirmation": {"jkt": "U"}}, "confirmation_mismatch"),
        ({"cnf": {"x5t#S256": "T"}}, {}, {"confirmation": {"x5tS256": "T"}}, None),
        ({}, {}, {"confirmation": {"jkt": "T"}}, "confirmation_mismatch"),
    ],
    ids=lambda value: json.dumps(value)[:50],
)
def test_access_tokens(
    connection: Connection, rsa: SigningKey, pieces: Any, changes: Any, header: Any, params: Any, code: str
) -> None:
    token = rsa.sign(access(**changes), **{"typ": "at+jwt", **header})
    result = connection.call("validateAccessToken", {"accessToken": token, "audience": "api", **pieces, **params})
    if code is None:
        assert result["valid"] is True and result["claims"]["sub"] == "alice", result
    else:
        expect.refusal(result, code)


def test_the_issuers_own_access_token(connection: Connection, playground: Playground) -> None:
    credentials = base64.b64encode(b"svc:svcsecret").decode()
    status, _, body = playground.request(
        "POST", "/oidc/token", body=b"grant_type=client_credentials&scope=orders",
        headers={"Authorization": f"Basic {credentials}", "Content-Type": "application/x-www-form-urlencoded"},
    )
    assert status == 200
    token = json.loads(body)["access_token"]
    params = {"accessToken": token, "issuer": "play", "audience": playground.base + "/resource"}
    assert connection.call("validateAccessToken", {**params, "requiredScopes": ["orders"]})["valid"] is True
    expect.refusal(connection.call("validateIdToken", {"idToken": token, "issuer": "play"}), "wrong_token_type")
    question = {"token": token, "issuer": "play", "tokenTypeHint": "access_token", "requiredScopes": ["orders"]}
    assert connection.call("introspectToken", question)["valid"] is True
    playground.faults(revokeTokens=True)
    expect.refusal(connection.call("introspectToken", question), "inactive")


@pytest.mark.parametrize("confirmation", [{}, {"jkt": "a", "x5tS256": "b"}])
def test_a_confirmation_names_one_key(connection: Connection, pieces: Any, confirmation: Any) -> None:
    params = {"accessToken": "x", "audience": "api", **pieces, "confirmation": confirmation}
    expect.fault(connection.error("validateAccessToken", params), -32602, "/confirmation")


def logout(**changes: Any) -> Dict[str, Any]:
    good = {"iss": ISSUER, "aud": "shop", "iat": NOW, "exp": NOW + 60, "jti": "l1", "sub": "alice", "events": {LOGOUT: {}}}
    return changed(good, changes)


@pytest.mark.parametrize(
    "changes, header, code",
    [
        ({}, {}, None),
        ({}, {"typ": "logout+jwt"}, None),
        ({"sub": None, "sid": "s"}, {}, None),
        ({"events": None}, {}, "events_missing"),
        ({"events": {"other": {}}}, {}, "events_missing"),
        ({"events": {LOGOUT: "x"}}, {}, "events_missing"),
        ({"nonce": "n"}, {}, "nonce_forbidden"),
        ({"sub": None}, {}, "sub_or_sid_missing"),
        ({"jti": None}, {}, "missing_claim"),
        ({"aud": "other"}, {}, "aud_mismatch"),
        ({}, {"typ": "at+jwt"}, "wrong_token_type"),
    ],
    ids=lambda value: json.dumps(value)[:50],
)
def test_logout_tokens(
    connection: Connection, rsa: SigningKey, pieces: Any, changes: Any, header: Any, code: str
) -> None:
    params = {"logoutToken": rsa.sign(logout(**changes), **header), "clientId": "shop", **pieces}
    result = connection.call("validateLogoutToken", params)
    if code is None:
        assert result["valid"] is True, result
    else:
        expect.refusal(result, code)


def test_a_logout_token_is_good_for_one_use(connection: Connection, rsa: SigningKey, pieces: Any) -> None:
    params = {"logoutToken": rsa.sign(logout(jti="once")), "clientId": "shop", **pieces}
    refused = {"logoutToken": rsa.sign(logout(jti="once", nonce="n")), "clientId": "shop", **pieces}
    expect.refusal(connection.call("validateLogoutToken", refused), "nonce_forbidden")
    assert connection.call("validateLogoutToken", params)["valid"] is True
    expect.refusal(connection.call("validateLogoutToken", params), "jti_replayed", "jti")
    expect.refusal(connection.call("validateIdToken", {
        "idToken": rsa.sign(logout()), "clientId": "shop", **pieces}), "wrong_token_type")


def test_a_callers_own_keys_use_up_no_issuers_logout_token(
    start: Start, connect: Connect, issuer: IssuerDouble, rsa: SigningKey
) -> None:
    issuer.serve_keys(rsa.jwks())
    connection = connect(start({"issuers": {"corp": issuer.settings()}}))
    now = int(time.time())
    body = changed(logout(), {"iss": issuer.base, "iat": now, "exp": now + 60, "jti": "victim"})
    forger = SigningKey("RS256", "own")
    poison = {"logoutToken": forger.sign(body), "expectedIssuer": issuer.base, "clientId": "shop", "jwks": forger.jwks()}
    assert connection.call("validateLogoutToken", poison)["valid"] is True
    genuine = {"logoutToken": rsa.sign(body), "issuer": "corp"}
    assert connection.call("validateLogoutToken", genuine)["valid"] is True
    expect.refusal(connection.call("validateLogoutToken", genuine), "jti_replayed")
    both = changed(body, {"aud": ["shop", "other"], "jti": "for both"})
    for client in ["shop", "other"]:
        params = {"logoutToken": rsa.sign(both), "issuer": "corp", "clientId": client}
        assert connection.call("validateLogoutToken", params).get("error", {}).get("code") != "jti_replayed"


def test_long_lists_are_refused(connection: Connection, rsa: SigningKey, pieces: Any) -> None:
    """Every token is held against every entry: what a caller sends must not be what stops the sidecar."""
    many = [str(number) for number in range(101)]
    for method, params, name in [
        ("validateIdToken", {"idToken": "x", "clientId": "shop"}, "trustedAudiences"),
        ("validateIdToken", {"idToken": "x", "clientId": "shop"}, "acrValues"),
        ("validateIdToken", {"idToken": "x", "clientId": "shop"}, "algorithms"),
        ("validateAccessToken", {"accessToken": "x", "audience": "api"}, "requiredScopes"),
    ]:
        expect.fault(connection.error(method, {**pieces, **params, name: many}), -32602, f"/{name}")
    wide = rsa.sign(access(aud=["api"] + [f"a{n}" for n in range(4000)], scope=" ".join(many * 50)), typ="at+jwt")
    params = {"accessToken": wide, "audience": "api", "requiredScopes": many[:100], **pieces}
    began = time.monotonic()
    assert connection.call("validateAccessToken", params)["valid"] is True
    assert time.monotonic() - began < 15


class TestIntrospection:
    @pytest.fixture
    def corp(self, start: Start, connect: Connect, issuer: IssuerDouble, rsa: SigningKey, directory: Path) -> Connection:
        secret = directory / "secret"
        secret.write_text("s3cret")
        secret.chmod(0o600)
        issuer.serve_keys(rsa.jwks())
        return connect(start({"issuers": {"corp": issuer.settings(str(secret))}}))

    def ask(self, corp: Connection, **params: Any) -> Dict[str, Any]:
        return corp.call("introspectToken", {"token": "opaque+/=&", "issuer": "corp", **params})

    def test_the_question_is_authenticated_and_not_kept(self, corp: Connection, issuer: IssuerDouble) -> None:
        issuer.answers["/introspect"] = lambda _: document({"active": True, "sub": "alice", "scope": "a b"})
        assert self.ask(corp, tokenTypeHint="access_token")["claims"] == {"active": True, "sub": "alice", "scope": "a b"}
        issuer.answers["/introspect"] = lambda _: document({"active": False, "sub": "mallory"})
        expect.refusal(self.ask(corp), "inactive", "active")
        first = next(asked for asked in issuer.asked if asked.path == "/introspect")
        assert first.method == "POST"
        assert first.headers["authorization"] == "Basic " + base64.b64encode(b"shop:s3cret").decode()
        assert parse_qs(first.body.decode()) == {"token": ["opaque+/=&"], "token_type_hint": ["access_token"]}

    @pytest.mark.parametrize(
        "members, params, code",
        [
            ({"exp": 1}, {}, "token_expired"),
            ({"exp": "later"}, {}, "invalid_claim_type"),
            ({"nbf": 9_999_999_999}, {}, "token_not_yet_valid"),
            ({"iss": "https://other.example.com"}, {}, "iss_mismatch"),
            ({"aud": "other"}, {"audience": "api"}, "aud_mismatch"),
            ({}, {"audience": "api"}, "missing_claim"),
            ({"scope": "a"}, {"requiredScopes": ["a", "b"]}, "insufficient_scope"),
            ({"aud": ["api"], "scope": "a b"}, {"audience": "api", "requiredScopes": ["b"]}, None),
        ],
        ids=lambda value: json.dumps(value),
    )
    def test_what_the_answer_says_is_checked(
        self, corp: Connection, issuer: IssuerDouble, members: Any, params: Any, code: str
    ) -> None:
        issuer.answers["/introspect"] = lambda _: document({"active": True, **members})
        result = self.ask(corp, **params)
        if code is None:
            assert result["valid"] is True, result
        else:
            expect.refusal(result, code)

    @pytest.mark.parametrize(
        "answer, retryable",
        [
            (document({}), False),
            (document({"active": "true"}), False),
            (document([True]), False),
            ((200, {"Content-Type": "text/html"}, b"<html>"), False),
            ((200, {"Content-Type": "application/json"}, b'{"active":true,"active":false}'), False),
            (document({"error": "invalid_client"}, 401), False),
            (document({}, 503), True),
            ((429, {"Retry-After": "7"}, b""), True),
            ((302, {"Location": "/elsewhere"}, b""), False),
        ],
    )
    def test_no_answer_is_an_error_not_a_verdict(
        self, corp: Connection, issuer: IssuerDouble, answer: Any, retryable: bool
    ) -> None:
        issuer.answers["/introspect"] = lambda _: answer
        error = corp.error("introspectToken", {"token": "t", "issuer": "corp"})
        data = expect.fault(error, 2007)
        assert data["retryable"] is retryable
        assert data.get("retryAfterMs") == (7000 if "Retry-After" in answer[1] else None)

    def test_a_signed_answer_is_verified(
        self, corp: Connection, issuer: IssuerDouble, rsa: SigningKey, ec: SigningKey
    ) -> None:
        body = {"iss": issuer.base, "aud": "shop", "iat": int(time.time()),
                "token_introspection": {"active": True, "sub": "alice"}}

        def signed(key: SigningKey = rsa, **changes: Any) -> Any:
            header = {"typ": "token-introspection+jwt", **changes.pop("header", {})}
            token = key.sign(changed(body, changes), **header)
            return lambda _: (200, {"Content-Type": "application/token-introspection+jwt"}, token.encode())

        issuer.answers["/introspect"] = signed()
        assert self.ask(corp)["claims"] == {"active": True, "sub": "alice"}
        for wrong in [
            signed(SigningKey("RS256", "rsa-1")), signed(ec), signed(aud="other"), signed(iss="https://x"),
            signed(header={"typ": "JWT"}), signed(token_introspection=None), signed(token_introspection={"active": 1}),
        ]:
            issuer.answers["/introspect"] = wrong
            expect.fault(corp.error("introspectToken", {"token": "t", "issuer": "corp"}), 2007)

    def test_calls_at_the_same_time_share_one_request(self, corp: Connection, issuer: IssuerDouble) -> None:
        gate = threading.Event()

        def slow(_: Any) -> Any:
            gate.wait(20)
            return document({"active": True})

        def under_way() -> int:
            found = re.search(r"^postern_rpc_in_flight (\d+)", corp.call("metrics")["text"], re.MULTILINE)
            assert found
            return int(found.group(1))

        issuer.answers["/introspect"] = slow
        pending = [corp.request("introspectToken", {"token": "t", "issuer": "corp"}) for _ in range(30)]
        # In this order: what is counted as under way has joined the one question only a moment later.
        eventually(lambda: issuer.count("/introspect") > 0 and under_way() >= 30)
        gate.set()
        for identifier in pending:
            assert corp.answer_to(identifier)["result"]["valid"] is True
        assert issuer.count("/introspect") == 1

    def test_an_abandoned_introspection_is_given_up(self, corp: Connection, issuer: IssuerDouble) -> None:
        gone = threading.Event()

        def endless(_: Any) -> Any:
            gone.wait(5)
            return document({"active": True})

        issuer.answers["/introspect"] = endless
        params = {"issuer": "corp", "meta": {"timeoutMs": 50}}
        for number in range(100):
            expect.fault(corp.error("introspectToken", {"token": f"t{number}", **params}), -32022)
        gone.set()
        issuer.answers["/introspect"] = lambda _: document({"active": True})
        assert self.ask(corp)["valid"] is True, "nothing of the hundred stands in the way"

    def test_unknown_issuers_and_huge_tokens(self, corp: Connection, issuer: IssuerDouble) -> None:
        expect.fault(corp.error("introspectToken", {"token": "t", "issuer": "nobody"}), 2005, "/issuer")
        expect.refusal(self.ask(corp, token="t" * 65_537), "token_too_large")
        assert issuer.asked == []

    def test_the_token_is_in_no_log(self, corp: Connection, issuer: IssuerDouble, start: Start) -> None:
        issuer.answers["/introspect"] = lambda _: document({"error": "invalid_request"}, 400)
        error = corp.error("introspectToken", {"token": "very-private", "issuer": "corp"})
        assert "very-private" not in json.dumps(error)
