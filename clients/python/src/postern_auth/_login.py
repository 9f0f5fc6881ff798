"""The common part of the logins for web frameworks: what browsers bring, and what they get.

Nothing is stored here: a browser has its session's handle in a cookie, and each of its logins under way in another.
Each answer is a generator of calls for the sidecar, which a framework's module makes with its client, blocking or
awaited.
"""

from __future__ import annotations

import hmac
import json
import logging
import re
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from html import escape
from typing import Any, Callable, Generic, Literal, NamedTuple, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from ._login_cookies import WHITE_SPACE, CookieMaker, Pending, PendingLogins, cookies_of
from ._sessions import login_required
from ._tokens import is_loopback
from .errors import (
    AdviceRequired,
    ConnectionFailed,
    ConnectionLost,
    DeadlineExceeded,
    LoginRequired,
    PosternError,
    Unavailable,
)
from .types import AuthorizationRequest, JourneyStep, Session

#: Seconds that a call may take: a browser waits for it.
TIMEOUT = 10.0
#: The largest form with a logout token.
MOST_FORM = 64 << 10
#: A session's handle. A browser can send any text, also `only`, which would be another user's session.
HANDLE = re.compile(r"[A-Za-z0-9_-]{43}")
#: The longest path that a login comes back to, percent-encoded: a cookie has it.
MOST_PATH = 1024

_HEADERS = [("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer")]
_PAGE_HEADERS = [*_HEADERS, ("Content-Type", "text/html; charset=utf-8")]

log = logging.getLogger("postern_auth")

#: Calls for a client: each is made with it, and its result or error comes back.
Call = Callable[[Any], Any]
_Client = TypeVar("_Client")
_Found = TypeVar("_Found")
Walk = Generator[Call, Any, _Found]
Steps = Generator[Call, Any, "Answer"]


class Answer(NamedTuple):
    """What the browser gets."""

    status: int
    headers: list[tuple[str, str]]
    body: str = ""


class Request(NamedTuple):
    """What is read of a request."""

    #: None for a WebSocket.
    method: str | None
    #: Path and query as the client sent them.
    target: str
    #: The lines of a header, by its name in lower case.
    lines: Callable[[str], Iterable[str]]

    def header(self, name: str) -> str | None:
        """The value of a header that is there once."""
        found = list(self.lines(name))
        return found[0].strip(WHITE_SPACE) if len(found) == 1 else None

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]

    def parameter(self, name: str) -> str:
        """The value of a parameter that is there once, else an empty text."""
        pairs = parse_qsl(self.query, keep_blank_values=True)
        return _once((key, value) for key, value in pairs if key == name)

    @property
    def cookies(self) -> dict[str, str]:
        """Those that are there once. A framework's own parser removes more around a name than a browser does."""
        return cookies_of(self.lines("cookie"))

    @property
    def is_navigation(self) -> bool:
        """Whether a page is to be shown, and not a script's request to be answered."""
        mode = self.header("sec-fetch-mode")
        return mode == "navigate" if mode else "text/html" in ",".join(self.lines("accept"))


def _once(pairs: Iterable[tuple[str, str]]) -> str:
    found = [value for _, value in pairs]
    return found[0] if len(found) == 1 else ""


#: Why there is a `Problem`; a later release may have more.
ProblemKind = Literal[
    "not_begun_here",
    "cancelled",
    "rejected",
    "ended",
    "not_sufficient",
    "foreign_logout",
    "unavailable",
    "failed",
]


@dataclass(frozen=True)
class Problem:
    """Why a browser gets a page of the login's instead of the application's. It has nothing secret."""

    kind: ProblemKind
    status: int
    #: For the user.
    title: str
    text: str
    #: Where to try again: a path.
    link: str
    #: What that link reads.
    link_text: str = "Log in"


class LoginRules:
    """What a login does with each request, whatever the framework."""

    def __init__(
        self,
        *,
        issuer: str,
        public_url: str,
        prefix: str,
        home: str | None,
        cookie: str,
        max_age: int | None,
        authorization: Mapping[str, Any] | None,
        timeout: float = TIMEOUT,
        page: Callable[[Problem], str] | None,
    ) -> None:
        parts = urlsplit(public_url)
        host = parts.hostname or ""
        is_url = parts.scheme in ("http", "https") and host and "@" not in parts.netloc
        if not is_url or parts.query or parts.fragment or not public_url.isascii():
            raise ValueError("public_url is the URL under which browsers reach the application, in ASCII")
        if parts.scheme == "http" and not is_loopback(host):
            raise ValueError("public_url is https, or http on loopback: without TLS anyone can read the cookies")
        if prefix and (not prefix.startswith("/") or prefix.endswith("/")):
            raise ValueError("prefix begins with a slash, and does not end with one")
        if not re.fullmatch(r"[A-Za-z0-9_-]+", cookie):
            raise ValueError("cookie is a name of letters, digits, hyphens and underscores")
        self.issuer = issuer
        #: As in the header `Origin`: without a default port, in lower case.
        default = {"http": 80, "https": 443}[parts.scheme]
        host = f"[{host}]" if ":" in host else host
        port = "" if parts.port in (None, default) else f":{parts.port}"
        self.origin = f"{parts.scheme}://{host}{port}"
        self.base = parts.path.rstrip("/")
        self.routes = self.base + prefix
        self.redirect_uri = public_url.rstrip("/") + prefix + "/callback"
        if not timeout > 0:
            raise ValueError("timeout is a number of seconds over 0")
        self.cookies = CookieMaker(parts.scheme == "https")
        self.session_cookie = self.cookies.name(f"{cookie}-session")
        self.pending = PendingLogins(self.cookies, f"{cookie}-login")
        self.home = self.base + "/"
        if home is not None and self.own_path(home) != home:
            raise ValueError("home is a path of the application, as browsers see it")
        self.home = home or self.home
        self.max_age = max_age
        self.authorization: dict[str, Any] = {"timeout": timeout, **(authorization or {})}
        self.timeout = timeout
        self.page = page or _page
        # An application's own page may have styles and scripts.
        self.policy = "frame-ancestors 'none'" if page else "default-src 'none'; frame-ancestors 'none'"

    # MARK: who it is

    def session(self, request: Request) -> str | None:
        """The handle in the browser's cookie, if well formed. The sidecar decides whether there is a session."""
        # A WebSocket can be read by the page that opened it, of whatever site, and brings the cookies of this one.
        # Flask and plain WSGI servers take it as a GET.
        is_socket = request.method is None or any(
            list(request.lines(name)) for name in ("upgrade", "sec-websocket-key")
        )
        if is_socket and request.header("origin") != self.origin:
            return None
        handle = request.cookies.get(self.session_cookie, "")
        return handle if HANDLE.fullmatch(handle) else None

    def required(self, request: Request) -> str:
        handle = self.session(request)
        if handle is None:
            raise login_required("no user is logged in in this browser")
        return handle

    def user(self, request: Request) -> Walk[Session]:
        """The browser's session, if it is live and of this issuer: other issuers' subjects are other users."""
        handle = self.required(request)
        try:
            session: Session = yield lambda client: client.get_session(handle, timeout=self.timeout)
        except DeadlineExceeded as error:
            # As the sidecar's own errors say it: nothing was changed.
            raise DeadlineExceeded(error.message, error.code, {**error.data, "retryable": True}) from error
        if session.issuer != self.issuer or session.kind != "user":
            raise LoginRequired("the session is another issuer's", 5001, {"reason": "session_not_found"})
        # The sidecar still shows a session that has expired, or that its issuer has ended.
        if session.expires_at is not None and session.expires_at <= datetime.now(timezone.utc):
            raise LoginRequired("the user has to log in again", 5002, {"reason": "session_expired"})
        return session

    # MARK: the routes

    def login(self, request: Request) -> Steps:
        """Begins a login, in addition to those of other tabs."""
        target = self.own_path(request.parameter("next"))
        try:
            started: AuthorizationRequest = yield lambda client: client.begin_authorization(
                self.issuer, self.redirect_uri, **self.authorization
            )
        except PosternError as error:
            return self._failed(error, target)
        begun = Pending.now("login", started.state, target)
        return self._redirect(started.authorization_url, self.pending.add(begun, self._pending(request)))

    def callback(self, request: Request) -> Steps:
        """Completes what this browser has begun, and nothing else."""
        state, pending = request.parameter("state").encode(), self._pending(request)
        url = f"{self.redirect_uri}?{request.query}"
        for one in pending:
            if one.kind == "login" and state and hmac.compare_digest(one.secret.encode(), state):
                # What another login has done for a page does not count for this one.
                over = self.pending.remove(other for other in pending if other is one or other.kind == "done")
                return (yield from self._logged_in(request, url, one, over))
        # A step-up's state may be known to the issuer only. The sidecar takes no other callback for a continuation.
        for one in [one for one in reversed(pending) if one.kind == "step-up"]:
            answer = yield from self._stepped_up(url, one, pending)
            if answer is not None:
                return answer
        return (yield from self._not_begun_here(request, self.home))

    def _logged_in(self, request: Request, url: str, one: Pending, over: list[tuple[str, str]]) -> Steps:
        target = self.own_path(one.target)
        try:
            user: Session = yield lambda client: client.complete_authorization(
                url, one.secret, replaces=self.session(request), timeout=self.timeout
            )
        except PosternError as error:
            kind = _kind(error)
            # A login that can still succeed, when the page is loaded again, stays.
            failed = self._failed(error, target, () if kind == "unavailable" else over)
            return (yield from self._not_begun_here(request, target, over)) if kind == "not_begun_here" else failed
        # A new cookie, whatever the browser had: a handle that someone else has planted is of no use to them.
        own = self.cookies.set(self.session_cookie, user.session, self.max_age)
        return self._redirect(target, [own, *over])

    def _not_begun_here(self, request: Request, target: str, cookies: Iterable[tuple[str, str]] = ()) -> Steps:
        """A callback that is not one of this browser's logins, or not any more: of a page that is loaded again."""
        try:
            yield from self.user(request)
        except LoginRequired:
            return self._problem("not_begun_here", target, cookies)
        except PosternError as error:
            return self._failed(error, target, cookies)
        return self._redirect(target, cookies)

    def logout(self, request: Request) -> Steps:
        """Ends the session. For a page of the application only: no other one may log its users out."""
        if not self._is_own_page(request):
            return self._problem("foreign_logout", self.home)
        handle = self.session(request)
        if handle is not None:
            try:
                yield lambda client: client.end_session(handle, timeout=self.timeout)
            except LoginRequired:
                pass  # it has ended before
            except PosternError as error:
                log.error("a session is left at the sidecar after its logout: %s, trace %s", error, error.trace_id)
        return self._redirect(self.home, [self.cookies.clear(self.session_cookie)])

    def _is_own_page(self, request: Request) -> bool:
        site = request.header("sec-fetch-site")
        if site is not None:
            return site == "same-origin"
        # Browsers send the former only where they trust the connection, and this with each POST.
        return request.header("origin") == self.origin

    def backchannel_logout(self, content_type: str | None, body: bytes) -> Steps:
        """Takes the issuer's logout token (OpenID Connect Back-Channel Logout 1.0 sections 2.5 to 2.8)."""
        media_type = (content_type or "").partition(";")[0].strip(WHITE_SPACE).lower()
        if media_type != "application/x-www-form-urlencoded" or len(body) > MOST_FORM:
            return _rejected_logout("invalid_request", "a form of at most 64 KiB is expected")
        fields = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
        token = _once((name, value) for name, value in fields if name == "logout_token")
        if not token:
            return _rejected_logout("invalid_request", "the form has not exactly one logout_token")
        try:
            verdict = yield lambda client: client.validate_logout_token(
                token, issuer=self.issuer, end=True, timeout=self.timeout
            )
        except PosternError as error:
            log.error("back-channel logout: %s, trace %s", error, error.trace_id)
            # Nothing was judged: the issuer may send the token again.
            return _rejected_logout("temporarily_unavailable", "the logout cannot be carried out now", 503)
        if not verdict:
            return _rejected_logout("invalid_request", verdict.error.message)
        return Answer(200, [("Cache-Control", "no-store")])

    # MARK: what an application's pages raise

    def login_required(self, request: Request) -> Answer:
        """Leads a browser without a session to the login; one whose session has ended shows that, and a link.

        A redirect in its place could be one of an endless chain, where the issuer logs the user in without a question.
        """
        target = self._target(request)
        if not request.is_navigation:
            return _json(401, {"error": "login_required"})
        if not request.cookies.get(self.session_cookie):
            return self._redirect(self._login_path(target), ())
        return self._problem("ended", target)

    def advice_required(self, request: Request, error: AdviceRequired) -> Steps:
        """Sends the browser to the issuer for a stronger login (RFC 9470), after which the page is loaded again."""
        if not request.is_navigation:
            return _json(403, {"error": "stronger_login_required"})
        target, pending = self._target(request), self._pending(request)
        done = [one for one in pending if one.kind == "done" and one.target == target]
        if done:
            return self._problem("not_sufficient", target, self.pending.remove(done))
        if error.continuation is None:
            return self._problem("unavailable", target)
        try:
            step: JourneyStep = yield lambda client: client.authenticate_with_advice(
                continuation=error.continuation, timeout=self.timeout
            )
        except PosternError as failure:
            return self._failed(failure, target)
        return self._next_step(step, target, pending)

    def _next_step(
        self, step: JourneyStep, target: str, pending: list[Pending], over: Iterable[tuple[str, str]] = ()
    ) -> Answer:
        if step.state == "completed":
            return self._redirect(target, [*self.pending.add(Pending.now("done", "", target), pending), *over])
        url = _redirect_of(step)
        if step.state != "callbacks" or url is None or step.continuation is None:
            log.error("a step-up ended as %s, and not with a redirect", step.state)
            return self._problem("not_sufficient", target, over)
        begun = Pending.now("step-up", step.continuation, target)
        return self._redirect(url, [*self.pending.add(begun, pending), *over])

    def _stepped_up(self, url: str, one: Pending, pending: list[Pending]) -> Walk[Answer | None]:
        """Completes a step-up; None when the callback is not its own."""
        target, over = self.own_path(one.target), self.pending.remove([one])
        try:
            step: JourneyStep = yield lambda client: client.authenticate_with_advice(
                continuation=one.secret, answers={"RedirectCallback": url}, timeout=self.timeout
            )
        except PosternError as error:
            if error.reason == "state_unknown":
                return None
            return self._failed(error, target, () if _is_passing(error) else over)
        return self._next_step(step, target, [other for other in pending if other is not one], over)

    # MARK: paths

    def own_path(self, text: str) -> str:
        """The path that a browser may be sent to: one of this application, else its home page."""
        path = local_path(text)
        return self.home if path is None or not self._is_below(path) or self._is_route(path) else path

    def _is_below(self, path: str) -> bool:
        """Whether a path is one of the application, where others have their own at the same host."""
        plain = re.split("[?#]", path, maxsplit=1)[0]
        return plain == self.base or plain.startswith(self.base + "/")

    def _is_route(self, path: str) -> bool:
        """Whether a path is the login's own: from there a browser would not get anywhere."""
        plain = unquote(re.split("[?#]", path)[0])
        return plain.startswith(self.routes + "/") and plain[len(self.routes) + 1 :].rstrip("/") in _ROUTES

    def _target(self, request: Request) -> str:
        """The path of the requested page, as browsers see it; a form cannot be retried."""
        if request.method not in ("GET", "HEAD"):
            return self.home
        # A front may take the path of `public_url` away, or leave it.
        front = "" if self._is_below(request.target) else self.base
        return self.own_path(front + request.target)

    def _login_path(self, target: str) -> str:
        return f"{self.routes}/login" + ("" if target == self.home else "?" + urlencode({"next": target}))

    def _pending(self, request: Request) -> list[Pending]:
        return self.pending.of(request.cookies)

    # MARK: answers

    @staticmethod
    def _redirect(url: str, cookies: Iterable[tuple[str, str]]) -> Answer:
        return Answer(303, [("Location", url), *_HEADERS, *cookies])

    def _failed(self, error: PosternError, target: str, cookies: Iterable[tuple[str, str]] = ()) -> Answer:
        """The log has what an operator needs, the page what a user may see."""
        kind = _kind(error)
        level = logging.INFO if kind in ("cancelled", "not_begun_here") else logging.ERROR
        log.log(level, "login: %s, trace %s", error, error.trace_id)
        return self._problem(kind, target, cookies)

    def _problem(self, kind: ProblemKind, target: str, cookies: Iterable[tuple[str, str]] = ()) -> Answer:
        status, title, text = _PROBLEMS[kind]
        if kind == "not_sufficient":
            problem = Problem(kind, status, title, text, target, "Try again")
        elif kind == "foreign_logout":
            problem = Problem(kind, status, title, text, self.home, "Back")
        else:
            problem = Problem(kind, status, title, text, self._login_path(target))
        headers = [*_PAGE_HEADERS, ("Content-Security-Policy", self.policy), *cookies]
        return Answer(status, headers, self.page(problem))


#: What no path has as it is: spaces and controls, backslashes, halves of characters.
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\x9f\\\ud800-\udfff]")
_ROUTES = {"login", "callback", "logout", "backchannel-logout"}
_PROBLEMS: dict[ProblemKind, tuple[int, str, str]] = {
    "not_begun_here": (400, "Please log in again", "This login was not begun in this browser, or it took too long."),
    "cancelled": (403, "You are not logged in", "The login was cancelled."),
    "rejected": (403, "You are not logged in", "The login did not succeed."),
    "ended": (401, "Please log in again", "Your login has ended."),
    "not_sufficient": (403, "This needs a stronger login", "The login was not sufficient for this page."),
    "foreign_logout": (403, "You are still logged in", "This logout does not come from a page of this application."),
    "unavailable": (503, "Please try again later", "The login is not available at the moment."),
    "failed": (502, "The login does not work", "The application's operator can see why in its log."),
}


def _kind(error: PosternError) -> ProblemKind:
    if _is_passing(error):
        return "unavailable"
    if error.reason == "authorization_failed":
        if error.detail == "state_mismatch":
            return "not_begun_here"
        return "cancelled" if error.upstream.get("code") == "access_denied" else "rejected"
    # Used before, or too long ago.
    return "not_begun_here" if error.reason in ("state_unknown", "continuation_unknown") else "failed"


def _is_passing(error: PosternError) -> bool:
    """Whether the same may succeed later."""
    passing = (ConnectionFailed, ConnectionLost, DeadlineExceeded, Unavailable)
    return error.retryable or isinstance(error, passing)


def _redirect_of(step: JourneyStep) -> str | None:
    """Where a step that is one redirect leads to; None for any other step."""
    callbacks = step.callbacks or []
    if [callback.get("type") for callback in callbacks] != ["RedirectCallback"]:
        return None
    outputs: list[dict[str, Any]] = callbacks[0].get("output") or []
    return next((str(output["value"]) for output in outputs if output.get("name") == "redirectUrl"), None)


def _rejected_logout(error: str, description: str, status: int = 400) -> Answer:
    return _json(status, {"error": error, "error_description": description})


def _json(status: int, value: Mapping[str, str]) -> Answer:
    return Answer(status, [*_HEADERS, ("Content-Type", "application/json")], json.dumps(value))


def _page(problem: Problem) -> str:
    title = escape(problem.title)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><h1>{title}</h1>'
        f'<p>{escape(problem.text)}</p><p><a href="{escape(problem.link)}">{escape(problem.link_text)}</a></p>'
    )


def local_path(text: str) -> str | None:
    """`text` as the path of a redirect that stays at its origin in every browser; None when that is not certain.

    Browsers take `\\` for `/`, leave out tabs and line ends, and resolve `.` and `..`, also percent-encoded. Proxies
    and frameworks decode more than they do, so each decoding of the path must be harmless, too.
    """
    path = re.split("[?#]", text, maxsplit=1)[0]
    if len(text) > MOST_PATH or not path.startswith("/") or _UNSAFE.search(text):
        return None
    for _ in range(4):
        if re.search(r"[\x00-\x1f\x7f-\x9f\\]|^//|/\.{1,2}(/|$)", path):
            return None
        decoded = unquote(path)
        if decoded == path:
            encoded = quote(text, safe="/?#[]@!$&'()*+,;=:-._~%")
            return encoded if len(encoded) <= MOST_PATH else None
        path = decoded
    return None


class FrameworkLogin(Generic[_Client]):
    """The settings of a login, in every framework."""

    def __init__(
        self,
        client: _Client,
        *,
        issuer: str,
        public_url: str,
        prefix: str = "",
        home: str | None = None,
        cookie: str = "postern",
        max_age: int | None = None,
        authorization: Mapping[str, Any] | None = None,
        timeout: float = TIMEOUT,
        page: Callable[[Problem], str] | None = None,
    ) -> None:
        """Where users log in, and where browsers find the application.

        :param client: It is not closed with the application.
        :param issuer: Where users log in: an issuer of the sidecar's configuration.
        :param public_url: The URL under which browsers reach the application's path `/`: https, or http on loopback.
            `/callback` below it is registered at the issuer. The host that a request names is never used.
        :param prefix: Before the four routes: `/auth`.
        :param home: The path after a logout, and after a login without `next`; default: that of `public_url`.
        :param cookie: How the names of the cookies begin. With https, `__Host-` comes before it.
        :param max_age: Seconds that the browser keeps the session's cookie; default: until it is closed.
        :param authorization: More arguments of `begin_authorization`: `{"acr_values": ["mfa"]}`.
        :param timeout: Seconds that each call to the sidecar may take.
        :param page: Returns the HTML of a `Problem`, in place of the own plain page.
        """
        self._check(client)
        self.client = client
        self._rules = LoginRules(
            issuer=issuer,
            public_url=public_url,
            prefix=prefix,
            home=home,
            cookie=cookie,
            max_age=max_age,
            authorization=authorization,
            timeout=timeout,
            page=page,
        )
        self._add_routes(prefix, cookie)

    def _check(self, client: _Client) -> None:
        """Raises the error for the other kind of client."""
        raise NotImplementedError

    def _add_routes(self, prefix: str, cookie: str) -> None:
        raise NotImplementedError
