"""Claims of ID tokens: what two JWT libraries refuse is refused here; what is stricter here is written down."""

from __future__ import annotations

import json
import random
from types import SimpleNamespace

import jwcrypto.jwt
import pytest
from joserfc import jwt

import divergences
import id_token_cases
from comparison import compare, needs_all
from id_token_cases import CLIENT, ISSUER, NONCE, NOW
from judges import Case, Postern, Verdict, compact, joserfc_key, jwcrypto_key

ALGORITHMS = ["RS256", "ES256", "Ed25519", "PS384", "ES512"]


def content(claims) -> bytes:
    """Claims in one spelling, so that they can be compared."""
    return json.dumps(claims, sort_keys=True).encode()


def by_joserfc(token, key, leeway) -> Verdict:
    expected = {
        "iss": {"essential": True, "value": ISSUER},
        "aud": {"essential": True, "value": CLIENT},
        "nonce": {"essential": True, "value": NONCE},
        "sub": {"essential": True},
        "exp": {"essential": True},
        "iat": {"essential": True},
    }
    try:
        decoded = jwt.decode(token, joserfc_key(key), algorithms=ALGORITHMS)
        jwt.JWTClaimsRegistry(now=NOW, leeway=leeway, **expected).validate(decoded.claims)
        return Verdict(content(decoded.claims))
    except Exception as error:
        return Verdict(None, repr(error))


def by_jwcrypto(token, key, claims, leeway) -> Verdict:
    expected = {"iss": ISSUER, "aud": CLIENT, "nonce": NONCE, "sub": None, "exp": None, "iat": None}
    if "nbf" in claims:
        expected["nbf"] = None
    try:
        decoded = jwcrypto.jwt.JWT(check_claims=expected, algs=ALGORITHMS)
        decoded.leeway = leeway
        decoded.deserialize(token, jwcrypto_key(key))
        return Verdict(content(json.loads(decoded.claims)))
    except Exception as error:
        return Verdict(None, repr(error))


@pytest.fixture
def stopped_clock(monkeypatch):
    """jwcrypto asks the clock itself."""
    monkeypatch.setattr(jwcrypto.jwt, "time", SimpleNamespace(time=lambda: NOW))


def test_claims_are_judged_alike(postern: Postern, stopped_clock):
    tokens = list(id_token_cases.tokens(random.Random(5), 3000))
    params = [
        {
            "idToken": token,
            "expectedIssuer": ISSUER,
            "clientId": CLIENT,
            "jwks": {"keys": [key]},
            "nonce": NONCE,
            "clockSkewSeconds": leeway,
            "now": NOW,
        }
        for _, token, key, _, leeway in tokens
    ]
    ours = []
    for answer in postern.calls("validateIdToken", params):
        result = answer["result"]
        assert ("claims" in result) == result["valid"], "claims only ever appear when valid"
        if result["valid"]:
            ours.append(Verdict(content(result["claims"])))
        else:
            ours.append(Verdict(None, "{code}: {message}".format(**result["error"])))
    peers = {
        "joserfc": [by_joserfc(token, key, leeway) for _, token, key, _, leeway in tokens],
        "jwcrypto": [by_jwcrypto(token, key, claims, leeway) for _, token, key, claims, leeway in tokens],
    }
    cases = [
        Case(f"{name} leeway={leeway}", token, key, content(json.loads(compact(claims))))
        for name, token, key, claims, leeway in tokens
    ]
    accepted = sum(verdict.is_valid for verdict in ours)
    assert 300 < accepted < 2700, f"{accepted} of 3000 accepted: the borders are not met"
    needs_all(compare(cases, ours, peers, divergences.ID_TOKEN), divergences.ID_TOKEN)
