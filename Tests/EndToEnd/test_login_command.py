"""`postern login`: a browser comes back to a port of this machine (RFC 8252)."""
from __future__ import annotations

import http.client
import json
import re
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List
from urllib.parse import urlsplit

import pytest

from harness import binaries
from harness.browser import announce_login, authorize
from harness.playground import Playground
from harness.sidecar import Sidecar


@pytest.fixture
def sidecar(start: Callable[..., Sidecar], playground: Playground, directory: Path) -> Sidecar:
    secret = directory / "shop-secret"
    secret.write_text("shopsecret")
    secret.chmod(0o600)
    return start({"issuers": {"shop": {
        "issuer": playground.issuer, "clientId": "shop", "clientSecretFile": str(secret), "scope": "openid orders"}}})


class Login:
    """The command, up to the address it prints."""

    def __init__(self, sidecar: Sidecar, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [binaries.postern(), "login", "--no-browser", "--socket", sidecar.path, *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.line = self.process.stderr.readline()
        found = re.search(r"open (http\S+)", self.line)
        self.url = found.group(1) if found else ""

    def end(self) -> "subprocess.CompletedProcess[str]":
        output, errors = self.process.communicate(timeout=20)
        return subprocess.CompletedProcess(self.process.args, self.process.returncode, output, self.line + errors)


@pytest.fixture
def login(sidecar: Sidecar) -> Iterator[Callable[..., Login]]:
    started: List[Login] = []

    def begin(*arguments: str) -> Login:
        started.append(Login(sidecar, *arguments))
        return started[-1]

    yield begin
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait(10)


def visit(url: str) -> Any:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=5)
    try:
        connection.request("GET", parts.path + (f"?{parts.query}" if parts.query else ""))
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
    assert status == 200 and "<h1>Back to the terminal</h1>" in page and "code=" not in page
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
    visit(authorize(command.url))
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
