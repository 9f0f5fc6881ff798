"""`/.postern/auth/NAME`: nginx, Caddy, HAProxy and Apache with the files of examples/forward-auth."""
from __future__ import annotations

import base64
import hashlib
import json
import os
import pwd
import signal
import socket
import ssl
import subprocess
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple
from urllib.parse import quote

import pytest

from harness.fronts import API, PROGRAMS, Answer, Front, await_socket, direct, exchange, program
from harness.issuer import IssuerDouble
from harness.ports import free_port
from harness.sidecar import Sidecar
from harness.signing import SigningKey
from harness.users import ALICE, BOB, acting_as, needs_root, open_to_all
from harness.waiting import eventually

Start = Callable[..., Sidecar]
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


@pytest.fixture
def tokens(issuer: IssuerDouble, rsa: SigningKey) -> Issuer:
    return Issuer(issuer, rsa)


@pytest.fixture
def api() -> Iterator[API]:
    made = API()
    yield made
    made.stop()


@pytest.fixture
def http(directory: Path) -> str:
    open_to_all(directory)
    return str(directory / "http.sock")


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


@pytest.fixture
def serve(start: Start, http: str) -> Start:
    """Starts a sidecar, and waits for its gateway."""

    def serve(changes: Dict[str, Any]) -> Sidecar:
        sidecar = start(changes)
        await_socket(http)
        return sidecar

    return serve


@pytest.fixture(params=sorted(PROGRAMS))
def front(request: pytest.FixtureRequest, directory: Path, http: str, api: API) -> Iterator[Front]:
    if program(request.param) is None:
        pytest.skip(f"needs {request.param}")
    made = Front(request.param, directory / request.param, http, api)
    yield made
    made.stop()


@pytest.fixture
def protect(serve: Start, front: Front, issuer: IssuerDouble, http: str) -> Callable[..., Sidecar]:
    """Starts the sidecar behind the front, with changes to `gateway.protect.orders` and the issuer."""

    def protect(issuer_changes: Optional[Dict[str, Any]] = None, **orders: Any) -> Sidecar:
        changes = settings(issuer, http, **{"dialect": front.kind, "origin": front.origin, **orders})
        changes["issuers"]["corp"].update(issuer_changes or {})
        return serve(changes)

    return protect


def challenge(answer: Answer) -> str:
    values = answer.values("www-authenticate")
    assert len(values) == 1, answer.fields
    return values[0]


def test_an_accepted_request_reaches_the_api_with_its_user(protect: Any, front: Front, tokens: Issuer, api: API) -> None:
    protect()
    token = tokens.bearer()
    assert front.request(token=token).body == b"here"
    assert front.request("/orders/7?a=b%20c", "POST", token, body=b"x" * 100_000).status == 200
    assert front.request("/orders", "HEAD", token).status == 200
    assert front.request("/orders/7", "DELETE", token).status == 200
    assert [(got.method, got.path) for got in api.received] == [
        ("GET", "/orders/7"), ("POST", "/orders/7?a=b%20c"), ("HEAD", "/orders"), ("DELETE", "/orders/7")]
    assert all(got.values("x-user") == ["alice"] for got in api.received)


def test_a_rejected_request_gets_its_challenge_and_never_reaches_the_api(
    protect: Any, front: Front, tokens: Issuer, api: API, ec: SigningKey
) -> None:
    protect()
    answer = front.request()
    assert answer.status == 401 and "Bearer" in challenge(answer) and "error" not in challenge(answer)
    for changes in [{"exp": 1}, {"aud": "other"}, {"iss": "https://other.example"}, {"sub": None}]:
        answer = front.request(token=tokens.bearer(**changes))
        assert answer.status == 401 and 'error="invalid_token"' in challenge(answer), changes
    forged = Issuer(tokens.double, ec).key.sign({"sub": "alice"}, typ="at+jwt", kid="rsa-1")
    tokens.double.serve_keys(tokens.key.jwks())
    assert front.request(token=f"Bearer {forged}").status == 401
    answer = front.request(token=tokens.bearer(scope="orders:write"))
    assert answer.status == 403
    assert 'error="insufficient_scope"' in challenge(answer) and 'scope="orders:read"' in challenge(answer)
    assert front.request(token="Basic YTpi").status == 401
    assert front.request("/orders?access_token=" + tokens.token()).status == 401
    good = tokens.bearer()
    twice = front.request(fields=[("Authorization", good), ("Authorization", tokens.bearer())])
    assert twice.status in (400, 403)
    assert front.request(token=f"{good}, {good}").status in (401, 403)
    assert front.request("/orders?access_token=" + tokens.token(), token=good).status == 403
    assert api.received == []
    assert front.request(token=good).status == 200


SPELLINGS = [("X-User", "root"), ("x-user", "root"), ("X_User", "root"), ("X.User", "root"), ("X_USER", "root")]


def test_a_clients_identity_headers_never_reach_the_api(protect: Any, front: Front, tokens: Issuer, api: API) -> None:
    """Also where the claim is missing, and on a path without protection."""
    protect(identityHeaders={"X-User": "nickname"})
    for kept in ([], [("Connection", "close, X-User")], [("Connection", "X-User"), ("Connection", "close")]):
        front.request(token=tokens.bearer(nickname="al"), fields=SPELLINGS + kept)
        assert api.received.pop().values("x-user") == ["al"]
        front.request(token=tokens.bearer(), fields=SPELLINGS + kept)
        assert api.received.pop().values("x-user") in ([], [""])
        front.request("/public/health", fields=SPELLINGS + kept)
        assert api.received.pop().values("x-user") in ([], [""])
    front.request(token=tokens.bearer(nickname="al\r\nX-Admin: true\u00e9"))
    assert api.received[-1].values("x-user") == ["al%0D%0AX-Admin: true%C3%A9"]
    assert all(value != "root" for got in api.received for _, value in got.fields)
    for got in api.received:
        assert not got.values("x-admin")
        assert [name for name, _ in got.fields if name.lower() in ("x_user", "x.user")] == []


def test_the_front_reports_the_original_request_and_not_the_client(
    protect: Any, front: Front, tokens: Issuer, api: API
) -> None:
    """A proof is about the request that the API gets, whatever fields the client adds."""
    protect()
    token = tokens.bound()
    url = f"{front.origin}/orders/7"
    spoofed = [
        ("X-Original-Method", "POST"), ("X-Original-URI", "/public/health"), ("X-Original-URL", f"{front.origin}/public/health"),
        ("X-Forwarded-Method", "POST"), ("X-Forwarded-Uri", "/public/health"), ("X-Forwarded-Host", "evil.example"),
        ("X-Forwarded-Proto", "https"), ("X-Rewrite-Url", "/public/health"), ("X-HTTP-Method-Override", "POST"),
        ("Forwarded", "host=evil.example;proto=https")]
    other = proof(token, "POST", f"{front.origin}/public/health")
    assert front.request(fields=other + spoofed).status in (401, 403)
    assert front.request(fields=proof(token, "POST", url) + spoofed).status in (401, 403)
    assert front.request(fields=proof(token, "GET", "https://evil.example/orders/7") + spoofed).status in (401, 403)
    assert api.received == []
    # nginx with X-Original-URI and a client with X-Original-URL: both are of one family, and nothing is accepted.
    kept = [line for line in spoofed if line[0] != "X-Original-URL"] if front.kind == "nginx" else spoofed
    assert front.request(fields=proof(token, "GET", url) + kept).status == 200
    for connection in ["X-Original-URI, X-Forwarded-Uri, close", "X-Original-Method, X-Forwarded-Method, close"]:
        fields = proof(token, "GET", url) + [("Connection", connection)]
        assert front.request(fields=fields).status in (200, 401, 403)
        fields = other + spoofed + [("Connection", connection)]
        assert front.request(fields=fields).status in (401, 403)


def test_a_bound_token_needs_a_proof_of_this_request(protect: Any, front: Front, tokens: Issuer, api: API) -> None:
    protect()
    token = tokens.bound()
    url = f"{front.origin}/orders/7"
    good = proof(token, "PUT", url)
    assert front.request("/orders/7?page=2", "PUT", fields=good, body=b"x").status == 200
    assert front.request("/orders/7?page=2", "PUT", fields=good, body=b"x").status == 401
    for fields in [
        proof(token, "GET", url), proof(token, "PUT", f"{front.origin}/orders/8"), proof(token, "put", url),
        proof(token, "PUT", url.replace("http:", "https:")), proof(token, "PUT", f"{front.origin}/.postern/auth/orders"),
        proof(token, "PUT", url, iat=1), [("Authorization", f"Bearer {token}")], [("Authorization", f"DPoP {token}")],
    ]:
        answer = front.request("/orders/7", "PUT", fields=fields, body=b"x")
        assert answer.status == 401 and "DPoP" in challenge(answer), fields
    two = good + [proof(token, "PUT", url)[1]]
    assert front.request("/orders/7", "PUT", fields=two, body=b"x").status in (400, 401, 403)
    assert len(api.received) == 1


def test_a_nonce_reaches_the_client(protect: Any, front: Front, tokens: Issuer, api: API) -> None:
    protect({"dpop": {"nonce": "required"}}, dpop="required")
    token = tokens.bound()
    url = f"{front.origin}/orders/7"
    answer = front.request(fields=proof(token, "GET", url))
    assert answer.status == 401 and "use_dpop_nonce" in challenge(answer)
    [nonce] = answer.values("dpop-nonce")
    assert front.request(fields=proof(token, "GET", url, nonce=nonce)).status == 200
    assert front.request(fields=proof(token, "GET", url, nonce=nonce + "x")).status == 401
    assert front.request(token=tokens.bearer()).status == 401
    assert len(api.received) == 1


TRICKS = [
    "/public/../orders", "/public/health/../../orders", "/public/%2e%2e/orders", "/public/health/%2E%2e/%2e%2e/orders", "//orders",
    "/public//health/..//../orders", "/orders%2F..", "/public/health%2F..%2F..%2Forders", "/public/health/..%2f..%2forders",
    "/public/%252e%252e/orders", "/public/health;/../../orders", "/public/health/..;/..;/orders", "/public/..%5corders",
    "/public/health%00.css", "/PUBLIC/health", "/public/health/", "/public/health%3Fx", "/public/health%23", "/public//health",
    "/./public/health", "/public/health;x", "/.postern/auth/orders", "/.postern-auth", "/orders?x=/public/health",
]
AMBIGUOUS = [path for path in TRICKS if ".." in path or "%2e%2e" in path.lower() or "//" in path or "%00" in path or "%5c" in path or "/./" in path]


def test_no_spelling_of_a_path_goes_without_a_token(protect: Any, front: Front, tokens: Issuer, api: API) -> None:
    protect()
    for path in TRICKS + [r"/public\..\orders", "/#/../orders", "/orders#/public/health", "/public/health\u00e9", "/%zz"]:
        answer = front.request(path)
        # What is no URL at all may be an error of the front's own request.
        assert answer.status in (400, 401, 403, 404) or path not in TRICKS and answer.status >= 500, (path, answer)
        assert api.received == [], path
    assert front.request("/public/health").status == 200
    api.received.clear()
    # What servers read in two ways is for nobody, whatever the token: the API might act on another path.
    for path in AMBIGUOUS:
        answer = front.request(path, token=tokens.bearer())
        assert answer.status in (400, 403, 404), (path, answer)
        assert api.received == [], path
    for method in ("OPTIONS", "TRACE", "PROPFIND", "get"):
        assert front.request(method=method).status in (400, 401, 403, 405, 501), method
        assert api.received == [], method
    override = [("X-HTTP-Method-Override", "GET"), ("X-Method-Override", "GET")]
    assert front.request(method="DELETE", fields=override).status == 401
    assert api.received == []


def test_without_postern_nothing_passes(protect: Any, front: Front, tokens: Issuer, api: API) -> None:
    token = tokens.bearer()
    assert front.request(token=token).status >= 500
    sidecar = protect()
    assert front.request(token=token).status == 200
    sidecar.stop()
    api.received.clear()
    answer = front.request(token=token)
    assert answer.status >= 500 and not answer.values("www-authenticate")
    assert api.received == []


def test_a_fault_is_no_challenge(protect: Any, front: Front, tokens: Issuer, api: API) -> None:
    """An issuer out of reach: a client that got a 401 would throw its token away."""
    token = tokens.bearer()
    tokens.double.answers.clear()
    protect()
    answer = front.request(token=token)
    assert answer.status >= 500 and not answer.values("www-authenticate")
    tokens.double.stop()
    assert front.request(token=token).status >= 500
    assert api.received == []


@pytest.mark.slow
def test_a_hanging_postern_lets_nothing_pass(protect: Any, front: Front, tokens: Issuer, api: API) -> None:
    sidecar = protect()
    assert front.request(token=tokens.bearer()).status == 200
    sidecar.signal(signal.SIGSTOP)
    try:
        assert front.request(token=tokens.bearer()).status >= 500
    finally:
        sidecar.signal(signal.SIGCONT)
    assert len(api.received) == 1


# MARK: the endpoint itself


NGINX = [("X-Original-Method", "POST"), ("X-Original-URI", "/orders/7?a=b")]
FORWARDED = [("X-Forwarded-Method", "POST"), ("X-Forwarded-Uri", "/orders/7?a=b")]


def test_the_answers_of_the_endpoint(serve: Start, issuer: IssuerDouble, http: str, tokens: Issuer) -> None:
    serve(settings(issuer, http, identityHeaders={"X-User": "sub", "X-Groups": "groups", "X-Mail": "email"}))
    token = tokens.bearer(groups=["a", "b,c"])
    for method in ("GET", "HEAD", "POST", "DELETE", "OPTIONS"):
        answer = direct(http, "/.postern/auth/orders", method, token=token)
        assert answer.status == 200 and answer.body == b"" and answer.values("cache-control") == ["no-store"], method
        assert [answer.values(name) for name in ("x-user", "x-groups", "x-mail")] == [["alice"], ["a,b%2Cc"], [""]]
        assert not answer.values("www-authenticate") and not answer.values("content-type")
    for path in ("auth/other", "auth", "auth/", "auth/ORDERS", "authorders", "auth//orders"):
        assert direct(http, f"/.postern/{path}", token=token).status == 404, path
    answer = direct(http, "/.postern/auth/orders", fields=[("X-User", "root")])
    assert answer.status == 401 and answer.body == b"" and not answer.values("x-user")
    assert answer.values("cache-control") == ["no-store"]
    # A claim that no header can carry is an error of the configuration, and no user without a name.
    assert direct(http, "/.postern/auth/orders", token=tokens.bearer(groups={"a": 1})).status == 500


def test_fields_that_contradict_or_come_twice_are_never_accepted(
    serve: Start, issuer: IssuerDouble, http: str, tokens: Issuer
) -> None:
    sidecar = serve(settings(issuer, http, origin="https://orders.example.com"))
    token = tokens.bearer()

    def status(fields: List[Tuple[str, str]], path: str = "", **options: Any) -> int:
        return direct(http, f"/.postern/auth/orders{path}", fields=fields, token=token, **options).status

    assert status(NGINX) == status(FORWARDED) == status(NGINX + FORWARDED) == 200
    assert status([], "/orders/7?a=b", method="PUT") == 200
    assert status(NGINX, "/orders/7?a=b", method="POST") == 200
    for fields in [
        NGINX + NGINX[:1], NGINX + NGINX[1:], FORWARDED + FORWARDED[1:], NGINX + [("X-Forwarded-Uri", "/public")],
        NGINX + [("X-Forwarded-Method", "GET")], NGINX[:1] + FORWARDED[1:],
        NGINX + [("X-Original-URL", "https://orders.example.com/orders/7?a=b")],
        NGINX[:1] + [("X-Original-URL", "https://evil.example/orders/7")], NGINX[:1] + [("X-Original-URI", "/a/../b")],
        NGINX[1:] + [("X-Original-Method", "GET, POST")],
    ]:
        assert status(fields) == 403, fields
    assert status(NGINX, "/orders/8", method="POST") == 403
    assert status(NGINX, "/orders/7?a=b", method="GET") == 403
    assert "contradict each other" in sidecar.log()


def test_a_proof_without_the_original_request_is_never_accepted(
    serve: Start, issuer: IssuerDouble, http: str, tokens: Issuer
) -> None:
    serve(settings(issuer, http, origin=None))
    token = tokens.bound()
    url = "https://shop.example/orders/7"
    host = [("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "shop.example")]

    def status(*fields: Tuple[str, str], path: str = "", method: str = "GET") -> int:
        made = proof(token, "POST", url)
        return direct(http, f"/.postern/auth/orders{path}", method, fields=[*made, *fields]).status

    for fields in [[], host, NGINX, NGINX[1:] + host, NGINX[:1] + host, NGINX + host[:1], NGINX + host[1:]]:
        assert status(*fields) == 403, fields
    assert status(*NGINX, *host) == 200
    assert status(*FORWARDED, *host) == 200
    assert status(*NGINX, *host, ("X-Forwarded-Host", "shop.example")) == 403
    assert status(*NGINX, host[0], ("X-Forwarded-Host", "other.example")) == 401
    # Envoy: its own request is the client's, and so is the host.
    assert status(host[0], path="/orders/7?a=b", method="POST") == 401
    envoy = proof(token, "POST", "https://postern/orders/7")
    assert direct(http, "/.postern/auth/orders/orders/7?a=b", "POST", fields=[*envoy, host[0]]).status == 200


def test_envoy(serve: Start, issuer: IssuerDouble, http: str, tokens: Issuer) -> None:
    serve(settings(issuer, http, dialect="envoy", origin=AUDIENCE))
    token = tokens.bound()
    fields = proof(token, "PATCH", f"{AUDIENCE}/orders/7")
    assert direct(http, "/.postern/auth/orders/orders/7?a=b", "PATCH", fields=fields + NGINX).status == 200
    fields = proof(token, "POST", f"{AUDIENCE}/orders/7")
    assert direct(http, "/.postern/auth/orders", "POST", fields=fields + NGINX).status == 403
    for path in TRICKS:
        if path in AMBIGUOUS:
            answer = direct(http, f"/.postern/auth/orders{path}", token=tokens.bearer())
            assert answer.status in (400, 403, 404), path


def test_traefik_over_loopback(serve: Start, issuer: IssuerDouble, http: str, tokens: Issuer, directory: Path) -> None:
    """It connects to no Unix socket, and sends the key of the loopback listener with the client's token."""
    port, key = free_port(), "k" * 32
    (directory / "gateway-key").write_text(key)
    (directory / "gateway-key").chmod(0o600)
    changes = settings(issuer, http, dialect="traefik", origin=AUDIENCE)
    changes["gateway"]["listen"].update({"address": f"127.0.0.1:{port}", "keyFile": str(directory / "gateway-key")})
    serve(changes)
    token = tokens.bound()

    def status(*fields: Tuple[str, str], url: str = "/orders/7", given: Optional[str] = key) -> int:
        lines = proof(token, "POST", f"{AUDIENCE}{url}") + FORWARDED + list(fields)
        lines += [("Postern-Key", given)] if given else []
        with socket.create_connection(("127.0.0.1", port), 20) as connection:
            return exchange(connection, "GET", "/.postern/auth/orders", f"127.0.0.1:{port}", fields=lines).status

    assert status(("X-Forwarded-Host", "orders.example.com"), ("X-Forwarded-Proto", "https")) == 200
    assert status(url="/orders/8") == 401
    assert status(given=None) == status(given="x" * 32) == 401


def test_a_client_certificate_as_each_front_reports_it(
    serve: Start, issuer: IssuerDouble, http: str, tokens: Issuer, directory: Path
) -> None:
    serve(settings(issuer, http, clientCertificateHeader="X-Client-Cert"))

    def certificate(name: str) -> Tuple[str, bytes]:
        files = [str(directory / f"{name}.{kind}") for kind in ("key", "pem")]
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", f"/CN={name}", "-keyout", files[0], "-out", files[1]], check=True, capture_output=True)
        pem = Path(files[1]).read_text()
        return pem, ssl.PEM_cert_to_DER_cert(pem)

    pem, der = certificate("client")
    thumbprint = base64.urlsafe_b64encode(hashlib.sha256(der).digest()).rstrip(b"=").decode()
    token = tokens.bearer(cnf={"x5t#S256": thumbprint})
    plain = base64.b64encode(der).decode()

    def status(*values: str, name: str = "X-Client-Cert") -> int:
        return direct(http, "/.postern/auth/orders", token=token, fields=[(name, value) for value in values]).status

    for value in [quote(pem, safe=""), quote(pem, safe="+/= "), plain, f":{plain}:", pem.strip().replace("\n", " "), f"{plain},{plain}"]:
        assert status(value) == 200, value
    assert status() == status("") == status(base64.b64encode(certificate("other")[1]).decode()) == 401
    assert status(plain, plain) == status(plain[:-8]) == status("x") == 403
    assert status(plain, name="X-Client-Certificate") == status(f":{plain}:", name="Client-Cert") == 401


def test_step_up_is_a_challenge(serve: Start, issuer: IssuerDouble, http: str, tokens: Issuer) -> None:
    serve(settings(issuer, http, maxAge="5m", acrValues=["mfa"]))
    now = int(time.time())
    for claims in [{}, {"acr": "pwd", "auth_time": now}, {"acr": "mfa", "auth_time": now - 600}, {"acr": "mfa"}]:
        answer = direct(http, "/.postern/auth/orders", token=tokens.bearer(**claims))
        assert answer.status == 401 and 'error="insufficient_user_authentication"' in challenge(answer), claims
    assert direct(http, "/.postern/auth/orders", token=tokens.bearer(acr="mfa", auth_time=now)).status == 200


def test_a_body_is_not_waited_for(serve: Start, issuer: IssuerDouble, http: str, tokens: Issuer) -> None:
    serve(settings(issuer, http))
    fields = [("Authorization", tokens.bearer()), ("Transfer-Encoding", "chunked")]
    assert direct(http, "/.postern/auth/orders", "PUT", fields=fields).status == 200


@needs_root
def test_only_peers_of_the_method_and_the_issuer_may_be_fronts(
    serve: Start, issuer: IssuerDouble, http: str, tokens: Issuer
) -> None:
    changes = settings(issuer, http)
    changes["issuers"]["other"] = {"issuer": "https://other.example", "clientId": "x"}
    changes["peers"] += [
        {"uid": ALICE, "methods": ["validateRequest"], "issuers": ["other"]}, {"uid": BOB, "methods": ["health"]}]
    serve(changes)
    token = tokens.bearer()

    def status(uid: int, name: str = "orders") -> int:
        with acting_as(uid):
            return direct(http, f"/.postern/auth/{name}", token=token).status

    assert status(0) == 200 and status(0, "no") == 404
    # What a rule hides is what does not exist.
    assert status(ALICE) == 404 and status(ALICE, "no") == 404
    assert status(BOB) == status(BOB, "no") == 403
    assert status(4711) == status(4711, "no") == 403


def test_a_reload_replaces_what_is_protected(
    serve: Start, issuer: IssuerDouble, http: str, tokens: Issuer, configuration: Dict[str, Any]
) -> None:
    sidecar = serve(settings(issuer, http))
    token = tokens.bearer()
    assert direct(http, "/.postern/auth/orders", token=token).status == 200
    written = json.loads(sidecar.configuration_path.read_text())
    written["gateway"]["protect"]["orders"]["requiredScopes"] = ["orders:write"]
    written["gateway"]["protect"]["more"] = {"issuer": "corp", "audience": AUDIENCE}
    sidecar.write(written)
    with sidecar.connect() as connection:
        assert connection.call("reloadConfig")["changed"] == ["gateway"]
    assert direct(http, "/.postern/auth/orders", token=token).status == 403
    assert direct(http, "/.postern/auth/more", token=token).status == 200
    del written["gateway"]["protect"]
    sidecar.write(written)
    with sidecar.connect() as connection:
        connection.call("reloadConfig")
    assert direct(http, "/.postern/auth/orders", token=token).status == 404


def test_front_requests_count_as_calls(serve: Start, issuer: IssuerDouble, http: str, tokens: Issuer, directory: Path) -> None:
    """The audit log, the metrics and the rate limit are those of validateRequest, and no secret is in the log."""
    changes = settings(issuer, http)
    changes["peers"][0]["rate"] = {"perSecond": 0.001, "burst": 6}
    changes["audit"] = {"path": str(directory / "audit.log")}
    sidecar = serve(changes)
    token = tokens.token()
    assert direct(http, "/.postern/auth/orders", token=f"Bearer {token}").status == 200
    assert direct(http, "/.postern/auth/orders").status == 401
    assert direct(http, "/.postern/auth/orders", token=f"Bearer {token}", fields=NGINX + NGINX).status == 403
    with sidecar.connect() as connection:
        metrics = connection.call("metrics")["text"]
    assert 'method="validateRequest"' in metrics
    for _ in range(6):
        answer = direct(http, "/.postern/auth/orders", token=f"Bearer {token}")
    assert answer.status == 503 and not answer.values("www-authenticate")
    eventually(lambda: (directory / "audit.log").read_text().count("validateRequest") >= 3, what="the audit lines")
    sidecar.stop()
    for text in (sidecar.log(), (directory / "audit.log").read_text()):
        assert token not in text and token.split(".")[2] not in text
