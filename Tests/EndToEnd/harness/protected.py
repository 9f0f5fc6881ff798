"""An API that Postern protects: its issuer, proofs, its configuration, and paths that servers read in two ways."""
from __future__ import annotations

import base64
import hashlib
import json
import os
import pwd
import time
from typing import Any, Dict, List, Tuple

from .fronts import Answer
from .issuer import IssuerDouble
from .signing import SigningKey

AUDIENCE = "https://orders.example.com"
DPOP_KEY = SigningKey("ES256", kid=None)


class Issuer:
    """Signs access tokens."""

    def __init__(self, double: IssuerDouble, key: SigningKey) -> None:
        self.double, self.key = double, key
        double.serve_keys(key.jwks())

    def token(self, **changes: Any) -> str:
        now = int(time.time())
        claims = {
            "iss": self.double.base, "sub": "alice", "aud": AUDIENCE, "exp": now + 300, "iat": now - 1,
            "jti": str(time.monotonic_ns()), "client_id": "shop", "scope": "orders:read", **changes}
        return self.key.sign({name: value for name, value in claims.items() if value is not None}, typ="at+jwt")

    def bearer(self, **changes: Any) -> str:
        return f"Bearer {self.token(**changes)}"

    def bound(self, **changes: Any) -> str:
        """A token for whoever has `DPOP_KEY`."""
        public = DPOP_KEY.jwk(kid=None, use=None)
        canonical = json.dumps({name: public[name] for name in ("crv", "kty", "x", "y")}, separators=(",", ":"))
        digest = hashlib.sha256(canonical.encode()).digest()
        return self.token(cnf={"jkt": base64.urlsafe_b64encode(digest).rstrip(b"=").decode()}, **changes)


def proof(token: str, method: str, url: str, **claims: Any) -> List[Tuple[str, str]]:
    """The fields of a request with a bound token."""
    ath = base64.urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).rstrip(b"=").decode()
    claims = {
        "htm": method, "htu": url, "iat": int(time.time()), "jti": str(time.monotonic_ns()), "ath": ath, **claims}
    made = DPOP_KEY.sign(claims, typ="dpop+jwt", jwk=DPOP_KEY.jwk(kid=None, use=None))
    return [("Authorization", f"DPoP {token}"), ("DPoP", made)]


def settings(issuer: IssuerDouble, http: str, **orders: Any) -> Dict[str, Any]:
    protected = {
        "issuer": "corp", "audience": AUDIENCE, "requiredScopes": ["orders:read"], "identityHeaders": {"X-User": "sub"},
        **orders}
    everyone = {entry.pw_uid for entry in pwd.getpwall() if entry.pw_name in ("www-data", "haproxy")}
    return {
        "issuers": {"corp": {"issuer": issuer.base, "clientId": "api"}},
        "gateway": {
            "listen": {"path": http, "mode": "0666"},
            "protect": {"orders": {name: value for name, value in protected.items() if value is not None}}},
        "peers": [{"uid": os.getuid(), "methods": ["*"]}]
        + [{"uid": uid, "methods": ["validateRequest"]} for uid in sorted(everyone - {os.getuid()})],
    }


def challenge(answer: Answer) -> str:
    values = answer.values("www-authenticate")
    assert len(values) == 1, answer.fields
    return values[0]


TRICKS = [
    "/public/../orders", "/public/health/../../orders", "/public/%2e%2e/orders", "/public/health/%2E%2e/%2e%2e/orders", "//orders",
    "/public//health/..//../orders", "/orders%2F..", "/public/health%2F..%2F..%2Forders", "/public/health/..%2f..%2forders",
    "/public/%252e%252e/orders", "/public/health;/../../orders", "/public/health/..;/..;/orders", "/public/..%5corders",
    "/public/health%00.css", "/PUBLIC/health", "/public/health/", "/public/health%3Fx", "/public/health%23", "/public//health",
    "/./public/health", "/public/health;x", "/.postern/auth/orders", "/.postern-auth", "/orders?x=/public/health",
]
AMBIGUOUS = [
    path for path in TRICKS if any(part in path.lower() for part in ("..", "%2e%2e", "//", "%00", "%5c", "/./", "%252e"))]
