"""Secrets, keys and certificates that are replaced while the sidecar runs: the new ones count, broken ones never do."""
from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple
from urllib.parse import parse_qs, unquote

import pytest

from harness import expect
from harness.certificates import Authority
from harness.connection import Connection
from harness.issuer import Asked, IssuerDouble, document
from harness.mutual import MutualTLS
from harness.ports import free_port
from harness.sidecar import Sidecar
from harness.signing import SigningKey
from harness.waiting import eventually

Start = Callable[..., Sidecar]


def put(path: Path, content: Any) -> None:
    """Replaces a file as one should: a new one gets its name."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(content if isinstance(content, bytes) else content.encode())
    new.chmod(0o600)
    new.replace(path)


def health(connection: Connection) -> Dict[str, Any]:
    return connection.call("health")


def reload(sidecar: Sidecar) -> None:
    """SIGHUP, and waits until it has been carried out, one way or the other."""
    before = sidecar.log().count("configuration reloaded") + sidecar.log().count("configuration not reloaded")
    sidecar.signal(signal.SIGHUP)
    eventually(
        lambda: sidecar.log().count("configuration reloaded") + sidecar.log().count("configuration not reloaded") > before,
        10, "the reload")


# What is read with the configuration: secrets of clients, and their signing keys


class TokenEndpoint:
    """An issuer that gives a token to whoever asks, and keeps how they said who they are."""

    def __init__(self, issuer: IssuerDouble) -> None:
        self.issuer = issuer
        self.requests: List[Asked] = []
        issuer.metadata["token_endpoint"] = f"{issuer.base}/token"
        issuer.answers["/token"] = self._token
        issuer.answers["/r/x"] = lambda asked: document({"token": asked.headers.get("authorization")})

    def _token(self, asked: Asked) -> Any:
        self.requests.append(asked)
        return document({"access_token": f"t{len(self.requests)}", "token_type": "Bearer", "expires_in": 300})

    @property
    def secret(self) -> str:
        """The last client secret, by HTTP Basic."""
        text = base64.b64decode(self.requests[-1].headers["authorization"].split()[1]).decode()
        return unquote(text.partition(":")[2])

    @property
    def algorithm(self) -> str:
        """That of the last client assertion."""
        header = parse_qs(self.requests[-1].body.decode())["client_assertion"][0].partition(".")[0]
        return json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))["alg"]


@pytest.fixture
def endpoint(issuer: IssuerDouble) -> TokenEndpoint:
    return TokenEndpoint(issuer)


def client_of(issuer: IssuerDouble, **members: Any) -> Dict[str, Any]:
    return {
        "issuers": {"double": {"issuer": issuer.base, "clientId": "shop", **members}},
        "resources": {"r": {"baseUrl": f"{issuer.base}/r/", "issuer": "double", "auth": "clientCredentials"}},
    }


def fetch(connection: Connection) -> None:
    assert connection.call("fetchResource", {"resource": "r", "path": "x"})["status"] == 200


def beside(directory: Path) -> Tuple[str, Dict[str, str], Callable[[str], None]]:
    """A plain file."""
    path = directory / "rotated"
    return str(path), {}, lambda text: put(path, text)


def credential(directory: Path) -> Tuple[str, Dict[str, str], Callable[[str], None]]:
    """A systemd credential."""
    credentials = directory / "credentials"
    credentials.mkdir()
    return "rotated", {"CREDENTIALS_DIRECTORY": str(credentials)}, lambda text: put(credentials / "rotated", text)


def kubernetes(directory: Path) -> Tuple[str, Dict[str, str], Callable[[str], None]]:
    """A mounted Secret: the file is a link through `..data`, which is exchanged."""
    volume = directory / "volume"
    volume.mkdir()
    (volume / "rotated").symlink_to("..data/rotated")
    versions = iter(range(100))

    def swap(text: str) -> None:
        version = volume / f"..{next(versions)}"
        version.mkdir()
        (version / "rotated").write_text(text)
        (version / "rotated").chmod(0o440)
        (volume / "..data_tmp").symlink_to(version.name)
        old = os.path.realpath(volume / "..data")
        (volume / "..data_tmp").replace(volume / "..data")
        if "..data" not in old:
            shutil.rmtree(old, ignore_errors=True)

    return str(volume / "rotated"), {}, swap


@pytest.mark.parametrize("place", [beside, credential, kubernetes])
def test_a_new_client_secret_counts_from_the_next_reload(
    start: Start, endpoint: TokenEndpoint, directory: Path, place: Any
) -> None:
    path, environment, replace = place(directory)
    replace("first")
    sidecar = start(client_of(endpoint.issuer, clientSecretFile=path), environment=environment)
    with sidecar.connect() as connection:
        fetch(connection)
        assert endpoint.secret == "first"
        replace("second")
        fetch(connection)
        assert len(endpoint.requests) == 1
        reload(sidecar)
        # Tokens are those of the client with its new secret.
        fetch(connection)
        assert endpoint.secret == "second" and len(endpoint.requests) == 2
        # Nothing has changed, nothing is thrown away.
        reload(sidecar)
        fetch(connection)
        assert len(endpoint.requests) == 2
        # Half a file: the one before it is in force, and that shows until it is mended.
        replace("")
        reload(sidecar)
        fetch(connection)
        assert len(endpoint.requests) == 2
        assert health(connection)["checks"]["configuration"]["status"] == "degraded"
        replace("third")
        reload(sidecar)
        fetch(connection)
        assert endpoint.secret == "third" and health(connection)["status"] == "ok"
    for secret in "first", "second", "third":
        assert secret not in sidecar.log()


def test_a_new_key_of_private_key_jwt_counts_from_the_next_reload(
    start: Start, endpoint: TokenEndpoint, directory: Path, rsa: SigningKey, ec: SigningKey
) -> None:
    key = directory / "client.key"
    put(key, ec.pem)
    own = client_of(endpoint.issuer, clientAuth="private_key_jwt", clientKeyFile=str(key))
    sidecar = start(own)
    with sidecar.connect() as connection:
        fetch(connection)
        assert endpoint.algorithm == "ES256"
        put(key, rsa.pem[:200])
        reload(sidecar)
        assert health(connection)["checks"]["configuration"]["status"] == "degraded"
        fetch(connection)
        put(key, rsa.pem)
        reload(sidecar)
        fetch(connection)
        assert endpoint.algorithm == "RS256" and health(connection)["status"] == "ok"


# What is noticed when it is used next: certificates, authorities


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("tls"))
    made.issue("server", "subjectAltName=IP:127.0.0.1", by="middle")
    for name in "one", "two":
        made.issue(name, days=365)
    return made


@pytest.fixture
def peers(authority: Authority) -> Iterator[MutualTLS]:
    double = MutualTLS(authority)
    yield double
    double.stop()


def troubles(connection: Connection) -> Dict[str, str]:
    """The checks about replaced files that are not well."""
    report = health(connection)
    found = {name: check["detail"] for name, check in report["checks"].items() if name.startswith("file.")}
    assert report["status"] == ("degraded" if found else "ok"), report
    return found


def test_a_new_client_certificate_counts_with_the_next_request_and_half_of_it_never(
    start: Start, peers: MutualTLS, authority: Authority, directory: Path
) -> None:
    certificate, key = directory / "client.pem", directory / "client.key"

    def take(path: Path, name: str) -> None:
        put(path, Path(authority.certificate(name) if path is certificate else authority.key(name)).read_bytes())

    take(certificate, "one")
    take(key, "one")
    tls = {"caFile": authority.file, "clientCertificateFile": str(certificate), "clientKeyFile": str(key)}
    sidecar = start({"resources": {"r": {"baseUrl": peers.demanding + "/", "auth": "none", "tls": tls}}})
    with sidecar.connect() as connection:
        def client() -> str:
            return json.loads(connection.call("fetchResource", {"resource": "r", "path": "x"})["body"])["client"]

        assert client() == "one"
        # Its key is not there yet: not one request goes out with half of a pair.
        take(certificate, "two")
        assert client() == "one" and client() == "one"
        assert list(troubles(connection)) == [f"file.{certificate}"]
        warnings = [json.loads(line) for line in sidecar.awaits_log("key is not valid").splitlines() if "key is not valid" in line]
        assert [(line["level"], line["what"]) for line in warnings] == [("warning", f"file.{certificate}")]
        take(key, "two")
        assert client() == "two" and troubles(connection) == {}
        # Half-written.
        put(certificate, Path(authority.certificate("one")).read_bytes()[:300])
        assert client() == "two" and troubles(connection)
        reload(sidecar)
        assert health(connection)["checks"]["configuration"]["status"] == "degraded"
        assert client() == "two"
        take(certificate, "one")
        take(key, "one")
        assert client() == "one"
        reload(sidecar)
        assert health(connection)["status"] == "ok"


def test_new_authorities_count_with_the_next_connection_and_a_broken_file_never(
    start: Start, peers: MutualTLS, authority: Authority, directory: Path, tmp_path: Path
) -> None:
    trusted = directory / "ca.pem"
    put(trusted, Path(authority.file).read_bytes())
    own = {"caFile": str(trusted)}
    sidecar = start({
        "resources": {
            name: {"baseUrl": f"{base}/", "auth": "none", "tls": own}
            for name, base in [("a", peers.resource), ("b", peers.issuer)]
        }
    })
    with sidecar.connect() as connection:
        def status(name: str) -> int:
            return connection.call("fetchResource", {"resource": name, "path": "x"})["status"]

        assert status("a") == 200
        put(trusted, Path(authority.file).read_bytes()[:200])
        # A server that was not connected to before: the authorities are needed.
        assert status("b") == 200 and status("a") == 200
        assert list(troubles(connection)) == [f"file.{trusted}"]
        sidecar.awaits_log("key is not valid")
        # Another authority: who was trusted before is not any more, whatever connections are kept.
        put(trusted, Path(Authority(tmp_path / "other").file).read_bytes())
        for name in "a", "b":
            expect.fault(connection.error("fetchResource", {"resource": name, "path": "x"}), 1010)
        assert troubles(connection) == {}
        put(trusted, Path(authority.file).read_bytes())
        assert status("a") == 200 and status("b") == 200


# The session store


def settings(issuer: IssuerDouble, store: Dict[str, Any]) -> Dict[str, Any]:
    return {"issuers": {"double": issuer.settings()}, "tokens": {"leaveTheSidecar": True}, "store": store}


def make(connection: Connection, token: str) -> str:
    grant = {"type": "tokens", "accessToken": token, "expiresIn": 3600}
    return connection.call("createSession", {"issuer": "double", "grant": grant})["session"]


def token(connection: Connection, session: str) -> str:
    return connection.call("getAccessToken", {"issuer": "double", "session": session})["accessToken"]


def test_the_file_store_goes_over_to_a_new_key_as_it_runs(start: Start, issuer: IssuerDouble, directory: Path) -> None:
    key, before = directory / "store-key", directory / "store-key-before"
    put(key, "0a" * 31 + "77")
    put(before, "0a" * 31 + "77")
    store = {"kind": "file", "path": str(directory / "sessions"), "keyFile": str(key)}
    sidecar = start(settings(issuer, {**store, "previousKeyFiles": [str(before)]}))
    with sidecar.connect() as connection:
        old = make(connection, "opaque-old")
        put(key, "b1" * 31 + "77")
        reload(sidecar)
        sidecar.awaits_log("gone over")
        new = make(connection, "opaque-new")
        assert [token(connection, old), token(connection, new)] == ["opaque-old", "opaque-new"]
        eventually(lambda: health(connection)["status"] == "ok", 10, "health")
        # A key that the store was not written with, and the one it was is not named: nothing is lost.
        put(key, "c2" * 31 + "77")
        reload(sidecar)
        eventually(lambda: health(connection)["checks"].get("store", {}).get("status") == "degraded", 10, "the check")
        assert token(connection, old) == "opaque-old"
        put(key, "not a key")
        reload(sidecar)
        assert health(connection)["checks"]["configuration"]["status"] == "degraded"
        assert token(connection, new) == "opaque-new"
        put(key, "b1" * 31 + "77")
        reload(sidecar)
        eventually(lambda: health(connection)["status"] == "ok", 10, "health")
        assert token(connection, old) == "opaque-old"
    sidecar.stop()
    # It was written anew: the first key opens nothing any more.
    with start(settings(issuer, store)).connect() as connection:
        assert token(connection, new) == "opaque-new" and token(connection, old) == "opaque-old"


def test_calls_that_use_the_store_do_not_notice_that_its_key_changes(
    start: Start, issuer: IssuerDouble, directory: Path
) -> None:
    key, before = directory / "store-key", directory / "store-key-before"
    put(key, f"{0:02x}" * 31 + "77")
    store = {"kind": "file", "path": str(directory / "sessions"), "keyFile": str(key), "previousKeyFiles": [str(before)]}
    put(before, f"{0:02x}" * 31 + "77")
    sidecar = start(settings(issuer, store))
    with sidecar.connect() as connection:
        session = make(connection, "opaque")
        for round_ in range(1, 21):
            shutil.copy(key, before)
            put(key, f"{round_:02x}" * 31 + "77")
            pending = [connection.request("getAccessToken", {"issuer": "double", "session": session}) for _ in range(20)]
            sidecar.signal(signal.SIGHUP)
            pending += [connection.request("getSession", {"session": session}) for _ in range(20)]
            for identifier in pending:
                assert "result" in connection.answer_to(identifier)
            eventually(lambda: sidecar.log().count("gone over") == round_, 10, "the new key")
        assert health(connection)["status"] == "ok"


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed: make deps")
def test_redis_gets_a_new_password_as_it_runs(start: Start, issuer: IssuerDouble, directory: Path) -> None:
    port = free_port()
    server = subprocess.Popen(
        ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--requirepass", "first"],
        cwd=directory, stdout=subprocess.DEVNULL)

    def redis(*words: str, password: str) -> str:
        return subprocess.run(
            ["redis-cli", "-p", str(port), "-a", password, "--no-auth-warning", *words],
            capture_output=True, text=True, timeout=10).stdout.strip()

    try:
        eventually(lambda: redis("PING", password="first") == "PONG", 10, "redis")
        password, key = directory / "password", directory / "key"
        put(password, "first")
        put(key, "0a" * 31 + "77")
        redis_settings = {"url": f"redis://127.0.0.1:{port}", "passwordFile": str(password)}
        sidecar = start(settings(issuer, {"kind": "redis", "keyFile": str(key), "redis": redis_settings}))
        with sidecar.connect() as connection:
            session = make(connection, "opaque")
            # Of no use: the connection that is there goes on.
            put(password, "wrong")
            reload(sidecar)
            eventually(lambda: "store" in health(connection)["checks"], 10, "the check")
            assert token(connection, session) == "opaque"
            redis("CONFIG", "SET", "requirepass", "second", password="first")
            put(password, "second")
            reload(sidecar)
            eventually(lambda: health(connection)["status"] == "ok", 10, "health")
            redis("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes", password="second")
            eventually(lambda: "result" in connection.answer_to(
                connection.request("getAccessToken", {"issuer": "double", "session": session})), 10, "the store")
            assert "second" not in sidecar.log()
    finally:
        server.terminate()
        server.wait(10)
