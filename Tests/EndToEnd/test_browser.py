"""A real browser, Chromium from Debian: users log in at the playground's pages and at those of a real provider.

Every page that a user sees here is kept as a picture in .build/screenshots, to be looked at after a change of one.
"""
from __future__ import annotations

import json
import shutil
import socket
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Iterator, List

import pytest

from harness import binaries, expect
from harness.adobe_application import LOGIN, Application
from harness.chromium import Chromium, Page
from harness.glewlwyd import Provider, Resource
from harness.login import Login
from harness.playground import Playground
from harness.ports import free_port
from harness.sidecar import Sidecar

pytestmark = pytest.mark.thorough

PICTURES = binaries.ROOT / ".build" / "screenshots"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    directory = Path(tempfile.mkdtemp(prefix="postern-chromium-", dir="/tmp"))
    browser = Chromium(directory)
    yield browser
    browser.stop()
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def page(chromium: Chromium) -> Iterator[Callable[..., Page]]:
    """Opens pages that share no cookies, and closes them."""
    opened: List[Page] = []

    def open_page(**options: Any) -> Page:
        opened.append(chromium.page(**options))
        return opened[-1]

    yield open_page
    for one in opened:
        one.close()


@pytest.fixture
def picture() -> Callable[[Page, str], None]:
    PICTURES.mkdir(parents=True, exist_ok=True)
    return lambda page, name: page.screenshot(PICTURES / f"{name}.png")


@pytest.fixture
def sidecar(start: Callable[..., Sidecar], playground: Playground) -> Sidecar:
    return start({
        "issuers": {"shop": {
            "issuer": playground.issuer, "clientId": "shop", "clientSecret": "shopsecret", "scope": "openid orders"}},
        "resources": {"mine": {
            "baseUrl": playground.base + "/resource/", "issuer": "shop", "auth": "user", "scope": "orders"}},
    })


@pytest.fixture
def login(sidecar: Sidecar) -> Iterator[Callable[..., Login]]:
    started: List[Login] = []

    def begin(*arguments: str) -> Login:
        started.append(Login(sidecar, *arguments))
        return started[-1]

    yield begin
    for one in started:
        one.stop()


def sign_in(page: Page, password: str = "alice-password") -> None:
    page.type("#username", "alice")
    page.type("#password", password)
    page.press("Sign in")


def test_a_user_logs_in_at_the_playground(
    login: Callable[..., Login], sidecar: Sidecar, page: Callable[..., Page], picture: Any
) -> None:
    command, user = login("shop"), page()
    assert user.open(command.url) is None
    assert "to continue to shop" in user.reads("Sign in")
    picture(user, "playground-login")
    sign_in(user, "wrong")
    user.reads("The user name or the password is wrong.")
    picture(user, "playground-login-wrong")
    assert user.evaluate("document.querySelector('#username').value") == "alice", "the name need not be typed again"
    sign_in(user)
    assert user.reads("You are signed in").strip().endswith("You can close this window and go back to the program.")
    assert user.evaluate("getComputedStyle(document.querySelector('main')).textAlign") == "center", "the page has its style"
    picture(user, "postern-done")
    done = command.end()
    assert done.returncode == 0, done
    session = json.loads(done.stdout)
    with sidecar.connect() as connection:
        assert connection.call("listSessions") == {"sessions": [session]}
        answer = connection.call("fetchResource", {"resource": "mine", "path": "orders", "session": session["session"]})
        assert answer["status"] == 200

    # The browser knows the user now: the second login asks for nothing.
    again = login("shop")
    assert user.open(again.url) is None
    user.reads("You are signed in")
    assert json.loads(again.end().stdout)["subject"] == session["subject"]


def test_a_user_who_cancels_is_told_in_both_places(
    login: Callable[..., Login], sidecar: Sidecar, page: Callable[..., Page], picture: Any
) -> None:
    command, user = login("shop"), page()
    user.open(command.url)
    user.press("Cancel")
    user.reads("You are not signed in")
    picture(user, "postern-failed")
    done = command.end()
    assert done.returncode == 1
    error = json.loads(done.stderr.splitlines()[-1])
    assert error["code"] == 5005 and error["data"]["upstream"]["code"] == "access_denied"
    with sidecar.connect() as connection:
        assert connection.call("listSessions") == {"sessions": []}


def test_nothing_else_in_the_browser_ends_the_wait(
    login: Callable[..., Login], page: Callable[..., Page], picture: Any
) -> None:
    """Another page's callback with a state of its own, the browser's request for an icon, connections that say
    nothing."""
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    command, user, other = login("shop", "--port", str(port)), page(), page(dark=True)
    user.open(command.url)
    other.open(f"{base}/callback?code=stolen&state={'A' * 43}")
    other.reads("Not the login that is waiting")
    picture(other, "postern-not-this-login-dark")
    for path in ["/favicon.ico", "/"]:
        other.open(base + path)
        other.reads("Nothing here")
    picture(other, "postern-nothing-here-dark")
    silent = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(3)]
    sign_in(user)
    user.reads("You are signed in")
    for connection in silent:
        connection.close()
    done = command.end()
    assert done.returncode == 0 and "still waiting" in done.stderr


def test_a_user_who_closes_the_page_is_waited_for_no_longer_than_said(
    login: Callable[..., Login], sidecar: Sidecar, page: Callable[..., Page]
) -> None:
    command, user = login("shop", "--wait", "2"), page()
    user.open(command.url)
    user.reads("Sign in")
    user.open("about:blank")
    done = command.end()
    assert done.returncode == 2 and "did not come back in time" in done.stderr
    with sidecar.connect() as connection:
        assert connection.call("listSessions") == {"sessions": []}


def test_a_user_lets_a_device_in_and_another_one_not(
    sidecar: Sidecar, page: Callable[..., Page], picture: Any
) -> None:
    """RFC 8628: the code is typed, or comes with the address; what the user decides is what the device hears."""
    user = page(height=800)
    with sidecar.connect() as connection:
        welcome = connection.call("beginDeviceAuthorization", {"issuer": "shop"})
        unwelcome = connection.call("beginDeviceAuthorization", {"issuer": "shop"})
        begun = time.monotonic()

        def decide(button: str) -> None:
            user.type("#username", "alice")
            user.type("#password", "alice-password")
            user.press(button)

        user.open(welcome["verificationUri"])
        picture(user, "playground-device")
        user.type("#user_code", "XXXX-XXXX")
        decide("Connect")
        user.reads("No device waits with this code.")
        picture(user, "playground-device-wrong")
        user.type("#user_code", welcome["userCode"])
        decide("Connect")
        user.reads("The device is connected.")
        picture(user, "playground-device-done")

        user.open(unwelcome["verificationUriComplete"])
        assert "for shop" in user.reads("Go on only if a device in front of you shows this code")
        picture(user, "playground-device-filled")
        decide("Deny")
        user.reads("The device gets nothing.")

        time.sleep(max(0, welcome["intervalMs"] / 1000 + 0.05 - (time.monotonic() - begun)))
        session = connection.call("completeDeviceAuthorization", {"handle": welcome["handle"]})
        answer = connection.call("fetchResource", {"resource": "mine", "path": "orders", "session": session["session"]})
        assert answer["status"] == 200
        refusal = connection.error("completeDeviceAuthorization", {"handle": unwelcome["handle"]})
        assert expect.fault(refusal, 5005)["upstream"]["code"] == "access_denied"
        assert connection.call("listSessions") == {"sessions": [session]}


class TestGlewlwyd:
    """The pages of a provider that knows nothing of ours."""

    @pytest.fixture
    def port(self) -> int:
        return free_port()

    @pytest.fixture
    def provider(self, directory: Path, port: int) -> Iterator[Provider]:
        back = f"http://127.0.0.1:{port}/callback"
        started = Provider(directory / "glewlwyd", "--redirect-uri", back, token_seconds=60)
        yield started
        started.stop()

    @pytest.fixture
    def resource(self, provider: Provider) -> Iterator[Resource]:
        started = Resource(provider)
        yield started
        started.stop()

    @pytest.fixture
    def sidecar(self, start: Callable[..., Sidecar], provider: Provider, resource: Resource) -> Sidecar:
        return start({
            "issuers": {"corp": {
                "issuer": provider.issuer, "clientId": "svc", "clientSecret": "svcsecret", "scope": "openid orders"}},
            "resources": {"real": {"baseUrl": resource.base, "issuer": "corp", "auth": "user", "scope": "orders"}},
        })

    def test_a_user_logs_in_and_agrees(
        self, login: Callable[..., Login], sidecar: Sidecar, resource: Resource, page: Callable[..., Page], port: int,
        picture: Any
    ) -> None:
        command, user = login("corp", "--port", str(port)), page(height=900)
        user.open(command.url)
        user.reads("Please enter your login and password")
        picture(user, "glewlwyd-login")
        user.type("#username", "alice")
        user.type("#password", "wrong")
        user.press("OK")
        user.reads("Authentication error")
        user.type("#password", "alicepw")
        user.press("OK")
        user.reads("svc requires access to the following scopes")
        picture(user, "glewlwyd-consent")
        user.click("#grant-orders")
        user.press("Grant access")
        user.reads("Connection to svc")
        user.press("Continue")
        user.reads("You are signed in")
        done = command.end()
        assert done.returncode == 0, done
        session = json.loads(done.stdout)
        with sidecar.connect() as connection:
            assert connection.call("listSessions") == {"sessions": [session]}
            answer = connection.call("fetchResource", {"resource": "real", "path": "orders", "session": session["session"]})
            assert answer["status"] == 200 and len(resource.tokens) == 1

    def test_a_user_lets_a_device_in(
        self, sidecar: Sidecar, resource: Resource, page: Callable[..., Page], picture: Any
    ) -> None:
        user = page(height=900)
        with sidecar.connect() as connection:
            begun = connection.call("beginDeviceAuthorization", {"issuer": "corp"})
            assert begun["intervalMs"] == 1000
            user.open(begun["verificationUriComplete"])
            user.reads("Please enter your login and password")
            data = expect.fault(connection.error("completeDeviceAuthorization", {"handle": begun["handle"]}), 5007)
            assert data["retryAfterMs"] <= 1000
            user.type("#username", "alice")
            user.type("#password", "alicepw")
            user.press("OK")
            user.reads("svc requires access to the following scopes")
            user.click("#grant-orders")
            user.press("Grant access")
            user.reads("Connection to svc")
            user.press("Continue")
            user.reads("Authorization complete, you may close this window")
            picture(user, "glewlwyd-device")
            time.sleep(1.05)
            session = connection.call("completeDeviceAuthorization", {"handle": begun["handle"]})
            assert session["scope"] == "openid orders" and session["claims"]["iss"] == begun["verificationUri"].rpartition("/")[0]
            answer = connection.call("fetchResource", {"resource": "real", "path": "orders", "session": session["session"]})
            assert answer["status"] == 200 and len(resource.tokens) == 1


def test_a_user_logs_in_at_a_tv_provider(page: Callable[..., Page], playground: Playground, picture: Any) -> None:
    """From the `url` of a session at Adobe Pass to the provider's page and to the application; and out again."""
    playground.request("DELETE", "/playground/adobe")
    application, user = Application(playground), page()
    destination = f"{playground.base}/open/echo/back?a=1"
    session = application.post("sessions", {**LOGIN, "redirectUrl": destination})
    assert user.open(playground.base + session["url"]) is None
    user.reads("with Cablevision")
    picture(user, "playground-tv-provider")
    sign_in(user, "wrong")
    user.reads("The user name or the password is wrong.")
    assert user.evaluate("document.querySelector('#username').value") == "alice"
    assert application.get(f"profiles/code/{session['code']}") == {"profiles": {}}
    user.type("#password", "alice-password")
    user.press("Sign in")
    user.reads("/open/echo/back")
    assert user.url == destination
    assert set(application.get(f"profiles/code/{session['code']}")["profiles"]) == {"Cablevision"}
    logout = application.get(f"logout/Cablevision?redirectUrl={playground.base}/open/echo/out")["logouts"]["Cablevision"]
    user.open(playground.base + logout["url"])
    user.reads("/open/echo/out")
    assert user.url == f"{playground.base}/open/echo/out"
    # The page of a code that is over is an error for people.
    application.switch(endCodes=True)
    user.open(playground.base + session["url"])
    user.reads("invalid_authentication_session")
    playground.request("DELETE", "/playground/adobe")
