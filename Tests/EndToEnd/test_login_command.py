"""`postern login`: a browser comes back to a port of this machine (RFC 8252)."""
from __future__ import annotations

import base64
import hashlib
import http.client
import json
import socket
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional
from urllib.parse import urlsplit

import pytest

from harness.browser import announce_login, authorize
from harness.login import Login
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually


@pytest.fixture
def sidecar(start: Callable[..., Sidecar], playground: Playground, directory: Path) -> Sidecar:
    secret = directory / "shop-secret"
    secret.write_text("shopsecret")
    secret.chmod(0o600)
    return start({"issuers": {"shop": {
        "issuer": playground.issuer, "clientId": "shop", "clientSecretFile": str(secret), "scope": "openid orders"}}})


@pytest.fixture
def login(sidecar: Sidecar) -> Iterator[Callable[..., Login]]:
    started: List[Login] = []

    def begin(*arguments: str, **options: Any) -> Login:
        started.append(Login(sidecar, *arguments, **options))
        return started[-1]

    yield begin
    for one in started:
        one.stop()


def visit(url: str, fields: Optional[Dict[str, str]] = None) -> Any:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=20)
    try:
        connection.request("GET", parts.path + (f"?{parts.query}" if parts.query else ""), headers=fields or {})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read().decode()
    finally:
        connection.close()


def test_a_user_logs_in(login: Callable[..., Login], sidecar: Sidecar, playground: Playground) -> None:
    command = login("shop", "--scope", "openid orders offline_access")
    announce_login(playground)
    callback = authorize(command.url)
    base = f"http://127.0.0.1:{urlsplit(callback).port}"
    assert visit(base + "/favicon.ico")[0] == 404
    assert visit(base + "/callback2")[0] == 404
    status, headers, page = visit(callback)
    assert status == 200 and "<h1>You are signed in</h1>" in page and "code=" not in page
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert headers["Content-Security-Policy"].startswith(f"default-src 'none'; style-src 'sha256-{digest}'; ")
    assert headers["Cache-Control"] == "no-store" and headers["Referrer-Policy"] == "no-referrer"
    done = command.end()
    assert done.returncode == 0, done
    session = json.loads(done.stdout)
    assert session["subject"] == "user-1001" and session["scope"] == "openid orders offline_access"
    with sidecar.connect() as connection:
        assert connection.call("getSession", {"session": session["session"]}) == session


def test_a_login_that_fails_is_told(login: Callable[..., Login], playground: Playground) -> None:
    command = login("shop")
    playground.faults(authorization={"kind": "denyAccess", "times": 1})
    status, _, page = visit(authorize(command.url))
    assert status == 400 and "<h1>You are not signed in</h1>" in page
    done = command.end()
    assert done.returncode == 1 and json.loads(done.stdout)["code"] == 5005
    nobody = login("nobody").end()
    assert nobody.returncode == 1 and json.loads(nobody.stdout)["code"] == 5009


def test_nobody_comes_back(login: Callable[..., Login]) -> None:
    done = login("shop", "--wait", "1").end()
    assert done.returncode == 2 and "nobody came back" in done.stderr


def test_a_busy_port_is_told(login: Callable[..., Login], playground: Playground) -> None:
    done = login("shop", "--port", str(playground.port)).end()
    assert done.returncode == 2 and "cannot listen" in done.stderr


@pytest.mark.parametrize("query", ["code=abc&state=" + "A" * 43, "state=a&state=b", "code=%zz"])
def test_a_callback_of_another_page_does_not_end_the_login(
    login: Callable[..., Login], playground: Playground, query: str
) -> None:
    command = login("shop")
    announce_login(playground)
    callback = authorize(command.url)
    foreign = callback.partition("?")[0] + "?" + query
    status, _, page = visit(foreign)
    assert status == 400 and "<h1>Not the login that is waiting</h1>" in page
    assert visit(callback)[0] == 200
    done = command.end()
    assert done.returncode == 0 and "still waiting" in done.stderr and foreign not in done.stderr


def test_connections_that_say_nothing_keep_nobody_waiting(login: Callable[..., Login], playground: Playground) -> None:
    command = login("shop")
    announce_login(playground)
    callback = authorize(command.url)
    port = urlsplit(callback).port
    assert port is not None
    silent = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(40)]
    try:
        for connection, bytes_sent in zip(silent[20:], [b"GET /callback?code=a", b"\r\n\r\n", b"x" * 70_000, b"POST / HTTP/1.1\r\n\r\n"]):
            connection.sendall(bytes_sent)
        # Cookies of other programs on this machine come along: they know no ports.
        begun = time.monotonic()
        assert visit(callback, {"Cookie": "a=" + "b" * 30_000})[0] == 200
        assert time.monotonic() - begun < 4
    finally:
        for connection in silent:
            connection.close()
    assert command.end().returncode == 0


def test_the_browser_is_opened_with_the_address_as_one_word(
    login: Callable[..., Login], playground: Playground, directory: Path
) -> None:
    programs = directory / "programs"
    programs.mkdir()
    (programs / "xdg-open").write_text(f'#!/bin/sh\nprintf "%s\\n" "$#" "$1" >"{directory}/opened.new"\n'
                                       f'mv "{directory}/opened.new" "{directory}/opened"\n')
    (programs / "xdg-open").chmod(0o755)
    command = login("shop", browser=str(programs))
    opened = eventually(lambda: (directory / "opened").exists() and (directory / "opened").read_text())
    assert opened == f"1\n{command.url}\n"
    announce_login(playground)
    assert visit(authorize(command.url))[0] == 200
    assert command.end().returncode == 0
