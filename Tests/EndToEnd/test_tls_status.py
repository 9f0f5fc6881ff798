"""Stapled OCSP responses, TLS sessions that are resumed, and versions, against `openssl s_server`."""
from __future__ import annotations

import base64
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Optional

import pytest

from harness import binaries, expect
from harness.certificates import Authority
from harness.connection import Connection
from harness.openssl_server import OpenSSLServer
from harness.sidecar import Sidecar

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]
Serve = Callable[..., OpenSSLServer]

HOUR = 3600
DAY = 24 * HOUR
VERSIONS = ["-tls1_2", "-tls1_3"]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("status"))
    made.issue("server", "subjectAltName=IP:127.0.0.1", by="middle")
    made.issue("demanding", "subjectAltName=IP:127.0.0.1", by="middle", also="tlsfeature=status_request")
    made.issue("responder", "extendedKeyUsage=OCSPSigning", by="middle")
    made.issue("sibling", by="middle")
    made.issue("client")
    return made


@pytest.fixture
def serve(authority: Authority) -> Iterator[Serve]:
    started = []

    def serve(name: str = "server", *arguments: str, staple: Optional[str] = None) -> OpenSSLServer:
        started.append(OpenSSLServer(authority, name, *arguments, staple=staple))
        return started[-1]

    yield serve
    for server in started:
        server.stop()


def response(
    authority: Authority, directory: Path, status: str = "good", first: int = -HOUR, last: Optional[int] = DAY,
    about: str = "server", signer: str = "middle"
) -> str:
    """The file of an OCSP response."""
    python = os.environ.get("PROVIDERS_PYTHON") or str(binaries.ROOT / ".build" / "providers" / "bin" / "python")
    script = binaries.ROOT / "Tests" / "Providers" / "ocsp_response.py"
    made = subprocess.run(
        [python, "-W", "ignore", str(script), authority.certificate(about), authority.certificate("middle"),
         authority.certificate(signer), authority.key(signer), status, str(first), "-" if last is None else str(last)],
        check=True, capture_output=True, timeout=30)
    path = directory / "staple.der"
    path.write_bytes(base64.b64decode(made.stdout))
    return str(path)


def resource(server: OpenSSLServer, authority: Authority, **tls: Any) -> Dict[str, Any]:
    return {"baseUrl": server.base + "/", "auth": "none", "tls": {"caFile": authority.file, **tls}}


def page(connection: Connection, name: str = "r") -> str:
    return connection.call("fetchResource", {"resource": name, "path": "x"})["body"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("changes", [
    {}, {"signer": "responder"}, {"last": None}, {"first": 60}, {"about": "demanding"},
])
def test_a_good_response_is_good(
    start: Start, serve: Serve, authority: Authority, directory: Path, version: str, changes: Dict[str, Any]
) -> None:
    server = serve(changes.get("about", "server"), version, staple=response(authority, directory, **changes))
    assert "Cipher" in page(start({"resources": {"r": resource(server, authority)}}).connect())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("changes, words", [
    ({"status": "revoked"}, "revoked"),
    ({"status": "revoked", "first": -3 * DAY, "last": -DAY}, "revoked"),
    ({"status": "unknown"}, "does not know"),
    ({"first": -2 * DAY, "last": -HOUR}, "expired"),
    ({"first": HOUR}, "not valid yet"),
    ({"first": -8 * DAY, "last": None}, "expired"),
    ({"about": "sibling"}, "another certificate"),
    ({"signer": "sibling"}, "not signed by the authority"),
    ({"signer": "client"}, "not signed by the authority"),
])
def test_a_response_that_is_not_good_is_a_tls_failure_that_says_so(
    start: Start, serve: Serve, authority: Authority, directory: Path, version: str, changes: Dict[str, Any], words: str
) -> None:
    server = serve("server", version, staple=response(authority, directory, **changes))
    connection = start({"resources": {"r": resource(server, authority)}}).connect()
    for _ in range(2):
        error = connection.error("fetchResource", {"resource": "r", "path": "x"})
        assert expect.fault(error, 1010)["outcome"] == "not_sent"
        assert "stapled OCSP response" in error["message"] and words in error["message"]


@pytest.mark.parametrize("content", [
    bytes.fromhex("30030a0103"),  # tryLater (RFC 6960 section 4.2.1)
    # successful, and then no response that can be read
    bytes.fromhex("30170a0100a012301006092b0601050507300101") + bytes.fromhex("0403616263"),
])
def test_garbage_is_a_tls_failure(
    start: Start, serve: Serve, authority: Authority, directory: Path, content: bytes
) -> None:
    (directory / "staple.der").write_bytes(content)
    server = serve(staple=str(directory / "staple.der"))
    error = start({"resources": {"r": resource(server, authority)}}).connect().error(
        "fetchResource", {"resource": "r", "path": "x"})
    expect.fault(error, 1010)
    assert "cannot be read" in error["message"]


@pytest.mark.parametrize("version", VERSIONS)
def test_without_a_response_it_depends_on_the_certificate(
    start: Start, serve: Serve, authority: Authority, version: str
) -> None:
    server, demanding = serve("server", version), serve("demanding", version)
    connection = start(
        {"resources": {"r": resource(server, authority), "d": resource(demanding, authority)}}).connect()
    assert "Cipher" in page(connection)
    error = connection.error("fetchResource", {"resource": "d", "path": "x"})
    expect.fault(error, 1010)
    assert "RFC 7633" in error["message"]


def test_pins_and_stapled_responses_are_looked_at_both(
    start: Start, serve: Serve, authority: Authority, directory: Path
) -> None:
    pins = [authority.pin("middle"), authority.pin("server")]
    server = serve(staple=response(authority, directory, "revoked"))
    connection = start({"resources": {"r": resource(server, authority, pins=pins)}}).connect()
    expect.fault(connection.error("fetchResource", {"resource": "r", "path": "x"}), 1010)


# Sessions


@pytest.mark.parametrize("version", VERSIONS)
def test_a_second_connection_resumes_the_session(
    start: Start, serve: Serve, authority: Authority, version: str
) -> None:
    connection = start({"resources": {"r": resource(serve("server", version), authority)}}).connect()
    pages = [page(connection) for _ in range(3)]
    assert "New, " in pages[0] and "Reused, " in pages[1] and "Reused, " in pages[2]


@pytest.mark.parametrize("version", VERSIONS)
def test_no_session_leads_past_pins_or_a_client_certificate(
    start: Start, serve: Serve, authority: Authority, directory: Path, version: str
) -> None:
    server = serve("server", version)
    copy = directory / "ca-copy.pem"
    shutil.copy(authority.file, copy)
    own = {"clientCertificateFile": authority.certificate("client"), "clientKeyFile": authority.key("client")}
    resources = {
        "plain": resource(server, authority), "copy": resource(server, authority, caFile=str(copy)),
        "pinned": resource(server, authority, pins=[authority.pin("server"), authority.pin("ca")]),
        "wrong": resource(server, authority, pins=[authority.pin("client"), authority.pin("responder")]),
        "known": resource(server, authority, **own),
    }
    connection = start({"resources": resources}).connect()
    assert "New, " in page(connection, "plain") and "Reused, " in page(connection, "plain")
    assert "New, " in page(connection, "copy"), "other authorities, another session"
    for _ in range(2):
        assert "New, " in page(connection, "pinned") and "New, " in page(connection, "known")
        expect.fault(connection.error("fetchResource", {"resource": "wrong", "path": "x"}), 1011)
    # Those of the handles that have failed are gone with them.
    for name in ("plain", "copy"):
        page(connection, name)
        assert "Reused, " in page(connection, name)


# Versions


def test_tls_1_3_is_negotiated_and_1_1_refused(start: Start, serve: Serve, authority: Authority) -> None:
    old = serve("server", "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0")
    connection = start(
        {"resources": {"r": resource(serve(), authority), "old": resource(old, authority)}}).connect()
    assert "TLSv1.3" in page(connection)
    expect.fault(connection.error("fetchResource", {"resource": "old", "path": "x"}), 1010)


class OwnCertificate:
    """A certificate with an RSA key, which Diffie-Hellman without curves needs; its own authority."""

    def __init__(self, directory: Path) -> None:
        self.file = str(directory / "rsa.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=rsa", "-days", "2",
             "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.key("rsa"), "-out", self.file],
            check=True, capture_output=True, timeout=30)

    def certificate(self, _: str) -> str:
        return self.file

    def key(self, _: str) -> str:
        return self.file.replace(".pem", ".key")


@pytest.mark.parametrize("exchange, code", [("ECDHE", None), ("DHE", 1010)])
def test_the_server_chooses_no_prime_to_compute_with(
    start: Start, directory: Path, exchange: str, code: Optional[int]
) -> None:
    """A Diffie-Hellman group of 10,000 bits takes the thread of all fetches a second for each handshake."""
    own = OwnCertificate(directory)
    cipher = f"{exchange}-RSA-AES256-GCM-SHA384"
    server = OpenSSLServer(own, "rsa", "-tls1_2", "-cipher", cipher)  # type: ignore[arg-type]
    try:
        connection = start({"resources": {"r": resource(server, own)}}).connect()  # type: ignore[arg-type]
        answer = connection.answer_to(connection.request("fetchResource", {"resource": "r", "path": "x"}))
    finally:
        server.stop()
    assert answer.get("error", {}).get("code") == code, answer
