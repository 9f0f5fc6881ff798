"""A switch of the log, the audit log or the traces changes no answer: every route of the gateway, the paths of the status
listener and every method answer as with the defaults."""
from __future__ import annotations

import json
import re
import socket
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest

from harness.collector import Collector
from harness.connection import Connection
from harness.fronts import Answer, await_socket, direct, exchange
from harness.issuer import IssuerDouble
from harness.playground import Playground
from harness.ports import free_port
from harness.protected import AUDIENCE, Issuer
from harness.protected import settings as protected
from harness.sidecar import Sidecar
from harness.signing import SigningKey

Start = Callable[..., Sidecar]
Answers = Dict[str, Any]

EVENT = "http://schemas.openid.net/event/backchannel-logout"
SWITCHES: Dict[str, Dict[str, Any]] = {
    **{f"level {level}": {"log": {"level": level}} for level in ("trace", "notice", "critical")},
    "text": {"log": {"format": "text"}},
    "access": {"log": {"access": True}},
    "access without a line": {"log": {"access": True, "level": "error"}},
    "access in text, at debug": {"log": {"access": True, "level": "debug", "format": "text"}},
    "audit": {"audit": {"path": "AUDIT"}},
    "audit without subjects": {"audit": {"path": "AUDIT", "subjects": "none", "failClosed": False}},
    "traces": {"telemetry": {"otlp": {"endpoint": "COLLECTOR"}}},
    "few traces": {"telemetry": {"otlp": {"endpoint": "COLLECTOR", "sampleRatio": 0.001}}},
    "all": {
        "log": {"access": True, "level": "debug"}, "audit": {"path": "AUDIT"},
        "telemetry": {"otlp": {"endpoint": "COLLECTOR"}}},
}
#: What a switch adds to `health` and `explainCall` is about the switch itself.
OWN = {"audit", "telemetry"}
#: Times and numbers of this process.
PASSING = {
    "traceId", "time", "uptimeMs", "uptimeSeconds", "startedAt", "pid", "createdAt", "expiresAt", "accessTokenExpiresAt", "ms",
    "elapsedMs", "timing", "iat", "exp", "now", "date", "text", "expiresInMs", "lastRefreshedAt", "connection", "jti", "ageMs", "task", "p95Ms", "cursor",
}


def normal(value: Any, name: str = "") -> Any:
    """The same for two answers that differ in times, traces and random names only."""
    if name in PASSING:
        return type(value).__name__
    if isinstance(value, dict):
        return {key: normal(member, key) for key, member in sorted(value.items()) if not (name == "checks" and key in OWN)}
    if isinstance(value, list):
        return [normal(member) for member in value if not (isinstance(member, dict) and member.get("step") in OWN)]
    if isinstance(value, str):
        if value.startswith('{"'):  # what a server saw, whose fields have no order
            return normal(json.loads(value))
        text = re.sub(r"00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]", "<trace>", value)
        text = re.sub(r"(?<![\w-])([\w-]{22}|[\w-]{43})(?![\w-])", "<handle>", text)
        text = re.sub(r"\.e-[0-9a-f]{12}|\d{10,}", "<number>", text)
        text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "<time>", text)
        text = re.sub(r"ep_[\w-]+", "<endpoint>", text)
        text = re.sub(r"sidecar-\d+|/[\w-]{1,64}\.sock(\.http)?", "<path>", text)
        return text
    return value


def body(content: bytes) -> Any:
    try:
        return normal(json.loads(content))
    except ValueError:
        return normal(content.decode("latin-1"))


def http(answer: Answer) -> Any:
    """Status, fields and body."""
    fields = sorted((name.lower(), normal(value, name.lower())) for name, value in answer.fields)
    return answer.status, fields, body(answer.body)


def routes(path: str, connection: Connection, tokens: Issuer) -> Iterator[Tuple[str, Any]]:
    """The answers of every route, with good requests and bad ones."""
    def ask(target: str, method: str = "GET", **options: Any) -> Any:
        return http(direct(path, target, method, **options))

    for method in ("GET", "HEAD", "POST", "DELETE", "OPTIONS", "NONSENSE"):
        yield f"fetch {method}", ask("/open/echo?a=b", method, body=b"x=1" if method == "POST" else b"")
    for target in ("/open/nothing", "/orders/orders", "/mine/orders", "/unknown/x", "/open/../x", "/open/%2e%2e/x", "/", "/open"):
        for method in ("GET", "HEAD"):
            yield f"fetch {method} {target}", ask(target, method)
    for name, value in [("Postern-Session", "x"), ("Postern-Continuation", "x"), ("Postern-On-Behalf-Of", "x"), ("Host", "a, b"),
                        ("Content-Length", "x"), ("Transfer-Encoding", "gzip"), ("Bad Name", "x"), ("Expect", "200-ok")]:
        yield f"field {name}", ask("/mine/orders", fields=[(name, value)])
    yield "too large", ask("/open/echo", fields=[("X-Long", "x" * 200_000)])
    token = tokens.bearer()
    bearers = {
        "ok": token, "none": None, "garbage": "Bearer garbage", "expired": tokens.bearer(exp=1), "audience": tokens.bearer(aud="x"),
        "scope": tokens.bearer(scope="x"), "odd": tokens.bearer(sub={"a": 1}), "twice": f"{token}, {token}"}
    for name, bearer in bearers.items():
        for method in ("GET", "HEAD", "POST"):
            yield f"verdict {name} {method}", ask("/.postern/auth/orders", method, token=bearer)
    yield "verdict contradicting", ask(
        "/.postern/auth/orders", token=token,
        fields=[("X-Original-Method", "GET"), ("X-Original-URI", "/a"), ("X-Forwarded-Method", "GET"), ("X-Forwarded-Uri", "/b")])
    for target in ("auth/unknown", "auth", "auth/", "nothing", "", "backchannel-logout", "backchannel-logout/unknown"):
        for method in ("GET", "HEAD", "POST"):
            yield f"reserved {target} {method}", ask(f"/.postern/{target}", method, token=token)
    now = int(time.time())
    claims = {"aud": "api", "events": {EVENT: {}}, "exp": now + 100, "iat": now, "iss": tokens.double.base, "sub": "alice"}
    form = [("Content-Type", "application/x-www-form-urlencoded")]
    used = tokens.key.sign({**claims, "jti": str(time.monotonic_ns())}, typ="logout+jwt")
    logout = {"ok": used, "used": used, "garbage": "x", "audience": tokens.key.sign({**claims, "aud": "x", "jti": "a"}, typ="logout+jwt")}
    for name, value in logout.items():
        yield f"logout {name}", ask(
            "/.postern/backchannel-logout/corp", "POST", fields=form, body=f"logout_token={value}&x=%zz".encode())
    yield "logout without a form", ask("/.postern/backchannel-logout/corp", "POST", body=b"x")
    yield "logout GET", ask("/.postern/backchannel-logout/corp")
    made = connection.call("createEndpoint", {"http": True, "resources": ["open"]})
    for target in ("/open/echo", "/orders/orders", "/.postern/auth/orders"):
        for method in ("GET", "HEAD"):
            answer = direct(made["http"]["path"], target, method)
            yield f"endpoint {method} {target}", http(answer)
    connection.call("revokeEndpoint", {"endpoint": made["endpoint"]})


def status_listener(port: int) -> Iterator[Tuple[str, Any]]:
    for target in ("/healthz", "/readyz", "/readyz?verbose", "/metrics", "/nothing"):
        for method in ("GET", "HEAD", "POST"):
            with socket.create_connection(("127.0.0.1", port), 20) as connection:
                answer = exchange(connection, method, target, f"127.0.0.1:{port}")
            if target == "/metrics":  # the numbers pass, the families stay
                answer = answer._replace(body=b"", fields=[field for field in answer.fields if field[0].lower() != "content-length"])
            if target.startswith("/readyz"):
                answer = answer._replace(fields=[field for field in answer.fields if field[0].lower() != "content-length"])
            yield f"status {method} {target}", http(answer)


def calls(connection: Connection, tokens: Issuer, rsa: SigningKey) -> Iterator[Tuple[str, Any]]:
    """Every method with no params and with wrong ones, and those that need no other server with good ones."""
    def call(method: str, params: Any = None) -> Any:
        identifier = connection.request(method, params)
        answer = connection.answer_to(identifier)
        return normal(answer.get("result", answer.get("error")))

    methods = [method["name"] for method in connection.call("rpc.discover")["methods"]]
    assert len(methods) > 40
    for method in methods:
        if method not in ("$/cancelRequest", "reloadConfig", "narrow"):
            yield f"{method} without params", call(method, {})
            yield f"{method} with another member", call(method, {"noSuchMember": 1})
    jwks, now = rsa.jwks(), int(time.time())
    pieces = {"expectedIssuer": tokens.double.base, "jwks": jwks}
    access, opaque = tokens.token(), "x" * 20
    identity = rsa.sign({"iss": tokens.double.base, "aud": "api", "sub": "alice", "iat": now, "exp": now + 100})
    logout = rsa.sign(
        {"iss": tokens.double.base, "aud": "api", "events": {EVENT: {}}, "exp": now + 100, "iat": now, "jti": str(now), "sub": "a"},
        typ="logout+jwt")
    request = {"method": "GET", "url": f"{AUDIENCE}/x", "headers": {"Authorization": f"Bearer {access}"}, "audience": AUDIENCE}
    for name, method, params in [
        ("pieces", "validateIdToken", {**pieces, "idToken": identity, "clientId": "api"}),
        ("issuer", "validateIdToken", {"issuer": "corp", "idToken": identity}),
        ("wrong", "validateIdToken", {**pieces, "idToken": access, "clientId": "api"}),
        ("pieces", "validateAccessToken", {**pieces, "accessToken": access, "audience": AUDIENCE}),
        ("wrong", "validateAccessToken", {**pieces, "accessToken": access, "audience": "x"}),
        ("pieces", "validateRequest", {**pieces, **request}), ("issuer", "validateRequest", {"issuer": "corp", **request}),
        ("wrong", "validateRequest", {"issuer": "corp", **request, "audience": "x"}),
        ("pieces", "validateLogoutToken", {**pieces, "logoutToken": logout, "clientId": "api"}),
        ("end", "validateLogoutToken", {"issuer": "corp", "logoutToken": logout, "end": True}),
        ("used", "validateLogoutToken", {"issuer": "corp", "logoutToken": logout, "end": True}),
        ("good", "verifyJws", {"jws": access, "jwks": jwks}), ("bad", "verifyJws", {"jws": access[:-4] + "AAAA", "jwks": jwks}),
        ("inactive", "introspectToken", {"issuer": "corp", "token": opaque}),
        ("none", "parseAdvice", {"response": {"status": 401, "headers": {}, "body": ""}}),
        ("open", "fetchResource", {"resource": "open", "path": "echo"}), ("client", "fetchResource", {"resource": "orders", "path": "orders"}),
        ("unknown", "fetchResource", {"resource": "unknown", "path": "echo"}), ("path", "fetchResource", {"resource": "open", "path": "../x"}),
        ("large", "fetchResource", {"resource": "open", "path": "echo", "method": "POST", "body": "x" * 300_000}),
        ("open", "explainCall", {"method": "fetchResource", "params": {"resource": "open", "path": "echo"}}),
        ("tasks", "listTasks", {"limit": 1000}), ("user", "getAccessToken", {"resource": "mine"}),
    ]:
        yield f"{method} {name}", call(method, params)
    session = connection.call("createSession", {
        "issuer": "corp", "grant": {"type": "tokens", "accessToken": "given", "expiresIn": 600}})["session"]
    for method, params in [
        ("getSession", {"session": session}), ("listSessions", {}), ("refreshSession", {"session": session}),
        ("endSession", {"session": session}), ("getSession", {"session": session}), ("subscribe", {"events": ["event.sessionEnded"]}),
        ("unsubscribe", {"events": ["event.sessionEnded"]}), ("createEndpoint", {"methods": ["getInfo"]}), ("listEndpoints", {}),
    ]:
        yield f"{method} of a session or an endpoint", call(method, params)
    batch = [{"jsonrpc": "2.0", "id": number, "method": method} for number, method in enumerate(("getInfo", "listTasks", "nothing"))]
    connection.send(batch)
    yield "a batch", normal(sorted(connection.receive(), key=lambda answer: answer["id"]))
    connection.send_text("{]")
    yield "no JSON", normal(connection.receive())


def answers(sidecar: Sidecar, path: str, port: int, tokens: Issuer, rsa: SigningKey) -> Answers:
    """Each answer once; what a list has in it depends on what came before, which is the same each time."""
    await_socket(path)
    with sidecar.connect() as connection:
        found = list(routes(path, connection, tokens))
        found += calls(connection, tokens, rsa)
        found += status_listener(port)
    assert len({name for name, _ in found}) > 200
    return {f"{number} {name}": answer for number, (name, answer) in enumerate(found)}


def test_no_switch_changes_an_answer(
    start: Start, issuer: IssuerDouble, rsa: SigningKey, playground: Playground, directory: Path
) -> None:
    path, tokens, collector = str(directory / "http.sock"), Issuer(issuer, rsa), Collector()
    issuer.answers["/introspect"] = lambda _: (200, {"Content-Type": "application/json"}, b'{"active":false}')
    base = protected(issuer, path, origin=AUDIENCE)
    base["issuers"]["corp"]["clientSecret"] = "secret"
    port = free_port()  # at most levels the log does not have it
    base["http"] = {"listen": f"127.0.0.1:{port}"}
    base["resources"] = {"mine": {"baseUrl": playground.base + "/resource/", "issuer": "corp", "auth": "user"}}
    expected: Answers = {}
    for name, switch in {"defaults": {}, **SWITCHES}.items():
        text = json.dumps(switch).replace("AUDIT", str(directory / f"{name}.audit")).replace("COLLECTOR", collector.url)
        switch = json.loads(text)
        sidecar = start({**base, **switch})
        try:
            found = answers(sidecar, path, port, tokens, rsa)
        finally:
            sidecar.stop()
        expected = expected or found
        assert found.keys() == expected.keys()
        different = {key: (expected[key], found[key]) for key in expected if expected[key] != found[key]}
        assert not different, f"with {name}: {json.dumps(different, indent=1)[:3000]}"
    collector.stop()
    assert collector.spans
