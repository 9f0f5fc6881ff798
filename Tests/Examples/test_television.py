"""The television of examples/ as a process, its second screen in Chromium, and the playground as Adobe Pass."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Iterator, List

import pytest

from application import PLAYGROUND, Response, WebApplication

from harness.chromium import Page
from harness.playground import Playground
from harness.ports import free_port

CODE = re.compile(r"open (http\S+) on a phone and type (\S+)")
WRONG = "This code is wrong, or its time is over."


class SecondScreen(WebApplication):
    """The page, and a sidecar that it shares with the televisions."""

    PROGRAMS = {"television": [sys.executable, "app.py"]}


class Television:
    """tv.py, until it is told to quit."""

    def __init__(self, screen: SecondScreen, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "tv.py", *arguments], cwd=screen.folder, text=True,
            env={**screen.environment, "PORT": str(screen.port)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.shown: List[str] = []

    def line(self) -> str:
        assert self.process.stdout is not None
        self.shown.append(self.process.stdout.readline())
        return self.shown[-1]

    def code(self) -> str:
        """The code of the next line."""
        found = CODE.search(self.line())
        assert found, self.shown[-1] + self.rest()
        return found[2]

    def type(self, command: str) -> str:
        """What a command shows first."""
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.line()

    def rest(self) -> str:
        """Closes the input; what was shown until the program ended."""
        assert self.process.stdin is not None and self.process.stdout is not None and self.process.stderr is not None
        self.process.stdin.close()
        shown = self.process.stdout.read() + self.process.stderr.read()  # communicate() loses what line() has buffered
        self.process.wait(30)
        return shown

    def stop(self) -> None:
        self.process.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        self.process.wait(10)


@pytest.fixture
def adobe(playground: Playground) -> Iterator[Playground]:
    playground.request("DELETE", "/playground/adobe")
    switch(playground, throttle=False)
    yield playground
    playground.request("DELETE", "/playground/adobe")


def switch(playground: Playground, **changes: Any) -> None:
    status, _, body = playground.request("POST", "/playground/adobe", json.dumps(changes).encode())
    assert status == 200, body


@pytest.fixture
def screen(adobe: Playground, directory: Path) -> Iterator[SecondScreen]:
    started = SecondScreen("television", directory, {PLAYGROUND: adobe.base + "/"})
    yield started
    started.stop()


@pytest.fixture
def television(screen: SecondScreen) -> Iterator[Callable[..., Television]]:
    started: List[Television] = []

    def start(*arguments: str) -> Television:
        started.append(Television(screen, *arguments))
        return started[-1]

    yield start
    for one in started:
        one.stop()


def type_code(page: Page, screen: SecondScreen, code: str) -> None:
    page.open(screen.base)
    page.type("input[name=code]", code)
    page.press("Continue")


def sign_in(page: Page) -> None:
    page.type("#username", "alice")
    page.type("#password", "alice-password")
    page.press("Sign in")


def choose(page: Page, mvpd: str) -> None:
    page.reads("wants to log in")
    page.evaluate(f"document.querySelector('select[name=mvpd]').value = {json.dumps(mvpd)}")
    page.press("Log in")
    page.reads(f"with {mvpd}")


# MARK: in a browser


def test_a_television_and_a_phone(screen: SecondScreen, television: Callable[..., Television], page: Page) -> None:
    """Catches a login that does not reach the television, a media token that is shown, a logout without effect."""
    tv = television()
    code = tv.code()
    assert f"open {screen.base} " in tv.shown[0]
    type_code(page, screen, code)
    page.reads("SetTopBox Settop 5 wants to log in")
    names = page.evaluate("[...document.querySelectorAll('option')].map(option => option.text)")
    assert "Comcast" in names and "Trial" not in names and page.evaluate("document.images.length") == 0
    choose(page, "Comcast_SSO")
    sign_in(page)
    page.reads("You are logged in")
    assert page.url == screen.base + "/callback"
    assert tv.line() == "Logged in at Comcast_SSO.\n"
    assert [tv.line() for _ in range(2)] == ["  news: plays\n", "  film: plays\n"]
    assert re.match(r"  boxing-deny: (?!plays)\w", tv.line())
    assert "logout or quit" in tv.line()
    assert re.fullmatch(r"film plays; its media token .{6}… ends at \d\d:\d\d UTC\n", tv.type("film"))
    assert tv.type("boxing-deny").startswith("boxing-deny does not play: ")
    assert "logout or quit" in tv.type("other")
    assert tv.type("logout") == "Logged out.\n"
    assert "To log out at Comcast_SSO, too, open http" in tv.rest() and tv.process.returncode == 0
    assert not re.search(r"[A-Za-z0-9_+/=-]{40}", "".join(tv.shown)), "no media token is shown whole"
    assert code not in screen.log() and code not in screen.sidecar.log()
    tv = television()
    assert tv.code() != code, "the login has ended"


def test_a_user_who_cancels(screen: SecondScreen, television: Callable[..., Television], page: Page) -> None:
    """Catches a page that takes the provider's redirect for a login, and one without a way back to another provider."""
    tv = television()
    type_code(page, screen, tv.code())
    choose(page, "Cablevision")
    page.press("Cancel")
    page.reads("You are not logged in", 30)
    page.press("Try again")
    page.reads("or another one")
    assert page.evaluate("document.querySelector('select[name=mvpd]').value") == "Cablevision"
    choose(page, "Comcast_SSO")
    sign_in(page)
    page.reads("You are logged in")
    assert tv.line() == "Logged in at Comcast_SSO.\n"


def test_a_code_whose_time_is_over(
    adobe: Playground, screen: SecondScreen, television: Callable[..., Television], page: Page
) -> None:
    """Catches a phone that is left with an error's name, and a television that goes on showing the old code."""
    tv = television()
    code = tv.code()
    type_code(page, screen, code)
    page.reads("wants to log in")
    switch(adobe, endCodes=True)
    page.press("Log in")
    page.reads(WRONG)
    type_code(page, screen, code)
    page.reads(WRONG)
    following = tv.code()
    assert following != code
    page.type("input[name=code]", following)
    page.press("Continue")
    choose(page, "Cablevision")
    sign_in(page)
    page.reads("You are logged in")
    assert tv.line() == "Logged in at Cablevision.\n"


def test_two_codes_belong_to_two_televisions(screen: SecondScreen, television: Callable[..., Television], page: Page) -> None:
    """Catches a login that reaches another television than that whose code was typed."""
    first, second = television("--device", "kitchen"), television("--device", "bedroom")
    codes = first.code(), second.code()
    assert codes[0] != codes[1]
    type_code(page, screen, codes[1])
    choose(page, "Comcast_SSO")
    sign_in(page)
    page.reads("You are logged in")
    assert second.line() == "Logged in at Comcast_SSO.\n"
    with screen.sidecar.connect() as connection:
        found = connection.call("pass.listProfiles", {"provider": "tv", "device": {"id": "kitchen"}})
    assert found["state"] == "unauthenticated" and first.process.poll() is None
    type_code(page, screen, codes[0])
    choose(page, "Cablevision")
    sign_in(page)
    page.reads("You are logged in")
    assert first.line() == "Logged in at Cablevision.\n"
    # A device that is logged in shows no code.
    assert television("--device", "bedroom").line() == "Logged in at Comcast_SSO.\n"


def test_a_television_whose_code_was_replaced(screen: SecondScreen, television: Callable[..., Television]) -> None:
    """Catches two programs with one device that replace each other's codes for ever."""
    first = television()
    first.code()
    television().code()
    assert "the same device has started another login" in first.rest()
    assert first.process.returncode == 1


# MARK: with an HTTP client


#: What parsers of cookies remove around a name, and browsers do not: bytes, as HTTP has them.
AROUND = ["\xa0", "\x85", "\xc2\xa0", "\xe2\x80\x80", "\xef\xbb\xbf"]
NAME, HOST_NAME = "second_screen", "__Host-second_screen"
#: What a browser sends with a form of the page.
OWN = {"Sec_Fetch_Site": "same-origin"}


def cookies(response: Response, name: str = NAME) -> dict[str, str]:
    return {name: response.cookie(name).partition("=")[2].partition(";")[0]}


def csrf(response: Response) -> str:
    return re.findall(r'name="csrf" value="([^"]+)"', response.text)[0]


def typed(screen: SecondScreen, code: str) -> Response:
    """The response to a code."""
    form = screen.request("GET", "/")
    done = screen.request("POST", "/code", cookies(form), f"csrf={csrf(form)}&code={code}", **OWN)
    return screen.request("GET", "/provider", cookies(done)) if done.status == 303 else done


def test_a_wrong_code(screen: SecondScreen) -> None:
    """Catches a code that is written into a page as it is, and an error in the words of a program."""
    for code in ("WRONG12", "", "%20", "%3Cscript%3E", "a%00b", "%22%3E", "A" * 65, "%2E%2E%2Fx"):
        response = typed(screen, code)
        assert response.status in (400, 404) and WRONG in response.text and 'name="code"' in response.text
        assert "script" not in response.text and "WRONG12" not in response.text


def test_forms_of_other_sites(screen: SecondScreen, television: Callable[..., Television]) -> None:
    """Catches a site that makes its visitor's browser log in the site's own television."""
    code = television().code()
    form = screen.request("GET", "/")
    for path in ("/code", "/provider"):
        for given in ("", "csrf=", "csrf=wrong", "csrf=%C3%A4", "csrf=" + csrf(screen.request("GET", "/"))):
            for own in ({}, cookies(form), {"second_screen": "x"}):
                assert screen.request("POST", path, own, f"{given}&code={code}&mvpd=Cablevision", **OWN).status == 403
    assert screen.request("GET", "/code", cookies(form)).status == 405
    for path in ("/provider", "/callback"):
        assert screen.request("GET", path, cookies(form)).headers["Location"] == "/"


def test_forms_of_a_neighbour_domain(screen: SecondScreen) -> None:
    """Catches a form with the value of a cookie that its sender knows, from another host of the page's site."""
    form = screen.request("GET", "/")
    evil = "https://evil.example.com"
    origins = ["null", "", evil, f"http://127.0.0.1:{screen.port + 1}", screen.base + "/", "http://127.0.0.1"]
    for headers, status in (
        (OWN, 303), ({"Origin": screen.base}, 303), ({**OWN, "Origin": "null"}, 303),
        ({}, 403), ({"Referer": screen.base + "/"}, 403), ({"Origin": evil, "Host": "evil.example.com"}, 403),
        *(({"Sec_Fetch_Site": site, "Origin": screen.base}, 403) for site in ("same-site", "cross-site", "none", "")),
        *(({"Origin": origin}, 403) for origin in origins),
    ):
        done = screen.request("POST", "/code", cookies(form), f"csrf={csrf(form)}&code=QZR7T4", **headers)
        assert done.status == status, headers


def test_a_provider_that_there_is_not(screen: SecondScreen, television: Callable[..., Television]) -> None:
    """Catches a choice that only the page's list checks, or whose error leads nowhere."""
    code = television().code()
    form = screen.request("GET", "/")
    own = cookies(screen.request("POST", "/code", cookies(form), f"csrf={csrf(form)}&code={code}", **OWN))
    for mvpd in ("Inactive", "Unknown"):
        response = screen.request("POST", "/provider", own, f"csrf={csrf(form)}&mvpd={mvpd}", **OWN)
        assert response.status == 400 and 'href="/provider">Choose another one' in response.text, response.text
    assert "wants to log in" in screen.request("GET", "/provider", own).text


def test_a_page_about_an_error(screen: SecondScreen, adobe: Playground) -> None:
    """Catches a page with a message, which can name internal servers, and an error that is in no log."""
    switch(adobe, answers=[{"to": "E4", "kind": "html", "times": 1}])
    response = typed(screen, "QZR7T4")
    assert response.status in (502, 503) and re.search(r"<h1>[a-z_]+</h1>$", response.text), response.text
    assert re.search(r"GET /provider: [a-z_]+: .+, trace [0-9a-f]{32}", screen.log()), screen.log()
    assert response.headers["Cache-Control"] == "no-store" and "QZR7T4" not in screen.log()


def test_a_sidecar_without_adobe_pass(adobe: Playground, directory: Path) -> None:
    """Catches a television that shows a stack of Python, or waits, when nothing can be reached."""
    away = SecondScreen("television", directory, {PLAYGROUND: f"http://127.0.0.1:{free_port()}/"})
    try:
        tv = Television(away)
        assert "pass_unreachable" in tv.rest() and tv.process.returncode == 1
        tv.stop()
    finally:
        away.stop()


def test_a_page_without_tls(screen: SecondScreen) -> None:
    """Catches a cookie for scripts or for other sites' forms, and one that a browser does not keep."""
    field = screen.request("GET", "/").cookie(NAME)
    assert field.endswith("; HttpOnly; Path=/; SameSite=Lax") and "Secure" not in field


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch, adobe: Playground, directory: Path) -> Iterator[SecondScreen]:
    """The page behind a proxy with TLS."""
    monkeypatch.setenv("PUBLIC_URL", "https://tv.example.com")
    started = SecondScreen("television", directory, {PLAYGROUND: adobe.base + "/"})
    yield started
    started.stop()


def test_a_cookie_that_a_neighbour_domain_has_planted(public: SecondScreen) -> None:
    """Catches a phone that goes on with an attacker's code, by a cookie of the attacker's own browser."""
    form = public.request("GET", "/")
    assert form.cookie(HOST_NAME).endswith("; Secure; HttpOnly; Path=/; SameSite=Lax")
    own, body = cookies(form, HOST_NAME), f"csrf={csrf(form)}&code=QZR7T4"
    assert public.request("POST", "/code", own, body, Origin=public.base).status == 403
    done = public.request("POST", "/code", own, body, Origin="https://tv.example.com")
    known = cookies(done, HOST_NAME)
    assert done.status == 303 and public.request("GET", "/provider", known).headers["Location"] is None
    # Each of these a browser lets a neighbour domain set.
    for name in (NAME, *(one + HOST_NAME for one in AROUND), *(HOST_NAME + one for one in AROUND)):
        assert public.request("GET", "/provider", {name: known[HOST_NAME]}).headers["Location"] == "/", ascii(name)
        both = public.request("GET", "/provider", {name: known[HOST_NAME], **own})
        assert both.headers["Location"] == "/", ascii(name)
