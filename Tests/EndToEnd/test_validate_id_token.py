"""Section 4.3: `validateIdToken`, each rule by its own wrong token, and what cannot be decided."""
from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

from harness import expect, signing
from harness.connection import Connection
from harness.issuer import IssuerDouble
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.signing import SigningKey, left_half

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]
NOW = 1_700_000_000
ISSUER = "https://idp.example.com"
SECRET = "a-secret-of-more-than-thirty-two-bytes"


def claims(**changes: Any) -> Dict[str, Any]:
    """Good claims with changes; None takes a claim away."""
    good = {"iss": ISSUER, "sub": "alice", "aud": "shop", "exp": NOW + 300, "iat": NOW - 10, **changes}
    return {name: value for name, value in good.items() if value is not None}


@pytest.fixture
def sidecar(start: Start) -> Sidecar:
    return start({"development": {"plainHTTPOnLoopback": True, "callerClock": True}})


@pytest.fixture
def validate(connection: Connection, rsa: SigningKey) -> Callable[..., Dict[str, Any]]:
    """Validates with the pieces: the RSA key, the issuer and the client, at a fixed time."""

    def validate(token: str, **params: Any) -> Dict[str, Any]:
        pieces = {"expectedIssuer": ISSUER, "clientId": "shop", "jwks": rsa.jwks(), "now": NOW}
        return connection.call("validateIdToken", {"idToken": token, **pieces, **params})

    return validate


def test_a_good_token_gives_claims_header_key_and_cached(validate: Any, rsa: SigningKey) -> None:
    token = rsa.sign(claims(name="Alïce", nested={"b": 1, "a": [1.5, None]}))
    first, second = validate(token), validate(token)
    assert first["valid"] is True and first["cached"] is False
    assert list(first["claims"]) == ["iss", "sub", "aud", "exp", "iat", "name", "nested"]
    assert first["claims"]["nested"] == {"b": 1, "a": [1.5, None]}
    assert first["header"] == {"alg": "RS256", "kid": "rsa-1"}
    assert first["key"]["kid"] == "rsa-1" and first["key"]["alg"] == "RS256" and len(first["key"]["thumbprint"]) == 43
    assert second == {**first, "cached": True}


@pytest.mark.parametrize("alg", ["RS256", "ES256", "EdDSA"])
def test_every_family_of_keys_verifies(validate: Any, alg: str, rsa: SigningKey, ec: SigningKey, ed: SigningKey) -> None:
    key = {"RS256": rsa, "ES256": ec, "EdDSA": ed}[alg]
    result = validate(key.sign(claims()), jwks=key.jwks())
    assert result["valid"] is True and result["key"]["alg"] == alg


@pytest.mark.parametrize("alg", ["EdDSA", "Ed448"])
def test_an_ed448_key_verifies_by_either_name(validate: Any, alg: str) -> None:
    key = SigningKey("Ed448", "ed448-1")
    token = key.sign(claims(), alg=alg)
    for allowed in [["EdDSA"], ["Ed448"], ["EdDSA", "Ed25519"]]:
        assert validate(token, jwks=key.jwks(), algorithms=allowed)["valid"] is True, allowed
    refused = validate(token, jwks=key.jwks(), algorithms=["Ed25519"])
    assert refused["valid"] is False
    assert refused["error"]["code"] == ("key_alg_mismatch" if alg == "EdDSA" else "alg_not_allowed")


@pytest.mark.parametrize(
    "changes, code, claim",
    [
        ({"iss": None}, "missing_claim", "iss"),
        ({"sub": None}, "missing_claim", "sub"),
        ({"aud": None}, "missing_claim", "aud"),
        ({"exp": None}, "missing_claim", "exp"),
        ({"iat": None}, "missing_claim", "iat"),
        ({"iss": ISSUER + "/"}, "iss_mismatch", "iss"),
        ({"iss": ISSUER.upper()}, "iss_mismatch", "iss"),
        ({"sub": ""}, "invalid_claim", "sub"),
        ({"sub": "a" * 256}, "invalid_claim", "sub"),
        ({"aud": "other"}, "aud_mismatch", "aud"),
        ({"aud": ["shop", "evil"]}, "untrusted_audience", "aud"),
        ({"azp": "other"}, "azp_mismatch", "azp"),
        ({"exp": NOW - 31}, "token_expired", "exp"),
        ({"nbf": NOW + 31}, "token_not_yet_valid", "nbf"),
        ({"iat": NOW + 31}, "iat_invalid", "iat"),
        ({"iat": NOW, "exp": NOW - 1}, "iat_invalid", "iat"),
        ({"exp": "1800000000"}, "invalid_claim_type", "exp"),
        ({"exp": True}, "invalid_claim_type", "exp"),
        ({"aud": []}, "invalid_claim_type", "aud"),
        ({"aud": ["shop", 1]}, "invalid_claim_type", "aud"),
        ({"sub": 12}, "invalid_claim_type", "sub"),
        ({"nonce": 1}, "invalid_claim_type", "nonce"),
        ({"client_id": "other"}, "client_id_mismatch", "client_id"),
        ({"client_id": ["shop"]}, "invalid_claim_type", "client_id"),
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_a_wrong_claim_is_named(validate: Any, rsa: SigningKey, changes: Any, code: str, claim: str) -> None:
    expect.refusal(validate(rsa.sign(claims(**changes))), code, claim)


@pytest.mark.parametrize(
    "changes",
    [{"exp": NOW - 29, "iat": NOW - 60}, {"nbf": NOW + 29}, {"iat": NOW + 29}, {"exp": NOW + 300.5}, {"aud": ["shop"]}, {"azp": "shop"},
     {"client_id": "shop"}, {"nonce": "nobody asked"}],
    ids=lambda value: json.dumps(value),
)
def test_what_is_within_the_rules_passes(validate: Any, rsa: SigningKey, changes: Any) -> None:
    assert validate(rsa.sign(claims(**changes)))["valid"] is True


HASHED = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"


@pytest.mark.parametrize(
    "changes, params, code, claim",
    [
        ({"nonce": "n1"}, {"nonce": "n1"}, None, None),
        ({"nonce": "n2"}, {"nonce": "n1"}, "nonce_mismatch", "nonce"),
        ({}, {"nonce": "n1"}, "missing_nonce", "nonce"),
        ({}, {"nonce": ""}, "missing_nonce", "nonce"),
        ({}, {"flow": "implicit"}, "missing_nonce", "nonce"),
        ({"nonce": "n1"}, {"rejectUnexpectedNonce": True}, "nonce_mismatch", "nonce"),
        ({}, {"rejectUnexpectedNonce": True}, None, None),
        ({"nonce": "n1"}, {"rejectUnexpectedNonce": True, "nonce": "n1"}, None, None),
        ({"auth_time": NOW - 60}, {"maxAge": 60}, None, None),
        ({"auth_time": NOW - 91}, {"maxAge": 60}, "auth_too_old", "auth_time"),
        ({}, {"maxAge": 60}, "missing_claim", "auth_time"),
        ({"acr": "gold"}, {"acrValues": ["silver", "gold"]}, None, None),
        ({"acr": "bronze"}, {"acrValues": ["silver", "gold"]}, "acr_mismatch", "acr"),
        ({}, {"acrValues": ["gold"]}, "acr_mismatch", "acr"),
        ({"at_hash": "77QmUPtjPfzWtF2AnpK9RQ"}, {"accessToken": HASHED}, None, None),
        ({"at_hash": "77QmUPtjPfzWtF2AnpK9RR"}, {"accessToken": HASHED}, "at_hash_mismatch", "at_hash"),
        ({"at_hash": "77QmUPtjPfzWtF2AnpK9RQ"}, {"accessToken": HASHED + "x"}, "at_hash_mismatch", "at_hash"),
        ({"nonce": "n"}, {"nonce": "n", "flow": "implicit", "accessToken": HASHED}, "missing_claim", "at_hash"),
        ({"c_hash": left_half("code")}, {"authorizationCode": "code"}, None, None),
        ({"c_hash": left_half("code")}, {"authorizationCode": "other"}, "c_hash_mismatch", "c_hash"),
        ({"nonce": "n"}, {"nonce": "n", "flow": "hybrid", "authorizationCode": "code"}, "missing_claim", "c_hash"),
        ({"s_hash": left_half("state")}, {"state": "state"}, None, None),
        ({"s_hash": left_half("state")}, {"state": "other"}, "s_hash_mismatch", "s_hash"),
        ({"aud": ["shop", "friend"]}, {"trustedAudiences": ["friend"]}, None, None),
        ({"aud": ["shop", "friend"]}, {"trustedAudiences": ["friend"], "requireAzp": True}, "azp_mismatch", "azp"),
        ({"exp": NOW - 200, "iat": NOW - 400}, {"clockSkewSeconds": 300}, None, None),
        ({"exp": NOW}, {"clockSkewSeconds": 0}, "token_expired", "exp"),
        ({}, {"algorithms": ["ES256"]}, "alg_not_allowed", "alg"),
        ({}, {"algorithms": ["ES256", "RS256"]}, None, None),
        ({}, {"algorithms": ["none"]}, "alg_not_allowed", "alg"),
    ],
    ids=lambda value: json.dumps(value)[:70],
)
def test_each_param_is_compared(
    validate: Any, rsa: SigningKey, changes: Any, params: Any, code: str, claim: str
) -> None:
    result = validate(rsa.sign(claims(**changes)), **params)
    if code is None:
        assert result["valid"] is True, result
    else:
        expect.refusal(result, code, claim)


@pytest.mark.parametrize(
    "changes, code",
    [
        ({"iat": NOW - 5}, None),
        ({"iat": NOW - 5, "nonce": "n"}, None),
        ({"iat": NOW - 5, "sub": "bob"}, "refresh_mismatch"),
        ({"iat": NOW - 5, "nonce": "other"}, "refresh_mismatch"),
        ({"iat": NOW - 5, "auth_time": NOW}, "refresh_mismatch"),
        ({"iat": NOW - 60}, "refresh_mismatch"),
    ],
    ids=lambda value: json.dumps(value),
)
def test_a_refreshed_token_follows_the_one_before(validate: Any, rsa: SigningKey, changes: Any, code: str) -> None:
    before = rsa.sign(claims(iat=NOW - 30, nonce="n", auth_time=NOW - 40))
    result = validate(rsa.sign(claims(**{"auth_time": NOW - 40, **changes})), flow="refresh", previousIdToken=before)
    if code is None:
        assert result["valid"] is True, result
    else:
        expect.refusal(result, code)


def test_encoding_faults(validate: Any, rsa: SigningKey) -> None:
    good = rsa.sign(claims())
    header, payload, signature = good.split(".")
    for token in [
        "", ".", "..", "a.b", good + ".", "." + good, good + ".x", f"{header}.{payload}.", f"{header}..{signature}",
        f" {good}", f"{good}\n", f"{header}=.{payload}.{signature}", f"{header}.{payload}=.{signature}",
        f"{header}.{payload}.{signature}=", f"{header}.{payload}+.{signature}", "." * 5, "." * 10_000,
        f"{signing.compact(b'[]')}.{payload}.{signature}", f"{signing.compact(b'{}')}.{payload}.{signature}",
        rsa.sign(b"[1]"), rsa.sign(b'{"a":1} '[:-1] + b"x"), rsa.sign(b'{"a":"\xff"}'), rsa.sign(b'{"a":1e400}'),
        rsa.sign(b"[" * 200 + b"]" * 200), rsa.sign(b'{"sub":"a\\u0000"}'),
    ]:
        expect.refusal(validate(token), "malformed_token")
    expect.refusal(validate("a" * 65_537), "token_too_large")
    expect.refusal(validate("." * 1_000_000), "token_too_large")
    for text in [b'{"iss":"a","iss":"b"}', b'{"iss":"a","\\u0069ss":"b"}']:
        expect.refusal(validate(rsa.sign(text)), "duplicate_claim")


@pytest.mark.parametrize(
    "header, code",
    [
        ({"alg": "none"}, "alg_not_allowed"),
        ({"alg": "NONE"}, "alg_not_allowed"),
        ({"alg": "nOnE"}, "alg_not_allowed"),
        ({"alg": "rs256"}, "alg_not_allowed"),
        ({"alg": " RS256"}, "alg_not_allowed"),
        ({"alg": "ES256"}, "key_alg_mismatch"),
        ({"alg": "PS256"}, "bad_signature"),
        ({"alg": "ML-DSA-44"}, "alg_not_supported"),
        ({"typ": "at+jwt"}, "wrong_token_type"),
        ({"typ": "logout+jwt"}, "wrong_token_type"),
        ({"typ": "jwt"}, None),
        ({"typ": "application/JWT"}, None),
        ({"cty": "JWT"}, "wrong_token_type"),
        ({"crit": ["exp"], "exp": 1}, "unsupported_crit"),
        ({"crit": []}, "unsupported_crit"),
        ({"b64": False, "crit": ["b64"]}, "unsupported_crit"),
        ({"kid": "unknown"}, "key_not_found"),
        ({"kid": "../../etc/passwd"}, "key_not_found"),
        ({"kid": None}, None),
    ],
    ids=lambda value: json.dumps(value),
)
def test_header_faults(validate: Any, rsa: SigningKey, header: Any, code: str) -> None:
    result = validate(rsa.sign(claims(), **header))
    if code is None:
        assert result["valid"] is True, result
    else:
        expect.refusal(result, code)


def test_keys_in_the_token_are_never_used(validate: Any, rsa: SigningKey, issuer: IssuerDouble) -> None:
    forger = SigningKey("RS256", "rsa-1")
    issuer.serve_keys(forger.jwks())
    for member in [{"jwk": forger.jwk()}, {"jku": issuer.base + "/jwks"}, {"x5u": issuer.base + "/jwks"}]:
        expect.refusal(validate(forger.sign(claims(), **member)), "bad_signature")
    assert issuer.asked == []


def test_every_single_bit_of_the_signature_and_payload_counts(connection: Connection, ec: SigningKey) -> None:
    token = ec.sign(claims())
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    pending = []
    for position in range(0, len(token)):
        if token[position] == ".":
            continue
        changed = alphabet[alphabet.index(token[position]) ^ 1]
        forged = token[:position] + changed + token[position + 1 :]
        pending.append(
            connection.request(
                "validateIdToken",
                {"idToken": forged, "expectedIssuer": ISSUER, "clientId": "shop", "jwks": ec.jwks(), "now": NOW},
            )
        )
        if len(pending) == 64 or position == len(token) - 1:
            for identifier in pending:
                assert connection.answer_to(identifier)["result"]["valid"] is False
            pending = []


def test_a_public_key_is_never_a_secret(validate: Any, connection: Connection, rsa: SigningKey) -> None:
    """CVE-2022-29217 and its kin: HMAC with the public key's bytes."""
    for secret in [rsa.public_der, json.dumps(rsa.jwk()).encode(), rsa.jwk()["n"].encode()]:
        token = signing.hs256(secret, {"alg": "HS256", "kid": "rsa-1"}, claims())
        expect.refusal(validate(token), "alg_not_allowed", "alg")
    symmetric = {"kty": "oct", "k": signing.b64url(b"s" * 32), "kid": "s"}
    token = signing.hs256(b"s" * 32, {"alg": "HS256", "kid": "s"}, claims())
    expect.refusal(validate(token, jwks={"keys": [symmetric]}), "alg_not_allowed", "alg")
    mixed = {"idToken": token, "expectedIssuer": ISSUER, "clientId": "shop", "jwks": {"keys": [symmetric, rsa.jwk()]}}
    expect.fault(connection.error("validateIdToken", mixed), 2004, "/jwks")


def test_the_choice_of_key(validate: Any, rsa: SigningKey, ec: SigningKey) -> None:
    token, nameless = rsa.sign(claims()), rsa.sign(claims(), kid=None)
    twin = SigningKey("RS256", "rsa-1")
    assert validate(nameless, jwks={"keys": [rsa.jwk(), ec.jwk()]})["valid"] is True
    expect.refusal(validate(nameless, jwks={"keys": [rsa.jwk(), twin.jwk()]}), "key_ambiguous")
    expect.refusal(validate(token, jwks={"keys": [rsa.jwk(), twin.jwk()]}), "key_ambiguous")
    expect.refusal(validate(token, jwks={"keys": []}), "key_not_found")
    expect.refusal(validate(token, jwks=ec.jwks(kid="rsa-1")), "key_alg_mismatch")
    expect.refusal(validate(token, jwks=rsa.jwks(alg="RS512")), "key_alg_mismatch")
    expect.refusal(validate(token, jwks=rsa.jwks(use="enc")), "key_not_found")
    expect.refusal(validate(token, jwks=rsa.jwks(use=None, key_ops=["sign"])), "key_not_found")
    assert validate(token, jwks={"keys": [{"kty": "??", "kid": "rsa-1"}, rsa.jwk(), {}]})["valid"] is True


@pytest.mark.parametrize(
    "params, path",
    [
        ({"clockSkewSeconds": 301}, "/clockSkewSeconds"),
        ({"clockSkewSeconds": -1}, "/clockSkewSeconds"),
        ({"maxAge": -1}, "/maxAge"),
        ({"flow": "refresh"}, "/previousIdToken"),
        ({"previousIdToken": "x"}, "/previousIdToken"),
        ({"flow": "device"}, "/flow"),
        ({"algorithms": ["RS257"]}, "/algorithms/0"),
        ({"issuer": "play"}, "/expectedIssuer"),
        ({"expectedIssuer": None}, "/issuer"),
        ({"jwks": None}, "/jwks"),
        ({"jwksUrl": "https://x"}, "/jwksUrl"),
        ({"clientId": None}, "/clientId"),
        ({"now": 1e300}, "/now"),
        ({"nonze": "x"}, "/nonze"),
        ({"nonce": 1}, "/nonce"),
    ],
    ids=lambda value: json.dumps(value),
)
def test_a_mistake_in_the_call_is_an_error(connection: Connection, rsa: SigningKey, params: Any, path: str) -> None:
    pieces = {"idToken": "x", "expectedIssuer": ISSUER, "clientId": "shop", "jwks": rsa.jwks(), **params}
    given = {name: value for name, value in pieces.items() if value is not None}
    expect.fault(connection.error("validateIdToken", given), -32602, path)


def test_the_callers_clock_needs_its_switch(start: Start, connect: Connect, rsa: SigningKey) -> None:
    connection = connect(start())
    pieces = {"expectedIssuer": ISSUER, "clientId": "shop", "jwks": rsa.jwks()}
    now = int(time.time())
    token = rsa.sign(claims(iat=now, exp=now + 60))
    assert connection.call("validateIdToken", {"idToken": token, **pieces})["valid"] is True
    expect.fault(connection.error("validateIdToken", {"idToken": token, **pieces, "now": now}), -32602, "/now")


def test_inline_keys_can_be_switched_off(start: Start, connect: Connect, rsa: SigningKey) -> None:
    connection = connect(start({"validation": {"inlineJwks": False}}))
    pieces = {"idToken": "x", "expectedIssuer": ISSUER, "clientId": "shop", "jwks": rsa.jwks()}
    expect.fault(connection.error("validateIdToken", pieces), -32602, "/jwks")


def test_jwks_urls_need_an_allowed_origin(
    start: Start, connect: Connect, issuer: IssuerDouble, rsa: SigningKey
) -> None:
    issuer.serve_keys(rsa.jwks())
    now = int(time.time())
    pieces = {
        "idToken": rsa.sign(claims(iat=now, exp=now + 60)), "expectedIssuer": ISSUER, "clientId": "shop",
        "jwksUrl": issuer.base + "/jwks",
    }
    without = start()
    expect.fault(connect(without).error("validateIdToken", pieces), 2006, "/jwksUrl")
    without.stop()
    assert issuer.asked == []
    allowed = connect(start({"validation": {"jwksOrigins": [issuer.base]}}))
    assert allowed.call("validateIdToken", pieces)["valid"] is True
    for url in ["http://127.0.0.1:1/jwks", "https://127.0.0.1/jwks", issuer.base.replace("127.0.0.1", "localhost")]:
        expect.fault(allowed.error("validateIdToken", {**pieces, "jwksUrl": url}), 2006)
    expect.fault(allowed.error("validateIdToken", {**pieces, "jwksUrl": "file:///etc/passwd"}), -32602, "/jwksUrl")


def test_a_configured_issuer_allows_what_it_lists(
    start: Start, connect: Connect, issuer: IssuerDouble, rsa: SigningKey, ec: SigningKey, directory: Path
) -> None:
    issuer.serve_keys({"keys": [rsa.jwk(), ec.jwk(), {"kty": "oct", "k": "c2VjcmV0", "kid": "s"}]})
    secret = directory / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    now = int(time.time())
    body = claims(iss=issuer.base, iat=now, exp=now + 60)
    default = start({"issuers": {"corp": issuer.settings(str(secret))}})
    plain = connect(default)

    def judge(connection: Connection, token: str, **params: Any) -> Dict[str, Any]:
        return connection.call("validateIdToken", {"idToken": token, "issuer": "corp", **params})

    assert judge(plain, rsa.sign(body))["valid"] is True
    expect.refusal(judge(plain, ec.sign(body)), "alg_not_allowed", "alg")
    expect.refusal(judge(plain, rsa.sign(body), clientId="other"), "aud_mismatch")
    symmetric = signing.hs256(SECRET.encode(), {"alg": "HS256"}, body)
    expect.refusal(judge(plain, symmetric), "alg_not_allowed", "alg")
    default.stop()
    listed = connect(
        start({"issuers": {"corp": issuer.settings(str(secret), idToken={"algorithms": ["ES256", "HS256"]})}})
    )
    assert judge(listed, ec.sign(body))["valid"] is True
    result = judge(listed, symmetric)
    assert result["valid"] is True and result["key"] == {"alg": "HS256"} and result["cached"] is False
    expect.refusal(judge(listed, rsa.sign(body)), "alg_not_allowed", "alg")
    expect.refusal(judge(listed, signing.hs256(b"x" * 32, {"alg": "HS256"}, body)), "bad_signature")
    expect.refusal(judge(listed, signing.hs256(b"secret", {"alg": "HS256", "kid": "s"}, body)), "bad_signature")


def test_an_issuer_out_of_reach_is_an_error_not_a_verdict(
    start: Start, connect: Connect, issuer: IssuerDouble, rsa: SigningKey
) -> None:
    sidecar = start({"issuers": {"corp": issuer.settings()}})
    connection = connect(sidecar)
    params = {"idToken": rsa.sign(claims(iss=issuer.base)), "issuer": "corp"}
    data = expect.fault(connection.error("validateIdToken", params), 2001)
    assert data["upstream"]["status"] == 404
    expect.fault(connection.error("validateIdToken", {**params, "issuer": "nobody"}), 2005, "/issuer")
    sidecar.stop()
    nowhere = {"issuer": "http://127.0.0.1:9", "clientId": "shop"}
    gone = connect(start({"issuers": {"corp": nowhere}}))
    assert expect.fault(gone.error("validateIdToken", params), 2002)["retryable"] is True


@pytest.mark.parametrize(
    "change, code",
    [({"issuer": "https://other.example.com"}, 2003), ({"issuer": None}, 2003), ({"jwks_uri": None}, 2002),
     ({"jwks_uri": "http://idp.example.com/jwks"}, 2002)],
    ids=lambda value: json.dumps(value),
)
def test_wrong_metadata(
    start: Start, connect: Connect, issuer: IssuerDouble, rsa: SigningKey, change: Any, code: int
) -> None:
    issuer.serve_keys(rsa.jwks())
    issuer.metadata = {name: value for name, value in {**issuer.metadata, **change}.items() if value is not None}
    connection = connect(start({"issuers": {"corp": issuer.settings()}}))
    expect.fault(connection.error("validateIdToken", {"idToken": rsa.sign(claims()), "issuer": "corp"}), code)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"keys":{}}', b'{"keys":[],"keys":[]}', b"<html>"])
def test_what_is_no_key_set(
    start: Start, connect: Connect, issuer: IssuerDouble, rsa: SigningKey, content: bytes
) -> None:
    issuer.serve_keys(content)
    connection = connect(start({"issuers": {"corp": issuer.settings()}}))
    expect.fault(connection.error("validateIdToken", {"idToken": rsa.sign(claims()), "issuer": "corp"}), 2004)


def test_the_deadline_of_the_call_counts(
    start: Start, connect: Connect, issuer: IssuerDouble, rsa: SigningKey
) -> None:
    gate = threading.Event()

    def slow(_: Any) -> Any:
        gate.wait(20)
        return 200, {"Content-Type": "application/json"}, b'{"keys":[]}'

    issuer.answers["/jwks"] = slow
    connection = connect(start({"issuers": {"corp": issuer.settings()}}))
    params = {"idToken": rsa.sign(claims()), "issuer": "corp", "meta": {"timeoutMs": 200}}
    began = time.monotonic()
    expect.fault(connection.error("validateIdToken", params), -32022)
    assert time.monotonic() - began < 15
    gate.set()


def test_an_unverified_token_tells_nothing(validate: Any, rsa: SigningKey, connection: Connection) -> None:
    forger = SigningKey("RS256", "rsa-1")
    result = validate(forger.sign(claims(sub="somebody-secret", nonce="secret-nonce")), nonce="other")
    assert "secret" not in json.dumps(result)


def test_no_token_is_in_the_log(start: Start, connect: Connect, rsa: SigningKey) -> None:
    sidecar = start({"log": {"level": "trace"}})
    connection = connect(sidecar)
    now = int(time.time())
    token = rsa.sign(claims(iat=now, exp=now + 60, nonce="very-private-nonce"))
    pieces = {"expectedIssuer": ISSUER, "clientId": "shop", "jwks": rsa.jwks()}
    for text in [token, token[:-4] + "AAAA", "broken." + token]:
        connection.call("validateIdToken", {"idToken": text, **pieces, "accessToken": "very-private-token"})
    log = sidecar.log()
    assert "call ended" in log
    for secret in [token, token.split(".")[1], token.split(".")[2], "very-private", "alice"]:
        assert secret not in log
