"""The logins for FastAPI and Flask: what a browser gets, and what another one, or another site, can do to it."""

import asyncio
import base64
import hashlib
import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any, Callable
from urllib.parse import parse_qs, parse_qsl, quote, urlencode, urlsplit

import fastapi
import flask
import httpx
import pytest
from double import Double, Peer

import postern_auth
import postern_auth.fastapi
import postern_auth.flask
from postern_auth import AdviceRequired, AsyncClient, Client, DeadlineExceeded, LoginRequired, Session, _login
from postern_auth._login import HANDLE, MOST_FORM, MOST_PATH, LoginRules, local_path
from postern_auth._login_cookies import MOST_LOGINS

URL = "https://shop.example.com"
ISSUER = "https://idp.example.com/authorize"
SESSION, LOGIN = "__Host-postern-session", "__Host-postern-login"
ENDED = {"code": 5001, "message": "no", "data": {"reason": "session_not_found"}}
UNREACHABLE = {"code": 5004, "message": "no", "data": {"reason": "token_endpoint_unreachable", "retryable": True}}
AWAY = {"code": 5008, "message": "no", "data": {"reason": "store_unavailable", "retryable": True}}
#: What a page of the application sends with a form.
OWN = {"Sec-Fetch-Site": "same-origin"}


def handle(number: int) -> str:
    return f"{number:-<43}"


def begun_cookie(secret: str) -> str:
    """The name of the cookie of a login with that state, or of a step-up with that continuation."""
    return f"{LOGIN}-{base64.urlsafe_b64encode(hashlib.sha256(secret.encode()).digest()).decode()[:8]}"


def encoded(entry: Any) -> str:
    """The value of such a cookie."""
    text = entry if isinstance(entry, str) else json.dumps(entry)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


class Sidecar:
    """Logs alice in, as often as she likes. `errors` has what methods answer instead."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.errors: dict[str, dict[str, Any]] = {}
        self.sessions: dict[str, dict[str, Any]] = {}
        self.states: set[str] = set()
        self.numbers = itertools.count(1)
        self.logout_is_valid = True
        #: Methods that are never answered.
        self.silent: set[str] = set()

    def __call__(self, peer: Peer) -> None:
        for message in peer.messages():
            method, params = message["method"], message.get("params") or {}
            if "id" not in message:
                continue
            self.calls.append((method, {name: value for name, value in params.items() if name != "meta"}))
            if method in self.silent:
                continue
            try:
                if method in self.errors:
                    raise Failed(self.errors[method])
                peer.answer(message, getattr(self, method)(params))
            except Failed as failed:
                peer.send({"jsonrpc": "2.0", "id": message["id"], "error": failed.args[0]})

    def called(self, method: str) -> list[dict[str, Any]]:
        return [params for name, params in self.calls if name == method]

    def beginAuthorization(self, params: dict[str, Any]) -> dict[str, Any]:
        state = f"state-{next(self.numbers):-<37}"
        self.states.add(state)
        return {
            "authorizationUrl": ISSUER + "?" + urlencode({"state": state, "redirect_uri": params["redirectUri"]}),
            "state": state,
            "expiresAt": "2099-01-01T00:00:00.000Z",
        }

    def completeAuthorization(self, params: dict[str, Any]) -> dict[str, Any]:
        query = parse_qs(urlsplit(params["callbackUrl"]).query)
        [state] = query["state"]
        if state != params["state"]:
            raise Failed({"code": 5005, "message": "no", "data": {"detail": "state_mismatch"}})
        if state not in self.states:
            raise Failed({"code": 5006, "message": "no", "data": {"reason": "state_unknown"}})
        self.states.remove(state)
        if "error" in query:
            data = {"reason": "authorization_failed", "upstream": {"code": query["error"][0]}}
            raise Failed({"code": 5005, "message": "internal.example.com says no", "data": data})
        made = handle(next(self.numbers))
        self.sessions[made] = {
            "session": made,
            "issuer": "corp",
            "kind": "user",
            "scope": "",
            "createdAt": "2026-01-01T00:00:00.000Z",
            "subject": query["code"][0],
        }
        return self.sessions[made]

    def getSession(self, params: dict[str, Any]) -> dict[str, Any]:
        if params["session"] not in self.sessions:
            raise Failed(ENDED)
        return self.sessions[params["session"]]

    def endSession(self, params: dict[str, Any]) -> dict[str, Any]:
        self.getSession(params)
        del self.sessions[params["session"]]
        return {"ended": True, "upstream": "none"}

    def fetchResource(self, params: dict[str, Any]) -> dict[str, Any]:
        subject = self.getSession(params)["subject"]
        return {
            "status": 200,
            "url": "https://api.example.com/" + params["path"],
            "headers": {},
            "body": subject,
            "task": "t",
            "attempts": 1,
            "tokenRefreshed": False,
            "advicesSatisfied": [],
            "timing": {"totalMs": 1, "queueMs": 0, "connectMs": 0, "firstByteMs": 1},
        }

    def authenticateWithAdvice(self, params: dict[str, Any]) -> dict[str, Any]:
        if "answers" not in params:
            outputs = [{"name": "redirectUrl", "value": ISSUER + "?request_uri=pushed"}]
            redirect = {"type": "RedirectCallback", "output": outputs, "input": [{"name": "callbackUrl", "value": ""}]}
            return {"state": "callbacks", "continuation": "journey", "callbacks": [redirect]}
        if "code=strong" not in params["answers"]["RedirectCallback"]:
            raise Failed({"code": 5006, "message": "no", "data": {"reason": "state_unknown"}})
        return {"state": "completed", "session": handle(1), "sessionUpgraded": True}

    def validateLogoutToken(self, params: dict[str, Any]) -> dict[str, Any]:
        if self.logout_is_valid:
            return {"valid": True, "claims": {}, "header": {}, "key": {"alg": "RS256"}, "cached": False}
        return {"valid": False, "error": {"code": "jti_replayed", "message": "the token was used"}}


class Failed(Exception):
    pass


@dataclass
class Reply:
    status: int
    headers: list[tuple[str, str]]
    text: str

    def header(self, name: str) -> str:
        return ", ".join(value for key, value in self.headers if key.lower() == name.lower())

    def cookies(self) -> dict[str, str]:
        """The fields that set cookies, by name."""
        return {value.partition("=")[0]: value for key, value in self.headers if key.lower() == "set-cookie"}


Send = Callable[..., Reply]


@dataclass
class Browser:
    """Cookies, and requests for pages as a browser sends them; `tab` is for scripts and forms."""

    send: Send
    cookies: dict[str, str] = field(default_factory=dict[str, str])

    def request(self, method: str, path: str, **headers: str) -> Reply:
        headers = {"Accept": "text/html", **{name.replace("_", "-"): value for name, value in headers.items()}}
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        reply = self.send(method, path, headers)
        for name, line in reply.cookies().items():
            value = line.partition("=")[2].partition(";")[0]
            if "Max-Age=0" in line:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        return reply

    def get(self, path: str, **headers: str) -> Reply:
        return self.request("GET", path, **headers)

    def post(self, path: str, **headers: str) -> Reply:
        return self.request("POST", path, **headers)

    @property
    def begun(self) -> list[str]:
        """The names of the cookies of what it has begun."""
        return [name for name in self.cookies if name.startswith(LOGIN)]

    def begin(self, path: str = "/login") -> str:
        """The state of a login that has begun."""
        reply = self.get(path)
        assert reply.status == 303, reply
        assert reply.header("Location").startswith(ISSUER)
        return parse_qs(urlsplit(reply.header("Location")).query)["state"][0]

    def log_in(self, user: str = "alice", path: str = "/login") -> Reply:
        reply = self.get(f"/callback?code={user}&state={self.begin(path)}")
        assert reply.status == 303, reply
        return reply

    @property
    def user(self) -> str:
        return self.get("/").text


@pytest.fixture
def sidecar(double: Double) -> Sidecar:
    fake = Sidecar()
    double.scripts = [fake]
    return fake


def fastapi_app(path: str, options: dict[str, Any]) -> Iterator[Send]:
    client = AsyncClient(path, timeout=5)
    login = postern_auth.fastapi.Login(client, **options)
    app = fastapi.FastAPI()
    login.install(app)

    @app.get("/")
    async def home(user: Annotated[Any, fastapi.Depends(login.optional_user)]) -> Any:
        return fastapi.Response(user.subject if user else "nobody")

    @app.get("/own")
    async def own(session: Annotated[str, fastapi.Depends(login.current_session)]) -> Any:
        return {"private": session}

    @app.get("/stored")
    async def stored(session: Annotated[Any, fastapi.Depends(login.optional_session)]) -> Any:
        return fastapi.Response("stored", headers={"Cache-Control": "private, max-age=60"})

    @app.get("/failed")
    async def failed(session: Annotated[str, fastapi.Depends(login.current_session)]) -> None:
        raise fastapi.HTTPException(418, session)

    @app.get("/public")
    async def public() -> Any:
        return fastapi.Response("public")

    @app.get("/me")
    async def me(user: Annotated[Any, fastapi.Depends(login.current_user)]) -> Any:
        return fastapi.Response(user.subject)

    @app.api_route("/mine", methods=["GET", "POST"])
    async def mine(session: Annotated[str, fastapi.Depends(login.current_session)]) -> Any:
        return fastapi.Response((await client.fetch_resource("mine", "orders", session=session)).text)

    @app.get("/vault")
    async def vault() -> None:
        raise AdviceRequired("no", 1017, {"continuation": "fetch"})

    loop = asyncio.new_event_loop()
    http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=URL)

    def send(method: str, target: str, headers: dict[str, str], body: bytes = b"") -> Reply:
        http.cookies.clear()
        lines = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        found = loop.run_until_complete(http.request(method, target, headers=lines, content=body))
        return Reply(found.status_code, found.headers.multi_items(), found.text)

    yield send
    loop.run_until_complete(http.aclose())
    loop.run_until_complete(client.aclose())
    loop.close()


def flask_app(path: str, options: dict[str, Any]) -> Iterator[Send]:
    client = Client(path, timeout=5)
    login = postern_auth.flask.Login(client, **options)
    app = flask.Flask(__name__)
    app.testing = True  # exceptions are the test's
    login.install(app)

    @app.get("/own")
    def own() -> Any:
        return {"private": login.current_session()}

    @app.get("/stored")
    def stored() -> Any:
        login.optional_session()
        return flask.Response("stored", headers={"Cache-Control": "private, max-age=60"})

    @app.get("/failed")
    def failed() -> Any:
        flask.abort(418, login.current_session())

    @app.get("/public")
    def public() -> str:
        return "public"

    @app.get("/")
    def home() -> str:
        user = login.optional_user()
        return (user.subject or "") if user else "nobody"

    @app.get("/me")
    def me() -> str:
        return login.current_user().subject or ""

    @app.route("/mine", methods=["GET", "POST"])
    def mine() -> str:
        return client.fetch_resource("mine", "orders", session=login.current_session()).text

    @app.get("/vault")
    def vault() -> str:
        raise AdviceRequired("no", 1017, {"continuation": "fetch"})

    http = app.test_client(use_cookies=False)

    def send(method: str, target: str, headers: dict[str, str], body: bytes = b"") -> Reply:
        found = http.open(target, method=method, headers=list(headers.items()), data=body, base_url=URL)
        return Reply(found.status_code, list(found.headers), found.get_data(as_text=True))

    yield send
    client.close()


APPS = {"fastapi": fastapi_app, "flask": flask_app}


@pytest.fixture(params=sorted(APPS))
def make(request: pytest.FixtureRequest, sidecar: Sidecar, double: Double) -> Iterator[Callable[..., Send]]:
    """Makes an application of one framework."""
    made: list[Iterator[Send]] = []

    def make(**options: Any) -> Send:
        made.append(APPS[request.param](double.path, {"issuer": "corp", "public_url": URL, **options}))
        return next(made[-1])

    yield make
    for one in made:
        next(one, None)


@pytest.fixture
def send(make: Callable[..., Send]) -> Send:
    return make()


@pytest.fixture
def browser(send: Send) -> Browser:
    return Browser(send)


@pytest.fixture
def other(send: Send) -> Browser:
    return Browser(send)


# A login


def test_a_login_and_a_logout(browser: Browser, sidecar: Sidecar) -> None:
    """A cookie that another site or a script gets, one with more than the handle, a logout that leaves something."""
    assert browser.user == "nobody"
    began = browser.get("/login")
    assert sidecar.called("beginAuthorization") == [{"issuer": "corp", "redirectUri": URL + "/callback"}]
    [(name, line)] = began.cookies().items()
    assert name == begun_cookie(parse_qs(urlsplit(began.header("Location")).query)["state"][0])
    assert line.endswith("; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax")
    done = browser.log_in()
    assert done.header("Location") == "/"
    assert done.cookies()[SESSION].partition("; ")[2] == "Path=/; HttpOnly; Secure; SameSite=Lax"
    assert HANDLE.fullmatch(browser.cookies[SESSION]) and list(sidecar.sessions) == [browser.cookies[SESSION]]
    assert browser.user == browser.get("/me").text == browser.get("/mine").text == "alice"
    out = browser.post("/logout", **OWN)
    assert (out.status, out.header("Location")) == (303, "/")
    assert SESSION not in browser.cookies and sidecar.sessions == {}
    for reply in (began, done, out):
        assert reply.header("Cache-Control") == "no-store"


def test_a_login_has_its_own_arguments(make: Callable[..., Send], sidecar: Sidecar) -> None:
    browser = Browser(make(max_age=3600, authorization={"acr_values": ["mfa"]}, cookie="till", home="/start"))
    done = browser.log_in()
    assert sidecar.called("beginAuthorization")[0]["acrValues"] == ["mfa"]
    assert done.header("Location") == "/start"
    assert "; Max-Age=3600; " in done.cookies()["__Host-till-session"]


def test_routes_below_a_prefix(make: Callable[..., Send], sidecar: Sidecar) -> None:
    send = make(prefix="/auth", public_url=URL + "/shop/")
    browser = Browser(send)
    browser.begin("/auth/login")
    assert sidecar.called("beginAuthorization")[0]["redirectUri"] == URL + "/shop/auth/callback"
    location = Browser(send).get("/mine?a=1").header("Location")
    assert location == "/shop/auth/login?" + urlencode({"next": "/shop/mine?a=1"})
    target = browser.get(
        f"/auth/callback?code=alice&state={browser.begin('/auth/login?' + location.partition('?')[2])}"
    )
    assert target.header("Location") == "/shop/mine?a=1"
    # A front that leaves the path.
    assert Browser(send).get("/shop/mine").status == 404


def test_without_tls_on_loopback_the_cookies_have_another_name(make: Callable[..., Send]) -> None:
    """A browser that stores no cookie of the playground's, or one that takes a cookie from elsewhere with TLS."""
    browser = Browser(make(public_url="http://127.0.0.1:8000"))
    done = browser.log_in()
    assert set(browser.cookies) == {"postern-session"}
    assert "Secure" not in done.header("Set-Cookie")


@pytest.mark.parametrize(
    "options",
    [
        {"public_url": "http://shop.example.com"},
        {"public_url": "shop.example.com"},
        {"public_url": "ftp://shop.example.com"},
        {"public_url": URL + "/?a=1"},
        {"public_url": "https://alice@shop.example.com"},
        {"public_url": "https://shöp.example.com"},
        {"public_url": "https://shop.example.com:x"},
        {"prefix": "auth"},
        {"prefix": "/auth/"},
        {"home": "//evil.example.com"},
        {"home": "/login"},
        {"cookie": "a; b"},
        {"timeout": 0},
        {"timeout": float("nan")},
        {"public_url": URL + "/shop", "home": "/start"},
    ],
)
def test_a_login_that_could_not_be_safe_is_not_made(make: Callable[..., Send], options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        make(**options)


def test_a_login_with_the_other_client_is_not_made(tmp_path: Any) -> None:
    with pytest.raises(TypeError, match="AsyncClient"):
        postern_auth.fastapi.Login(Client(tmp_path / "s"), issuer="corp", public_url=URL)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not an AsyncClient"):
        postern_auth.flask.Login(AsyncClient(tmp_path / "s"), issuer="corp", public_url=URL)  # type: ignore[arg-type]


# Another browser, another site


def test_a_callback_of_another_browser(browser: Browser, other: Browser, sidecar: Sidecar) -> None:
    """Login CSRF: a user who is logged in as an attacker, by the attacker's code and state."""
    state = other.begin()
    foreign = f"/callback?code=mallory&state={state}"
    own = begun_cookie(browser.begin())
    [(name, value)] = other.cookies.items()
    wrong: list[dict[str, str]] = [{}, dict(browser.cookies), {name: ""}, {name: "!"}, {name: value[:-2]}, {own: value}]
    for cookies in (*wrong, {LOGIN: value}, {f"{LOGIN}-": value}, {name: encoded(["login", state + "x", "/", 1])}):
        victim = Browser(browser.send, cookies)
        reply = victim.get(foreign)
        assert reply.status == 400 and "Please log in again" in reply.text
        assert SESSION not in reply.cookies()
        assert victim.user == "nobody"
    assert sidecar.sessions == {}, "nothing is used up"
    assert other.get(foreign).status == 303


def test_a_victim_who_is_logged_in_stays_who_she_is(browser: Browser, other: Browser) -> None:
    browser.log_in("alice")
    reply = browser.get(f"/callback?code=mallory&state={other.begin()}")
    assert (reply.status, reply.header("Location"), reply.cookies()) == (303, "/", {})
    assert browser.user == "alice"


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        "1",
        "null",
        '["login","",""]',
        '["login","","",0]',
        '["login",""]',
        '["login","x","/",0.5]',
        '["login","x","/",true]',
        '["login","x",["/"],1]',
        '["login",1,"/",1]',
        '"abcd"',
        '["login","\\ud800","/",1]',
        "[" * 9000,
    ],
)
def test_a_cookie_that_is_no_login(browser: Browser, text: str) -> None:
    """An exception because of a cookie, and a login without a state."""
    for secret in ("", "x", "1", "/"):
        browser.cookies[begun_cookie(secret)] = encoded(text)
    for query in ("", "?state=", "?state=x", "?state=x&state=x", "?code=alice&state=%C3%A4", "?%00"):
        assert browser.get("/callback" + query).status == 400
    assert SESSION not in browser.cookies
    browser.log_in()


#: What a browser does not remove from a name, and text functions do; what they leave out altogether; other letters.
AROUND = ["\xa0", "\x85", "\x1f", "\x1c", "\x0b", "\x0c", "\xc2\xa0", "\xe2\x80\x80", "\xef\xbb\xbf", "\xad", "x", '"']


@pytest.mark.parametrize("around", AROUND, ids=ascii)
def test_a_cookie_with_another_name(browser: Browser, other: Browser, send: Send, around: str) -> None:
    """A neighbour domain that plants a session: a browser stores `\\xa0__Host-…` for all hosts of a domain."""
    state = other.begin()
    [(name, value)] = other.cookies.items()
    for planted in (f"{around}{name}={value}", f"{name}{around}={value}", f"{name}={value}{around}x"):
        assert send("GET", f"/callback?code=mallory&state={state}", {"Cookie": planted}).status == 400
    other.log_in("mallory")
    browser.log_in("alice")
    mallorys, own = other.cookies[SESSION], browser.cookies[SESSION]
    for planted in (f"{around}{SESSION}={mallorys}", f"{SESSION}{around}={mallorys}", f"{SESSION}={around}{mallorys}"):
        assert send("GET", "/", {"Cookie": planted}).text == "nobody"
        assert send("GET", "/", {"Cookie": f"a=b; {planted}"}).text == "nobody"
    both = f"{SESSION}={own}; {around}{SESSION}={mallorys}; {SESSION}{around}=x"
    assert send("GET", "/", {"Cookie": both}).text == "alice", "nor is it in the way"
    assert send("POST", "/logout", {"Sec-Fetch-Site": around + "same-origin", "Cookie": both}).status == 403


@pytest.mark.parametrize("around", [" ", "\t", ""], ids=ascii)
def test_white_space_around_a_cookie(browser: Browser, send: Send, around: str) -> None:
    browser.log_in()
    cookie = f"a=b;{around}{SESSION}{around}={around}{browser.cookies[SESSION]}{around};c=d"
    assert send("GET", "/", {"Cookie": cookie}).text == "alice"


def test_a_name_without_a_value_is_no_cookie(browser: Browser, send: Send) -> None:
    """A cookie without a name, whose value is the name of ours."""
    browser.log_in()
    assert send("GET", "/", {"Cookie": f"{SESSION}; {SESSION}={browser.cookies[SESSION]}"}).text == "alice"


def test_a_cookie_of_two_origins_counts_for_nothing(browser: Browser, send: Send) -> None:
    """One that a neighbour domain, or another path, has added."""
    browser.log_in()
    twice = f"{SESSION}={handle(1)}; {SESSION}={browser.cookies[SESSION]}"
    assert send("GET", "/", {"Cookie": twice}).text == "nobody"


def test_a_session_from_before_the_login_is_replaced(browser: Browser, other: Browser, sidecar: Sidecar) -> None:
    """Fixation: a handle that someone else has set, and knows, and that becomes the user's."""
    other.log_in("mallory")
    planted = other.cookies[SESSION]
    browser.cookies[SESSION] = planted
    browser.log_in("alice")
    assert browser.cookies[SESSION] != planted
    assert browser.user == "alice"
    assert sidecar.called("completeAuthorization")[-1]["replaces"] == planted, "the sidecar ends what was there before"


def test_the_browsers_earlier_session(browser: Browser, sidecar: Sidecar) -> None:
    """Sessions that pile up because the sidecar is not told of them; a login that asks for more than it has to."""
    earlier: list[str | None] = []
    for _ in range(3):
        earlier.append(browser.cookies.get(SESSION))
        state = browser.begin()
        calls = len(sidecar.calls)
        assert browser.get(f"/callback?code=alice&state={state}").status == 303
        assert [method for method, _ in sidecar.calls[calls:]] == ["completeAuthorization"]
    assert len(set(earlier)) == 3
    assert [params.get("replaces") for params in sidecar.called("completeAuthorization")] == earlier


@pytest.mark.parametrize("text", ["only", "", "null", "o" * 42, "o" * 44])
def test_an_earlier_session_that_is_none(browser: Browser, sidecar: Sidecar, text: str) -> None:
    """A text from a browser that would choose another user's session, or fail the login."""
    browser.cookies[SESSION] = text
    browser.log_in()
    assert "replaces" not in sidecar.called("completeAuthorization")[-1]
    assert browser.user == "alice"


@pytest.mark.parametrize("text", ["only", "", "*", "null", "o" * 42, "o" * 44, "only" + "-" * 38 + "%"])
def test_no_browser_asks_for_the_only_session(browser: Browser, other: Browser, sidecar: Sidecar, text: str) -> None:
    """The text that chooses a session without its handle, from a browser: another user's data."""
    other.log_in("alice")
    browser.cookies[SESSION] = text
    calls = len(sidecar.calls)
    assert browser.user == "nobody"
    assert browser.get("/mine").status in (303, 401)
    assert browser.get("/me", Sec_Fetch_Mode="cors").status == 401
    assert len(sidecar.calls) == calls, "nothing is asked"


def test_a_session_of_another_issuer_is_nobody(browser: Browser, sidecar: Sidecar) -> None:
    """A user of one issuer who has the name of a user of another one."""
    browser.log_in("admin")
    sidecar.sessions[browser.cookies[SESSION]]["issuer"] = "public"
    assert browser.user == "nobody"
    assert browser.get("/me").status == 401


def test_a_browser_without_a_session(browser: Browser, other: Browser) -> None:
    """An anonymous browser that gets another user's data, because there is one user only; a loop of redirects."""
    other.log_in("alice")
    reply = browser.get("/mine?a=1&b=%2F")
    assert (reply.status, reply.header("Location")) == (303, "/login?next=%2Fmine%3Fa%3D1%26b%3D%252F")
    assert browser.log_in("bob", reply.header("Location")).header("Location") == "/mine?a=1&b=%2F"
    assert browser.get("/mine").text == "bob"
    assert other.get("/mine").text == "alice"


def test_a_script_and_a_form_without_a_session(browser: Browser) -> None:
    """A script that reads a login page as its data, and a form that is sent again as a GET."""
    for headers in ({"Sec_Fetch_Mode": "cors"}, {"Accept": "application/json"}, {"Accept": "*/*"}):
        reply = browser.get("/mine", **headers)
        assert (reply.status, json.loads(reply.text)) == (401, {"error": "login_required"})
        assert reply.header("Cache-Control") == "no-store"
    assert browser.post("/mine").header("Location") == "/login"


def test_a_session_that_has_ended(browser: Browser, sidecar: Sidecar) -> None:
    """An endless chain of redirects through an issuer that asks nothing, and a user who is never told."""
    browser.log_in()
    sidecar.sessions.clear()
    assert browser.user == "nobody"
    for path in ("/mine", "/me"):
        reply = browser.get(path)
        assert reply.status == 401 and "Your login has ended" in reply.text
        assert f'href="/login?next={quote(path, safe="")}"' in reply.text
    assert browser.get("/mine", Sec_Fetch_Mode="cors").status == 401
    assert browser.log_in("alice", "/login?next=/mine").header("Location") == "/mine"


#: The end of a session in seconds from now, and whether its user is still logged in.
ENDS: list[tuple[float | None, bool]] = [(None, True), (60, True), (0, False), (-0.001, False), (-86_400, False)]


def end_in(seconds: float | None, session: dict[str, Any]) -> None:
    """Gives a session of the double the end that the sidecar shows of one that is over."""
    if seconds is not None:
        end = datetime.now(timezone.utc) + timedelta(seconds=seconds)
        session["expiresAt"] = end.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_an_upgrade_from_another_page_is_nobodys(send: Send) -> None:
    """A WebSocket that a server takes as a GET: a page of a neighbour domain could read what is the user's."""
    browser = Browser(send)
    browser.log_in()
    cookie = "; ".join("=".join(pair) for pair in browser.cookies.items())
    for name in ("Upgrade", "Sec-WebSocket-Key"):
        for origin, user in ((URL, "alice"), ("https://evil.example.com", "nobody"), ("null", "nobody")):
            fields = {"Cookie": cookie, name: "websocket", "Origin": origin}
            assert send("GET", "/", fields).text == user, (name, origin)
        assert send("GET", "/", {"Cookie": cookie, name: "websocket"}).text == "nobody"


@pytest.mark.parametrize(("seconds", "is_live"), ENDS, ids=[str(seconds) for seconds, _ in ENDS])
def test_a_session_that_the_sidecar_still_shows(
    browser: Browser, sidecar: Sidecar, seconds: float | None, is_live: bool
) -> None:
    """A user whom the issuer has logged out, and who is the application's user all the same."""
    browser.log_in()
    end_in(seconds, sidecar.sessions[browser.cookies[SESSION]])
    assert browser.user == ("alice" if is_live else "nobody")
    page, script = browser.get("/me"), browser.get("/me", Sec_Fetch_Mode="cors")
    unknown = browser.get("/callback?code=alice&state=unknown")
    if is_live:
        assert (page.text, script.status, unknown.status) == ("alice", 200, 303)
    else:
        assert page.status == 401 and "Your login has ended" in page.text
        assert (script.status, json.loads(script.text)) == (401, {"error": "login_required"})
        assert unknown.status == 400 and "Please log in again" in unknown.text
    assert browser.log_in("alice", "/login?next=/me").header("Location") == "/me"
    assert browser.user == "alice"


@pytest.mark.parametrize(("seconds", "is_live"), ENDS, ids=[str(seconds) for seconds, _ in ENDS])
def test_the_error_of_a_session_that_the_sidecar_still_shows(seconds: float | None, is_live: bool) -> None:
    """Another error than the sidecar's own, by which a program distinguishes nothing."""
    session: dict[str, Any] = {"session": handle(1), "issuer": "corp", "kind": "user", "scope": ""}
    end_in(seconds, session)
    found = Session.from_json({**session, "createdAt": "2026-01-01T00:00:00.000Z"})
    request = _login.Request("GET", "/", lambda name: [f"{SESSION}={handle(1)}"] if name == "cookie" else [])
    walk = rules(public_url=URL).user(request)
    next(walk)
    if is_live:
        with pytest.raises(StopIteration) as ended:
            walk.send(found)
        assert ended.value.value is found
    else:
        with pytest.raises(LoginRequired) as raised:
            walk.send(found)
        assert (raised.value.code, raised.value.reason) == (5002, "session_expired")


FOREIGN: list[dict[str, str]] = [
    {"Sec_Fetch_Site": "cross-site"},
    {"Sec_Fetch_Site": "same-site"},
    {"Sec_Fetch_Site": "none"},
    {"Sec_Fetch_Site": "cross-site", "Origin": URL},
    {"Origin": "https://evil.example.com"},
    {"Origin": "https://shop.example.com.evil.example.com"},
    {"Origin": "http://shop.example.com"},
    {"Origin": URL + ":444"},
    {"Origin": "null"},
    {},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=[str(one) for one in FOREIGN])
def test_another_site_logs_nobody_out(browser: Browser, sidecar: Sidecar, headers: dict[str, str]) -> None:
    """Its form, also one without the cookie, whose answer removes it."""
    browser.log_in()
    for cookies in (dict(browser.cookies), {}):
        reply = Browser(browser.send, cookies).post("/logout", **headers)
        assert reply.status == 403 and not reply.cookies()
    assert browser.get("/logout").status == 405
    assert len(sidecar.sessions) == 1 and browser.user == "alice"


@pytest.mark.parametrize("headers", [OWN, {"Origin": URL}, {**OWN, "Origin": "null"}])
def test_a_page_of_the_application_logs_out(browser: Browser, headers: dict[str, str]) -> None:
    browser.log_in()
    named = {name.replace("-", "_"): value for name, value in headers.items()}
    assert browser.post("/logout", **named).status == 303
    assert browser.cookies == {}


# Open redirects

EVIL = [
    "//evil.example.com",
    "///evil.example.com",
    "/\\evil.example.com",
    "\\\\evil.example.com",
    "\\/evil.example.com",
    "https://evil.example.com",
    "https:evil.example.com",
    "HTTPS://evil.example.com/",
    "javascript:alert(1)",
    "evil.example.com",
    "",
    "?a",
    "#a",
    "/\t/evil.example.com",
    "/\n/evil.example.com",
    "/\r\nSet-Cookie: a=b",
    "\t//evil.example.com",
    " //evil.example.com",
    "/ /evil.example.com",
    "/\x00/evil.example.com",
    "/\x7f",
    "/\x85/evil.example.com",
    "/./\\evil.example.com",
    "/.//evil.example.com",
    "/..//evil.example.com",
    "/a/..//evil.example.com",
    "/%2e%2e//evil.example.com",
    "/%2E//evil.example.com",
    "/a/%2e%2e/%2e%2e//evil.example.com",
    "/%2f/evil.example.com",
    "/%2Fevil.example.com",
    "/%5cevil.example.com",
    "/%5Cevil.example.com",
    "/%255cevil.example.com",
    "/%09/evil.example.com",
    "/%0d%0aSet-Cookie:a=b",
    "/%25252525252f/evil.example.com",
    "%2F%2Fevil.example.com",
    "/" + "a" * MOST_PATH,
    "/\ud800",
]
GOOD = {
    "/": "/",
    "/orders": "/orders",
    "/orders/?page=2&q=a%2Fb#top": "/orders/?page=2&q=a%2Fb#top",
    "/search?q=50%25": "/search?q=50%25",
    "/search?next=//evil.example.com": "/search?next=//evil.example.com",
    "/search?q=a%5Cb%0Ac": "/search?q=a%5Cb%0Ac",
    "/caf\u00e9": "/caf%C3%A9",
    "/a%20b": "/a%20b",
    "/a//b": "/a//b",
    "/.well-known/x": "/.well-known/x",
    "/...": "/...",
    '/"><script>': "/%22%3E%3Cscript%3E",
}


@pytest.mark.parametrize("text", EVIL, ids=ascii)
def test_a_path_that_leads_elsewhere(text: str) -> None:
    assert local_path(text) is None


@pytest.mark.parametrize(("text", "path"), GOOD.items())
def test_a_path_that_stays_here(text: str, path: str) -> None:
    assert local_path(text) == path


@pytest.mark.parametrize(
    "text", [*EVIL[:-1], "/login", "/login?next=/", "/callback?code=x", "/logout/", "/%6cogin"], ids=ascii
)
def test_a_login_comes_back_to_the_application(browser: Browser, text: str) -> None:
    """A page of someone else's at the end of a login, and one that begins the next."""
    assert browser.log_in("alice", "/login?next=" + quote(text, safe="")).header("Location") == "/"
    # A second one, so that neither counts.
    path = "/login?next=/orders&next=" + quote(text, safe="")
    assert browser.log_in("alice", path).header("Location") == "/"
    # The cookie is the browser's own text.
    state = browser.begin()
    browser.cookies[begun_cookie(state)] = encoded(["login", state, text, 1])
    reply = browser.get(f"/callback?code=alice&state={state}")
    assert (reply.status, reply.header("Location")) == (303, "/")


def rules(**options: Any) -> LoginRules:
    given: dict[str, Any] = {"issuer": "corp", "public_url": URL, "prefix": "", "home": None, "cookie": "postern"}
    return LoginRules(**{**given, "max_age": None, "authorization": None, "timeout": 1, "page": None, **options})


@pytest.mark.parametrize("letter", ["\u4e2d", "\xe9", '"', "\U0001f600"])
def test_a_path_is_measured_as_it_is_stored(browser: Browser, letter: str) -> None:
    """A path that grows when it is percent-encoded, and whose cookie a browser drops."""
    each = len(quote(letter))
    fits = "/" + letter * ((MOST_PATH - 1) // each)
    assert len(local_path(fits) or "") <= MOST_PATH
    assert local_path(fits + letter) is None
    first = browser.begin()
    browser.begin("/login?next=" + quote("/" + letter * 500))
    assert all(len(name) + len(value) < 2048 for name, value in browser.cookies.items())
    assert browser.get(f"/callback?code=alice&state={first}").status == 303, "an earlier login goes on"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/shop", "/shop"),
        ("/shop/", "/shop/"),
        ("/shop?a=/b", "/shop?a=/b"),
        ("/shop#a", "/shop#a"),
        ("/shop/orders?a", "/shop/orders?a"),
        ("/", "/shop/"),
        ("/other", "/shop/"),
        ("/~mallory/phish", "/shop/"),
        ("/shopping", "/shop/"),
        ("/shop%2f..%2fother", "/shop/"),
        ("/shop;/other", "/shop/"),
        ("/Shop/orders", "/shop/"),
        ("/%73hop/orders", "/shop/"),
        ("/shop/../other", "/shop/"),
        ("/shop/login", "/shop/"),
        ("/?/shop/", "/shop/"),
        ("/#/shop/", "/shop/"),
    ],
)
def test_a_login_comes_back_to_its_application(make: Callable[..., Send], text: str, path: str) -> None:
    """A page of another application at the same host, which looks like this one's."""
    browser = Browser(make(public_url=URL + "/shop"))
    assert browser.log_in("alice", "/login?next=" + quote(text, safe="")).header("Location") == path
    state = browser.begin()
    browser.cookies[begun_cookie(state)] = encoded(["login", state, text, 1])
    assert browser.get(f"/callback?code=alice&state={state}").header("Location") == path


def test_a_front_takes_the_path_away_or_leaves_it() -> None:
    own = rules(public_url=URL + "/shop/")
    for target, page in {
        "/a?b": "/shop/a?b",
        "/shop/a": "/shop/a",
        "/shop": "/shop",
        "/shopping": "/shop/shopping",
    }.items():
        request = _login.Request("GET", target, lambda name: {"accept": ["text/html"]}.get(name, []))
        location = dict(own.login_required(request).headers)["Location"]
        assert location == "/shop/login?" + urlencode({"next": page})


# Two tabs


def test_two_tabs_of_one_browser(browser: Browser) -> None:
    """A login that fails because the user has begun another one."""
    first, second = browser.begin("/login?next=/a"), browser.begin("/login?next=/b")
    assert browser.get(f"/callback?code=alice&state={second}").header("Location") == "/b"
    assert browser.get(f"/callback?code=alice&state={first}").header("Location") == "/a"
    assert browser.begun == []
    again = browser.get(f"/callback?code=mallory&state={first}")
    assert (again.status, again.header("Location"), again.cookies()) == (303, "/", {}), "a login is completed once"
    assert browser.user == "alice"


def test_tabs_that_begin_and_come_back_at_the_same_time(browser: Browser, sidecar: Sidecar) -> None:
    """A response in one tab that takes away what another tab has begun."""
    browser.cookies["other"] = "1"
    sent = dict(browser.cookies)
    states: list[str] = []
    for number in range(3):
        tab = Browser(browser.send, dict(sent))
        states.append(tab.begin(f"/login?next=/{number}"))
        browser.cookies.update(tab.cookies)
    sent = dict(browser.cookies)
    for number, state in enumerate(states):
        tab = Browser(browser.send, dict(sent))
        assert tab.get(f"/callback?code=alice&state={state}").header("Location") == f"/{number}"
        assert len(tab.begun) == 2
    assert len(sidecar.sessions) == 3


def test_many_tabs_take_no_more_room(browser: Browser) -> None:
    """A request that the server rejects because of its cookies."""
    states = [browser.begin("/login?next=/" + "a" * (MOST_PATH - 1)) for _ in range(9)]
    assert sorted(browser.begun) == sorted(map(begun_cookie, states[-MOST_LOGINS:]))
    assert sum(len(name) + len(browser.cookies[name]) for name in browser.begun) < 6500
    assert browser.get(f"/callback?code=alice&state={states[0]}").status == 400
    for state in states[-MOST_LOGINS:]:
        assert browser.get(f"/callback?code=alice&state={state}").status == 303


def test_the_oldest_login_is_the_one_that_goes(browser: Browser) -> None:
    """Another one, because of a browser that sends cookies in an order of its own."""
    for number in (3, 1, 4, 2):
        browser.cookies[begun_cookie(f"state-{number}")] = encoded(["login", f"state-{number}", "/", number])
    state = browser.begin()
    assert set(browser.begun) == {begun_cookie(one) for one in ("state-2", "state-3", "state-4", state)}


def test_a_callback_that_is_not_of_this_browser(browser: Browser, other: Browser, sidecar: Sidecar) -> None:
    """An error page for a user who is logged in, and one who is nobody at a page of users."""
    unknown = "/callback?code=mallory&state=unknown"
    assert browser.get(unknown).status == 400
    browser.log_in()
    home = browser.get(unknown)
    assert (home.status, home.header("Location"), home.cookies()) == (303, "/", {})
    # Sent twice by the browser, whose second request is the one that it shows.
    state = other.begin("/login?next=/mine")
    sidecar.states.clear()
    other.cookies[SESSION] = browser.cookies[SESSION]
    twice = other.get(f"/callback?code=alice&state={state}")
    assert (twice.status, twice.header("Location"), other.begun) == (303, "/mine", [])
    sidecar.sessions[browser.cookies[SESSION]]["issuer"] = "other"
    assert browser.get(unknown).status == 400
    sidecar.sessions.clear()
    assert browser.get(unknown).status == 400
    sidecar.errors["getSession"] = AWAY
    assert browser.get(unknown).status == 503


# Failures


def test_a_user_who_cancels(browser: Browser) -> None:
    reply = browser.get(f"/callback?error=access_denied&error_description=%3Cb%3E&state={browser.begin()}")
    assert reply.status == 403 and "The login was cancelled" in reply.text
    assert "<b>" not in reply.text and "internal.example.com" not in reply.text
    assert browser.begun == []


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": 5005, "message": "secret", "data": {"reason": "authorization_failed"}}, 403),
        ({"code": 5005, "message": "secret", "data": {"detail": "state_mismatch"}}, 400),
        ({"code": 5006, "message": "secret", "data": {"reason": "state_unknown"}}, 400),
        (UNREACHABLE, 503),
        ({"code": -32009, "message": "secret", "data": {"reason": "overloaded"}}, 503),
        ({"code": -32603, "message": "secret", "data": {"reason": "internal_error"}}, 502),
    ],
)
def test_a_login_that_fails(
    browser: Browser, sidecar: Sidecar, caplog: pytest.LogCaptureFixture, error: dict[str, Any], status: int
) -> None:
    """A page with what only the operator may see, and a log without it."""
    state = browser.begin("/login?next=/mine")
    sidecar.errors["completeAuthorization"] = error
    caplog.set_level("INFO", "postern_auth")
    reply = browser.get(f"/callback?code=alice&state={state}")
    assert reply.status == status
    assert "secret" not in reply.text and "authorization_failed" not in reply.text
    assert error["message"] in caplog.text and state not in caplog.text
    assert SESSION not in browser.cookies
    assert 'href="/login?next=%2Fmine"' in reply.text
    assert "default-src 'none'" in reply.header("Content-Security-Policy")
    sidecar.errors.clear()
    again = browser.get(f"/callback?code=alice&state={state}")
    assert again.status == (303 if status == 503 else 400), "what may succeed later stays"


def test_a_login_that_does_not_begin(browser: Browser, sidecar: Sidecar) -> None:
    sidecar.errors["beginAuthorization"] = UNREACHABLE
    assert browser.get("/login").status == 503
    sidecar.errors["beginAuthorization"] = {"code": 5009, "message": "no", "data": {"reason": "issuer_unknown"}}
    assert browser.get("/login").status == 502
    assert browser.cookies == {}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("beginAuthorization", "/login"),
        ("completeAuthorization", "/callback?code=alice&state={}"),
        ("getSession", "/callback?state=unknown"),
        ("authenticateWithAdvice", "/vault"),
    ],
)
def test_a_sidecar_that_does_not_answer(make: Callable[..., Send], sidecar: Sidecar, method: str, path: str) -> None:
    """A browser that waits for ever."""
    browser = Browser(make(timeout=0.2))
    browser.log_in()
    state = browser.begin()
    sidecar.silent = {method}
    began = time.monotonic()
    reply = browser.get(path.format(state))
    assert reply.status == 503 and "Please try again later" in reply.text
    assert time.monotonic() - began < 4
    assert begun_cookie(state) in browser.cookies, "what may succeed later stays"


def test_a_user_whom_the_sidecar_does_not_tell(make: Callable[..., Send], sidecar: Sidecar) -> None:
    browser = Browser(make(timeout=0.2))
    browser.log_in()
    sidecar.silent = {"getSession", "endSession", "validateLogoutToken"}
    for path in ("/", "/me"):
        with pytest.raises(DeadlineExceeded) as raised:
            browser.get(path)
        assert raised.value.retryable
    assert logout_request(browser.send, b"logout_token=a").status == 503
    assert browser.post("/logout", **OWN).status == 303
    assert browser.cookies == {}


def test_a_login_has_a_deadline_without_one_of_its_client(double: Double) -> None:
    for module, client in ((postern_auth.fastapi, AsyncClient), (postern_auth.flask, Client)):
        login: Any = module.Login(client(double.path), issuer="corp", public_url=URL)
        assert login._rules.timeout == 10


def test_a_logout_while_the_sidecar_is_away(browser: Browser, double: Double, caplog: pytest.LogCaptureFixture) -> None:
    """A user who stays logged in at a public computer."""
    browser.log_in()
    double.stop()
    assert browser.post("/logout", **OWN).status == 303
    assert browser.cookies == {}
    assert "a session is left at the sidecar" in caplog.text
    double.listen()


def test_a_logout_without_a_session(browser: Browser, sidecar: Sidecar) -> None:
    browser.log_in()
    sidecar.sessions.clear()
    assert browser.post("/logout", **OWN).status == 303
    assert browser.post("/logout", **OWN).status == 303


def websocket(path: str, cookies: dict[str, str], origin: str) -> list[dict[str, Any]]:
    """What a FastAPI application sends to a browser that opens a WebSocket from a page of `origin`."""
    client = AsyncClient(path, timeout=5)
    login = postern_auth.fastapi.Login(client, issuer="corp", public_url=URL)
    app = fastapi.FastAPI()
    login.install(app)

    @app.websocket("/feed")
    async def feed(socket: fastapi.WebSocket, user: Annotated[Any, fastapi.Depends(login.current_user)]) -> None:
        await socket.accept()
        await socket.send_text(user.subject)
        await socket.close()

    sent: list[dict[str, Any]] = []
    cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
    headers = [("host", "shop.example.com"), ("origin", origin), ("cookie", cookie)]
    scope: dict[str, Any] = {
        "type": "websocket",
        "asgi": {"version": "3.0"},
        "scheme": "wss",
        "path": "/feed",
        "raw_path": b"/feed",
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers],
        "subprotocols": [],
    }

    async def run() -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "websocket.connect"}

        async def send(message: Any) -> None:
            sent.append(message)

        async with client:
            await app(scope, receive, send)

    asyncio.run(run())
    return sent


def test_a_websocket_of_another_page(sidecar: Sidecar, double: Double) -> None:
    """A page of another site that reads what is the user's, by a connection that no rule of the browser's stops."""
    send = fastapi_app(double.path, {"issuer": "corp", "public_url": URL})
    browser = Browser(next(send))
    browser.log_in()
    own = websocket(double.path, browser.cookies, URL)
    assert [message.get("text") for message in own if message["type"] == "websocket.send"] == ["alice"]
    for cookies, origin in ((browser.cookies, "https://evil.example.com"), ({}, URL), ({SESSION: handle(1)}, URL)):
        [message] = websocket(double.path, cookies, origin)
        assert (message["type"], message["code"]) == ("websocket.close", 1008)
    next(send, None)


@pytest.mark.parametrize(("seconds", "is_live"), ENDS, ids=[str(seconds) for seconds, _ in ENDS])
def test_a_websocket_of_a_session_that_the_sidecar_still_shows(
    sidecar: Sidecar, double: Double, seconds: float | None, is_live: bool
) -> None:
    """A user whom the issuer has logged out, and who opens a connection for as long as the page is there."""
    send = fastapi_app(double.path, {"issuer": "corp", "public_url": URL})
    browser = Browser(next(send))
    browser.log_in()
    end_in(seconds, sidecar.sessions[browser.cookies[SESSION]])
    sent = websocket(double.path, browser.cookies, URL)
    if is_live:
        assert [message.get("text") for message in sent if message["type"] == "websocket.send"] == ["alice"]
    else:
        assert [(message["type"], message["code"]) for message in sent] == [("websocket.close", 1008)]
    next(send, None)


def test_a_page_of_ones_own(make: Callable[..., Send]) -> None:
    reply = Browser(make(page=lambda problem: f"{problem.kind} {problem.status} {problem.link}")).get("/callback")
    assert (reply.status, reply.text) == (400, "not_begun_here 400 /login")
    assert reply.header("Content-Security-Policy") == "frame-ancestors 'none'", "it may have styles"


# Caches


def test_a_page_of_a_user_is_for_no_cache(browser: Browser) -> None:
    """A page that a shared cache, or the button *Back* after a logout, shows to another one."""
    anonymous = {path: browser.get(path).header("Cache-Control") for path in ("/", "/public", "/stored")}
    assert anonymous == {"/": "", "/public": "", "/stored": "private, max-age=60"}
    browser.log_in()
    for path in ("/", "/me", "/mine", "/own", "/failed"):
        assert browser.get(path).header("Cache-Control") == "no-store", path
    assert browser.get("/stored").header("Cache-Control") == "private, max-age=60", "its own stays"
    assert browser.get("/public").header("Cache-Control") == ""


# Step-up


def test_a_step_up(browser: Browser, other: Browser, sidecar: Sidecar) -> None:
    """A stronger login that another browser completes, and one that is asked for without an end."""
    browser.log_in()
    began = browser.get("/vault?a=1")
    assert (began.status, began.header("Location")) == (303, ISSUER + "?request_uri=pushed")
    other.log_in("mallory")
    callback = "/callback?code=strong&state=of-the-issuer"
    assert other.get(callback).header("Location") == "/" and other.user == "mallory"
    assert browser.get("/callback?code=mallory&state=other").header("Location") == "/", (
        "nor is it used up by another one"
    )
    done = browser.get(callback)
    assert (done.status, done.header("Location")) == (303, "/vault?a=1")
    assert sidecar.called("authenticateWithAdvice")[-1] == {
        "continuation": "journey",
        "answers": {"RedirectCallback": URL + callback},
    }
    again = browser.get("/vault?a=1")
    assert again.status == 403 and "not sufficient" in again.text
    assert browser.get("/vault?a=1").status == 303, "but by a click"
    assert browser.get("/vault", Sec_Fetch_Mode="cors").status == 403


def test_a_login_while_a_step_up_waits(browser: Browser) -> None:
    browser.log_in()
    browser.get("/vault")
    browser.log_in()
    assert browser.get("/callback?code=strong&state=x").header("Location") == "/vault"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": 3002, "message": "no", "data": {"reason": "continuation_unknown"}}, 400),
        ({"code": 5005, "message": "no", "data": {"upstream": {"code": "access_denied"}}}, 403),
        (UNREACHABLE, 503),
    ],
)
def test_a_step_up_that_fails(browser: Browser, sidecar: Sidecar, error: dict[str, Any], status: int) -> None:
    browser.log_in()
    browser.get("/vault")
    sidecar.errors["authenticateWithAdvice"] = error
    assert browser.get("/callback?code=strong&state=x").status == status
    assert browser.get("/vault").status == status
    assert browser.user == "alice"


# Back-channel logout


def logout_request(send: Send, body: bytes, content_type: str = "application/x-www-form-urlencoded") -> Reply:
    reply = send("POST", "/backchannel-logout", {"Content-Type": content_type}, body)
    assert reply.header("Cache-Control") == "no-store"
    return reply


def test_a_logout_at_the_issuer(send: Send, sidecar: Sidecar) -> None:
    assert logout_request(send, b"logout_token=a.b.c", "application/x-www-form-urlencoded; charset=UTF-8").status == 200
    assert sidecar.called("validateLogoutToken") == [{"logoutToken": "a.b.c", "issuer": "corp", "end": True}]
    sidecar.logout_is_valid = False
    reply = logout_request(send, b"logout_token=a.b.c&other=1")
    assert (reply.status, json.loads(reply.text)["error"]) == (400, "invalid_request")


@pytest.mark.parametrize(
    "body",
    [b"", b"logout_token=", b"logout_token=a&logout_token=b", b"other=a", b"\xff", b"logout_token=" + b"a" * MOST_FORM],
    ids=["empty", "no token", "two", "other", "no text", "large"],
)
def test_a_logout_that_is_no_form_with_a_token(send: Send, sidecar: Sidecar, body: bytes) -> None:
    assert logout_request(send, body).status == 400
    assert sidecar.calls == []


def test_a_logout_of_another_type_and_by_another_method(send: Send, sidecar: Sidecar) -> None:
    assert logout_request(send, b'{"logout_token": "a"}', "application/json").status == 400
    assert send("GET", "/backchannel-logout?logout_token=a", {}).status == 405
    assert sidecar.calls == []


def test_a_logout_at_the_issuer_that_cannot_be_carried_out(send: Send, sidecar: Sidecar) -> None:
    """An issuer that believes its user to be logged out."""
    sidecar.errors["validateLogoutToken"] = {"code": 2001, "message": "secret", "data": {"retryable": True}}
    reply = logout_request(send, b"logout_token=a")
    assert reply.status == 503 and "secret" not in reply.text
    assert json.loads(reply.text)["error"] == "temporarily_unavailable"


def test_a_logout_at_the_issuer_while_the_sidecar_is_away(send: Send, double: Double) -> None:
    """An issuer that does not try again."""
    double.stop()
    assert logout_request(send, b"logout_token=a").status == 503
    double.listen()


def test_the_parameters_of_callbacks_go_on_as_they_came(browser: Browser, sidecar: Sidecar) -> None:
    """A code with characters that a framework has decoded, and a host that its sender has chosen."""
    query = f"code=a%2Bb%20c&state={browser.begin()}&iss=https%3A%2F%2Fidp"
    browser.get("/callback?" + query, X_Forwarded_Host="evil.example.com")
    [params] = sidecar.called("completeAuthorization")
    assert params["callbackUrl"] == f"{URL}/callback?{query}"
    assert dict(parse_qsl(urlsplit(params["callbackUrl"]).query))["code"] == "a+b c"


def test_who_is_logged_in_is_one_exception() -> None:
    for code in (1001, 1002, 5001, 5002):
        error = postern_auth.errors.from_answer({"code": code, "message": "m", "data": {"detail": "session_missing"}})
        assert type(error) is LoginRequired and error.detail == "session_missing"
        assert isinstance(error, postern_auth.FetchError) and isinstance(error, postern_auth.SessionError)
