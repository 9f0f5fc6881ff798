"""How the client authenticates: by an assertion from a file that is replaced at any moment, by one made with its
secret, and by other credentials when the issuer rejects the first."""
from __future__ import annotations

import base64
import hashlib
import itertools
import json
import os
import ssl
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional
from urllib.parse import urlsplit

import pytest

from harness import binaries, expect
from harness.certificates import Authority
from harness.connection import Connection
from harness.federation import FederatedIssuer, Platform
from harness.idpyoidc import IdpyOIDC
from harness.issuer import IssuerDouble, document
from harness.mutual import MutualTLS
from harness.sidecar import Sidecar, StartError
from harness.waiting import eventually

Serve = Callable[..., Sidecar]
SPIFFE = "urn:ietf:params:oauth:client-assertion-type:jwt-spiffe"


@pytest.fixture
def platform(directory: Path, issuer: IssuerDouble) -> Platform:
    platform = Platform(directory / "tokens", issuer.base)
    platform.replace()
    return platform


@pytest.fixture
def federated(issuer: IssuerDouble, platform: Platform) -> FederatedIssuer:
    return FederatedIssuer(issuer, platform)


@pytest.fixture
def serve(directory: Path, federated: FederatedIssuer) -> Any:
    """Starts a sidecar whose client authenticates by the platform's token."""
    started: List[Sidecar] = []

    def serve(members: Optional[Dict[str, Any]] = None, **sections: Any) -> Sidecar:
        own = directory / f"sidecar-{len(started)}"
        own.mkdir()
        corp = federated.settings(redirectUri="http://127.0.0.1:1/cb", **(members or {}))
        resource = {"baseUrl": f"{federated.issuer.base}/r/", "issuer": "corp", "auth": "clientCredentials"}
        settings = {
            "listen": {"path": str(own / "s.sock")}, "store": {"kind": "memory"},
            "issuers": {"corp": {name: value for name, value in corp.items() if value is not None}},
            "resources": {"api": resource, "users": {**resource, "auth": "user"}},
            "health": {"askIssuers": False}, "log": {"level": "debug"},
            "audit": {"path": str(own / "audit.log")},
            "development": {"plainHTTPOnLoopback": True}, **sections,
        }
        started.append(Sidecar(own, settings))
        return started[-1]

    yield serve
    for sidecar in started:
        sidecar.stop()


def check(connection: Connection) -> Dict[str, Any]:
    return connection.call("health")["checks"]["issuer.corp"]


def introspect(connection: Connection, token: str) -> Any:
    return connection.call("introspectToken", {"issuer": "corp", "token": token})


def fetch(connection: Connection) -> Any:
    return connection.call("fetchResource", {"resource": "api", "path": "x"})


@pytest.mark.parametrize("kind", ["jwt-bearer", "jwt-spiffe", "urn:example:other"])
def test_the_assertion_goes_to_every_endpoint_where_the_client_authenticates(
    serve: Serve, federated: FederatedIssuer, platform: Platform, kind: str
) -> None:
    urn = {"jwt-bearer": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer", "jwt-spiffe": SPIFFE}.get(kind, kind)
    federated.types = {urn}
    sidecar = serve({"clientAssertion": {"file": str(platform.file), "type": kind}})
    with sidecar.connect() as connection:
        assert fetch(connection)["status"] == 200
        first = platform.replace()
        introspect(connection, "t")
        begun = connection.call("beginAuthorization", {"issuer": "corp", "redirectUri": "http://127.0.0.1:1/cb"})
        assert "request_uri=urn" in begun["authorizationUrl"]
        second = platform.replace()
        connection.call("beginDeviceAuthorization", {"issuer": "corp"})
        session = connection.call(
            "createSession", {"issuer": "corp", "grant": {"type": "refresh_token", "refreshToken": "r"}})["session"]
        connection.call("endSession", {"session": session})
        endpoints = [form["endpoint"] for form in federated.forms]
        assert set(endpoints) == {"token", "introspect", "par", "device", "revoke"}
        assert not federated.rejected
        sent = federated.assertions()
        assert len(sent) == len(federated.forms)
        by_endpoint = dict(zip(endpoints, sent))
        assert by_endpoint["par"] == first and by_endpoint["device"] == second == by_endpoint["revoke"]
        assert check(connection)["status"] == "ok"


@pytest.mark.thorough
def test_a_thousand_replacements_under_load_fail_no_request(
    serve: Serve, federated: FederatedIssuer, platform: Platform
) -> None:
    sidecar = serve()
    failures: List[Any] = []
    ended = threading.Event()

    def call(worker: int) -> None:
        with sidecar.connect(timeout=30) as connection:
            number = 0
            while not ended.is_set():
                began = time.monotonic()
                number += 1
                # Of different tokens, so that each call is a request.
                message = connection.answer_to(
                    connection.request("introspectToken", {"issuer": "corp", "token": f"t-{worker}-{number}"}))
                if not message.get("result", {}).get("valid"):
                    failures.append(message)
                time.sleep(max(0.0, 0.05 - (time.monotonic() - began)))

    platform.replace(life=5)
    threads = [threading.Thread(target=call, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    # 200 calls a second in about as many replacements; on a slow machine there are fewer calls, and it takes longer.
    until = time.monotonic() + 60
    for number in itertools.count():
        if number >= 1000 and (len(federated.forms) > 500 or time.monotonic() > until):
            break
        platform.replace(life=5)
        time.sleep(0.006)
    ended.set()
    for thread in threads:
        thread.join(60)
    assert not failures, failures[:3]
    assert not federated.rejected
    # Each was current, or was replaced within a moment.
    positions = [platform.issued.index(sent) for sent in federated.assertions()]
    assert len(positions) > 300 and len(set(positions)) > 200
    assert json.dumps(failures) == "[]"


def test_an_assertion_that_is_replaced_before_the_answer_is_read_again(
    serve: Serve, federated: FederatedIssuer, platform: Platform
) -> None:
    old = platform.issued[-1]

    def rejection(claims: Dict[str, Any], form: Dict[str, str]) -> Any:
        if form["client_assertion"] != old:
            return None
        platform.replace()
        return document({"error": "invalid_client"}, 401)

    federated.rejection = rejection
    sidecar = serve()
    with sidecar.connect() as connection:
        assert fetch(connection)["status"] == 200
    assert federated.assertions() == [old, platform.issued[-1]]
    sidecar.awaits_log("a newer one is sent")
    audit = (sidecar.directory / "audit.log").read_text()
    assert audit.count('"event":"access"') == 1


@pytest.mark.parametrize(
    "status, error, is_retried",
    [
        (400, "invalid_request", True), (400, "unauthorized_client", True), (401, "invalid_client", True),
        (400, "invalid_grant", False), (400, "invalid_scope", False),
    ],
)
def test_only_a_rejection_that_may_be_about_the_client_is_retried(
    serve: Serve, federated: FederatedIssuer, platform: Platform, status: int, error: str, is_retried: bool
) -> None:
    old = platform.issued[-1]

    def rejection(claims: Dict[str, Any], form: Dict[str, str]) -> Any:
        if form["client_assertion"] != old:
            return None
        platform.replace()
        return document({"error": error}, status)

    federated.rejection = rejection
    with serve().connect() as connection:
        message = connection.answer_to(connection.request("fetchResource", {"resource": "api", "path": "x"}))
    assert ("result" in message) == is_retried
    assert len(federated.assertions()) == (2 if is_retried else 1)


def spoil(platform: Platform, directory: Path, fault: str) -> None:
    good = platform.token()
    texts = {
        "empty": b"", "line end": b"\n", "1 MiB": b"a" * (1 << 20), "BOM": b"\xef\xbb\xbf" + good.encode(),
        "two lines": f"{good}\n{good}\n".encode(), "no JWT": b"secret-of-another-kind", "binary": bytes(range(256)),
        "expired": platform.token(life=-1).encode(), "exp is text": platform.token(exp="soon").encode(),
        "foreign": platform.token(aud=["https://other.example"]).encode(),
    }
    if fault in texts:
        return platform.write(texts[fault])
    if fault == "no permission":
        return platform.write(good, mode=0)
    fresh = directory / "tokens" / f"..{time.time_ns()}"
    fresh.mkdir()
    if fault == "directory":
        (fresh / "token").mkdir()
    elif fault == "FIFO":
        os.mkfifo(fresh / "token")
    platform.exchange(fresh)


FAULTS = {
    "missing": "missing", "empty": "empty", "line end": "empty", "1 MiB": "too_large", "BOM": "malformed",
    "two lines": "malformed", "no JWT": "malformed", "binary": "malformed", "directory": "unreadable",
    "FIFO": "unreadable", "expired": "expired", "exp is text": "malformed", "foreign": "wrong_audience",
    "no permission": "unreadable",
}


def test_a_file_without_a_usable_assertion_sends_nothing_and_heals(
    serve: Serve, federated: FederatedIssuer, platform: Platform, directory: Path
) -> None:
    sidecar = serve({"clientAssertion": {"file": str(platform.file), "audience": federated.issuer.base}})
    with sidecar.connect() as connection:
        for fault, word in FAULTS.items():
            if fault == "no permission" and os.geteuid() == 0:
                continue
            code = f"client_assertion_{word}"
            spoil(platform, directory, fault)
            before = len(federated.forms)
            data = expect.fault(connection.error("fetchResource", {"resource": "api", "path": "x"}), 1003)
            assert data["upstream"] == {"code": code} and data["outcome"] == "not_sent", fault
            assert data["retryable"] is (word != "wrong_audience")
            data = expect.fault(connection.error("introspectToken", {"issuer": "corp", "token": "t"}), 2007)
            assert data["upstream"] == {"code": code} and data["outcome"] == "not_sent", fault
            data = expect.fault(connection.error("beginDeviceAuthorization", {"issuer": "corp"}), 5003)
            assert data["upstream"] == {"code": code} and data["outcome"] == "not_sent", fault
            assert len(federated.forms) == before, "nothing was sent"
            assert check(connection)["status"] == "degraded" and code in check(connection)["detail"], fault
            platform.replace()
            # By itself: no call was made meanwhile.
            assert check(connection)["status"] == "ok", fault
            assert introspect(connection, f"after {fault}")["valid"] is True
        assert fetch(connection)["status"] == 200
        # The token is cached: it serves while there is no assertion.
        spoil(platform, directory, "empty")
        assert fetch(connection)["status"] == 200
        assert connection.call("health")["status"] == "degraded"


def test_the_assertion_shows_nowhere(
    serve: Serve, federated: FederatedIssuer, platform: Platform
) -> None:
    texts: List[str] = []
    # An issuer that repeats what it was sent.
    federated.rejection = lambda claims, form: document(
        {"error": "invalid_client", "error_description": "not accepted: " + form["client_assertion"]}, 401)
    sidecar = serve()
    with sidecar.connect() as connection:
        for method, params in (
            ("fetchResource", {"resource": "api", "path": "x"}), ("introspectToken", {"issuer": "corp", "token": "t"}),
            ("beginDeviceAuthorization", {"issuer": "corp"}),
        ):
            texts.append(json.dumps(connection.error(method, params)))
        for content in (platform.token(life=-5), platform.token() + "\n" + platform.token()):
            platform.write(content)
            texts.append(json.dumps(connection.error("fetchResource", {"resource": "api", "path": "x"})))
            texts.append(json.dumps(connection.call("health")))
        texts.append(connection.call("metrics")["text"])
    sidecar.stop()
    texts += [sidecar.log(), (sidecar.directory / "audit.log").read_text()]
    for token in platform.issued:
        for part in token.split(".")[1:]:
            assert all(part not in text for text in texts)


def test_the_file_may_come_after_the_start(
    serve: Serve, federated: FederatedIssuer, directory: Path, issuer: IssuerDouble
) -> None:
    late = directory / "late"
    late.mkdir()
    sidecar = serve({"clientAssertion": {"file": str(late / "token")}})
    with sidecar.connect() as connection:
        expect.fault(connection.error("fetchResource", {"resource": "api", "path": "x"}), 1003)
        (late / "token").write_text(federated.platform.token() + "\n")
        assert fetch(connection)["status"] == 200


# Made with the client's secret


def test_client_secret_jwt_signs_with_the_secret(
    serve: Serve, federated: FederatedIssuer, platform: Platform, directory: Path
) -> None:
    platform.key = b"a client secret with 32 bytes and more"
    secret = directory / "secret"
    secret.write_bytes(platform.key + b"\n")
    secret.chmod(0o600)
    sidecar = serve({"clientAuth": "client_secret_jwt", "clientSecretFile": str(secret), "clientAssertion": None})
    with sidecar.connect() as connection:
        assert fetch(connection)["status"] == 200
        assert introspect(connection, "t")["valid"] is True
    assert len(set(federated.assertions())) == 2, "each is made for one request"
    assert platform.key.decode() not in json.dumps(federated.forms)


def test_a_short_secret_is_a_problem_at_the_start(serve: Serve, directory: Path) -> None:
    secret = directory / "secret"
    secret.write_text("a" * 31)
    secret.chmod(0o600)
    with pytest.raises(StartError) as failure:
        serve({"clientAuth": "client_secret_jwt", "clientSecretFile": str(secret)})
    assert "at least 32 bytes, this one has 31" in failure.value.log


def test_an_issuer_without_hs256_gets_no_assertion(
    serve: Serve, federated: FederatedIssuer, directory: Path
) -> None:
    secret = directory / "secret"
    secret.write_text("a" * 32)
    secret.chmod(0o600)
    federated.issuer.metadata["token_endpoint_auth_signing_alg_values_supported"] = ["RS256"]
    sidecar = serve({"clientAuth": "client_secret_jwt", "clientSecretFile": str(secret)})
    with sidecar.connect() as connection:
        error = connection.error("fetchResource", {"resource": "api", "path": "x"})
    assert "does not list HS256" in error["message"]
    assert not federated.forms


def test_a_real_provider_accepts_client_secret_jwt(directory: Path) -> None:
    """idpyoidc: a client registered for that alone; another secret is another client."""
    provider = IdpyOIDC()
    own = directory / "own"
    own.mkdir()
    signer = {
        "issuer": provider.issuer, "clientId": "signer", "clientAuth": "client_secret_jwt",
        "clientSecret": "the secret of a client that signs with it"}
    sidecar = Sidecar(own, {
        "listen": {"path": str(own / "s.sock")}, "store": {"kind": "memory"},
        "issuers": {"good": signer, "bad": {**signer, "clientSecret": "another secret of a client that signs with it"}},
        "development": {"plainHTTPOnLoopback": True},
    })
    try:
        with sidecar.connect() as connection:
            token = provider.tokens()["access_token"]
            # Another client's token: the answer shows that this client was authenticated.
            assert connection.call("introspectToken", {"issuer": "good", "token": token})["valid"] is False
            error = connection.error("introspectToken", {"issuer": "bad", "token": token})
            assert expect.fault(error, 2007)["upstream"]["status"] in (400, 401)
    finally:
        sidecar.stop()
        provider.stop()


def test_a_self_signed_certificate_authenticates_the_client(directory: Path) -> None:
    """The issuer trusts the registered certificate itself, no authority; `postern jose certificate` prints it."""
    authority = Authority(directory / "ca")
    authority.issue("server", "subjectAltName=IP:127.0.0.1", by="middle")
    for name in ("mtlsclient", "other"):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", f"/CN={name}", "-keyout", authority.key(name), "-out", authority.certificate(name)],
            check=True, capture_output=True, timeout=30)
        os.chmod(authority.key(name), 0o600)
    peers = MutualTLS(authority)
    # What the issuer has registered.
    for server in peers._servers:
        server.context.load_verify_locations(authority.certificate("mtlsclient"))
    own = directory / "own"
    own.mkdir()
    corp = {
        "issuer": peers.issuer, "clientId": "mtlsclient", "clientAuth": "self_signed_tls_client_auth",
        "tls": {"caFile": authority.file}, "clientCertificateFile": authority.certificate("mtlsclient"),
        "clientKeyFile": authority.key("mtlsclient")}
    other = {**corp, "clientCertificateFile": authority.certificate("other"), "clientKeyFile": authority.key("other")}
    material = {name: corp[name] for name in ("clientCertificateFile", "clientKeyFile")}
    rotating = {**other, "fallbackCredentials": [material]}
    resource = {"baseUrl": peers.resource + "/", "auth": "clientCredentials", "senderConstraint": "mtls",
                "tls": {"caFile": authority.file}}
    sidecar = Sidecar(own, {
        "listen": {"path": str(own / "s.sock")}, "store": {"kind": "memory"},
        "issuers": {"corp": corp, "other": other}, "health": {"askIssuers": False},
        "hardening": {"connectPorts": [urlsplit(peers.alias).port]},
        "resources": {"good": {**resource, "issuer": "corp"}, "bad": {**resource, "issuer": "other"}},
    })
    try:
        with sidecar.connect() as connection:
            assert connection.call("fetchResource", {"resource": "good", "path": "x"})["status"] == 200
            assert peers.seen("alias") == ["mtlsclient"], "the alias for clients with a certificate"
            connection.error("fetchResource", {"resource": "bad", "path": "x"})
        sidecar.write({
            "listen": {"path": str(own / "s.sock")}, "store": {"kind": "memory"},
            "issuers": {"other": {**rotating, "clientAuth": "self_signed_tls_client_auth"}},
        })
        checked = subprocess.run(
            [binaries.postern(), "check-config", str(own / "postern.yaml")], capture_output=True, text=True, timeout=30)
        assert checked.returncode == 0, checked.stderr
    finally:
        sidecar.stop()
        peers.stop()


def test_a_certificate_is_printed_for_registration(directory: Path) -> None:
    authority = Authority(directory / "ca")
    pem = Path(authority.file).read_text()
    done = subprocess.run(
        [binaries.postern(), "jose", "certificate", authority.file], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    der = ssl.PEM_cert_to_DER_cert(pem)
    printed = json.loads(done.stdout)
    thumbprint = base64.urlsafe_b64encode(hashlib.sha256(der).digest()).rstrip(b"=").decode()
    assert printed["x5t#S256"] == thumbprint
    (key,) = printed["jwks"]["keys"]
    assert key["kty"] == "EC" and key["x5c"] == [base64.b64encode(der).decode()] and "d" not in key
    text = directory / "text"
    text.write_text("no certificate")
    for file in (text, directory, directory / "missing", Path(authority.key("ca"))):
        done = subprocess.run(
            [binaries.postern(), "jose", "certificate", str(file)], capture_output=True, text=True, timeout=30)
        assert done.returncode == 2 and "PRIVATE" not in done.stderr and not done.stdout


# Several credentials


def fallbacks(directory: Path, *names: str) -> List[Dict[str, Any]]:
    made = []
    for name in names:
        file = directory / name
        file.write_text(name)
        file.chmod(0o600)
        made.append({"clientAuth": "client_secret_post", "clientSecretFile": str(file)})
    return made


def test_a_secret_is_rotated_at_the_issuer_without_a_failed_request(
    serve: Serve, federated: FederatedIssuer, directory: Path
) -> None:
    old, new = fallbacks(directory, "old-secret", "new-secret")
    federated.secrets = ["old-secret"]
    sidecar = serve({**old, "fallbackCredentials": [new]})
    with sidecar.connect() as connection:
        introspect(connection, "1")
        assert check(connection)["status"] == "ok"
        federated.secrets = ["new-secret"]
        introspect(connection, "2")
        introspect(connection, "3")
        assert [form["client_secret"] for form in federated.forms] == [
            "old-secret", "old-secret", "new-secret", "new-secret"]
        shown = check(connection)
        assert shown["status"] == "degraded" and "fallbackCredentials[0] is used" in shown["detail"]
        federated.secrets = ["old-secret"]
        introspect(connection, "4")
        assert check(connection)["status"] == "ok"
    log = sidecar.awaits_log("issuers.corp.fallbackCredentials[0]")
    assert log.count("accepts another credential") == 2 and "old-secret" not in log.replace(str(directory), "")
    sidecar.stop()
    records = [json.loads(line) for line in (sidecar.directory / "audit.log").read_text().splitlines()]
    changes = [record["credential"] for record in records if record.get("event") == "credential"]
    assert changes == ["fallbackCredentials[0]", "clientAuth"]


def test_from_a_secret_to_the_platforms_token_without_a_gap(
    serve: Serve, federated: FederatedIssuer, platform: Platform, directory: Path
) -> None:
    (secret,) = fallbacks(directory, "the-secret")
    federated.secrets = ["the-secret"]
    sidecar = serve({"fallbackCredentials": [secret]})
    with sidecar.connect() as connection:
        platform.write("")
        introspect(connection, "1")
        assert "client_assertion_empty" in check(connection)["detail"]
        platform.replace()
        federated.secrets = []
        introspect(connection, "2")
        assert check(connection)["status"] == "ok"


def test_a_grant_that_is_rejected_changes_nothing_for_others(
    serve: Serve, federated: FederatedIssuer, directory: Path
) -> None:
    first, second = fallbacks(directory, "one", "two")
    federated.secrets = ["one", "two"]
    federated.issuer.answers["/token"] = lambda asked: document({"error": "invalid_grant"}, 400)
    sidecar = serve({**first, "fallbackCredentials": [second]})
    with sidecar.connect() as connection:
        grant = {"issuer": "corp", "grant": {"type": "refresh_token", "refreshToken": "r"}}
        connection.error("createSession", grant)
        assert federated.issuer.count("/token") == 1, "no other credential is tried"
        introspect(connection, "1")
        assert federated.forms[-1]["client_secret"] == "one"
        assert check(connection)["status"] == "ok"
