"""Tokens that are bound to a key of the sidecar's (RFC 9449), against the playground's provider and resource server."""
from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

from harness import expect
from harness.browser import announce_login, callback_of
from harness.connection import Connection
from harness.playground import Playground
from harness.sidecar import Sidecar

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]
REDIRECT = "http://127.0.0.1:8765/callback"
SCOPE = "openid offline_access orders"


@pytest.fixture
def settings(playground: Playground, directory: Path) -> Dict[str, Any]:
    """The public client `dpopclient`, which must have DPoP, and `shop`, which has it when it asks."""
    for name, secret in [("shop-secret", "shopsecret"), ("store-key", "ab" * 31 + "cd")]:
        (directory / name).write_text(secret)
        (directory / name).chmod(0o600)
    base = playground.base + "/resource/"
    return {
        "issuers": {
            "bound": {
                "issuer": playground.issuer, "clientId": "dpopclient", "clientAuth": "none", "scope": SCOPE,
                "idToken": {"algorithms": ["EdDSA"]},
            },
            "shop": {
                "issuer": playground.issuer, "clientId": "shop", "clientAuth": "client_secret_basic",
                "clientSecretFile": str(directory / "shop-secret"), "scope": SCOPE,
            },
        },
        "resources": {
            "mine": {
                "baseUrl": base, "issuer": "bound", "auth": "user", "scope": "orders", "senderConstraint": "dpop"},
            "machine": {
                "baseUrl": base, "issuer": "shop", "auth": "clientCredentials", "scope": "orders", "senderConstraint": "dpop"},
            "anyhow": {"baseUrl": base, "issuer": "shop", "auth": "clientCredentials", "scope": "orders"},
        },
        "tokens": {"leaveTheSidecar": True},
    }


@pytest.fixture
def sidecar(start: Start, settings: Dict[str, Any]) -> Sidecar:
    return start(settings)


def nonces(playground: Playground, **where: bool) -> None:
    status, _, body = playground.request("POST", "/playground/settings", json.dumps(where).encode())
    assert status == 200, body


def rotate_nonces(playground: Playground) -> None:
    assert playground.request("POST", "/playground/rotateNonces")[0] in (200, 204)


def login(connection: Connection, playground: Playground, issuer: str = "bound", **params: Any) -> Dict[str, Any]:
    announce_login(playground, **params.pop("user", {}))
    begun = connection.call("beginAuthorization", {"issuer": issuer, "redirectUri": REDIRECT, **params})
    return connection.call("completeAuthorization", callback_of(begun))


def fetch(connection: Connection, resource: str = "mine", path: str = "orders", **params: Any) -> Dict[str, Any]:
    return connection.call("fetchResource", {"resource": resource, "path": path, **params})


def echoed(connection: Connection, resource: str = "mine", **params: Any) -> Dict[str, List[str]]:
    return json.loads(fetch(connection, resource, "echo", **params)["body"])["headers"]


def test_device_tokens_are_bound(connection: Connection, playground: Playground) -> None:
    assert fetch(connection, "machine")["status"] == 200
    # The resource refuses a bound token without its scheme and proof, so these were right; each proof is another one.
    first, second = echoed(connection, "machine"), echoed(connection, "machine")
    assert first["authorization"] == second["authorization"] and first["dpop"] != second["dpop"]
    # A bound token is used as one also where nobody asked for it.
    assert "dpop" in echoed(connection, "anyhow")
    assert playground.statistics()["dpopProofsRejected"] == 0


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_each_method_is_proved(connection: Connection, playground: Playground, method: str) -> None:
    body = {} if method in ("GET", "DELETE") else {"body": "text"}
    for path in ["echo", "echo/a%2Fb/%7Ec?x=1", "echo/../echo/x", "echo//y"]:
        result = fetch(connection, "machine", path, method=method, **body)
        assert result["status"] == 200, result
    assert playground.statistics()["dpopProofsRejected"] == 0


def test_a_user_session_is_bound_through_login_fetches_and_renewals(
    connection: Connection, playground: Playground
) -> None:
    session = login(connection, playground)["session"]
    assert fetch(connection, session=session)["status"] == 200
    for _ in range(3):
        connection.call("refreshSession", {"session": session})
        assert fetch(connection, session=session)["status"] == 200
    playground.faults(revokeTokens=True)
    result = fetch(connection, session=session)
    assert result["status"] == 200 and result["attempts"] == 2 and result["tokenRefreshed"] is True
    statistics = playground.statistics()
    assert statistics["dpopProofsRejected"] == 0 and statistics["refreshTokenReuseDetected"] == 0
    assert connection.call("endSession", {"session": session})["upstream"] == "ended"


def test_a_device_authorization_is_bound(connection: Connection, playground: Playground) -> None:
    begun = connection.call("beginDeviceAuthorization", {"issuer": "bound"})
    status, _, _ = playground.request(
        "POST", "/playground/device", json.dumps({"userCode": begun["userCode"], "user": "alice"}).encode())
    assert status in (200, 204)
    time.sleep(begun["intervalMs"] / 1000 + 0.1)
    session = connection.call("completeDeviceAuthorization", {"handle": begun["handle"]})
    assert session["subject"] == "user-1001" and fetch(connection, session=session["session"])["status"] == 200


def test_servers_that_want_nonces_get_them(connection: Connection, playground: Playground) -> None:
    nonces(playground, providerNonce=True, resourceNonce=True)
    session = login(connection, playground)["session"]
    result = fetch(connection, path="echo", session=session, method="POST", body="replayed")
    assert result["status"] == 200 and json.loads(result["body"])["body"] == "replayed"
    assert result["attempts"] == 1 and result["tokenRefreshed"] is False
    challenges = playground.statistics()["dpopNonceChallenges"]
    assert 2 <= challenges <= 3
    for _ in range(3):
        assert fetch(connection, session=session)["status"] == 200
    assert playground.statistics()["dpopNonceChallenges"] == challenges
    for _ in range(3):
        rotate_nonces(playground)
        assert fetch(connection, session=session)["status"] == 200
        rotate_nonces(playground)
        connection.call("refreshSession", {"session": session})
    statistics = playground.statistics()
    assert statistics["dpopNonceChallenges"] == challenges + 6 and statistics["dpopProofsRejected"] == 0
    assert statistics["refreshTokenReuseDetected"] == 0


def test_a_stolen_token_is_of_no_use_and_none_leaves(connection: Connection, playground: Playground) -> None:
    session = login(connection, playground)["session"]
    for params in [
        {"resource": "mine", "session": session}, {"issuer": "bound", "auth": "user", "session": session},
        {"resource": "machine"}, {"resource": "anyhow"}, {"issuer": "shop"},
    ]:
        data = expect.fault(connection.error("getAccessToken", params), -32020)
        assert "token" not in data


def test_a_bound_token_without_its_key_is_refused_by_the_resource(playground: Playground) -> None:
    """What the binding is worth: a thief has the token and a key of his own."""
    from harness.signing import SigningKey

    def proof(key: SigningKey, url: str, **claims: Any) -> str:
        public = {name: value for name, value in key.jwk().items() if name in ("kty", "crv", "x", "y")}
        claims = {"htm": "GET", "htu": url, "iat": int(time.time()), "jti": str(time.monotonic_ns()), **claims}
        return key.sign(claims, typ="dpop+jwt", jwk=public)

    import base64
    import hashlib

    owner, thief = SigningKey("ES256", kid=None), SigningKey("ES256", kid=None)
    status, _, body = playground.request(
        "POST", "/oidc/token", b"grant_type=client_credentials&scope=orders", {
            "Content-Type": "application/x-www-form-urlencoded",
            "Authorization": "Basic " + base64.b64encode(b"shop:shopsecret").decode(),
            "DPoP": proof(owner, playground.base + "/oidc/token", htm="POST")})
    answer = json.loads(body)
    assert status == 200 and answer["token_type"] == "DPoP"
    token = answer["access_token"]
    ath = base64.urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).rstrip(b"=").decode()
    url = playground.base + "/resource/orders"

    def get(**headers: str) -> int:
        return playground.request("GET", "/resource/orders", headers=headers)[0]

    once = proof(owner, url, ath=ath)
    assert get(Authorization=f"DPoP {token}", DPoP=once) == 200
    assert get(Authorization=f"DPoP {token}", DPoP=once) == 401
    assert get(Authorization=f"DPoP {token}", DPoP=proof(thief, url, ath=ath)) == 401
    assert get(Authorization=f"DPoP {token}", DPoP=proof(owner, url)) == 401
    assert get(Authorization=f"DPoP {token}", DPoP=proof(owner, url + "/x", ath=ath)) == 401
    assert get(Authorization=f"DPoP {token}") == 401
    assert get(Authorization=f"Bearer {token}") == 401


def test_concurrent_fetches_have_a_proof_each(connection: Connection, playground: Playground) -> None:
    nonces(playground, providerNonce=True, resourceNonce=True)
    session = login(connection, playground)["session"]
    # The playground takes no proof twice.
    params = {"resource": "mine", "path": "echo", "session": session}
    pending = [connection.request("fetchResource", params) for _ in range(50)]
    results = [connection.answer_to(identifier)["result"] for identifier in pending]
    assert [result["status"] for result in results] == [200] * 50
    proofs = {json.loads(result["body"])["headers"]["dpop"][0] for result in results}
    assert len(proofs) == 50 and playground.statistics()["dpopProofsRejected"] == 0


def test_redirects_within_the_origin_are_proved_anew(connection: Connection, playground: Playground) -> None:
    session = login(connection, playground)["session"]
    result = fetch(connection, path="redirects/3", session=session)
    assert result["status"] == 200 and result["url"] != playground.base + "/resource/redirects/3"
    assert playground.statistics()["dpopProofsRejected"] == 0


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_the_key_is_as_durable_as_its_session(
    start: Start, settings: Dict[str, Any], playground: Playground, directory: Path, kind: str
) -> None:
    store = {"kind": kind}
    if kind == "file":
        store |= {"path": str(directory / "store"), "keyFile": str(directory / "store-key")}
    sidecar = start({**settings, "store": store})
    with sidecar.connect() as connection:
        session = login(connection, playground)["session"]
        assert fetch(connection, session=session)["status"] == 200
    sidecar.stop()
    with start({**settings, "store": store}).connect() as connection:
        if kind == "memory":
            expect.fault(connection.error("fetchResource", {"resource": "mine", "path": "orders", "session": "only"}), 1001)
            return
        assert fetch(connection, session=session)["status"] == 200
        # The refresh token of a public client is bound to the key, too.
        connection.call("refreshSession", {"session": session})
        assert fetch(connection, session=session)["status"] == 200
        assert playground.statistics()["dpopProofsRejected"] == 0
    for path in (directory / "store").parent.rglob("*"):
        if path.is_file() and "store" in path.name and path.name != "store-key":
            assert b'"crv"' not in path.read_bytes() and b"dpopKey" not in path.read_bytes()


def test_an_older_session_is_bound_at_its_next_renewal(
    start: Start, settings: Dict[str, Any], playground: Playground, directory: Path
) -> None:
    store = {"kind": "file", "path": str(directory / "store"), "keyFile": str(directory / "store-key")}
    shop = {"baseUrl": playground.base + "/resource/", "issuer": "shop", "auth": "user", "scope": "orders"}
    without = {**settings, "store": store, "resources": {"shop": shop}}
    sidecar = start(without)
    with sidecar.connect() as connection:
        session = login(connection, playground, "shop")["session"]
        assert "dpop" not in echoed(connection, "shop", session=session)
    sidecar.stop()
    bound = {"shop": shop, "strict": {**shop, "senderConstraint": "dpop"}}
    with start({**without, "resources": bound}).connect() as connection:
        assert "dpop" not in echoed(connection, "shop", session=session), "the bearer token at hand is good there"
        before = playground.statistics()["tokenRequests"]
        assert "dpop" in echoed(connection, "strict", session=session)
        assert "dpop" in echoed(connection, "shop", session=session) and "dpop" in echoed(connection, "strict", session=session)
        assert playground.statistics()["tokenRequests"] == before + 1


def test_a_bearer_token_does_not_go_where_a_bound_one_is_wanted(
    connection: Connection, playground: Playground
) -> None:
    grant = {"type": "tokens", "accessToken": "brought-along"}
    session = connection.call("createSession", {"issuer": "bound", "grant": grant})["session"]
    before = playground.statistics()
    data = expect.fault(connection.error("fetchResource", {"resource": "mine", "path": "orders", "session": session}), 1001)
    assert data["outcome"] == "not_sent" and data["retryable"] is False
    assert playground.statistics()["resourceRequests"] == before["resourceRequests"]


@pytest.mark.parametrize("grant", ["jwt_bearer", "token_exchange", "client_credentials"])
def test_implicit_access_is_bound(
    start: Start, settings: Dict[str, Any], playground: Playground, directory: Path, grant: str
) -> None:
    key = directory / "client-key.pem"
    key.write_bytes(playground.request("GET", "/playground/clientKey")[2])
    key.chmod(0o600)
    settings["issuers"]["shop"] |= {
        "scope": "openid profile orders", "clientKeyFile": str(key), "implicit": {"grant": grant, "scope": "orders"}}
    settings["resources"]["news"] = {**settings["resources"]["machine"], "auth": "implicit"}
    with start(settings).connect() as connection:
        login(connection, playground, "shop")
        created = {"issuer": "shop", "grant": {"type": "implicit", "profile": "user-1001"}}
        session = connection.call("createSession", created)["session"]
        assert "dpop" in echoed(connection, "news", session=session)
        playground.faults(revokeTokens=True)
        result = fetch(connection, "news", session=session)
        assert result["status"] == 200 and result["tokenRefreshed"] is True
        assert playground.statistics()["dpopProofsRejected"] == 0


def test_the_authorization_names_the_key(start: Start, settings: Dict[str, Any], playground: Playground) -> None:
    endpoints = {name: f"{playground.issuer}/{path}" for name, path in [
        ("authorization", "authorize"), ("token", "token"), ("jwks", "jwks")]}
    settings["issuers"]["bound"]["endpoints"] = endpoints
    with start(settings).connect() as connection:
        announce_login(playground)
        begun = connection.call("beginAuthorization", {"issuer": "bound", "redirectUri": REDIRECT})
        assert "dpop_jkt=" in begun["authorizationUrl"]
        session = connection.call("completeAuthorization", callback_of(begun))
        assert session["subject"] == "user-1001"
        assert fetch(connection, session=session["session"])["status"] == 200


def test_no_key_and_no_proof_is_in_the_log(start: Start, settings: Dict[str, Any], playground: Playground) -> None:
    nonces(playground, providerNonce=True, resourceNonce=True)
    sidecar = start({**settings, "log": {"level": "trace"}})
    with sidecar.connect() as connection:
        session = login(connection, playground)["session"]
        fetch(connection, session=session)
        connection.call("refreshSession", {"session": session})
    # Quotation marks within a line stand escaped. A bare `crv` is in the name of one of 8,400 temporary directories.
    log = sidecar.log().replace("\\", "")
    for secret in ["eyJ", '"d":', '"crv"', "dpop+jwt"]:
        assert secret not in log


def test_a_resource_indicator_and_the_login_are_told(connection: Connection, playground: Playground) -> None:
    """RFC 8707 and the claims of RFC 9470."""
    target = playground.base + "/resource"
    session = login(
        connection, playground, user={"acr": "mfa", "authTime": 1_800_000_000}, resource=target, acrValues=["mfa"])
    assert session["acr"] == "mfa" and session["authTime"] == 1_800_000_000
    renewed = connection.call("refreshSession", {"session": session["session"]})
    assert renewed["acr"] == "mfa" and renewed["authTime"] == 1_800_000_000
    assert fetch(connection, session=session["session"])["status"] == 200
    data = expect.fault(connection.error(
        "beginAuthorization", {"issuer": "bound", "redirectUri": REDIRECT, "resource": "no-uri"}), -32602, "/resource")
    assert data["reason"] == "invalid_params"


def test_this_build_says_that_it_does_it(connection: Connection) -> None:
    assert "dpop" in connection.call("getInfo")["features"]
