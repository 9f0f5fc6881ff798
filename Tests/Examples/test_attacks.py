"""What another browser and another site can do to the users of the web applications of examples/: nothing.

In Chromium, whose cookies, redirects and forms are those of users. The attacker has a browser of its own, an account of
its own (bob), and a page at the application's host and one at another host. All applications have the same routes, and
say on their first page who is logged in.
"""

from __future__ import annotations

import http.server
import json
import shutil
import socket
import ssl
import tempfile
import threading
import urllib.parse
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest

from application import PLAYGROUND, WebApplication

from harness import chromium as browsers
from harness.certificates import Authority
from harness.chromium import Chromium, Page
from harness.playground import Playground
from harness.waiting import eventually

ALICE, BOB = "user-1001", "user-1002"
#: What alice's and bob's orders have, and no other page.
DATA = "coffee"


@pytest.fixture(params=sorted(WebApplication.PROGRAMS))
def application(request: pytest.FixtureRequest, start: Callable[..., WebApplication], playground: Playground) -> WebApplication:
    return start(request.param, {PLAYGROUND: playground.base + "/"})


@pytest.fixture
def other(chromium: Chromium) -> Iterator[Page]:
    """Another browser."""
    opened = chromium.page(height=900)
    yield opened
    opened.close()


class Attacker:
    """A site with the pages of `pages`, by path, that records who came."""

    def __init__(self, host: str) -> None:
        self.pages: Dict[str, str] = {}
        self.requests: List[str] = []
        attacker = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                attacker.requests.append(self.path)
                body = attacker.pages.get(self.path, "<title>evil</title>evil").encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer((host, 0), Handler)
        self.base = f"http://{host}:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(params=["127.0.0.1", "127.0.0.2"], ids=["same site", "cross-site"])
def attacker(request: pytest.FixtureRequest) -> Iterator[Attacker]:
    """A page at another port, which gets the cookies of the application's site, and one at another site."""
    site = Attacker(request.param)
    yield site
    site.stop()


def announce(playground: Playground, user: str, times: int = 1) -> None:
    """The next logins at the issuer are of that user, and need no password: a user who is logged in there."""
    playground.request("POST", "/playground/login", json.dumps({"user": user, "times": times}).encode())


def log_in(page: Page, application: WebApplication, playground: Playground, user: str = "alice", query: str = "") -> None:
    announce(playground, user)
    page.open(f"{application.base}/login{query}")


def logged_in(page: Page, application: WebApplication, playground: Playground, user: str = "alice") -> None:
    log_in(page, application, playground, user)
    assert who(page, application) == {"alice": ALICE, "bob": BOB}[user]


def who(page: Page, application: WebApplication) -> str:
    """Who is logged in in a browser, as the application's first page has it."""
    page.open(application.base + "/")
    text = page.text
    return next((subject for subject in (ALICE, BOB) if subject in text), "")


def cookies(page: Page, application: WebApplication) -> List[Dict[str, Any]]:
    return page.command("Network.getCookies", {"urls": [application.base]})["cookies"]


def session_cookie(page: Page, application: WebApplication) -> Dict[str, Any]:
    """The one cookie of a browser whose user has logged in."""
    [cookie] = cookies(page, application)
    return cookie


def plant(page: Page, application: WebApplication, name: str, value: str) -> None:
    """What an attacker does who can set cookies: by a neighbour domain, or at the computer itself."""
    done = page.command("Network.setCookie", {"url": application.base, "name": name, "value": value})
    assert done["success"]


def callback_of(playground: Playground, application: WebApplication, attacker: Page) -> str:
    """A callback with the code and the state of a login that bob has begun in his own browser, and has not ended."""
    begun = application.request("GET", "/login").headers["Location"]
    announce(playground, "bob")
    status, headers, _ = playground.request("GET", begun.replace(playground.base, ""))
    assert status in (302, 303) and "code=" in headers["location"]
    return headers["location"]


# MARK: the callback


def test_a_foreign_callback(
    application: WebApplication, playground: Playground, page: Page, other: Page, attacker: Attacker
) -> None:
    """Catches login CSRF: a user who is logged in as the attacker, and works in the attacker's account."""
    attacker.pages["/"] = f'<script>location = "{callback_of(playground, application, other)}"</script>'
    page.open(attacker.base + "/")
    eventually(lambda: page.url.startswith(application.base), 15, "the callback")
    assert who(page, application) == ""
    # While the victim has begun a login of her own, and when she is logged in.
    page.open(application.base + "/login")
    page.open(callback_of(playground, application, other))
    assert who(page, application) == ""
    assert application.sessions() == []
    logged_in(page, application, playground, "alice")
    page.open(callback_of(playground, application, other))
    assert who(page, application) == ALICE
    assert [session["subject"] for session in application.sessions()] == [ALICE]


def test_a_foreign_callback_in_a_frame(
    application: WebApplication, playground: Playground, page: Page, other: Page, attacker: Attacker
) -> None:
    """Catches the same where the user sees nothing of it."""
    url = callback_of(playground, application, other)
    attacker.pages["/"] = f'<iframe src="{url}"></iframe><img src="{url}">'
    page.open(attacker.base + "/")
    assert who(page, application) == "" and application.sessions() == []


# MARK: the way back


ELSEWHERE = [
    "EVIL", "//HOST", "///HOST", "/\\HOST", "\\\\HOST", "\\/HOST", "/\t/HOST", "/\n/HOST", "\t//HOST", " //HOST", "/.//HOST",
    "/..//HOST", "/%2e%2e//HOST", "/%2f/HOST", "/%5cHOST", "/%09/HOST", "http:HOST", "javascript:location='EVIL'",
    "data:text/html,<script>location='EVIL'</script>", "/\r\nLocation: EVIL", "@HOST", "/login", "//HOST/%2f..",
]


def test_an_open_redirect(application: WebApplication, playground: Playground, page: Page) -> None:
    """Catches a login that ends at the attacker's page, which looks like the application's."""
    site = Attacker("127.0.0.2")
    try:
        for path in ELSEWHERE:
            target = path.replace("EVIL", site.base + "/").replace("HOST", site.base.partition("//")[2])
            log_in(page, application, playground, query="?next=" + urllib.parse.quote(target, safe=""))
            at_home = eventually(lambda: ALICE in page.text or page.evaluate("document.title") == "evil", 15, ascii(path))
            assert at_home and page.url == application.base + "/", ascii(path)
        assert site.requests == []
        log_in(page, application, playground, query="?next=" + urllib.parse.quote("/data", safe=""))
        page.reads(DATA)
        assert page.url == application.base + "/data", "a page of the application is one to come back to"
    finally:
        site.stop()


# MARK: fixation


def test_a_session_that_the_attacker_has_planted(
    application: WebApplication, playground: Playground, page: Page, other: Page
) -> None:
    """Catches a session that was known before the login, and that becomes the victim's with it."""
    logged_in(other, application, playground, "bob")
    planted = session_cookie(other, application)
    plant(page, application, planted["name"], planted["value"])
    logged_in(page, application, playground, "alice")
    own = session_cookie(page, application)
    assert own["value"] != planted["value"]
    assert (own["httpOnly"], own["sameSite"], own["path"]) == (True, "Lax", "/")
    assert who(other, application) == "", "what the browser had before has ended"
    assert [session["subject"] for session in application.sessions()] == [ALICE]
    plant(other, application, planted["name"], "A" * 43)
    assert who(other, application) == ""


# MARK: a neighbour domain


class Front:
    """A server with TLS before an application at app.shop.test; evil.shop.test has a page that sets `planted`."""

    def __init__(self, directory: Path) -> None:
        authority = Authority(directory)
        authority.issue("shop")
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(authority.certificate("shop"), authority.key("shop"))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.application = 0
        self.planted = b""
        self.cookies: List[bytes] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, host: str) -> str:
        return f"https://{host}.shop.test:{self.port}"

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with self._context.wrap_socket(connection, server_side=True) as client:
                head = b""
                while b"\r\n\r\n" not in head:
                    data = client.recv(65536)
                    if not data:
                        return
                    head += data
                if b"evil." in head.partition(b"\r\n\r\n")[0]:
                    fields = b"".join(b"Set-Cookie: %b\r\n" % line for line in (b"neighbour=1; Domain=shop.test", self.planted))
                    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n%b"
                                   b"Connection: close\r\n\r\nevil" % fields)
                else:
                    self.cookies += [line for line in head.split(b"\r\n") if line.lower().startswith(b"cookie:")]
                    client.sendall(self.answer(head))
        except OSError:
            pass  # the browser has gone

    def answer(self, head: bytes) -> bytes:
        """What the application answers to these bytes."""
        lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
        with socket.create_connection(("127.0.0.1", self.application), 30) as server:
            server.sendall(b"\r\n".join([lines[0], b"Connection: close", *lines[1:]]))
            return b"".join(iter(lambda: server.recv(65536), b""))

    def stop(self) -> None:
        self._listener.close()


@pytest.fixture
def front(directory: Path) -> Iterator[Front]:
    server = Front(directory / "front")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def neighbourhood() -> Iterator[Chromium]:
    """A browser that finds all hosts of shop.test at this machine, with whatever certificate."""
    rules = "--host-resolver-rules=MAP *.shop.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    directory = Path(tempfile.mkdtemp(prefix="postern-chromium-", dir="/tmp"))
    with pytest.MonkeyPatch.context() as patch:
        others = [flag for flag in browsers.FLAGS if not flag.startswith("--host-resolver-rules")]
        patch.setattr(browsers, "FLAGS", [*others, rules, "--ignore-certificate-errors"])
        browser = Chromium(directory)
    yield browser
    browser.stop()
    shutil.rmtree(directory, ignore_errors=True)


def session_of(application: WebApplication, playground: Playground, user: str) -> bytes:
    """A session that the user has logged in for in some browser."""
    with application.sidecar.connect() as connection:
        started = connection.call("beginAuthorization", {"issuer": "corp", "redirectUri": application.base + "/callback"})
        announce(playground, user)
        _, headers, _ = playground.request("GET", started["authorizationUrl"].replace(playground.base, ""))
        params = {"callbackUrl": headers["location"], "state": started["state"]}
        return connection.call("completeAuthorization", params)["session"].encode()


#: Before and after the name of a cookie. A browser removes spaces and tabs, and then looks for the prefix; it keeps the others.
AROUND: List[Tuple[bytes, bytes]] = [
    (b"", b""), (b" ", b"\t"), (b"\xa0", b""), (b"\x85", b""), (b"", b"\xa0"), (b"\xc2\xa0", b""), (b"\xe2\x80\x80", b""), (b"\xef\xbb\xbf", b""),
]


@pytest.mark.parametrize("name", sorted(WebApplication.PROGRAMS))
def test_a_session_that_a_neighbour_domain_has_planted(
    name: str, start: Callable[..., WebApplication], playground: Playground, front: Front, neighbourhood: Chromium,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Catches a user who works in the attacker's account, or cannot stay logged in, because of a page at another subdomain."""
    monkeypatch.setenv("PUBLIC_URL", front.url("app"))
    application = start(name, {PLAYGROUND: playground.base + "/"})
    front.application = application.port
    alice, bob = (session_of(application, playground, user) for user in ("alice", "bob"))
    own = b"__Host-postern-session"
    for before, after in AROUND:
        cookie = before + own + after + b"=" + bob
        front.planted = cookie + b"; Domain=shop.test; Path=/; Secure; HttpOnly"
        page = neighbourhood.page()
        front.cookies.clear()
        page.open(front.url("evil") + "/")
        page.open(front.url("app") + "/")
        assert BOB not in page.reads("Not logged in"), cookie
        assert b"neighbour=1" in front.cookies[0], "the browser has not been at the neighbour"
        done = page.command("Network.setCookie", {
            "url": front.url("app"), "name": own.decode(), "value": alice.decode(), "secure": True, "path": "/"})
        assert done["success"]
        page.open(front.url("app") + "/")
        assert BOB not in page.reads(ALICE), cookie
        page.close()
        # Whatever a browser makes of it: a server gets these bytes.
        if (before + after).strip(b" \t"):
            for line, user in ((cookie, b"Not logged in"), (own + b"=" + alice + b"; " + cookie, ALICE.encode())):
                answer = front.answer(b"GET / HTTP/1.1\r\nHost: app.shop.test\r\nCookie: " + line + b"\r\n\r\n")
                assert user in answer and BOB.encode() not in answer, line


# MARK: logout


def test_a_logout_by_another_page(
    application: WebApplication, playground: Playground, page: Page, attacker: Attacker
) -> None:
    """Catches a page that logs the application's users out, with what it may send without asking."""
    logged_in(page, application, playground, "alice")
    url = application.base + "/logout"
    attacker.pages = {
        "/img": f'<img src="{url}" onerror="document.title=\'done\'">',
        "/form": f'<form method="post" action="{url}"></form><script>document.forms[0].submit()</script>',
        "/frame": f'<iframe name="f"></iframe><form method="post" action="{url}" target="f"></form>'
                  "<script>document.forms[0].submit(); setTimeout(() => document.title = 'done', 500)</script>",
        "/fetch": f"<script>fetch('{url}', {{method: 'POST', mode: 'no-cors', credentials: 'include'}})"
                  ".finally(() => document.title = 'done')</script>",
        "/beacon": f"<script>navigator.sendBeacon('{url}'); setTimeout(() => document.title = 'done', 500)</script>",
        "/link": f'<meta http-equiv="refresh" content="0;url={url}">',
        "/no-referrer": '<meta name="referrer" content="no-referrer">'
                        f'<form method="post" action="{url}"></form><script>document.forms[0].submit()</script>',
    }
    for path in attacker.pages:
        page.open(attacker.base + path)
        eventually(lambda: page.evaluate("document.title") == "done" or page.url == url, 15, f"the end of {path}")
        assert who(page, application) == ALICE, path
        assert len(application.sessions()) == 1, path
    page.press("Log out")
    page.reads("Log in")
    assert who(page, application) == "" and application.sessions() == []


# MARK: two users, and nobody


def test_two_users_in_two_browsers(application: WebApplication, playground: Playground, page: Page, other: Page) -> None:
    """Catches a user who sees, logs out or replaces another one."""
    logged_in(page, application, playground, "alice")
    logged_in(other, application, playground, "bob")
    for _ in range(2):
        assert (who(page, application), who(other, application)) == (ALICE, BOB)
        for one in (page, other):
            one.open(application.base + "/data")
            one.reads(DATA)
    assert sorted(session["subject"] for session in application.sessions()) == [ALICE, BOB]
    page.open(application.base + "/")
    page.press("Log out")
    page.reads("Log in")
    assert who(page, application) == ""
    assert who(other, application) == BOB
    assert [session["subject"] for session in application.sessions()] == [BOB]


SCRIPT = "fetch('/data', {redirect: 'manual'}).then(r => r.text().then(t => window.answer = [r.status, r.type, t]))"


def test_a_browser_without_a_session(
    application: WebApplication, playground: Playground, page: Page, other: Page
) -> None:
    """Catches an anonymous browser that gets the data of the one user who is logged in, whatever its cookie is."""
    logged_in(other, application, playground, "alice")
    name = session_cookie(other, application)["name"]
    for value in ("", "only", "null", "undefined", "*", "A" * 43):
        if value:
            plant(page, application, name, value)
        assert who(page, application) == "", value
        page.evaluate(f"window.answer = null, void {SCRIPT}")
        status, kind, text = eventually(lambda: page.evaluate("window.answer"), 15, "the script's request")
        assert (status in (302, 303, 401) or kind == "opaqueredirect") and DATA not in text, value
        for path in ("/data", "/sensitive"):
            response = application.request("GET", path, {name: value} if value else None)
            assert response.status in (302, 303, 401) and DATA not in response.text, value
            page.open(application.base + path)
            text = eventually(lambda: page.text, 15, "the page")
            assert DATA not in text and ALICE not in text, value
            assert "Sign in" in text or "log in" in text.lower(), value
    assert who(other, application) == ALICE


def test_two_tabs_of_one_browser(application: WebApplication, playground: Playground, page: Page) -> None:
    """Catches a login that fails because the user has begun another one in another tab, and two that are mixed up."""
    second = page.tab()
    for tab in (page, second):
        tab.open(application.base + "/login")
        tab.reads("Sign in")
    for tab in (page, second):
        tab.type("#username", "alice")
        tab.type("#password", "alice-password")
        tab.press("Sign in")
        eventually(lambda: tab.url.startswith(application.base), 15, "the way back")
    assert who(page, application) == who(second, application) == ALICE


def test_many_tabs_at_once(application: WebApplication, playground: Playground, page: Page) -> None:
    """Catches tabs that a browser opens again at its start, and of which only the last one logs in."""
    announce(playground, "alice", 4)
    tabs = [page, page.tab(), page.tab(), page.tab()]
    for tab in tabs:
        tab.evaluate(f"void (location.href = '{application.base}/data')")
    for tab in tabs:
        tab.reads(DATA)
        assert tab.url == application.base + "/data"
    assert [cookie["name"] for cookie in cookies(page, application)] == ["postern-session"]
    page.open(f"{application.base}/callback?code=x&state=unknown")
    eventually(lambda: page.url == application.base + "/", 15, "the way home")
    assert who(page, application) == ALICE


def test_one_login_after_the_other(application: WebApplication, playground: Playground, page: Page) -> None:
    """Catches sessions that nobody can use any more, and that pile up."""
    for user, subject in (("alice", ALICE), ("bob", BOB), ("alice", ALICE)):
        issuer = playground.issuer + "/authorize"
        for cookie in page.command("Network.getCookies", {"urls": [issuer]})["cookies"]:
            if cookie["path"] != "/":  # the issuer does not know any more who it was
                page.command("Network.deleteCookies", {"name": cookie["name"], "url": issuer, "path": cookie["path"]})
        logged_in(page, application, playground, user)
        assert [session["subject"] for session in application.sessions()] == [subject]


def test_a_second_login_without_a_question(application: WebApplication, playground: Playground, page: Page) -> None:
    """Catches an end of the first session that is also that of the login at the issuer, and of the second session with it."""
    logged_in(page, application, playground, "alice")
    for _ in range(2):
        page.open(application.base + "/login?next=/data")
        page.reads(DATA)
        assert page.url == application.base + "/data", "the issuer knows the user"
    assert who(page, application) == ALICE
    *earlier, newest = application.sessions()
    assert newest["session"] == session_cookie(page, application)["value"] and len(earlier) == 2
    ends = [datetime.fromisoformat(one["expiresAt"].replace("Z", "+00:00")) for one in earlier]
    assert max(ends) <= datetime.now(timezone.utc) + timedelta(minutes=1), "sessions that nobody can use pile up"
