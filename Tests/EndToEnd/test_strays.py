"""Bytes that came before a request was sent are nobody's answer, whoever asks whom. libcurl 7.88 takes up a connection
on which they wait: one stray answer, and every later caller got the one before it, another user's data and tokens
among them."""
from __future__ import annotations

import base64
import json
import os
import random
import ssl
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional
from urllib.parse import parse_qs

import pytest

from harness.certificates import Authority
from harness.connection import Connection
from harness.issuer import IssuerDouble, document
from harness.sidecar import Sidecar
from harness.signing import SigningKey
from harness.strays import Request, Stray, StrayServer, response
from harness.users import as_user

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]

STRAYS = {
    "second answer": Stray(response({"stray": True})),
    "half an answer": Stray(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"),
    "one byte": Stray(b"\n"),
    "garbage": Stray(b"\x01\x02\x03 nothing of HTTP"),
    "408 and the end": Stray(response({"error": "timeout"}, "408 Request Timeout"), closes=True),
}
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs other uids")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("strays"))
    made.issue("server", "subjectAltName=IP:127.0.0.1")
    return made


@pytest.fixture(scope="module")
def context(authority: Authority) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(authority.certificate("server"), authority.key("server"))
    return made


@pytest.fixture
def serve(context: ssl.SSLContext) -> Iterator[Callable[..., StrayServer]]:
    started: List[StrayServer] = []

    def serve(scheme: str = "http", **options: Any) -> StrayServer:
        started.append(StrayServer(context=context if scheme == "https" else None, **options))
        return started[-1]

    yield serve
    for server in started:
        server.stop()


def resource(server: StrayServer, authority: Authority, **members: Any) -> Dict[str, Any]:
    return {"baseUrl": server.base + "/", "auth": "none", "tls": {"caFile": authority.file}, **members}


def fetch(connection: Connection, path: str, method: str = "GET", name: str = "r") -> Any:
    params: Dict[str, Any] = {"resource": name, "path": path, "method": method}
    if method != "GET":
        params["body"] = "payload of " + path
    result = connection.call("fetchResource", params)
    assert result["status"] == 200, result
    return json.loads(result["body"] if "body" in result else base64.b64decode(result["bodyBase64"]))


def discarded(connection: Connection) -> int:
    text = connection.call("metrics")["text"]
    line = next(l for l in text.splitlines() if l.startswith("postern_upstream_connections_discarded_total "))
    return int(float(line.split()[1]))


@pytest.mark.parametrize("kind", STRAYS)
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_what_waits_on_an_idle_connection_answers_nothing(
    start: Start, connect: Connect, serve: Callable[..., StrayServer], authority: Authority, scheme: str, method: str,
    kind: str,
) -> None:
    server = serve(scheme, stray=lambda request, _: STRAYS[kind] if request.path == "/first" else None)
    connection = connect(start({"resources": {"r": resource(server, authority)}}))
    # libcurl must not see it together with the answer, and close the connection by itself.
    server.may_stray.clear()
    assert fetch(connection, "first")["path"] == "/first"
    server.may_stray.set()
    server.awaits("/first")
    for path in ["/second", "/third"]:
        answer = fetch(connection, path[1:], method)
        assert answer["path"] == path and answer["method"] == method
        assert answer["body"] == ("" if method == "GET" else "payload of " + path[1:])
    # Each was sent once, and the connection with the stray was not used again.
    assert [request.path for request in server.requests] == ["/first", "/second", "/third"]
    assert [request.connection for request in server.requests] == [0, 1, 1]
    assert discarded(connection) == 1


@needs_root
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_no_user_gets_anothers_answer_or_connection(
    start: Start, serve: Callable[..., StrayServer], authority: Authority, directory: Path, scheme: str
) -> None:
    directory.chmod(0o755)
    server = serve(scheme, stray=lambda request, answer: Stray(answer) if "stray" in request.path else None)
    sidecar = start({
        "resources": {"r": resource(server, authority)},
        "listen": {"path": str(directory / "shared.sock"), "mode": "0666"},
        "peers": [{"uid": uid, "methods": ["*"]} for uid in (0, 1001, 1002)],
    })

    def work(uid: int, number: int) -> Callable[[], Any]:
        def run() -> Any:
            with sidecar.connect() as connection:
                return [fetch(connection, f"{uid}/{number}/{kind}", "POST")["path"] for kind in ("plain", "stray")]

        return run

    for number in range(4):
        for uid in (1001, 1002):
            assert as_user(uid, work(uid, number)) == [f"/{uid}/{number}/plain", f"/{uid}/{number}/stray"]
            server.awaits(f"/{uid}/{number}/stray")
    users: Dict[int, set] = {}
    for request in server.requests:
        users.setdefault(request.connection, set()).add(request.path.split("/")[1])
    assert all(len(uids) == 1 for uids in users.values()), "a connection served two users"
    assert len(server.requests) == 16


def test_token_endpoints_see_each_connection_once(
    start: Start, connect: Connect, serve: Callable[..., StrayServer], directory: Path
) -> None:
    def answer(request: Request) -> bytes:
        if request.path == "/token":
            scope = parse_qs(request.body.decode())["scope"][0]
            return response({"access_token": "token-" + scope, "token_type": "Bearer", "expires_in": 3600})
        return response({"authorization": request.headers.get("authorization")})

    # After every answer it comes a second time.
    server = serve(answer=answer, stray=lambda _, answer: Stray(answer))
    secret = directory / "secret"
    secret.write_text("verysecret")
    secret.chmod(0o600)
    names = ["a", "b", "c", "d"]
    connection = connect(start({
        "issuers": {"corp": {
            "issuer": server.base, "clientId": "shop", "clientAuth": "client_secret_basic",
            "clientSecretFile": str(secret), "endpoints": {"token": server.base + "/token"}}},
        "resources": {name: {
            "baseUrl": f"{server.base}/{name}/", "auth": "clientCredentials", "issuer": "corp", "scope": name} for name in names},
    }))
    for name in names:
        assert fetch(connection, "x", name=name) == {"authorization": "Bearer token-" + name}
        server.awaits(f"/{name}/x")
    asked = [request.connection for request in server.requests if request.path == "/token"]
    others = [request.connection for request in server.requests if request.path != "/token"]
    assert len(asked) == 4 and len(set(asked)) == 4 and not set(asked) & set(others)


def test_metadata_keys_and_introspection_are_their_own_answers(
    start: Start, connect: Connect, serve: Callable[..., StrayServer], directory: Path, rsa: SigningKey
) -> None:
    def answer(request: Request) -> bytes:
        base = server.base
        if request.path == "/.well-known/openid-configuration":
            return response({
                "issuer": base, "jwks_uri": base + "/jwks", "introspection_endpoint": base + "/introspect",
                "token_endpoint": base + "/token", "authorization_endpoint": base + "/authorize",
                "response_types_supported": ["code"], "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"]})
        if request.path == "/jwks":
            return response(rsa.jwks())
        if request.path == "/introspect":
            token = parse_qs(request.body.decode())["token"][0]
            return response({"active": True, "sub": "user of " + token, "iss": base, "exp": int(time.time()) + 60})
        return response({}, "404 Not Found")

    server = serve(answer=answer, stray=lambda _, answer: Stray(answer))
    secret = directory / "secret"
    secret.write_text("verysecret")
    secret.chmod(0o600)
    connection = connect(start({
        "issuers": {"corp": {
            "issuer": server.base, "clientId": "shop", "clientAuth": "client_secret_basic",
            "clientSecretFile": str(secret), "jwks": {"cooldown": "0s"}}},
        "resources": {},
    }))
    now = int(time.time())
    for number in range(3):
        claims = {"iss": server.base, "sub": "alice", "aud": "shop", "iat": now, "exp": now + 60}
        # An unknown key has the set fetched again.
        unknown = rsa.sign(claims, kid=f"unknown-{number}")
        refused = connection.call("validateIdToken", {"idToken": unknown, "issuer": "corp"})
        assert refused["valid"] is False and refused["error"]["code"] == "key_not_found", refused
        verdict = connection.call("validateIdToken", {"idToken": rsa.sign(claims), "issuer": "corp"})
        assert verdict["valid"] is True, verdict
        result = connection.call("introspectToken", {"token": f"token-{number}", "issuer": "corp"})
        assert result["claims"]["sub"] == f"user of token-{number}", result
    # However late the second answer comes, no other question's answer can be expected where it arrives.
    used = [request.connection for request in server.requests]
    assert len(set(used)) == len(used)


@needs_root
def test_decisions_are_their_own_answers(start: Start, serve: Callable[..., StrayServer], directory: Path) -> None:
    directory.chmod(0o755)

    def answer(request: Request) -> bytes:
        if request.method == "GET":
            return response({})
        asked = json.loads(request.body)["input"]
        allowed = asked["subject"]["id"] == "alice"
        return response({"result": {item["id"]: allowed for item in asked["resources"]}})

    server = serve(answer=answer, stray=lambda _, answer: Stray(answer))
    sidecar = start({
        "preauthorization": {"tv": {"kind": "opa", "baseUrl": server.base, "path": "tv"}},
        "listen": {"path": str(directory / "shared.sock"), "mode": "0666"},
        "peers": [{"uid": uid, "methods": ["*"]} for uid in (0, 1001, 1002)],
    })

    def work(subject: str, name: str) -> Callable[[], Any]:
        def run() -> Any:
            with sidecar.connect() as connection:
                result = connection.call("preauthorize", {"resources": [name], "context": {"subject": subject}})
                return [[decision["id"], decision["authorized"]] for decision in result["decisions"]]

        return run

    for number in range(4):
        for uid, subject in ((1001, "alice"), (1002, "mallory")):
            assert as_user(uid, work(subject, f"movie-{number}")) == [[f"movie-{number}", subject == "alice"]]
            # The second answer lies on the kept connection before the next question goes out.
            questions = [request.path for request in server.requests if request.method == "POST"]
            server.awaits(questions[-1], len(questions))


@pytest.mark.slow
@pytest.mark.parametrize("framing", ["stream"], indirect=True)
def test_ten_thousand_requests_with_strays_at_random(
    start: Start, connect: Connect, serve: Callable[..., StrayServer], authority: Authority
) -> None:
    chance = random.Random(18)
    kinds: List[Optional[Stray]] = [*STRAYS.values(), *[None] * 15]
    chosen: Dict[str, Optional[Stray]] = {}

    def stray(request: Request, _: bytes) -> Optional[Stray]:
        return chosen[request.path]

    servers = {scheme: serve(scheme, stray=stray) for scheme in ("http", "https")}
    connection = connect(start({
        "resources": {scheme: resource(server, authority) for scheme, server in servers.items()}}))
    for number in range(5000):
        for scheme, server in servers.items():
            path = f"{scheme}/{number}"
            method = chance.choice(["GET", "POST"])
            # What is sent after the next request has arrived, nobody can tell from its answer: the test waits for it.
            chosen["/" + path] = chance.choice(kinds)
            assert fetch(connection, path, method, scheme)["path"] == "/" + path
            if chosen["/" + path]:
                server.awaits("/" + path)
    assert sum(len(server.requests) for server in servers.values()) == 10_000


@pytest.mark.parametrize("kid", ["rsa-1", "unknown"])
def test_tokens_that_come_with_another_users_name_are_not_used(
    start: Start, connect: Connect, issuer: IssuerDouble, rsa: SigningKey, kid: str
) -> None:
    """Whether the ID token can be verified or not: who is named in it is not who logged in here."""
    issuer.serve_keys(rsa.jwks())
    now = int(time.time())

    def identity(sub: str, kid: str) -> str:
        claims = {"iss": issuer.base, "sub": sub, "aud": "shop", "iat": now, "exp": now + 300}
        return rsa.sign(claims, kid=kid)

    issuer.answers["/token"] = lambda _: document({
        "access_token": "of-alice", "token_type": "Bearer", "expires_in": 300, "refresh_token": "r1",
        "id_token": identity("alice", "rsa-1")})
    connection = connect(start({
        "issuers": {"corp": issuer.settings(
            clientAuth="none", endpoints={"token": issuer.base + "/token", "jwks": issuer.base + "/jwks"})},
        "resources": {"mine": {"baseUrl": issuer.base + "/mine/", "auth": "user", "issuer": "corp"}},
    }))
    session = connection.call(
        "createSession", {"issuer": "corp", "grant": {"type": "refresh_token", "refreshToken": "r0"}})
    assert session["subject"] == "alice", session
    issuer.answers["/token"] = lambda _: document({
        "access_token": "of-bob", "token_type": "Bearer", "expires_in": 300, "id_token": identity("bob", kid)})
    assert connection.error("refreshSession", {"session": session["session"]})["code"] == 5002
    connection.error("fetchResource", {"resource": "mine", "path": "x", "session": session["session"]})
    sent = [asked.headers.get("authorization") for asked in issuer.asked if asked.path.startswith("/mine")]
    assert not any("of-bob" in (value or "") for value in sent)
