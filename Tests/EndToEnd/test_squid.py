"""The outbound proxy with squid: the real one, with basic authentication, and with no other way out."""
from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, Iterator

import pytest

from harness import expect
from harness.certificates import Authority
from harness.connection import Connection
from harness.named_service import NamedService
from harness.http2 import HTTP2Server, whole
from harness.sidecar import Sidecar
from harness.squid import BINARY, Squid
from harness.users import needs_root, open_to_all
from harness.waiting import eventually

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]
NAME, SECRET = "app.test", "hunter2-squid"

#: A JWT that no key has signed: the issuer's key set is fetched for it.
UNSIGNED = ".".join(
    base64.urlsafe_b64encode(part.encode()).decode().rstrip("=")
    for part in ('{"alg":"RS256","kid":"none","typ":"at+jwt"}', '{"iss":"x","sub":"u","exp":9999999999}', "signature"))

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(BINARY is None, reason="needs squid")]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("squid"))
    for name in (NAME, "forbidden.test"):
        made.issue(name, f"subjectAltName=DNS:{name}")
    made.issue("server", f"subjectAltName=DNS:{NAME}")
    return made


@pytest.fixture
def service(authority: Authority) -> Iterator[NamedService]:
    made = NamedService(NAME, authority, explicit=True)
    yield made
    made.stop()


@pytest.fixture
def squid(directory: Path) -> Iterator[Squid]:
    open_to_all(directory)
    made = Squid(directory / "squid", [NAME, "forbidden.test"], "svc", SECRET)
    yield made
    made.stop()


def secret(directory: Path, name: str, text: str) -> str:
    path = directory / name
    path.write_text(text + "\n")
    path.chmod(0o600)
    return str(path)


def behind(squid: Squid, service: NamedService, authority: Authority, directory: Path) -> Dict[str, Any]:
    tls = {"caFile": authority.file}
    return {
        "outbound": {"proxy": {
            "url": squid.url, "usernameFile": secret(directory, "proxy-user", "svc"),
            "passwordFile": secret(directory, "proxy-password", SECRET)}},
        "issuers": {"corp": {
            "issuer": service.base, "clientId": "svc", "clientAuth": "client_secret_basic",
            "clientSecretFile": secret(directory, "client", "svcsecret"), "tls": tls}},
        "resources": {
            "api": {"baseUrl": service.base + "/api/", "issuer": "corp", "auth": "clientCredentials", "tls": tls},
            "open": {"baseUrl": service.base + "/api/", "auth": "none", "tls": tls}},
    }


def fetch(connection: Connection, resource: str, path: str, **params: Any) -> Dict[str, Any]:
    return connection.call("fetchResource", {"resource": resource, "path": path, **params})


def use_everything(connection: Connection, service: NamedService) -> None:
    """Discovery, a token, a fetch, a stream, an upload, a key set, introspection."""
    assert fetch(connection, "api", "echo")["status"] == 200
    assert "data: 2" in fetch(connection, "open", "events")["body"]
    uploaded = fetch(connection, "open", "upload", method="POST", body="x" * 1_000_000)
    assert json.loads(uploaded["body"])["bytes"] == 1_000_000
    params = {"issuer": "corp", "accessToken": UNSIGNED, "audience": service.base}
    assert connection.call("validateAccessToken", params)["valid"] is False
    assert connection.call("introspectToken", {"issuer": "corp", "token": "opaque"})["valid"] is False
    for path in ("/.well-known/openid-configuration", "/token", "/api/echo", "/api/events", "/api/upload", "/introspect", "/jwks"):
        assert path in service.paths(), path
    assert all("proxy-authorization" not in fields for _, _, fields, _ in service.asked)


def test_everything_tunnels_through_squid(
    start: Start, connect: Connect, squid: Squid, service: NamedService, authority: Authority, directory: Path,
) -> None:
    sidecar = start(behind(squid, service, authority, directory))
    use_everything(connect(sidecar), service)
    sidecar.stop()
    eventually(lambda: squid.log().count(f"CONNECT {NAME}:{service.port} svc") >= 3, what="the tunnels in squid's log")
    assert SECRET not in sidecar.log()


def test_http2_tunnels_through_squid(
    start: Start, connect: Connect, squid: Squid, service: NamedService, authority: Authority, directory: Path,
) -> None:
    server = HTTP2Server(authority, lambda connection, number, stream: connection.sendall(whole(stream, b"two")))
    try:
        changes = behind(squid, service, authority, directory)
        base = f"https://{NAME}:{server.base.rpartition(':')[2]}/"
        changes["resources"]["open"].update({"baseUrl": base, "http2": True})
        connection = connect(start(changes))
        assert base64.b64decode(fetch(connection, "open", "x")["bodyBase64"]) == b"two" and server.protocols == ["h2"]
    finally:
        server.stop()


def test_squid_refuses(
    start: Start, connect: Connect, squid: Squid, service: NamedService, authority: Authority, directory: Path,
) -> None:
    """The statuses of its own: another password, a server that it denies, one that is not there, one without a name."""
    changes = behind(squid, service, authority, directory)
    tls = {"caFile": authority.file}
    for name, base in (("denied", "https://forbidden.test"), ("absent", f"https://{NAME}:1"), ("nameless", "https://nowhere.invalid")):
        changes["resources"][name] = {"baseUrl": base + "/", "auth": "none", "tls": tls}
    connection = connect(start(changes))
    for name, statuses, retryable in (("denied", [403], False), ("absent", [503], True), ("nameless", [500, 503], True)):
        data = expect.fault(connection.error("fetchResource", {"resource": name, "path": "x"}), 1009)
        assert (data["retryable"], data["outcome"]) == (retryable, "not_sent"), name
        assert data["upstream"]["status"] in statuses, name
    secret(directory, "proxy-password", "wrong")

    def is_refused() -> bool:
        answer = connection.request("fetchResource", {"resource": "open", "path": "echo"})
        reply = connection.answer_to(answer)
        return reply.get("error", {}).get("data", {}).get("upstream") == {"status": 407}

    eventually(is_refused, what="407 for the wrong password")


def test_plain_http_goes_through_squid(start: Start, connect: Connect, squid: Squid, authority: Authority, directory: Path) -> None:
    plain = NamedService(NAME, explicit=True)
    try:
        changes = behind(squid, plain, authority, directory)
        changes["outbound"]["plainHTTP"] = [plain.base]
        changes["resources"]["open"].pop("tls")
        connection = connect(start(changes))
        headers = json.loads(fetch(connection, "open", "echo")["body"])["headers"]
        assert "via" in headers and "proxy-authorization" not in headers
    finally:
        plain.stop()


@needs_root
def test_there_is_no_other_way_out(
    start: Start, squid: Squid, service: NamedService, authority: Authority, directory: Path,
) -> None:
    """The sidecar in a network namespace that has a loopback interface only, on which a relay leads to squid over a
    Unix socket: whatever went beside the proxy would fail."""
    way = directory / "way.sock"
    outside = subprocess.Popen(["socat", f"UNIX-LISTEN:{way},fork", f"TCP:127.0.0.1:{squid.port}"])
    changes = behind(squid, service, authority, directory)
    changes["outbound"]["proxy"]["url"] = "http://127.0.0.1:3128"
    changes["resources"]["direct"] = {**changes["resources"]["open"], "proxy": "none"}
    up = "import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sh22x', b'lo', 1))"
    launcher = ["unshare", "--net", "sh", "-c", f'python3 -c "{up}" && exec "$@"', "sh"]
    inside = None
    try:
        sidecar = start(changes, launcher=launcher)
        inside = subprocess.Popen([
            "nsenter", "--net", f"--target={sidecar.process.pid}",
            "socat", "TCP-LISTEN:3128,bind=127.0.0.1,fork,reuseaddr", f"UNIX-CONNECT:{way}"])
        connection = sidecar.connect()
        eventually(
            lambda: "result" in connection.answer_to(connection.request("fetchResource", {"resource": "open", "path": "echo"})),
            what="the relay")
        use_everything(connection, service)
        # The server is there, for everybody but who goes by himself.
        data = expect.fault(connection.error("fetchResource", {"resource": "direct", "path": "echo"}), 1009)
        assert "upstream" not in data
        connection.close()
    finally:
        for process in (inside, outside):
            if process:
                process.terminate()
                process.wait(10)
