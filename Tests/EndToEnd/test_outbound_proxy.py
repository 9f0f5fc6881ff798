"""The outbound proxy: everything goes through it, nothing beside it, and a bad one gets and breaks nothing."""
from __future__ import annotations

import base64
import json
import signal
import socket
import ssl
import subprocess
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import binaries, expect, settings
from harness.certificates import Authority
from harness.connection import Connection
from harness.forward_proxy import ForwardProxy, Request
from harness.http2 import HTTP2Server, whole
from harness.loopback import Loopback
from harness.named_service import NamedService
from harness.sidecar import Sidecar, StartError
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all
from harness.waiting import eventually

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]
#: Resolvable by nobody but the proxies of these tests.
NAME, OTHER = "app.test", "other.test"
SECRET = "hunter2-proxy"
#: A JWT that no key has signed: the issuer's key set is fetched for it.
UNSIGNED = ".".join(
    base64.urlsafe_b64encode(part.encode()).decode().rstrip("=")
    for part in ('{"alg":"RS256","kid":"none","typ":"at+jwt"}', '{"iss":"x","sub":"u","exp":9999999999}', "signature"))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("proxy"))
    for name in (NAME, OTHER):
        made.issue(name, f"subjectAltName=DNS:{name}")
    made.issue("proxy", "subjectAltName=IP:127.0.0.1")
    made.issue("server", f"subjectAltName=DNS:{NAME}")
    made.issue("client")
    return made


@pytest.fixture
def service(authority: Authority) -> Iterator[NamedService]:
    made = NamedService(NAME, authority)
    yield made
    made.stop()


@pytest.fixture
def proxy(service: NamedService) -> Iterator[ForwardProxy]:
    made = ForwardProxy(dict(service.hosts))
    yield made
    made.stop()


@pytest.fixture
def credentials(directory: Path) -> Dict[str, str]:
    """Files with a user name and a password, as keys of `outbound.proxy`."""
    for name, text in (("proxy-user", "svc"), ("proxy-password", SECRET)):
        (directory / name).write_text(text + "\n")
        (directory / name).chmod(0o600)
    return {"usernameFile": str(directory / "proxy-user"), "passwordFile": str(directory / "proxy-password")}


def outbound(proxy: ForwardProxy, **members: Any) -> Dict[str, Any]:
    return {"proxy": {"url": proxy.url, **members}}


def through(proxy: ForwardProxy, service: NamedService, authority: Authority, directory: Path, **members: Any) -> Dict[str, Any]:
    """An issuer, a resource with its tokens, and one without, all behind the proxy."""
    secret = directory / "service-secret"
    secret.write_text("svcsecret")
    secret.chmod(0o600)
    tls = {"caFile": authority.file}
    return {
        "outbound": outbound(proxy, **members),
        "issuers": {
            "corp": {
                "issuer": service.base, "clientId": "svc", "clientAuth": "client_secret_basic",
                "clientSecretFile": str(secret), "tls": tls}},
        "resources": {
            "api": {"baseUrl": service.base + "/api/", "issuer": "corp", "auth": "clientCredentials", "tls": tls},
            "open": {"baseUrl": service.base + "/api/", "auth": "none", "tls": tls}},
        "preauthorization": {"rules": {"kind": "authzen", "baseUrl": service.base + "/", "tls": tls}},
        "validation": {"jwksOrigins": [service.base]},
    }


def fetch(connection: Connection, resource: str = "open", path: str = "echo", **params: Any) -> Dict[str, Any]:
    return connection.call("fetchResource", {"resource": resource, "path": path, **params})


def refused(connection: Connection, code: int, resource: str = "open", path: str = "echo", **params: Any) -> Dict[str, Any]:
    error = connection.error("fetchResource", {"resource": resource, "path": path, **params})
    assert SECRET not in json.dumps(error)
    data = expect.fault(error, code)
    return {**data, "message": error["message"]}


def test_everything_goes_through_it(
    start: Start, connect: Connect, proxy: ForwardProxy, service: NamedService, authority: Authority, directory: Path,
    credentials: Dict[str, str],
) -> None:
    proxy.credentials = f"svc:{SECRET}"
    sidecar = start(through(proxy, service, authority, directory, **credentials))
    connection = connect(sidecar)
    assert fetch(connection, "api")["status"] == 200
    events = fetch(connection, "open", "events")
    assert "data: 2" in events["body"]
    uploaded = fetch(connection, "open", "upload", method="POST", body="x" * 100_000)
    assert json.loads(uploaded["body"])["bytes"] == 100_000
    params = {"issuer": "corp", "accessToken": UNSIGNED, "audience": service.base}
    assert connection.call("validateAccessToken", params)["valid"] is False
    assert connection.call("introspectToken", {"issuer": "corp", "token": "opaque"})["valid"] is False
    decided = connection.call(
        "preauthorize", {"provider": "rules", "context": {"subject": "alice"}, "resources": ["r"]})
    assert decided["decisions"]
    for path in ("/.well-known/openid-configuration", "/token", "/api/echo", "/api/events", "/api/upload", "/introspect", "/jwks",
                 "/access/v1/evaluation"):
        assert path in service.paths(), path
    # Nothing resolves the name but the proxy, so that all of it came this way; and the proxy has seen no more of it.
    assert set(proxy.targets()) == {f"{NAME}:443"}
    assert all("authorization" not in request.fields for request in proxy.requests)
    assert all("proxy-authorization" not in fields for _, _, fields, _ in service.asked)
    assert SECRET not in sidecar.log()


def test_connections_are_kept(
    start: Start, connect: Connect, proxy: ForwardProxy, service: NamedService, authority: Authority, directory: Path,
) -> None:
    connection = connect(start(through(proxy, service, authority, directory)))
    assert len({json.loads(fetch(connection)["body"])["connection"] for _ in range(5)}) == 1
    assert proxy.accepted == 1


def test_http2_in_the_tunnel(start: Start, connect: Connect, authority: Authority) -> None:
    server = HTTP2Server(authority, lambda connection, number, stream: connection.sendall(whole(stream, b"two")))
    port = int(server.base.rpartition(":")[2])
    proxy = ForwardProxy({f"{NAME}:443": port})
    try:
        connection = connect(start({
            "outbound": outbound(proxy),
            "resources": {"open": {
                "baseUrl": f"https://{NAME}/", "auth": "none", "http2": True, "tls": {"caFile": authority.file}}}}))
        assert base64.b64decode(fetch(connection)["bodyBase64"]) == b"two"
        assert server.protocols == ["h2"] and proxy.targets() == [f"{NAME}:443"]
    finally:
        proxy.stop()
        server.stop()


@pytest.mark.parametrize(
    "status, retryable",
    [(407, False), (403, False), (401, False), (502, True), (503, True), (504, True)])
def test_its_rejection_is_not_the_servers_answer(
    start: Start, connect: Connect, proxy: ForwardProxy, service: NamedService, authority: Authority, directory: Path,
    credentials: Dict[str, str], status: int, retryable: bool,
) -> None:
    """B-3 and B-4: a 401 to CONNECT must not bring out what is for the server."""
    def refuse(connection: socket.socket, _: Request) -> bool:
        connection.sendall(
            b"HTTP/1.1 %d X\r\nWWW-Authenticate: Basic realm=x\r\nProxy-Authenticate: Basic realm=x\r\n"
            b"Content-Length: 0\r\n\r\n" % status)
        return False

    sidecar = start(through(proxy, service, authority, directory, **credentials))
    connection = connect(sidecar)
    proxy.misbehaving = refuse
    data = refused(connection, 1009)
    assert (data["outcome"], data["upstream"], data["retryable"]) == ("not_sent", {"status": status}, retryable)
    assert "proxy" in data["message"]
    # No token can be had either: it is the same fault, not the issuer's.
    data = refused(connection, 1009, "api")
    assert (data["outcome"], data["upstream"], data["retryable"]) == ("not_sent", {"status": status}, retryable)
    assert all(request.line.startswith("CONNECT ") and "authorization" not in request.fields for request in proxy.requests)
    assert service.asked == [] and SECRET not in sidecar.log()
    proxy.misbehaving = None
    assert fetch(connection)["status"] == 200, "and it works as soon as the proxy does"


def answering(text: bytes, then: Callable[[socket.socket], Any] = lambda _: None) -> Callable[[socket.socket, Request], bool]:
    def misbehave(connection: socket.socket, _: Request) -> bool:
        connection.sendall(text)
        then(connection)
        return False
    return misbehave


@pytest.mark.parametrize("misbehaving", [
    answering(b""),
    answering(b"SSH-2.0-OpenSSH_9.2\r\n"),
    answering(b"HTTP/1.1 200 OK\r\n" + b"X-Long: %s\r\n" % (b"y" * 1000) * 1000 + b"\r\n"),
    answering(b"HTTP/1.1 407 X\r\nContent-Length: 999999999\r\n\r\n" + b"z" * (1 << 20)),
    answering(b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000),
    answering(b"HTTP/1.1 101 Switching Protocols\r\n\r\n"),
    answering(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"),
    answering(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n"),
], ids=["closes", "ssh", "1 MiB of headers", "a long body", "endless 1xx", "101", "an injected answer", "chunks"])
def test_a_hostile_answer_ends_the_call(
    start: Start, connect: Connect, proxy: ForwardProxy, service: NamedService, authority: Authority, directory: Path,
    misbehaving: Callable[[socket.socket, Request], bool],
) -> None:
    connection = connect(start(through(proxy, service, authority, directory)))
    proxy.misbehaving = misbehaving
    began = time.monotonic()
    error = connection.error("fetchResource", {"resource": "open", "path": "echo"})
    assert error["code"] in (1009, 1010) and error["data"]["outcome"] == "not_sent"
    assert time.monotonic() - began < 5
    proxy.misbehaving = None
    assert fetch(connection)["status"] == 200


def test_a_proxy_that_hangs_costs_the_timeout_only(
    start: Start, connect: Connect, proxy: ForwardProxy, service: NamedService, authority: Authority, directory: Path,
) -> None:
    connection = connect(start(through(proxy, service, authority, directory)))
    proxy.misbehaving = lambda *_: time.sleep(5) or False  # type: ignore[func-returns-value]
    began = time.monotonic()
    data = refused(connection, -32022, timeoutMs=500)
    assert data["outcome"] == "not_sent" and time.monotonic() - began < 3


@pytest.mark.parametrize("answer", [
    b"HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 407 X\r\nContent-Length: 0\r\n\r\n", b""],
    ids=["503", "407", "closes"])
def test_a_request_that_left_over_a_lost_tunnel_counts_as_sent(
    start: Start, connect: Connect, authority: Authority, answer: bytes,
) -> None:
    """libcurl tries once more by itself when a kept connection is lost: the proxy's rejection of the second tunnel must
    not make a payment that the server has read one that was not sent, and may be retried."""
    service = SwallowingServer(authority)
    proxy = ForwardProxy({f"{NAME}:443": service.port})
    try:
        connection = connect(start({
            "outbound": outbound(proxy),
            "resources": {"open": {"baseUrl": f"https://{NAME}/", "auth": "none", "tls": {"caFile": authority.file}}}}))
        assert fetch(connection)["status"] == 200
        proxy.misbehaving = answering(answer)
        data = refused(connection, 1009, path="pay", method="POST", body="all of it")
        assert service.methods == ["GET", "POST"] and proxy.targets() == [f"{NAME}:443"] * 2
        assert (data["outcome"], data["retryable"]) == ("sent_no_reply", False)
    finally:
        proxy.stop()
        service.stop()


class SwallowingServer:
    """Answers each GET, and closes the connection when it has read the head of anything else. `methods` has both."""

    def __init__(self, authority: Authority) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(authority.certificate(NAME), authority.key(NAME))
        self.methods: List[str] = []
        self._loopback = Loopback(self._serve)
        self.port, self.stop = self._loopback.port, self._loopback.stop
        self._loopback.start()

    def _serve(self, connection: socket.socket, _: int) -> None:
        with self._context.wrap_socket(connection, server_side=True) as secure:
            while head := secure.recv(1 << 16):
                self.methods.append(head.split()[0].decode())
                if self.methods[-1] != "GET":
                    return
                secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")


def test_a_dead_proxy_is_named_and_opens_no_breaker(
    start: Start, connect: Connect, service: NamedService, authority: Authority, directory: Path,
) -> None:
    proxy = ForwardProxy(dict(service.hosts))
    changes = through(proxy, service, authority, directory)
    proxy.stop()
    breaker = {"limits": {"concurrency": 4, "queue": 4, "breaker": {"failures": 2, "openFor": "30s"}}}
    changes["resources"]["open"].update(breaker)
    connection = connect(start(changes))
    for _ in range(5):
        data = refused(connection, 1009)
        assert data["outcome"] == "not_sent" and data["retryable"] is True and "proxy" in data["message"]
        assert "circuit breaker" not in data["message"]


def test_no_path_leads_beside_it(
    start: Start, connect: Connect, service: NamedService, authority: Authority, directory: Path, credentials: Dict[str, str],
) -> None:
    """A proxy that does not reach a server is an error, although the sidecar could reach it by itself."""
    proxy = ForwardProxy({})
    try:
        changes = through(proxy, service, authority, directory, **credentials)
        sidecar = start(changes)
        connection = connect(sidecar)
        assert refused(connection, 1009)["upstream"] == {"status": 502}
        assert service.asked == []
    finally:
        proxy.stop()


def test_exceptions_and_parts_that_go_without(
    start: Start, connect: Connect, proxy: ForwardProxy, service: NamedService, authority: Authority, directory: Path,
) -> None:
    """Direct means by the sidecar's own resolver, which does not know the name."""
    changes = through(proxy, service, authority, directory, **{"except": [".test:8443", "10.0.0.0/8"]})
    changes["resources"]["direct"] = {**changes["resources"]["open"], "proxy": "none"}
    changes["resources"]["excepted"] = {**changes["resources"]["open"], "baseUrl": f"https://{NAME}:8443/api/"}
    changes["issuers"]["corp"]["proxy"] = "none"
    connection = connect(start(changes))
    assert fetch(connection)["status"] == 200
    count = len(proxy.requests)
    for resource in ("direct", "excepted", "api"):
        data = refused(connection, 1009, resource)
        assert "upstream" not in data and "proxy" not in data["message"], resource
    assert len(proxy.requests) == count


def test_loopback_never_goes_through_it(start: Start, connect: Connect, proxy: ForwardProxy) -> None:
    connection = connect(start({"outbound": outbound(proxy)}))
    assert fetch(connection, "open", "hello")["status"] in (200, 404)
    assert fetch(connection, "orders", "orders")["status"] == 200
    assert proxy.requests == []


def test_metadata_is_not_requested_from_it(
    start: Start, connect: Connect, proxy: ForwardProxy, service: NamedService, authority: Authority, directory: Path,
) -> None:
    """B-12: its own address rules end where the proxy resolves."""
    changes = through(proxy, service, authority, directory)
    for name, base in (("address", "http://169.254.169.254"), ("name", "http://metadata.google.internal")):
        changes["resources"][name] = {"baseUrl": base + "/", "auth": "none"}
        changes["outbound"].setdefault("plainHTTP", []).append(base)
    connection = connect(start(changes))
    for name in ("address", "name"):
        assert refused(connection, 1007, name)["outcome"] == "not_sent"
        # A caller's URL, too: it lies under no base URL of the resource.
        url = changes["resources"][name]["baseUrl"] + "latest/meta-data/"
        assert refused(connection, 1007, "open", url)["outcome"] == "not_sent"
    assert proxy.requests == []


def test_rotated_credentials_are_for_new_tunnels_only(
    start: Start, connect: Connect, proxy: ForwardProxy, service: NamedService, authority: Authority, directory: Path,
    credentials: Dict[str, str],
) -> None:
    """B-6: the password's file is replaced; the tunnel of the old one is never used again."""
    proxy.credentials = f"svc:{SECRET}"
    connection = connect(start(through(proxy, service, authority, directory, **credentials)))
    first = json.loads(fetch(connection)["body"])["connection"]
    assert json.loads(fetch(connection)["body"])["connection"] == first
    fresh = directory / "fresh"
    fresh.write_text("another")
    fresh.chmod(0o600)
    fresh.rename(credentials["passwordFile"])
    proxy.credentials = "svc:another"
    eventually(lambda: json.loads(fetch(connection)["body"])["connection"] != first, what="a new tunnel")
    assert json.loads(fetch(connection)["body"])["connection"] != first


def test_files_of_credentials_that_are_gone_leave_the_last_ones_in_force(
    start: Start, connect: Connect, proxy: ForwardProxy, service: NamedService, authority: Authority, directory: Path,
    credentials: Dict[str, str],
) -> None:
    """Also before they were used once, and when the other transports look at them in the same moment."""
    proxy.credentials = f"svc:{SECRET}"
    connection = connect(start(through(proxy, service, authority, directory, **credentials)))
    for file in credentials.values():
        Path(file).unlink()
    assert fetch(connection)["status"] == 200


def test_a_reload_changes_the_proxy(
    start: Start, connect: Connect, proxy: ForwardProxy, service: NamedService, authority: Authority, directory: Path,
) -> None:
    """B-7: a tunnel through the one is not used for the other, although the server is the same."""
    second = ForwardProxy(dict(service.hosts))
    try:
        changes = through(proxy, service, authority, directory)
        sidecar = start(changes)
        connection = connect(sidecar)
        before = json.loads(fetch(connection)["body"])["connection"]
        configuration = json.loads(sidecar.configuration_path.read_text())
        configuration["outbound"] = outbound(second)
        sidecar.write(configuration)
        sidecar.signal(signal.SIGHUP)
        eventually(lambda: fetch(connection) and len(second.requests) > 0, what="a request through the new proxy")
        count = len(proxy.requests)
        assert json.loads(fetch(connection)["body"])["connection"] != before
        assert len(proxy.requests) == count
    finally:
        second.stop()


def test_redirects_choose_the_way_anew(
    start: Start, connect: Connect, authority: Authority, credentials: Dict[str, str],
) -> None:
    """B-11: from a server behind the proxy to one on loopback, which never sees the proxy's credentials."""
    direct = NamedService("127.0.0.1")
    service = NamedService(NAME, redirect="")
    service.redirect = f"http://127.0.0.1:{direct.port}/api/echo"
    proxy = ForwardProxy(dict(service.hosts), f"svc:{SECRET}")
    try:
        connection = connect(start({
            "outbound": {**outbound(proxy, **credentials), "plainHTTP": [service.base]},
            "resources": {"open": {
                "baseUrl": service.base + "/api/", "auth": "none",
                "additionalOrigins": [f"http://127.0.0.1:{direct.port}"]}}}))
        result = fetch(connection, path="away")
        assert result["status"] == 200
        assert [path for _, path, _, _ in direct.asked] == ["/api/echo"]
        assert all("proxy-authorization" not in fields for _, _, fields, _ in direct.asked)
        assert [request.line for request in proxy.requests] == [f"GET {service.base}/api/away HTTP/1.1"]
    finally:
        for one in (direct, service, proxy):
            one.stop()


def test_plain_http_goes_in_absolute_form_over_a_connection_of_its_own(start: Start, connect: Connect) -> None:
    service = NamedService(NAME)
    proxy = ForwardProxy(dict(service.hosts))
    try:
        connection = connect(start({
            "outbound": {**outbound(proxy), "plainHTTP": [service.base]},
            "resources": {"open": {"baseUrl": service.base + "/api/", "auth": "none"}}}))
        assert fetch(connection)["status"] == 200 and fetch(connection)["status"] == 200
        assert [request.line for request in proxy.requests] == [f"GET {service.base}/api/echo HTTP/1.1"] * 2
        assert len({request.connection for request in proxy.requests}) == 2
        # A 407 here is the proxy's as well: no server has such an answer.
        data = refused(connection, 1009, path="refused")
        assert (data["outcome"], data["upstream"], data["retryable"]) == ("not_sent", {"status": 407}, False)
    finally:
        proxy.stop()
        service.stop()


@needs_root
def test_users_never_share_a_tunnel(
    start: Start, proxy: ForwardProxy, service: NamedService, authority: Authority, directory: Path,
) -> None:
    changes = through(proxy, service, authority, directory)
    sidecar = start({**changes, **BOTH})
    open_to_all(sidecar.directory)
    connections: Dict[int, List[int]] = {ALICE: [], BOB: []}
    clients = {uid: connect_as(uid, sidecar) for uid in connections}
    for _ in range(4):
        for uid, client in clients.items():
            connections[uid].append(json.loads(fetch(client)["body"])["connection"])
    for client in clients.values():
        client.close()
    assert not set(connections[ALICE]) & set(connections[BOB])
    assert all(len(set(own)) == 1 for own in connections.values()), "each keeps its own"


def context(authority: Authority) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(authority.certificate("proxy"), authority.key("proxy"))
    return made


def test_an_https_proxy_with_its_own_authority(
    start: Start, connect: Connect, directory: Path, tmp_path: Path, authority: Authority, credentials: Dict[str, str],
) -> None:
    """B-2 and B-8: two authorities that do not know each other; pins and the client certificate are for the server."""
    others = Authority(tmp_path / "others")
    others.issue("proxy", "subjectAltName=IP:127.0.0.1")
    service = NamedService(NAME, authority, client=True)
    proxy = ForwardProxy(dict(service.hosts), f"svc:{SECRET}", context(others))
    try:
        changes = through(proxy, service, authority, directory, caFile=others.file, **credentials)
        tls = {
            "caFile": authority.file, "pins": [authority.pin(NAME)],
            "clientCertificateFile": authority.certificate("client"), "clientKeyFile": authority.key("client")}
        changes["resources"] = {
            "open": {**changes["resources"]["open"], "tls": tls},
            "mispinned": {**changes["resources"]["open"], "tls": {**tls, "pins": [authority.pin("proxy")]}}}
        changes["resources"]["orders"] = changes["issuers"] = changes["preauthorization"] = None
        connection = connect(start(changes))
        assert fetch(connection)["status"] == 200 and fetch(connection)["status"] == 200
        refused(connection, 1011, "mispinned")
    finally:
        proxy.stop()
        service.stop()


def test_plain_http_through_an_https_proxy(start: Start, connect: Connect, authority: Authority) -> None:
    """The session tickets of the proxy's TLS come unasked: they are not a server's answer before there is a request."""
    service = NamedService(NAME)
    proxy = ForwardProxy(dict(service.hosts), context=context(authority))
    try:
        connection = connect(start({
            "outbound": {**outbound(proxy, caFile=authority.file), "plainHTTP": [service.base]},
            "resources": {"open": {"baseUrl": service.base + "/api/", "auth": "none"}}}))
        for _ in range(40):
            assert fetch(connection)["status"] == 200
        assert proxy.accepted == 40, "none was given up"
    finally:
        proxy.stop()
        service.stop()


# Would catch: a response that is left in the record of the proxy's TLS, since session tickets came in it before.
def test_a_response_that_comes_with_session_tickets_is_read(
    start: Start, connect: Connect, directory: Path, tmp_path: Path, authority: Authority, credentials: Dict[str, str],
) -> None:
    others = Authority(tmp_path / "others")
    others.issue("proxy", "subjectAltName=IP:127.0.0.1")
    service = NamedService(NAME, authority)
    proxy = ForwardProxy(dict(service.hosts), f"svc:{SECRET}", context(others))
    proxy.gathers = 0.2
    try:
        connection = connect(start(through(proxy, service, authority, directory, caFile=others.file, **credentials)))
        for _ in range(3):
            assert fetch(connection)["status"] == 200
    finally:
        proxy.stop()
        service.stop()


@pytest.mark.parametrize("wrong", ["authority", "plain"])
def test_the_proxys_tls_failure_names_the_proxy(
    start: Start, connect: Connect, directory: Path, tmp_path: Path, authority: Authority, service: NamedService, wrong: str,
) -> None:
    others = Authority(tmp_path / "others")
    others.issue("proxy", "subjectAltName=IP:127.0.0.1")
    proxy = ForwardProxy(dict(service.hosts), context=None if wrong == "plain" else context(others))
    try:
        changes = through(proxy, service, authority, directory, caFile=authority.file)
        changes["outbound"]["proxy"]["url"] = f"https://127.0.0.1:{proxy.port}"
        connection = connect(start(changes))
        data = refused(connection, 1010)
        assert data["outcome"] == "not_sent" and "proxy" in data["message"] and data["retryable"] is False
        assert service.asked == []
    finally:
        proxy.stop()


@pytest.mark.parametrize("proxy_keys, words", [
    ({"url": "proxy.test:3128"}, "http:// or https://"),
    ({"url": "http://proxy.test"}, "port"),
    ({"url": "socks5://proxy.test:1080"}, "http:// or https://"),
    ({"url": f"http://me:{SECRET}@proxy.test:3128"}, "user name"),
    ({"url": "http://proxy.test:3128/path"}, "port only"),
    ({"url": "http://proxy.test:3128", "except": ["*.test"]}, "*"),
    ({"url": "http://proxy.test:3128", "except": ["10.0.0.1/8"]}, "beyond the first 8"),
    ({"url": "http://proxy.test:3128", "usernameFile": "/nonexistent"}, "usernameFile"),
    ({"url": "http://proxy.test:3128", "username": "svc"}, "passwordFile"),
    ({"url": "http://proxy.test:3128", "caFile": "/etc/hosts"}, "https"),
    ({"url": "http://proxy.test:3128", "auth": "basic"}, "passwordFile"),
    ({"url": "http://proxy.test:3128", "auth": "ntlm"}, "negotiate"),
])
def test_what_is_wrong_is_found_at_start(start: Start, proxy_keys: Dict[str, Any], words: str) -> None:
    with pytest.raises(StartError) as failure:
        start({"outbound": {"proxy": proxy_keys}})
    assert words in failure.value.log and "outbound.proxy" in failure.value.log
    assert SECRET not in failure.value.log


def test_the_environments_proxies_are_ignored_and_named(
    start: Start, connect: Connect, proxy: ForwardProxy, service: NamedService, authority: Authority, directory: Path,
) -> None:
    """B-9: not one byte goes there, and no exception comes from there."""
    trap = ForwardProxy({})
    names = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"]
    try:
        environment = {name: f"http://me:{SECRET}@127.0.0.1:{trap.port}" for name in names}
        environment.update({"NO_PROXY": "*", "no_proxy": NAME})
        sidecar = start(through(proxy, service, authority, directory), environment=environment)
        assert fetch(connect(sidecar))["status"] == 200
        assert proxy.targets() == [f"{NAME}:443"] and trap.accepted == 0
        log = sidecar.log()
        assert all(name in log for name in environment) and SECRET not in log and "outbound.proxy" in log
    finally:
        trap.stop()


@pytest.mark.parametrize("accepted", [True, False])
def test_doctor_tries_the_proxy(
    configuration: Dict[str, Any], proxy: ForwardProxy, service: NamedService, authority: Authority, directory: Path,
    credentials: Dict[str, str], accepted: bool,
) -> None:
    proxy.credentials = f"svc:{SECRET if accepted else 'another'}"
    path = directory / "doctor.yaml"
    path.write_text(json.dumps(settings.changed(
        configuration, {**through(proxy, service, authority, directory, **credentials), "issuers": {
            "play": None, "corp": through(proxy, service, authority, directory)["issuers"]["corp"]}, "resources": None})))
    path.chmod(0o600)
    done = subprocess.run(
        [binaries.postern(), "doctor", str(path), "--json"], capture_output=True, text=True, timeout=60)
    checks = {check["check"]: check for check in json.loads(done.stdout)["checks"]}
    assert SECRET not in done.stdout + done.stderr
    found = checks["outbound.proxy"]
    assert found["status"] == ("ok" if accepted else "failed"), checks
    if not accepted:
        assert "credentials" in found["found"] and "passwordFile" in found["cure"]
        assert "outbound.proxy" in checks["issuers.corp: discovery"]["cure"]


def test_plain_http_shows_and_is_compared_exactly(start: Start, connect: Connect) -> None:
    service = NamedService(NAME)
    proxy = ForwardProxy({f"{NAME}:80": service.port, f"{NAME}:8080": service.port})
    try:
        sidecar = start({
            "outbound": {**outbound(proxy), "plainHTTP": [service.base]}, "development": None,
            "issuers": None, "resources": {
                "orders": None, "open": {"baseUrl": service.base + "/api/", "auth": "none"}}})
        connection = connect(sidecar)
        assert fetch(connection)["status"] == 200
        assert f"outbound.plainHTTP {service.base}" in json.dumps(connection.call("getInfo"))
        assert "plainHTTP" in sidecar.log()
    finally:
        proxy.stop()
        service.stop()


@pytest.mark.parametrize("base", [f"http://{NAME}:8080/", f"http://a.{NAME}/", f"http://{OTHER}/", "http://127.0.0.1:9/"])
def test_plain_http_to_other_origins_is_a_problem_at_start(start: Start, base: str) -> None:
    with pytest.raises(StartError) as failure:
        start({
            "outbound": {"plainHTTP": [f"http://{NAME}"]}, "development": None, "issuers": None,
            "resources": {"orders": None, "open": {"baseUrl": base, "auth": "none"}}})
    assert "baseUrl" in failure.value.log
