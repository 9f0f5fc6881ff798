"""`postern login`: a browser comes back to a port of this machine (RFC 8252)."""
from __future__ import annotations

import base64
import hashlib
import http.client
import json
import socket
import struct
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional
from urllib.parse import parse_qs, urlsplit

import pytest

from harness.browser import announce_login, authorize
from harness.login import Login
from harness.playground import Playground
from harness.ports import free_port
from harness.sidecar import Sidecar
from harness.users import BOB, acting_as, as_user, needs_root
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


@pytest.fixture
def port() -> int:
    return free_port()


def error_of(done: Any) -> Dict[str, Any]:
    """The sidecar's error, after the command's own lines on standard error; nothing of it is on standard output."""
    assert done.stdout == "", done
    found: Dict[str, Any] = json.loads(done.stderr.splitlines()[-1])
    return found


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
    assert done.returncode == 1 and error_of(done)["code"] == 5005
    nobody = login("nobody").end()
    assert nobody.returncode == 1 and error_of(nobody)["code"] == 5009


def test_nobody_comes_back(login: Callable[..., Login]) -> None:
    done = login("shop", "--wait", "1").end()
    assert done.returncode == 2 and "did not come back in time" in done.stderr


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


@needs_root
def test_a_callback_of_another_user_of_the_machine_does_not_end_the_login(
    login: Callable[..., Login], playground: Playground
) -> None:
    """The address is in the browser's argument list: who reads it there logs in as himself, and comes back first."""
    command = login("shop")
    announce_login(playground)
    callback = authorize(command.url)
    for _ in range(2):
        status, _, page = as_user(BOB, lambda: visit(callback))
        assert status == 400 and "<h1>Not the login that is waiting</h1>" in page
    # Who has closed his end cannot be told from root.
    parts = urlsplit(callback)
    with acting_as(BOB):
        gone = socket.create_connection(("127.0.0.1", parts.port))
    gone.sendall(f"GET {parts.path}?{parts.query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    gone.close()
    time.sleep(0.2)
    assert command.process.poll() is None
    # A connection that was reset has no address any more, and its request can still be read.
    with acting_as(BOB):
        reset = socket.create_connection(("127.0.0.1", parts.port))
    reset.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    reset.sendall(f"GET {parts.path}?{parts.query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    reset.close()
    time.sleep(0.2)
    assert command.process.poll() is None
    assert visit(callback)[0] == 200
    done = command.end()
    assert done.returncode == 0 and done.stderr.count("another user of this machine") == 1


@needs_root
def test_a_connection_from_the_same_port_of_another_address_is_somebody_elses(
    login: Callable[..., Login], playground: Playground
) -> None:
    """Who looks for the port alone takes a connection of the user's own for the one that another user has made."""
    command = login("shop")
    announce_login(playground)
    callback = authorize(command.url)
    parts = urlsplit(callback)

    def connect(address: str, source: int) -> socket.socket:
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, source))
        made.settimeout(20)
        made.connect(("127.0.0.1", parts.port))
        return made

    # The order of the system's table is anybody's guess: with twelve beside it the foreign one is rarely first, and
    # hardly ever three times.
    for _ in range(3):
        own = [connect("127.0.0.3", 0)]
        source = own[0].getsockname()[1]
        own += [connect(f"127.0.0.{last}", source) for last in range(4, 15)]
        try:
            with acting_as(BOB), connect("127.0.0.2", source) as foreign:
                foreign.sendall(f"GET {parts.path}?{parts.query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                assert foreign.recv(65536).startswith(b"HTTP/1.1 400 ")
        finally:
            for connection in own:
                connection.close()
    assert visit(callback)[0] == 200
    assert command.end().returncode == 0


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


def test_the_same_port_works_again_at_once(login: Callable[..., Login], playground: Playground, port: int) -> None:
    """The end of a login leaves its connection in TIME_WAIT on that port, for a minute."""
    for _ in range(3):
        command = login("shop", "--port", str(port))
        announce_login(playground)
        callback = authorize(command.url)
        assert urlsplit(callback).port == port
        assert visit(callback)[0] == 200
        done = command.end()
        assert done.returncode == 0, done


def test_a_user_logs_in_at_the_issuers_redirect_uri(
    sidecar: Sidecar, login: Callable[..., Login], playground: Playground, port: int
) -> None:
    """Twice: the configuration names one port for all logins."""
    configure(sidecar, f"http://127.0.0.1:{port}/callback")
    for _ in range(2):
        command = login("shop")
        announce_login(playground)
        callback = authorize(command.url)
        assert callback.startswith(f"http://127.0.0.1:{port}/callback?")
        assert visit(callback)[0] == 200
        done = command.end()
        assert done.returncode == 0 and json.loads(done.stdout)["subject"] == "user-1001", done


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.5", "[::1]"])
def test_a_loopback_redirect_uri_is_listened_at(
    sidecar: Sidecar, login: Callable[..., Login], playground: Playground, host: str, port: int
) -> None:
    # Without the endpoint the request would be pushed, to an issuer that knows none of these addresses.
    configure(sidecar, f"http://{host}:{port}/signed/in", authorization=playground.issuer + "/authorize")
    command = login("shop")
    assert redirect(command.url) == f"http://{host}:{port}/signed/in"
    assert fetch_page(host, port, "/callback")[0] == 404
    state = parse_qs(urlsplit(command.url).query)["state"][0]
    status, page = fetch_page(host, port, f"/signed/in?error=access_denied&state={state}")
    assert status == 400 and "<h1>You are not signed in</h1>" in page
    done = command.end()
    assert done.returncode == 1 and error_of(done)["code"] == 5005


@pytest.mark.parametrize("configured, target", [
    ("http://127.0.0.1:{}", "/?"), ("http://LocalHost:{}/Signed", "/Signed?"), ("http://127.0.0.1:{}/%73igned", "/signed?"),
    ("http://127.0.0.1:{}/cb?tenant=a%20b", "/cb?tenant=a+b&x=%zz&x=1&")])
def test_a_callback_in_the_browsers_spelling_ends_the_login(
    sidecar: Sidecar, login: Callable[..., Login], port: int, configured: str, target: str, playground: Playground
) -> None:
    """The issuer gets the redirect URI as it is configured: it compares the characters."""
    configure(sidecar, configured.format(port), authorization=playground.issuer + "/authorize")
    command = login("shop")
    assert redirect(command.url) == configured.format(port)
    state = parse_qs(urlsplit(command.url).query)["state"][0]
    path = target.partition("?")[0]
    for other in (path + "x", path.swapcase() + "y", "/" + path, path.rstrip("/") + "/.%2e/x", "//127.0.0.1:%d%s" % (port, path)):
        assert fetch_page("127.0.0.1", port, f"{other}?error=access_denied&state={state}")[0] == 404, other
    status, page = fetch_page("127.0.0.1", port, f"{target}error=access_denied&state={state}")
    assert status == 400 and "<h1>You are not signed in</h1>" in page
    done = command.end()
    assert done.returncode == 1 and error_of(done)["code"] == 5005


def test_a_port_takes_precedence_over_the_issuers_redirect_uri(
    sidecar: Sidecar, login: Callable[..., Login], playground: Playground, port: int
) -> None:
    configure(sidecar, "http://127.0.0.1:1/signed/in", authorization=playground.issuer + "/authorize")
    assert redirect(login("shop", "--port", str(port)).url) == f"http://127.0.0.1:{port}/callback"


@pytest.mark.parametrize("configured, path", [
    ("http://127.0.0.1/signed/in", "/signed/in"), ("https://shop.example/callback", "/callback")])
def test_a_redirect_uri_without_a_port_or_elsewhere_leaves_the_port_open(
    sidecar: Sidecar, login: Callable[..., Login], playground: Playground, configured: str, path: str
) -> None:
    configure(sidecar, configured, authorization=playground.issuer + "/authorize")
    found = urlsplit(redirect(login("shop").url))
    assert found.hostname == "127.0.0.1" and found.path == path and (found.port or 0) > 1024


def configure(sidecar: Sidecar, redirect_uri: str, **endpoints: str) -> None:
    configuration = json.loads(sidecar.configuration_path.read_text())
    configuration["issuers"]["shop"].update(redirectUri=redirect_uri, endpoints=endpoints)
    sidecar.write(configuration)
    with sidecar.connect() as connection:
        assert connection.call("reloadConfig")["changed"] == ["issuers"]


def redirect(url: str) -> str:
    return parse_qs(urlsplit(url).query)["redirect_uri"][0]


def fetch_page(host: str, port: int, target: str) -> Any:
    connection = http.client.HTTPConnection(host.strip("[]"), port, timeout=20)
    try:
        connection.request("GET", target)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()
