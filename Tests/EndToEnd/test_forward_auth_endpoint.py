"""`/.postern/auth/NAME` by itself, as each front would use it."""
from __future__ import annotations

import base64
import hashlib
import json
import socket
import ssl
import subprocess
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple
from urllib.parse import quote

from harness.fronts import direct, exchange
from harness.issuer import IssuerDouble, document
from harness.ports import free_port
from harness.protected import AMBIGUOUS, AUDIENCE, Issuer, challenge, proof, settings
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, acting_as, needs_root
from harness.waiting import eventually
from test_forward_auth import http, serve, tokens  # noqa: F401 (fixtures)

Start = Callable[..., Sidecar]
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


def test_a_claim_that_no_header_can_carry_leaves_it_empty_with_a_line(
    serve: Start, issuer: IssuerDouble, http: str, tokens: Issuer
) -> None:
    """What a token contains never rejects it. The line has the claim and the reason, and nothing of the token."""
    sidecar = serve(settings(issuer, http, identityHeaders={"X-User": "sub", "X-Roles": "realm_access.roles", "X-Org": "org"}))

    def fields(**claims: Any) -> List[Optional[List[str]]]:
        answer = direct(http, "/.postern/auth/orders", token=tokens.bearer(**claims), fields=[("X-User", "root"), ("X-Org", "root")])
        assert answer.status == 200 and answer.body == b"", claims
        return [answer.values(name) for name in ("x-user", "x-roles", "x-org")]

    assert fields(realm_access={"roles": ["a", "b"]}, org=1.5) == [["alice"], ["a,b"], ["1.5"]]
    for org, reason in (
        ({"secret": "hidden"}, "is an object"), ([["hidden"]], "is a list with members"), (1e300, "is a number with more digits"),
        ("hidden" * 900, "is too long"),
    ):
        assert fields(org=org, realm_access={"roles": {"a": 1}}) == [["alice"], [""], [""]]
        lines = [json.loads(line) for line in sidecar.awaits_log(reason).splitlines() if reason in line]
        told = [line for line in lines if line["claim"] == "org"]
        assert told and all(line["level"] == "warning" and line["what"] == "X-Org of gateway.protect.orders" for line in told)
    assert "hidden" not in sidecar.log()
    # A token may be sent any number of times.
    for _ in range(40):
        fields(org={})
    assert sidecar.log().count('"claim":"org"') < 20


def test_fields_of_the_client_are_bytes(serve: Start, issuer: IssuerDouble, http: str, tokens: Issuer) -> None:
    """A browser's cookies may be ISO 8859-1, and its URLs have characters that none should have."""
    serve(settings(issuer, http, dialect="nginx"))
    token = tokens.bearer()
    for uri in ("/x", "/x?where={%22a%22:1}|^`", "/users/auth0|1"):
        head = (
            f"GET /.postern/auth/orders HTTP/1.1\r\nHost: postern\r\nConnection: close\r\nX-Original-Method: GET\r\n"
            f"X-Original-URI: {uri}\r\nAuthorization: {token}\r\nCookie: name=Jos\u00e9; \u00ff=\u0080\r\n"
            f"User-Agent: M\u00fcller\r\nReferer: https://a.example/\u00c3(\r\n\r\n")
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(20)
            client.connect(http)
            client.sendall(head.encode("latin-1"))
            assert client.recv(1 << 16).startswith(b"HTTP/1.1 200 "), uri


def test_a_kept_verdict_is_for_one_api_only(serve: Start, issuer: IssuerDouble, http: str, tokens: Issuer) -> None:
    """The signature is verified once, or the issuer asked once; audience, scope, login and proof are judged by each API. That
    of a proof needs the original request, which is not reported here."""
    changes = settings(issuer, http)
    orders = changes["gateway"]["protect"]["orders"]
    changes["gateway"]["protect"].update({
        "other": {**orders, "audience": "https://other.example.com"}, "admin": {**orders, "requiredScopes": ["admin"]},
        "strict": {**orders, "dpop": "required"}, "stepped": {**orders, "acrValues": ["mfa"]}, "recent": {**orders, "maxAge": "1m"}})
    changes["issuers"]["corp"].update({"clientSecret": "secret", "introspection": {"cache": "60s"}})
    asked: List[bytes] = []

    def introspect(request: Any) -> Tuple[int, Dict[str, str], bytes]:
        asked.append(request.body)
        return document({"active": True, "sub": "alice", "aud": AUDIENCE, "scope": "orders:read", "exp": int(time.time()) + 300})

    issuer.answers["/introspect"] = introspect
    serve(changes)
    for token in (tokens.bearer(), "Bearer opaque-token"):
        for _ in range(2):
            statuses = {name: direct(http, f"/.postern/auth/{name}", token=token).status for name in changes["gateway"]["protect"]}
            assert statuses == {"orders": 200, "other": 401, "admin": 403, "strict": 403, "stepped": 401, "recent": 401}
    assert len(asked) == 1


def test_a_proof_is_for_one_spelling_of_the_method(serve: Start, issuer: IssuerDouble, http: str, tokens: Issuer) -> None:
    """Methods are case-sensitive (RFC 9110 section 9.1); a proof that passed at one API is used up at all of them."""
    changes = settings(issuer, http, dialect="nginx", origin=AUDIENCE)
    changes["gateway"]["protect"]["more"] = changes["gateway"]["protect"]["orders"]
    serve(changes)
    token = tokens.bound()

    def status(lines: List[Tuple[str, str]], method: str, name: str = "orders") -> int:
        fields = [*lines, ("X-Original-Method", method), ("X-Original-URI", "/orders/7")]
        return direct(http, f"/.postern/auth/{name}", fields=fields).status

    for method, made in [("get", "GET"), ("GET", "get"), ("Get", "GET"), ("HEAD", "GET")]:
        assert status(proof(token, made, f"{AUDIENCE}/orders/7"), method) == 401, method
    for method in ("", "GET POST", "GET,POST", "GET\t\t/", "(GET)"):
        assert status(proof(token, "GET", f"{AUDIENCE}/orders/7"), method) in (400, 403), method
    made = proof(token, "PATCH", f"{AUDIENCE}/orders/7")
    assert [status(made, "PATCH"), status(made, "PATCH"), status(made, "PATCH", "more")] == [200, 401, 401]


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
    for path in AMBIGUOUS:
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
