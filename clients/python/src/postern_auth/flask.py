"""Logins of users for Flask: the routes, the cookies, and who is logged in.

login = Login(Client(), issuer="corp", public_url="https://shop.example.com")
login.install(app)

@app.get("/orders")
def orders():
    client.fetch_resource("orders", "orders", session=login.current_session())
"""

from __future__ import annotations

from typing import TypeVar

from flask import Blueprint, Flask, after_this_request, request
from flask.wrappers import Response

from . import _login
from ._login import Answer, FrameworkLogin, Problem, Steps, Walk
from .client import Client
from .errors import AdviceRequired, LoginRequired, PosternError
from .types import Session
from .wsgi import needs_client, target_of

__all__ = ["Login", "Problem"]

_Found = TypeVar("_Found")


class Login(FrameworkLogin[Client]):
    """Logs the users of a web application in and out.

    `install` adds the routes `/login` (with `?next=` a path to come back to), `/callback`, `/logout` (POST, from a page
    of this application) and `/backchannel-logout`. A page that raises `LoginRequired` leads to the login, one that
    raises `AdviceRequired` to a stronger login, and then back to the page. A page for which a user's session was read
    is not for a cache (`Cache-Control: no-store`), unless it has its own `Cache-Control`.

    A browser has its session's handle in a cookie that no script and no other site gets, and nothing else: there is
    no state in this process. A login belongs to the browser that began it.
    """

    def _check(self, client: Client) -> None:
        needs_client(client)

    def _add_routes(self, prefix: str, cookie: str) -> None:
        #: The routes, and what answers the exceptions, for `register_blueprint` in place of `install`.
        self.blueprint = Blueprint(f"{cookie}_login", __name__, url_prefix=prefix or None)
        self.blueprint.add_url_rule("/login", "login", self._login, methods=["GET"])
        self.blueprint.add_url_rule("/callback", "callback", self._callback, methods=["GET"])
        self.blueprint.add_url_rule("/logout", "logout", self._logout, methods=["POST"])
        self.blueprint.add_url_rule("/backchannel-logout", "backchannel", self._backchannel, methods=["POST"])
        self.blueprint.app_errorhandler(LoginRequired)(self.login_required)
        self.blueprint.app_errorhandler(AdviceRequired)(self.advice_required)

    def install(self, app: Flask) -> None:
        """Adds the routes, and what answers `LoginRequired` and `AdviceRequired`."""
        app.register_blueprint(self.blueprint)

    # Who is logged in, in the request that is handled

    def current_session(self) -> str:
        """The handle of the browser's session, for `session=`; without one `LoginRequired` is raised.

        Nothing is called: the sidecar checks a handle when it is used.
        """
        return _shown(self._rules.required(_request()))

    def optional_session(self) -> str | None:
        """The same; None without one. An adapter takes this method itself as its `session`."""
        return _shown(self._rules.session(_request()))

    def current_user(self) -> Session:
        """The browser's session as the sidecar has it; without one `LoginRequired` is raised."""
        _shown(self._rules.session(_request()))
        return self._walked(self._rules.user(_request()))

    def optional_user(self) -> Session | None:
        """The same; None without one, and for one that has ended."""
        try:
            return self.current_user()
        except LoginRequired:
            return None

    # Error handlers

    def login_required(self, error: LoginRequired) -> Response:
        """Answers a request whose page raised `LoginRequired`."""
        return _response(self._rules.login_required(_request()))

    def advice_required(self, error: AdviceRequired) -> Response:
        """Answers a request whose page raised `AdviceRequired`."""
        return self._answered(self._rules.advice_required(_request(), error))

    # Routes

    def _login(self) -> Response:
        return self._answered(self._rules.login(_request()))

    def _callback(self) -> Response:
        return self._answered(self._rules.callback(_request()))

    def _logout(self) -> Response:
        return self._answered(self._rules.logout(_request()))

    def _backchannel(self) -> Response:
        body = request.stream.read(_login.MOST_FORM + 1)
        return self._answered(self._rules.backchannel_logout(request.headers.get("Content-Type"), body))

    def _answered(self, steps: Steps) -> Response:
        return _response(self._walked(steps))

    def _walked(self, walk: Walk[_Found]) -> _Found:
        """Makes the calls, and returns what comes of them."""
        try:
            call = next(walk)
            while True:
                try:
                    result = call(self.client)
                except PosternError as error:
                    call = walk.throw(error)
                else:
                    call = walk.send(result)
        except StopIteration as end:
            found: _Found = end.value
            return found


def _request() -> _login.Request:
    return _login.Request(request.method, target_of(request.environ), request.headers.getlist)


def _response(answer: Answer) -> Response:
    return Response(answer.body, answer.status, answer.headers)


def _shown(handle: _Found) -> _Found:
    """Keeps the page, which is for the user of a session, out of caches."""
    if handle is not None:
        after_this_request(_not_for_caches)
    return handle


def _not_for_caches(response: Response) -> Response:
    response.headers.setdefault("Cache-Control", "no-store")
    return response
