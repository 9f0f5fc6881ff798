"""TLS as the configuration page has it: pins, client certificates, and what RFC 8705 makes of them."""
from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Optional

import pytest

from harness import expect
from harness.certificates import Authority
from harness.collector import Collector
from harness.connection import Connection
from harness.mutual import MutualTLS
from harness.sidecar import Sidecar, StartError
from harness.signing import SigningKey
from harness.waiting import eventually

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]
FOREIGN = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("tls"))
    made.issue("server", "subjectAltName=IP:127.0.0.1", by="middle")
    made.issue("mtlsclient")
    made.issue("other")
    made.issue("lapsed", days=-1)
    made.issue("lasting", days=365)
    return made


@pytest.fixture
def peers(authority: Authority) -> Iterator[MutualTLS]:
    double = MutualTLS(authority)
    yield double
    double.stop()


def client(authority: Authority, name: str) -> Dict[str, str]:
    return {"clientCertificateFile": authority.certificate(name), "clientKeyFile": authority.key(name)}


def resource(peers: MutualTLS, base: Optional[str] = None, **members: Any) -> Dict[str, Any]:
    tls = {"caFile": peers.authority.file, **members.pop("tls", {})}
    return {"baseUrl": (base or peers.resource) + "/", "auth": "none", **members, "tls": tls}


def issuer(peers: MutualTLS, **members: Any) -> Dict[str, Any]:
    tls = {"caFile": peers.authority.file, **members.pop("tls", {})}
    return {"issuer": peers.issuer, "clientId": "mtlsclient", **members, "tls": tls}


def with_binding(peers: MutualTLS, **members: Any) -> Dict[str, Any]:
    """An issuer with `tls_client_auth`, a resource that wants bound tokens, and one that does not say so."""
    own = issuer(peers, clientAuth="tls_client_auth", **client(peers.authority, "mtlsclient"), **members)
    return {
        "issuers": {"corp": own},
        "resources": {
            "bound": resource(peers, issuer="corp", auth="clientCredentials", senderConstraint="mtls"),
            "unbound": resource(peers, issuer="corp", auth="clientCredentials"),
        },
    }


def fetch(connection: Connection, name: str = "r", path: str = "x") -> Dict[str, Any]:
    return connection.call("fetchResource", {"resource": name, "path": path})


def fault(connection: Connection, code: int, name: str = "r") -> Dict[str, Any]:
    error = connection.error("fetchResource", {"resource": name, "path": "x"})
    expect.fault(error, code)
    return error


# Pins


@pytest.mark.parametrize(
    "names, scope",
    [(["server"], "leaf"), (["server"], "chain"), (["middle"], "chain"), (["ca"], "chain"), (["", "ca"], "chain")],
)
def test_a_pinned_key_of_the_chain_lets_the_request_through(
    start: Start, connect: Connect, peers: MutualTLS, names: Any, scope: str
) -> None:
    pins = [peers.authority.pin(name) if name else FOREIGN for name in names]
    sidecar = start({"resources": {"r": resource(peers, tls={"pins": pins, "pinScope": scope})}})
    assert fetch(connect(sidecar))["status"] == 200


@pytest.mark.parametrize("names, scope", [([""], "chain"), ([""], "leaf"), (["middle", "ca"], "leaf")])
def test_another_key_is_a_mismatch_that_says_what_was_seen(
    start: Start, connect: Connect, peers: MutualTLS, names: Any, scope: str
) -> None:
    pins = [peers.authority.pin(name) if name else FOREIGN for name in names]
    pinned = resource(peers, tls={"pins": pins, "pinScope": scope})
    connection = connect(start({"resources": {"r": pinned, "free": resource(peers)}}))
    for _ in range(2):
        # A connection that is kept without pins is of no use.
        assert fetch(connection, "free")["status"] == 200
        error = fault(connection, 1011)
        assert error["data"]["outcome"] == "not_sent" and error["data"]["retryable"] is False
        text = json.dumps(error).replace("\\/", "/")
        assert peers.authority.pin("server") in text
        assert (peers.authority.pin("middle") in text) == (scope == "chain")
    assert len(peers.seen("resource")) == 2


def test_a_resource_that_requires_pins_does_not_start_without_them(start: Start, peers: MutualTLS) -> None:
    pins = [peers.authority.pin("server")]
    sidecar = start({"resources": {"r": resource(peers, tls={"pinsRequired": True, "pins": pins})}})
    assert fetch(sidecar.connect())["status"] == 200
    sidecar.stop()
    with pytest.raises(StartError) as failure:
        start({"resources": {"r": resource(peers, tls={"pinsRequired": True})}})
    assert "resources.r.tls.pinsRequired: there are no pins" in failure.value.log


def pinned_everywhere(peers: MutualTLS, **tls: Any) -> Dict[str, Any]:
    """`with_binding` without the standard servers, and with `hardening.pinsRequired`."""
    changes = with_binding(peers, tls=tls)
    for own in changes["resources"].values():
        own["tls"].update(tls)
    changes["issuers"]["play"] = changes["resources"]["orders"] = changes["resources"]["open"] = None
    # Only the metadata names that port.
    alias = int(peers.alias.rpartition(":")[2])
    return {**changes, "development": None, "hardening": {"pinsRequired": True, "connectPorts": [alias]}}


def test_with_pins_required_everywhere_pinned_servers_get_their_requests(start: Start, peers: MutualTLS) -> None:
    """Catches a request for metadata, for a token or for the resource that leaves its pins behind: it would fail. The
    collector has no pins, and gets its spans."""
    collector = Collector()
    try:
        telemetry = {"telemetry": {"otlp": {"endpoint": collector.url}}}
        connection = start({**pinned_everywhere(peers, pins=[peers.authority.pin("ca")]), **telemetry}).connect()
        assert fetch(connection, "bound")["status"] == 200
        assert peers.seen("issuer") and peers.seen("alias") and peers.seen("resource")
        assert eventually(lambda: collector.spans)
    finally:
        collector.stop()


def test_with_pins_required_everywhere_the_start_names_each_server_without(start: Start, peers: MutualTLS) -> None:
    with pytest.raises(StartError) as failure:
        start(pinned_everywhere(peers))
    for path in ["issuers.corp", "resources.bound", "resources.unbound"]:
        assert f"{path}.tls.pins: is missing: hardening.pinsRequired is set" in failure.value.log
    assert peers.asked == []


def test_with_pins_required_everywhere_plain_http_does_not_start(start: Start) -> None:
    with pytest.raises(StartError) as failure:
        start({"hardening": {"pinsRequired": True}})
    assert "development.plainHTTPOnLoopback: plain http has no certificate" in failure.value.log


def test_pins_of_a_decision_point_hold_for_decisions(start: Start, peers: MutualTLS) -> None:
    """Catches a subject that is sent to a decision point with another key, and right pins that match nothing."""
    point = {"kind": "authzen", "baseUrl": peers.resource, "attempts": 1}
    tls = {"caFile": peers.authority.file}
    points = {
        "right": {**point, "tls": {**tls, "pins": [peers.authority.pin("server")]}},
        "wrong": {**point, "tls": {**tls, "pins": [FOREIGN]}},
    }
    connection = start({"preauthorization": points}).connect()
    for name, is_sent in [("wrong", False), ("right", True)]:
        result = connection.call(
            "preauthorize", {"provider": name, "resources": ["a"], "context": {"subject": {"id": "alice"}}})
        assert not any(decision["authorized"] for decision in result["decisions"])
        assert bool(peers.seen("resource")) == is_sent


def test_key_sets_that_callers_name_are_fetched_by_the_tls_of_validation(
    start: Start, peers: MutualTLS, rsa: SigningKey
) -> None:
    """Catches a private authority that nobody can name, and pins that are not looked at."""
    peers.keys = rsa.jwks()
    now = int(time.time())
    token = rsa.sign({"iss": "https://idp.example", "sub": "alice", "aud": "shop", "iat": now, "exp": now + 60})
    params = {
        "idToken": token, "expectedIssuer": "https://idp.example", "clientId": "shop", "jwksUrl": f"{peers.issuer}/jwks"
    }
    trusted = {"caFile": peers.authority.file, "pins": [peers.authority.pin("server")]}
    for tls, valid in [(None, False), (trusted, True), ({**trusted, "pins": [FOREIGN]}, False)]:
        validation = {"jwksOrigins": [peers.issuer], **({"tls": tls} if tls else {})}
        sidecar = start({"validation": validation})
        connection = sidecar.connect()
        if valid:
            assert connection.call("validateIdToken", params)["valid"] is True
        else:
            expect.fault(connection.error("validateIdToken", params), 2001)
        sidecar.stop()
    strict = pinned_everywhere(peers, pins=trusted["pins"])
    connection = start({**strict, "validation": {"jwksOrigins": [peers.issuer], "tls": trusted}}).connect()
    assert connection.call("validateIdToken", params)["valid"] is True


def test_pins_of_the_issuer_hold_for_token_requests(start: Start, connect: Connect, peers: MutualTLS) -> None:
    connection = connect(start(with_binding(peers, tls={"pins": [FOREIGN]})))
    error = fault(connection, 1011, "bound")
    assert peers.authority.pin("server") in json.dumps(error).replace("\\/", "/")
    assert peers.asked == []


# Client certificates


def test_a_server_that_demands_a_certificate_gets_it(start: Start, connect: Connect, peers: MutualTLS) -> None:
    own = resource(peers, peers.demanding, tls=client(peers.authority, "other"))
    assert json.loads(fetch(connect(start({"resources": {"r": own}})))["body"]) == {"client": "other"}


@pytest.mark.parametrize("name", [None, "lapsed"])
def test_a_server_that_demands_one_and_gets_none_or_an_expired_one_is_a_tls_failure(
    start: Start, connect: Connect, peers: MutualTLS, name: Optional[str]
) -> None:
    tls = client(peers.authority, name) if name else {}
    connection = connect(start({"resources": {"r": resource(peers, peers.demanding, tls=tls)}}))
    fault(connection, 1010)
    assert peers.seen("demanding") == []


def test_two_resources_of_one_server_never_share_their_certificates(
    start: Start, connect: Connect, peers: MutualTLS
) -> None:
    resources = {name: resource(peers, tls=client(peers.authority, name)) for name in ["other", "mtlsclient"]}
    connection = connect(start({"resources": {**resources, "nobody": resource(peers)}}))
    for _ in range(5):
        for name in ["other", "nobody", "mtlsclient"]:
            assert json.loads(fetch(connection, name)["body"])["client"] == ("" if name == "nobody" else name)


def test_replaced_files_are_used_without_restart_and_reload(
    start: Start, connect: Connect, peers: MutualTLS, directory: Path
) -> None:
    files = {"clientCertificateFile": str(directory / "own.pem"), "clientKeyFile": str(directory / "own.key")}

    def put(name: str) -> None:
        shutil.copy(peers.authority.certificate(name), files["clientCertificateFile"])
        shutil.copy(peers.authority.key(name), files["clientKeyFile"])

    put("other")
    connection = connect(start({"resources": {"r": resource(peers, tls=files)}}))
    assert json.loads(fetch(connection)["body"])["client"] == "other"
    put("mtlsclient")
    assert json.loads(fetch(connection)["body"])["client"] == "mtlsclient"


# Configuration


@pytest.mark.parametrize("certificate, key", [("other", "mtlsclient"), ("garbage", "other"), ("other", "garbage")])
def test_a_certificate_that_is_of_no_use_is_a_problem_at_start_and_reload(
    start: Start, connect: Connect, peers: MutualTLS, configuration: Any, directory: Path, certificate: str, key: str
) -> None:
    def place(name: str, kind: str) -> str:
        if name == "garbage":
            (directory / "garbage").write_text("garbage")
            (directory / "garbage").chmod(0o600)
            return str(directory / "garbage")
        return getattr(peers.authority, kind)(name)

    tls = {"clientCertificateFile": place(certificate, "certificate"), "clientKeyFile": place(key, "key")}
    bad = resource(peers, tls=tls)
    sidecar = start({"resources": {"r": resource(peers)}})
    connection = connect(sidecar)
    sidecar.write({**configuration, "resources": {"r": bad}})
    assert "resources.r.tls.clientCertificateFile" in json.dumps(connection.error("reloadConfig"))
    assert fetch(connection)["status"] == 200
    sidecar.stop()
    with pytest.raises(StartError) as refused:
        start({"resources": {"r": bad}})
    assert "resources.r.tls.clientCertificateFile: " in refused.value.log
    assert "PRIVATE" not in refused.value.log


@pytest.mark.parametrize(
    "name, status, detail",
    [("lasting", "ok", "expires in 36"), ("other", "ok", "expires in 1 day"), ("lapsed", "degraded", "expired")],
)
def test_a_certificate_that_ends_soon_is_warned_about(
    start: Start, connect: Connect, peers: MutualTLS, name: str, status: str, detail: str
) -> None:
    sidecar = start({"resources": {"r": resource(peers, tls=client(peers.authority, name))}})
    health = connect(sidecar).call("health")
    check = health["checks"]["certificate.resources.r"]
    assert check["status"] == status and check["detail"].startswith(detail)
    assert health["status"] == status
    assert ("resources.r.tls.clientCertificateFile: the client certificate" in sidecar.log()) == (name != "lasting")


# RFC 8705


def test_tls_client_auth_uses_the_alias_and_its_tokens_are_bound(
    start: Start, connect: Connect, peers: MutualTLS
) -> None:
    connection = connect(start(with_binding(peers)))
    assert json.loads(fetch(connection, "bound", "bound/x")["body"]) == {"client": "mtlsclient", "bound": True}
    assert peers.seen("alias") == ["mtlsclient"]
    assert [path for place, path, _ in peers.asked if place == "issuer"] == ["/.well-known/openid-configuration"]


def test_a_bound_token_without_its_certificate_is_refused(start: Start, connect: Connect, peers: MutualTLS) -> None:
    connection = connect(start(with_binding(peers)))
    answer = fetch(connection, "unbound", "bound/x")
    assert answer["status"] == 401 and json.loads(answer["body"])["bound"] is True
    assert fetch(connection, "bound", "bound/x")["status"] == 200


def test_another_clients_certificate_is_refused_by_the_issuer(
    start: Start, connect: Connect, peers: MutualTLS
) -> None:
    changes = with_binding(peers)
    changes["issuers"]["corp"].update(client(peers.authority, "other"))
    connection = connect(start(changes))
    assert fault(connection, 1003, "bound")["data"]["upstream"]["code"] == "invalid_client"


def test_a_resources_own_certificate_binds_its_device_tokens(
    start: Start, connect: Connect, peers: MutualTLS, directory: Path
) -> None:
    secret = directory / "secret"
    secret.write_text("s")
    secret.chmod(0o600)
    own = resource(peers, issuer="corp", auth="clientCredentials", senderConstraint="mtls", tls=client(peers.authority, "other"))
    confidential = issuer(peers, clientAuth="client_secret_basic", clientSecretFile=str(secret))
    connection = connect(start({"issuers": {"corp": confidential}, "resources": {"r": own}}))
    assert json.loads(fetch(connection, path="bound/x")["body"]) == {"client": "other", "bound": True}
    assert peers.seen("alias") == ["other"]


@pytest.mark.parametrize("binds", ["user", "auth", "plain", "none"])
def test_a_binding_that_cannot_work_is_a_problem(start: Start, peers: MutualTLS, binds: str) -> None:
    changes = with_binding(peers)
    bound, corp = changes["resources"]["bound"], changes["issuers"]["corp"]
    if binds == "user":
        bound.update(auth="user", tls=client(peers.authority, "other"))
        corp.update(clientAuth="none")
    elif binds == "auth":
        bound.update(tls=client(peers.authority, "other"))
    elif binds == "plain":
        bound.update(baseUrl="http://127.0.0.1:1/")
    else:
        corp.update(clientAuth="none", clientCertificateFile=None, clientKeyFile=None)
        changes["issuers"]["corp"] = {name: value for name, value in corp.items() if value is not None}
    with pytest.raises(StartError) as refused:
        start(changes)
    assert "resources.bound.senderConstraint: " in refused.value.log
