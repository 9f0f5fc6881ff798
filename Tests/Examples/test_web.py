"""The web applications of examples/, in Chromium and with an HTTP client.

In Chromium against glewlwyd and the playground: glewlwyd has one strength of login, so the step-up is against the
playground.
What a browser would not do, such as a callback with another browser's cookie, is sent by an HTTP client.
"""

from __future__ import annotations

import base64
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import pytest

from application import PLAYGROUND, WebApplication, follow

from harness.chromium import Page
from harness.glewlwyd import Provider, Resource
from harness.playground import Playground
from harness.ports import free_port

OPAQUE = re.compile(r"[A-Za-z0-9_-]{43}")
#: The name of the session's cookie without TLS.
SESSION = "postern-session"


@pytest.fixture(params=WebApplication.PYTHON)
def application(request: pytest.FixtureRequest, start: Callable[..., WebApplication], playground: Playground) -> WebApplication:
    return start(request.param, {PLAYGROUND: playground.base + "/"})


def value_of(field: str) -> str:
    return field.partition("=")[2].partition(";")[0]


def authorized(playground: Playground, url: str, **login: object) -> str:
    """What the issuer redirects a browser to in which alice logs in."""
    playground.request("POST", "/playground/login", json.dumps({"user": "alice", "times": 1, **login}).encode())
    status, headers, body = playground.request("GET", url.replace(playground.base, ""))
    assert status in (302, 303), body
    parts = urllib.parse.urlsplit(headers["location"])
    return f"{parts.path}?{parts.query}"


def begun(application: WebApplication) -> Tuple[str, Dict[str, str]]:
    """A login in a browser: where it is sent, and its cookies."""
    login = application.request("GET", "/login")
    assert len(login.begun) == 1
    return login.headers["Location"], login.begun


def logged_in(application: WebApplication, playground: Playground, user: str = "alice") -> Dict[str, str]:
    """The cookies of a browser whose user has logged in."""
    url, cookies = begun(application)
    done = application.request("GET", authorized(playground, url, user=user), cookies)
    assert done.status == 303, done.text
    return {SESSION: value_of(done.cookie(SESSION))}


# MARK: in a browser


def cookies_of(page: Page, application: WebApplication) -> List[Dict[str, Any]]:
    """The application's cookies; the provider has the same host, and a browser's cookies know no ports."""
    cookies = page.command("Network.getCookies", {"urls": [application.base]})["cookies"]
    return [cookie for cookie in cookies if not cookie["name"].startswith("GLEWLWYD2_")]


def test_a_user_at_a_real_provider(start: Callable[..., WebApplication], directory: Path, page: Page, name: str) -> None:
    """Catches a login that only the playground takes, a cookie with more than an id, a logout that leaves something."""
    port = free_port()
    provider = Provider(directory / "glewlwyd", "--redirect-uri", f"http://127.0.0.1:{port}/callback", token_seconds=60)
    resource = Resource(provider)
    try:
        application = start(name, {
            PLAYGROUND + "oidc": provider.issuer, PLAYGROUND + "resource/": resource.base, "clientId: shop": "clientId: svc",
            "clientSecret: shopsecret": "clientSecret: svcsecret"}, port=port)
        page.open(application.base)
        page.press("Log in")
        page.reads("Please enter your login and password")
        page.type("#username", "alice")
        page.type("#password", "alicepw")
        page.press("OK")
        page.reads("svc requires access to the following scopes")
        page.click("#grant-orders")
        page.press("Grant access")
        page.reads("Connection to svc")
        page.press("Continue")
        page.reads("Hello")
        [cookie] = cookies_of(page, application)
        assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"], cookie["secure"]) == (SESSION, True, "Lax", False)
        [session] = application.sessions()
        assert OPAQUE.fullmatch(cookie["value"]) and cookie["value"] == session["session"]
        page.press("My orders")
        assert '{"orders": [1, 2]}' in page.reads("200")
        assert len(resource.tokens) == 1 and resource.tokens[0] not in page.evaluate("document.documentElement.outerHTML")
        page.press("Back")
        page.press("Log out")
        page.reads("Not logged in")
        assert cookies_of(page, application) == []
        assert application.sessions() == [] and provider.introspect(resource.tokens[0]) == {"active": False}
        # Whoever kept the cookie has nothing with it.
        again = application.request("GET", "/data", {SESSION: cookie["value"]})
        assert again.status == 401 and "Your login has ended" in again.text
    finally:
        resource.stop()
        provider.stop()


@pytest.fixture(params=WebApplication.PYTHON)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def sign_in(page: Page) -> None:
    page.type("#username", "alice")
    page.type("#password", "alice-password")
    page.press("Sign in")


def test_a_step_up_in_the_browser(application: WebApplication, page: Page) -> None:
    """Catches a step-up that does not come back to the fetch that required it, or that is required twice."""
    page.open(application.base)
    page.press("Log in")
    page.reads("Sign in")
    sign_in(page)
    page.reads("Hello user-1001")
    assert application.sessions()[0]["acr"] == "pwd"
    page.press("The vault")
    page.reads("Sign in")
    sign_in(page)
    page.reads("200")
    assert page.url == application.base + "/sensitive"
    assert application.sessions()[0]["acr"] == "mfa"
    page.press("Back")
    page.press("The vault")
    page.reads("200")
    assert page.url == application.base + "/sensitive"


def test_a_user_who_cancels(application: WebApplication, page: Page) -> None:
    """Catches an error page that is the framework's own."""
    page.open(application.base + "/login")
    page.press("Cancel")
    page.reads("The login was cancelled")
    assert application.sessions() == []


# MARK: with an HTTP client


def test_who_is_logged_in_and_who_is_not(application: WebApplication, playground: Playground) -> None:
    """Catches a page of a user that another browser sees, or that a cache may store."""
    cookies = logged_in(application, playground)
    assert "Hello user-1001" in application.request("GET", "/", cookies).text
    assert application.request("GET", "/", cookies).headers["Cache-Control"] == "no-store"
    for other in ({}, {SESSION: "A" * 43}, {SESSION: ""}, {SESSION: "only"}):
        assert "Not logged in" in application.request("GET", "/", other).text
        for path in ("/data", "/sensitive"):
            response = application.request("GET", path, other)
            assert response.status in (303, 401) and "coffee" not in response.text
            assert response.headers.get("Location", "/login?").startswith("/login?")


def test_logout_needs_the_page_of_the_application(application: WebApplication, playground: Playground) -> None:
    """Catches a logout that another site can cause, by whatever method."""
    cookies = logged_in(application, playground)
    for site in ("cross-site", "same-site", "none"):
        assert application.request("POST", "/logout", cookies, Sec_Fetch_Site=site).status == 403
    for origin in ("null", "http://127.0.0.1", "https://evil.example"):
        assert application.request("POST", "/logout", cookies, Origin=origin).status == 403
    assert application.request("POST", "/logout", cookies).status == 403
    assert application.request("GET", "/logout", cookies).status == 405
    assert len(application.sessions()) == 1 and application.request("GET", "/data", cookies).status == 200
    done = application.request("POST", "/logout", cookies, Origin=application.base)
    assert done.status == 303 and application.sessions() == []


def test_a_session_that_has_ended(application: WebApplication, playground: Playground) -> None:
    """Catches a user who is shown as logged in, and whose every fetch fails."""
    cookies = logged_in(application, playground)
    with application.sidecar.connect() as connection:
        connection.call("endSession", {"session": application.sessions()[0]["session"]})
    response = application.request("GET", "/data", cookies)
    assert response.status == 401 and 'href="/login?next=%2Fdata"' in response.text
    assert "Not logged in" in application.request("GET", "/", cookies).text


def test_a_logout_while_the_sidecar_is_away(application: WebApplication, playground: Playground) -> None:
    """Catches a user who stays logged in at a computer of others."""
    cookies = logged_in(application, playground)
    application.sidecar.stop()
    done = application.request("POST", "/logout", cookies, Sec_Fetch_Site="same-origin")
    assert done.status == 303 and "Max-Age=0" in done.cookie(SESSION)


def test_a_logout_at_the_issuer(application: WebApplication, playground: Playground) -> None:
    """Catches an application that goes on for a user whose login has ended at the issuer."""
    cookies, others = logged_in(application, playground), logged_in(application, playground, "bob")
    body = json.dumps({"clientId": "shop", "user": "alice"}).encode()
    token = json.loads(playground.request("POST", "/playground/logoutToken", body)[2])["logout_token"]
    form = urllib.parse.urlencode({"logout_token": token}).encode()
    url = application.base + "/backchannel-logout"
    with urllib.request.urlopen(urllib.request.Request(url, form), timeout=30) as response:
        assert (response.status, response.headers["Cache-Control"]) == (200, "no-store")
    assert application.request("GET", "/data", cookies).status == 401
    assert application.request("GET", "/data", others).status == 200
    with pytest.raises(urllib.error.HTTPError) as again:
        urllib.request.urlopen(urllib.request.Request(url, form), timeout=30)
    assert again.value.code == 400


def test_a_weaker_login_is_no_step_up(application: WebApplication, playground: Playground) -> None:
    """Catches a vault that opens after any second login."""
    cookies = logged_in(application, playground)
    step = application.request("GET", "/sensitive", cookies)
    assert step.status == 303 and step.headers["Location"].startswith(playground.issuer)
    back = authorized(playground, step.headers["Location"], acr="pwd")
    response = application.request("GET", back, {**cookies, **step.begun})
    assert response.status in (403, 502) and application.sessions()[0]["acr"] == "pwd"


def test_no_secret_in_a_log(application: WebApplication, playground: Playground) -> None:
    """Catches an access log with the authorization codes of callbacks."""
    url, cookies = begun(application)
    back = authorized(playground, url)
    application.request("GET", back, cookies)
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(back).query)
    [session] = application.sessions()
    for secret in (query["code"][0], query["state"][0], *cookies.values(), session["session"]):
        assert secret not in application.log(), application.log()


@pytest.mark.parametrize("name", WebApplication.PYTHON)
def test_a_page_about_an_error(name: str, start: Callable[..., WebApplication], playground: Playground) -> None:
    """Catches a page with a message, which can name internal servers, and an error that is in no log."""
    away = f"http://127.0.0.1:{free_port()}/"
    application = start(name, {PLAYGROUND + "resource/": away, PLAYGROUND: playground.base + "/"})
    response = application.request("GET", "/data", logged_in(application, playground))
    assert response.status in (502, 503)
    assert re.search(r"<h1>[a-z_]+</h1>$", response.text), response.text
    assert re.search(r"GET /data: [a-z_]+: .+, trace [0-9a-f]{32}", application.log()), application.log()


# MARK: the API for other programs


def token(playground: Playground, scope: str = "orders", audience: str = "https://shop.example/api") -> str:
    """An access token of a program without users."""
    form = urllib.parse.urlencode({"grant_type": "client_credentials", "scope": scope, "audience": audience})
    status, _, body = playground.request("POST", "/oidc/token", form.encode(), {
        "Authorization": "Basic " + base64.b64encode(b"svc:svcsecret").decode(),
        "Content-Type": "application/x-www-form-urlencoded"})
    assert status == 200, body
    return json.loads(body)["access_token"]


def test_a_program_with_a_token(application: WebApplication, playground: Playground) -> None:
    """Catches an API without the caller's claims, and one that a session or anything else opens, or that opens one."""
    bearer = f"Bearer {token(playground)}"
    found = application.request("GET", "/api/orders/7", Authorization=bearer)
    assert (found.status, json.loads(found.text)) == (200, {"client": "svc", "order": "7", "subject": "svc"})
    assert application.request("GET", "/api/other", Authorization=bearer).status == 404
    assert application.request("GET", "/data", Authorization=bearer).status in (303, 401)
    assert bearer[7:] not in application.log()


def test_programs_that_the_api_rejects(application: WebApplication, playground: Playground) -> None:
    """Catches an open path, a user's cookie that counts, a token for another API or with other scopes."""
    cookies = logged_in(application, playground)
    for path in ("/api/orders/7", "/api/", "/api/other"):
        rejected = application.request("GET", path, cookies)
        assert (rejected.status, rejected.text) == (401, "")
        assert rejected.headers["WWW-Authenticate"].startswith("Bearer") and "error" not in rejected.headers["WWW-Authenticate"]
    for given, status, error in [
        ("wrong.wrong.wrong", 401, "invalid_token"),
        (token(playground)[:-8] + "AAAAAAAA", 401, "invalid_token"),
        (token(playground, audience=playground.base + "/resource"), 401, "invalid_token"),
        (token(playground, scope="profile"), 403, "insufficient_scope"),
    ]:
        rejected = application.request("GET", "/api/orders/7", Authorization=f"Bearer {given}")
        assert (rejected.status, json.loads(rejected.text)["error"]) == (status, error)
        assert f'error="{error}"' in rejected.headers["WWW-Authenticate"]
    assert 'scope="orders"' in rejected.headers["WWW-Authenticate"], "what the token lacks"


def test_the_api_without_its_sidecar(application: WebApplication, playground: Playground) -> None:
    """Catches an API that is open, or a challenge for a good token, while nobody can check tokens."""
    bearer = f"Bearer {token(playground)}"
    application.sidecar.stop()
    rejected = application.request("GET", "/api/orders/7", Authorization=bearer)
    assert rejected.status == 503 and rejected.headers["Retry-After"] and "WWW-Authenticate" not in rejected.headers


def test_the_commands_of_the_readme(application: WebApplication, playground: Playground, directory: Path) -> None:
    """Catches a command about the API that does not work as it stands, or prints something else."""
    follow(application.folder.name, {PLAYGROUND: playground.base + "/", "http://127.0.0.1:8000": application.base}, directory)


def test_cookies_are_of_this_application_only(application: WebApplication) -> None:
    """Catches a cookie that a script or another site gets; those with TLS are in the client's tests."""
    [line] = application.request("GET", "/login").headers.get_all("Set-Cookie") or []
    assert line.endswith("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax")
