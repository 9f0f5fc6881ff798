"""`store:` as operators set it: a new key for a store in use, and the ways to a Redis server."""
from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Tuple

import pytest

from harness import expect
from harness.binaries import postern
from harness.connection import Connection
from harness.issuer import IssuerDouble
from harness.ports import free_port
from harness.sidecar import Sidecar
from harness.waiting import eventually

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]


def secret_file(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o600)
    return str(path)


@pytest.fixture
def issuer() -> Iterator[IssuerDouble]:
    double = IssuerDouble()
    yield double
    double.stop()


def settings(issuer: IssuerDouble, store: Dict[str, Any]) -> Dict[str, Any]:
    return {"issuers": {"double": issuer.settings()}, "tokens": {"leaveTheSidecar": True}, "store": store}


def make(connection: Connection) -> str:
    grant = {"type": "tokens", "accessToken": "opaque", "expiresIn": 3600}
    return connection.call("createSession", {"issuer": "double", "grant": grant})["session"]


def token(connection: Connection, session: str) -> str:
    return connection.call("getAccessToken", {"issuer": "double", "session": session})["accessToken"]


def test_a_store_in_use_gets_a_new_key(
    start: Start, connect: Connect, issuer: IssuerDouble, directory: Path
) -> None:
    """Catches a rotation that loses sessions, and one after which the old key still opens the store."""
    old, new = [secret_file(directory / name, letters * 31 + "77") for name, letters in [("old", "0a"), ("new", "b1")]]
    store = {"kind": "file", "path": str(directory / "sessions")}
    first = start(settings(issuer, {**store, "keyFile": old}))
    session = make(connect(first))
    first.stop()
    # Without the old key the store is not opened, and not taken for an empty one.
    second = start(settings(issuer, {**store, "keyFile": new}))
    expect.fault(connect(second).error("getSession", {"session": session}), 5008)
    second.stop()
    third = start(settings(issuer, {**store, "keyFile": new, "previousKeyFiles": [old]}))
    assert token(connect(third), session) == "opaque"
    third.stop()
    fourth = start(settings(issuer, {**store, "keyFile": new}))
    assert token(connect(fourth), session) == "opaque"
    fourth.stop()
    fifth = start(settings(issuer, {**store, "keyFile": old}))
    expect.fault(connect(fifth).error("getSession", {"session": session}), 5008)


def certificate(directory: Path) -> Tuple[str, str]:
    """A self-signed certificate for 127.0.0.1 and its key."""
    key, chain = directory / "redis.key", directory / "redis.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=redis", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(chain)],
        check=True, capture_output=True)
    return str(chain), str(key)


@pytest.fixture
def redis(directory: Path) -> Iterator[Dict[str, str]]:
    """A Redis server that speaks TLS on a port and plain on a socket, with a user of the sidecar's own."""
    server = shutil.which("redis-server")
    assert server, "redis-server is not installed (make deps)"
    port = free_port()
    chain, key = certificate(directory)
    path = directory / "redis.sock"
    (directory / "redis.conf").write_text(f"""
port 0
tls-port {port}
bind 127.0.0.1
unixsocket {path}
tls-cert-file {chain}
tls-key-file {key}
tls-ca-cert-file {chain}
tls-auth-clients no
save ""
dir {directory}
user default off
user postern on >pw ~* &* +@all
""")
    process = subprocess.Popen(
        [server, str(directory / "redis.conf")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually(path.exists)
        yield {"tls": f"rediss://127.0.0.1:{port}/0", "socket": f"unix://{path}?db=1", "ca": chain}
    finally:
        process.terminate()
        process.wait(10)


@pytest.mark.parametrize("way", ["tls", "socket"])
def test_a_redis_server_with_users(
    start: Start, connect: Connect, issuer: IssuerDouble, redis: Dict[str, str], directory: Path, way: str
) -> None:
    target = {
        "url": redis[way], "username": "postern", "passwordFile": secret_file(directory / "pw", "pw"),
        **({"caFile": redis["ca"]} if way == "tls" else {}),
    }
    store = {"kind": "redis", "keyFile": secret_file(directory / "key", "5c" * 31 + "d6"), "redis": target}
    first = start(settings(issuer, store))
    session = make(connect(first))
    first.stop()
    second = start(settings(issuer, store))
    assert token(connect(second), session) == "opaque"


def test_a_redis_server_that_nobody_vouches_for_gets_nothing(
    start: Start, connect: Connect, issuer: IssuerDouble, redis: Dict[str, str], directory: Path
) -> None:
    """Without `caFile` the self-signed certificate is nobody's: no password may go there."""
    target = {"url": redis["tls"], "username": "postern", "passwordFile": secret_file(directory / "pw", "pw")}
    store = {"kind": "redis", "keyFile": secret_file(directory / "key", "5c" * 31 + "d6"), "redis": target}
    error = connect(start(settings(issuer, store))).error(
        "createSession", {"issuer": "double", "grant": {"type": "tokens", "accessToken": "opaque"}})
    expect.fault(error, 5008)


@pytest.mark.parametrize("text", ["", "short", "00" * 32])
def test_a_key_that_is_none_is_refused_at_start(issuer: IssuerDouble, directory: Path, text: str) -> None:
    """Not with the first session, when the process has run for a week."""
    path = directory / "bad.yaml"
    store = {"kind": "file", "path": str(directory / "s"), "keyFile": secret_file(directory / "key", text)}
    path.write_text(json.dumps({**settings(issuer, store), "development": {"plainHTTPOnLoopback": True}}))
    for command in [["check-config"], ["serve", "--socket", str(directory / "s.sock")]]:
        run = subprocess.run(
            [postern(), *command, "--config", str(path)], capture_output=True, text=True, timeout=20)
        # EX_CONFIG: a service manager need not try again.
        assert run.returncode == (78 if command[0] == "serve" else 1) and "store.keyFile" in run.stdout + run.stderr


@pytest.mark.parametrize(
    "redis_settings",
    [{"url": "unix://relative.sock"}, {"url": "unix:///run/redis.sock?db=x"}, {"url": "http://cache"},
     {"url": "rediss://cache", "username": "postern"}, {"url": "rediss://cache", "caFile": "/missing.pem"}])
def test_settings_that_cannot_work_are_refused_at_start(
    issuer: IssuerDouble, directory: Path, redis_settings: Dict[str, str]
) -> None:
    store = {"kind": "redis", "keyFile": secret_file(directory / "key", "5c" * 31 + "d6"), "redis": redis_settings}
    path = directory / "bad.yaml"
    path.write_text(json.dumps({**settings(issuer, store), "development": {"plainHTTPOnLoopback": True}}))
    check = subprocess.run([postern(), "check-config", "--config", str(path)], capture_output=True, text=True)
    assert check.returncode == 1 and "store.redis" in check.stdout + check.stderr
