"""`validateRequest`: whether a request that an API has received may pass, and what the API answers if not."""
from __future__ import annotations

import base64
import hashlib
import itertools
import json
import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import pytest

from harness import expect
from harness.connection import Connection
from harness.issuer import IssuerDouble, document
from harness.playground import Playground
from harness.quick_signing import QuickKey
from harness.sidecar import Sidecar
from harness.signing import SigningKey, b64url
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all
from harness.waiting import eventually
from test_redis_rejections import command
from test_session_store import redis, redis_store  # noqa: F401

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]
API = "https://api.example.com"
URL = f"{API}/orders"
#: The store's key, for both kinds that outlive the process.
KEY = "ab" * 31 + "cd"

numbers = itertools.count()


class Client:
    """A client of the API, with its key and its tokens."""

    def __init__(self, issuer: str, signer: SigningKey) -> None:
        self.issuer, self.signer = issuer, signer
        self.key = SigningKey("ES256", None)
        self.jwk = {name: value for name, value in self.key.jwk().items() if name in ("kty", "crv", "x", "y")}
        canonical = json.dumps(self.jwk, sort_keys=True, separators=(",", ":")).encode()
        self.jkt = b64url(hashlib.sha256(canonical).digest())

    def token(self, bound: bool = False, **changes: Any) -> str:
        now = int(time.time())
        claims = {
            "iss": self.issuer, "sub": "alice", "aud": API, "client_id": "shop", "exp": now + 300, "iat": now,
            "jti": f"t-{next(numbers)}", "scope": "orders:read", "acr": "gold", "auth_time": now - 10,
            "cnf": {"jkt": self.jkt} if bound else None, **changes,
        }
        return self.signer.sign({k: v for k, v in claims.items() if v is not None}, typ="at+jwt")

    def proof(self, token: str, method: str = "GET", url: str = URL, **changes: Any) -> str:
        claims = {
            "jti": f"p-{next(numbers)}", "htm": method, "htu": url, "iat": int(time.time()),
            "ath": b64url(hashlib.sha256(token.encode()).digest()), **changes,
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        return self.key.sign(claims, typ="dpop+jwt", jwk=self.jwk, kid=None)


@pytest.fixture
def client(issuer: IssuerDouble, rsa: SigningKey) -> Client:
    issuer.serve_keys(rsa.jwks())
    return Client(issuer.base, rsa)


@pytest.fixture
def settings(issuer: IssuerDouble, directory: Path) -> Dict[str, Any]:
    for name, secret in [("corp-secret", "s3cret"), ("store-key", KEY)]:
        (directory / name).write_text(secret)
        (directory / name).chmod(0o600)
    return {"issuers": {"corp": issuer.settings(str(directory / "corp-secret"))}}


@pytest.fixture
def api(start: Start, connect: Connect, settings: Dict[str, Any], client: Client) -> Connection:
    return connect(start(settings))


def request(authorization: Optional[str], proof: Optional[str] = None, **params: Any) -> Dict[str, Any]:
    headers: Dict[str, Any] = {"Accept": "*/*"}
    if authorization is not None:
        headers["authorization"] = authorization
    if proof is not None:
        headers["DPoP"] = proof
    own = {"issuer": "corp", "method": "GET", "url": URL, "headers": headers, "audience": API}
    return {name: value for name, value in {**own, **params}.items() if value is not None}


def judge(api: Connection, authorization: Optional[str], proof: Optional[str] = None, **params: Any) -> Dict[str, Any]:
    return api.call("validateRequest", request(authorization, proof, **params))


def code(result: Dict[str, Any]) -> Optional[str]:
    """The code of a rejection, whose response is whole; None for a request that may pass."""
    if result["valid"]:
        assert set(result) <= {"valid", "claims", "tokenType", "confirmation", "cached"}, result
        return None
    assert set(result) == {"valid", "error", "response"}, result
    response = result["response"]
    assert response["status"] in (400, 401, 403)
    assert response["headers"]["Cache-Control"] == "no-store"
    assert response["headers"]["WWW-Authenticate"]
    return result["error"]["code"]


def challenge(result: Dict[str, Any]) -> str:
    return result["response"]["headers"]["WWW-Authenticate"]


# Would catch: a good request that is rejected, or results that lack what the contract gives the API.
def test_good_requests_pass(api: Connection, client: Client) -> None:
    token = client.token()
    first = judge(api, f"Bearer {token}", requiredScopes=["orders:read"])
    assert (first["valid"], first["tokenType"], first["cached"]) == (True, "Bearer", False)
    assert first["claims"]["sub"] == "alice" and "confirmation" not in first
    assert judge(api, f"bearer  {token}")["cached"] is True
    bound = client.token(bound=True)
    with_proof = judge(api, f"DPoP {bound}", client.proof(bound), dpop="required")
    assert (with_proof["valid"], with_proof["tokenType"]) == (True, "DPoP")
    assert with_proof["confirmation"] == {"jkt": client.jkt}
    # Without an audience the token is for the origin of the URL.
    assert code(judge(api, f"Bearer {token}", audience=None)) is None
    assert code(judge(api, f"Bearer {token}", audience=None, url="https://other.example.com/")) == "aud_mismatch"


# Would catch: a rejection with another code, status or challenge than the RFCs'.
def test_rejections_come_with_the_response(api: Connection, client: Client) -> None:
    token, bound = client.token(), client.token(bound=True)
    metadata = f"{API}/.well-known/oauth-protected-resource"
    none = judge(api, None, resourceMetadata=metadata)
    assert code(none) == "token_missing" and none["response"]["status"] == 401
    assert challenge(none).startswith(f'Bearer realm="{API}", resource_metadata="{metadata}", DPoP realm=')
    assert "error=" not in challenge(none)
    assert code(judge(api, "Basic abc")) == "token_missing"
    assert code(judge(api, None, url=f"{URL}?access_token={token}")) == "token_missing"
    for twice in (
        judge(api, f"Bearer {token}, Bearer {token}"),
        judge(api, f"Bearer {token}", url=f"{URL}?access_token={token}"),
        judge(api, None, headers={"Authorization": [f"Bearer {token}", f"Bearer {token}"]}),
        judge(api, None, headers={"Authorization": f"Bearer {token}", "authorization": f"Bearer {token}"}),
    ):
        assert code(twice) == "token_repeated" and twice["response"]["status"] == 400
        assert 'error="invalid_request"' in challenge(twice)
    expired = judge(api, f"Bearer {client.token(exp=1)}")
    assert code(expired) == "token_expired" and 'Bearer realm="' in challenge(expired)
    assert 'error="invalid_token"' in challenge(expired)
    assert code(judge(api, f"Bearer {bound}")) == "confirmation_mismatch"
    assert code(judge(api, f"DPoP {token}", client.proof(token))) == "confirmation_mismatch"
    assert code(judge(api, f"DPoP {bound}")) == "dpop_proof_missing"
    assert code(judge(api, f"Bearer {token}", dpop="required")) == "dpop_proof_missing"
    wrong = judge(api, f"DPoP {bound}", client.proof(bound, method="POST"))
    assert code(wrong) == "invalid_dpop_proof" and wrong["error"]["detail"] == "htm"
    assert challenge(wrong).startswith("DPoP ") and 'error="invalid_dpop_proof"' in challenge(wrong)
    forbidden = judge(api, f"DPoP {bound}", client.proof(bound), dpop="forbidden")
    assert code(forbidden) == "invalid_dpop_proof" and "DPoP" not in challenge(forbidden)
    scope = judge(api, f"Bearer {token}", requiredScopes=["orders:read", "orders:write"])
    assert code(scope) == "insufficient_scope" and scope["response"]["status"] == 403
    assert 'scope="orders:read orders:write"' in challenge(scope)
    for params in ({"acrValues": ["platinum"]}, {"maxAge": 0}, {"acrValues": ["platinum"], "maxAge": 300}):
        late = judge(api, f"Bearer {client.token(auth_time=int(time.time()) - 400)}", **params)
        assert code(late) == "insufficient_user_authentication" and late["response"]["status"] == 401
        assert ('acr_values="platinum"' in challenge(late)) == ("acrValues" in params)
        assert ("max_age=" in challenge(late)) == ("maxAge" in params)


# Would catch: mistakes of the API that become a verdict, which it would send to its client.
@pytest.mark.parametrize(
    "params, path",
    [
        ({"url": "/orders"}, "/url"),
        ({"url": "https://api.example.com/%zz"}, "/url"),
        ({"method": ""}, "/method"),
        ({"method": "GET /"}, "/method"),
        ({"clientCertificate": "no certificate"}, "/clientCertificate"),
        ({"requiredScopes": ["a b"]}, "/requiredScopes"),
        ({"acrValues": ['"']}, "/acrValues"),
        ({"maxAge": -1}, "/maxAge"),
        ({"dpop": "sometimes"}, "/dpop"),
        ({"resourceMetadata": "metadata"}, "/resourceMetadata"),
        ({"jwks": {"keys": []}}, "/jwks"),
        ({"issuer": None}, "/issuer"),
    ],
)
def test_a_malformed_call_has_no_verdict(api: Connection, params: Any, path: str) -> None:
    expect.fault(api.error("validateRequest", {**request("Bearer t"), **params} if "issuer" not in params else
                           {k: v for k, v in request("Bearer t").items() if k != "issuer"}), -32602, path)


# Would catch: keys of the caller's own that are not accepted where an issuer's name is.
def test_the_issuer_may_be_put_together(api: Connection, client: Client) -> None:
    pieces = {"issuer": None, "expectedIssuer": client.issuer, "jwks": client.signer.jwks()}
    bound = client.token(bound=True)
    proof = client.proof(bound)
    assert code(judge(api, f"DPoP {bound}", proof, **pieces)) is None
    # A proof is used up whoever accepted it.
    assert code(judge(api, f"DPoP {bound}", proof)) == "dpop_proof_replayed"
    assert code(judge(api, "Bearer opaque", **pieces)) == "malformed_token"


# Would catch: a token that is bound to a certificate and passes without it.
def test_tokens_bound_to_a_certificate(api: Connection, client: Client, directory: Path) -> None:
    pem = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
         str(directory / "tls.key"), "-subj", "/CN=client"], capture_output=True, check=True).stdout.decode()
    der = base64.b64decode("".join(re.findall(r"^[A-Za-z0-9+/=]+$", pem, re.M)))
    thumbprint = b64url(hashlib.sha256(der).digest())
    token = client.token(cnf={"x5t#S256": thumbprint})
    passed = judge(api, f"Bearer {token}", clientCertificate=pem)
    assert code(passed) is None and passed["confirmation"] == {"x5tS256": thumbprint}
    assert code(judge(api, f"Bearer {token}")) == "confirmation_mismatch"
    other = client.token(cnf={"x5t#S256": client.jkt})
    assert code(judge(api, f"Bearer {other}", clientCertificate=pem)) == "confirmation_mismatch"


# Would catch: a nonce that is demanded and never given, or not accepted once it was.
def test_nonces(start: Start, connect: Connect, settings: Dict[str, Any], client: Client) -> None:
    settings["issuers"]["corp"]["dpop"] = {"nonce": "required", "nonceLife": "1m"}
    api = connect(start(settings))
    bound = client.token(bound=True)
    first = judge(api, f"DPoP {bound}", client.proof(bound))
    assert code(first) == "use_dpop_nonce" and 'error="use_dpop_nonce"' in challenge(first)
    nonce = first["response"]["headers"]["DPoP-Nonce"]
    assert code(judge(api, f"DPoP {bound}", client.proof(bound, nonce=nonce))) is None
    for wrong in ("x", nonce[:-2] + "AA", 1):
        assert code(judge(api, f"DPoP {bound}", client.proof(bound, nonce=wrong))) == "use_dpop_nonce"
    # The nonce is for the origin.
    elsewhere = f"{API}:8443/orders"
    proof = client.proof(bound, url=elsewhere, nonce=nonce)
    assert code(judge(api, f"DPoP {bound}", proof, url=elsewhere)) == "use_dpop_nonce"


# Would catch: a window that the configuration does not change.
def test_the_window_is_configured(start: Start, connect: Connect, settings: Dict[str, Any], client: Client) -> None:
    settings["issuers"]["corp"]["dpop"] = {"past": "5m", "future": "0s"}
    api = connect(start(settings))
    bound = client.token(bound=True)
    assert code(judge(api, f"DPoP {bound}", client.proof(bound, iat=int(time.time()) - 200))) is None
    assert code(judge(api, f"DPoP {bound}", client.proof(bound, iat=int(time.time()) + 3))) == "invalid_dpop_proof"


# Would catch: a record of a proof that ends with the rule that judged it first, while another issuer's name, or the same
# one after a reload or in another process, accepts the proof for longer.
def test_a_proof_is_used_up_for_every_rule(
    start: Start, settings: Dict[str, Any], client: Client, directory: Path
) -> None:
    corp = settings["issuers"]["corp"]
    settings["issuers"]["patient"] = {**corp, "dpop": {"past": "5m"}}
    settings["store"] = {"kind": "file", "path": str(directory / "store"), "keyFile": str(directory / "store-key")}
    sidecar = start(settings)
    bound = client.token(bound=True)
    with sidecar.connect() as api:
        # By the default of a minute it is over in two seconds.
        made = int(time.time()) - 58
        proof = client.proof(bound, iat=made)
        assert code(judge(api, f"DPoP {bound}", proof)) is None
        eventually(lambda: time.time() > made + 62, what="the end of the first rule")
        assert code(judge(api, f"DPoP {bound}", proof)) == "invalid_dpop_proof"
        assert code(judge(api, f"DPoP {bound}", proof, issuer="patient")) == "dpop_proof_replayed"
        settings["issuers"]["corp"] = {**corp, "dpop": {"past": "3m"}}
        written = json.loads(sidecar.configuration_path.read_text())
        written["issuers"].update(settings["issuers"])
        sidecar.write(written)
        assert api.call("reloadConfig")["changed"] == ["issuers"]
        assert code(judge(api, f"DPoP {bound}", proof)) == "dpop_proof_replayed"
        assert code(judge(api, f"DPoP {bound}", client.proof(bound, iat=made))) is None
    sidecar.stop()
    with start(settings).connect() as api:
        assert code(judge(api, f"DPoP {bound}", proof)) == "dpop_proof_replayed"


# Would catch: a proof that passes twice: in one process, after its end, or when it was rejected in between.
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_proof_is_good_for_one_request(
    start: Start, settings: Dict[str, Any], client: Client, directory: Path, end: int
) -> None:
    store = {"kind": "file", "path": str(directory / "store"), "keyFile": str(directory / "store-key")}
    first = start({**settings, "store": store})
    bound = client.token(bound=True)
    proof = client.proof(bound)
    with first.connect() as api:
        assert code(judge(api, f"DPoP {bound}", proof, requiredScopes=["admin"])) == "insufficient_scope"
        assert code(judge(api, f"DPoP {bound}", proof)) is None
        again = judge(api, f"DPoP {bound}", proof)
        assert code(again) == "dpop_proof_replayed" and 'error="invalid_dpop_proof"' in challenge(again)
    first.signal(end)
    first.wait()
    second = start({**settings, "store": store})
    with second.connect() as api:
        assert code(judge(api, f"DPoP {bound}", proof)) == "dpop_proof_replayed"
        assert code(judge(api, f"DPoP {bound}", client.proof(bound))) is None
    for file in (directory / "store").iterdir():
        assert file.stat().st_mode & 0o777 == 0o600, file


# Would catch: a nonce that is no longer good after a restart, where the store outlives it.
def test_nonces_outlive_the_process(start: Start, settings: Dict[str, Any], client: Client, directory: Path) -> None:
    settings["issuers"]["corp"]["dpop"] = {"nonce": "required"}
    store = {"kind": "file", "path": str(directory / "store"), "keyFile": str(directory / "store-key")}
    first = start({**settings, "store": store})
    bound = client.token(bound=True)
    with first.connect() as api:
        nonce = judge(api, f"DPoP {bound}", client.proof(bound))["response"]["headers"]["DPoP-Nonce"]
    first.signal(signal.SIGKILL)
    first.wait()
    with start({**settings, "store": store}).connect() as api:
        assert code(judge(api, f"DPoP {bound}", client.proof(bound, nonce=nonce))) is None


def pairs(client: Client, connections: List[Connection], count: int) -> List[List[Optional[str]]]:
    """The codes of `count` proofs, each sent on all connections at once."""
    # A process for each signature would take as long as proofs are good for, on a machine that is busy enough.
    client.key = QuickKey(client.key)
    bound = client.token(bound=True)
    proofs = [client.proof(bound) for _ in range(count)]
    results: List[List[Optional[str]]] = [[] for _ in proofs]
    lock = threading.Lock()

    def run(connection: Connection) -> None:
        # Of more than 128 in flight the connection refuses the last ones (limits.inFlightPerConnection).
        for start in range(0, count, 100):
            identifiers = [(index, connection.request("validateRequest", request(f"DPoP {bound}", proofs[index])))
                           for index in range(start, min(start + 100, count))]
            for index, identifier in identifiers:
                answer = connection.answer_to(identifier)
                found = code(answer["result"]) if "result" in answer else str(answer["error"])
                with lock:
                    results[index].append(found)

    threads = [threading.Thread(target=run, args=(connection,)) for connection in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


# Would catch: a proof that passes more than once, or never, when many callers send it at the same time.
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_of_many_requests_at_once_one_passes(
    start: Start, settings: Dict[str, Any], client: Client, directory: Path, kind: str
) -> None:
    store = {"kind": kind, "path": str(directory / "store"), "keyFile": str(directory / "store-key")}
    settings["issuers"]["corp"]["dpop"] = {"past": "5m"}
    sidecar = start({**settings, "store": store if kind == "file" else {"kind": kind}})
    connections = [sidecar.connect(timeout=60) for _ in range(8)]
    for result in pairs(client, connections, 250):
        assert sorted(map(str, result)) == ["None"] + ["dpop_proof_replayed"] * 7
    for connection in connections:
        connection.close()


# Would catch: a proof that each of two sidecars accepts, a nonce of one that the other rejects, or a verdict while
# Redis is out of reach.
def test_two_sidecars_share_what_is_used(
    start: Start, settings: Dict[str, Any], client: Client, redis: str, directory: Path  # noqa: F811
) -> None:
    store = redis_store({"store": {"keyFile": str(directory / "store-key")}}, redis, directory)
    settings["issuers"]["corp"]["dpop"] = {"nonce": "off", "past": "5m"}

    def both() -> List[Sidecar]:
        return [start({**settings, "store": store, "listen": {"path": str(directory / f"{next(numbers)}.sock")}})
                for _ in range(2)]

    one, other = both()
    with one.connect(timeout=60) as first, other.connect(timeout=60) as second:
        for result in pairs(client, [first, second], 250):
            assert sorted(map(str, result)) == ["None", "dpop_proof_replayed"]
        bound = client.token(bound=True)
        proof = client.proof(bound)
        command(redis, "CONFIG", "SET", "maxmemory", "1")
        data = expect.fault(first.error("validateRequest", request(f"DPoP {bound}", proof)), 5008)
        assert data["retryable"] is True
        command(redis, "CONFIG", "SET", "maxmemory", "0")
        assert code(judge(first, f"DPoP {bound}", proof)) is None
        assert code(judge(second, f"DPoP {bound}", proof)) == "dpop_proof_replayed"
    settings["issuers"]["corp"]["dpop"] = {"nonce": "required"}
    one, other = both()
    with one.connect() as first, other.connect() as second:
        nonce = judge(first, f"DPoP {bound}", client.proof(bound))["response"]["headers"]["DPoP-Nonce"]
        assert code(judge(second, f"DPoP {bound}", client.proof(bound, nonce=nonce))) is None


class TestOpaqueTokens:
    @pytest.fixture
    def counted(self, issuer: IssuerDouble) -> Callable[[], int]:
        members = {"active": True, "sub": "alice", "aud": API, "scope": "orders:read"}
        issuer.answers["/introspect"] = lambda _: document(members)
        return lambda: issuer.count("/introspect")

    # Would catch: an answer that is kept although no one has said so.
    def test_by_default_nothing_is_kept(self, api: Connection, issuer: IssuerDouble, counted: Callable[[], int]) -> None:
        for number in (1, 2):
            result = judge(api, "Bearer opaque", requiredScopes=["orders:read"])
            assert code(result) is None and result["cached"] is False and counted() == number
        issuer.answers["/introspect"] = lambda _: document({"active": False})
        inactive = judge(api, "Bearer opaque")
        assert code(inactive) == "inactive" and inactive["response"]["status"] == 401

    # Would catch: more than one request for callers of one user, answers shared between users, or a call's
    # requirements that are kept with the answer.
    @needs_root
    def test_answers_are_kept_for_each_user(
        self, start: Start, settings: Dict[str, Any], client: Client, counted: Callable[[], int]
    ) -> None:
        settings["issuers"]["corp"]["introspection"] = {"cache": "1m"}
        sidecar = start({**settings, **BOTH})
        open_to_all(sidecar.directory)
        with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
            identifiers = [alice.request("validateRequest", request("Bearer opaque")) for _ in range(100)]
            for identifier in identifiers:
                answer = alice.answer_to(identifier)
                assert code(answer.get("result", answer)) is None
            assert counted() == 1
            assert judge(alice, "Bearer opaque")["cached"] is True
            assert code(judge(alice, "Bearer opaque", requiredScopes=["admin"])) == "insufficient_scope"
            assert code(judge(alice, "Bearer opaque", audience="https://other.example.com")) == "aud_mismatch"
            assert counted() == 1
            assert judge(bob, "Bearer opaque")["cached"] is False
            assert counted() == 2

    # Would catch: an issuer that is out of reach and a verdict that takes a good token from its client.
    @pytest.mark.parametrize("answer", [
        document({"error": "invalid_client"}, 401), document({}, 503), document({"active": "true"}),
        (200, {"Content-Type": "text/html"}, b"<html>"),
    ])
    def test_no_answer_is_no_verdict(self, api: Connection, issuer: IssuerDouble, answer: Any) -> None:
        issuer.answers["/introspect"] = lambda _: answer
        expect.fault(api.error("validateRequest", request("Bearer opaque")), 2007)

    # Would catch: a bound token that passes as a bearer token because its issuer was asked about it.
    def test_an_answer_may_bind_the_token(self, api: Connection, issuer: IssuerDouble, client: Client) -> None:
        issuer.answers["/introspect"] = lambda _: document(
            {"active": True, "sub": "a", "aud": API, "token_type": "DPoP", "cnf": {"jkt": client.jkt}})
        assert code(judge(api, "Bearer opaque")) == "confirmation_mismatch"
        assert code(judge(api, "DPoP opaque", client.proof("opaque"))) is None


# Would catch: keys that cannot be fetched and a verdict all the same.
def test_no_keys_no_verdict(api: Connection, issuer: IssuerDouble, client: Client) -> None:
    issuer.answers["/jwks"] = lambda _: document({}, 503)
    expect.fault(api.error("validateRequest", request(f"Bearer {client.token()}")), 2001)


# Would catch: input that stops the sidecar, passes, or is repeated in a response, the log or the audit log.
def test_hostile_input(start: Start, connect: Connect, settings: Dict[str, Any], client: Client) -> None:
    sidecar = start(settings)
    api = connect(sidecar)
    bound = client.token(bound=True)
    secret = "A" * 40
    hostile = [
        "", ".", "..", "...", "a.b.c", "e30.e30.e30", secret * 300, "é", "\x00", f"{secret}\r\nX-Injected: 1",
        client.proof(bound)[:-10], client.proof(bound).replace(".", ".."), client.token(exp=1), b64url(b"{" * 5000),
        client.proof(bound, iat=1e300), client.proof(bound, jti={"a": 1}), client.proof(bound, htu=secret * 10),
    ]
    for text in hostile:
        # Some are no JSON strings at all for the sidecar: that is an error, and no verdict.
        answer = api.answer_to(api.request("validateRequest", request(f"DPoP {bound}", text)))
        if "result" in answer:
            assert code(answer["result"]) == "invalid_dpop_proof", text
        answer = api.answer_to(api.request("validateRequest", request(f"Bearer {text}")))
        if "result" in answer:
            assert code(answer["result"]), text
            assert secret not in json.dumps(answer["result"]["response"])
            assert "\r" not in challenge(answer["result"])
    claims = client.token(aud=['"\\\r\nX: 1', "é"], scope='"', acr="\\")
    for params in ({}, {"audience": None}, {"requiredScopes": ["x"]}, {"acrValues": ["y"]}):
        text = challenge(judge(api, f"Bearer {claims}", **params))
        assert re.fullmatch(r"[\x20-\x7e]+", text) and "\\" not in text and "X: 1" not in text
    assert code(judge(api, f"DPoP {bound}", client.proof(bound))) is None
    log = sidecar.log()
    assert secret not in log and not expect.LIKE_A_TOKEN.search(log)


# Would catch: a user who sees another user's issuers, or who fills the memory of used proofs for another.
@needs_root
def test_users_see_their_own_issuers(
    start: Start, settings: Dict[str, Any], client: Client
) -> None:
    peers = [{"uid": ALICE, "methods": ["*"], "issuers": []}, {"uid": BOB, "methods": ["*"]}, {"uid": 0, "methods": ["*"]}]
    sidecar = start({**settings, "listen": {"mode": "0666"}, "peers": peers})
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        expect.fault(alice.error("validateRequest", request("Bearer t")), 2005)
        bound = client.token(bound=True)
        proof = client.proof(bound)
        assert code(judge(bob, f"DPoP {bound}", proof)) is None
        # One API may be several users' programs: its clients' proofs are good once for all of them.
        pieces = {"issuer": None, "expectedIssuer": client.issuer, "jwks": client.signer.jwks()}
        assert code(judge(alice, f"DPoP {bound}", proof, **pieces)) == "dpop_proof_replayed"


# Would catch: tokens of a provider that is no double, and do not pass.
def test_the_issuers_own_token(connection: Connection, playground: Playground) -> None:
    credentials = base64.b64encode(b"svc:svcsecret").decode()
    status, _, body = playground.request(
        "POST", "/oidc/token", body=b"grant_type=client_credentials&scope=orders",
        headers={"Authorization": f"Basic {credentials}", "Content-Type": "application/x-www-form-urlencoded"},
    )
    assert status == 200
    token = json.loads(body)["access_token"]
    params = request(f"Bearer {token}", issuer="play", audience=None, url=f"{playground.base}/resource/orders")
    assert code(connection.call("validateRequest", {**params, "requiredScopes": ["orders"]})) is None


# Would catch: calls that the audit log does not have, or has with a token.
def test_the_audit_log_has_the_verdicts(
    start: Start, connect: Connect, settings: Dict[str, Any], client: Client, directory: Path
) -> None:
    path = directory / "audit.log"
    api = connect(start({**settings, "audit": {"path": str(path)}}))
    assert code(judge(api, f"Bearer {client.token()}")) is None
    assert code(judge(api, f"Bearer {client.token(exp=1)}")) == "token_expired"
    text = eventually(lambda: path.exists() and path.read_text().count("validateRequest") >= 2 and path.read_text(),
                      what="the records")
    entries = [json.loads(line) for line in text.splitlines()]
    mine = [entry for entry in entries if entry.get("method") == "validateRequest"]
    assert [entry["outcome"] for entry in mine] == ["valid", "invalid"]
    assert not expect.LIKE_A_TOKEN.search(text)
