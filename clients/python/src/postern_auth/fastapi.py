"""Logins of users for FastAPI: the routes, the cookies, and who is logged in.

login = Login(AsyncClient(), issuer="corp", public_url="https://shop.example.com")
login.install(app)

@app.get("/orders")
async def orders(session: Annotated[str, Depends(login.current_session)]): ...
"""

from __future__ import annotations

from typing import Any, TypeVar

from fastapi import APIRouter, FastAPI, Request, WebSocket
from fastapi.requests import HTTPConnection
from fastapi.responses import Response

from . import _login
from ._login import Answer, FrameworkLogin, Problem, Steps, Walk
from .aio import AsyncClient
from .asgi import Application, Message, Receive, Scope, Send, needs_client, target_of
from .errors import AdviceRequired, LoginRequired, PosternError
from .types import Session

__all__ = ["Login", "Problem"]

_Found = TypeVar("_Found")
#: In a scope: whether the page of its request is a user's. An object of its own, because middlewares copy scopes.
_PAGE = "postern_auth.page"


class Login(FrameworkLogin[AsyncClient]):
    """Logs the users of a web application in and out.

    `install` adds the routes `/login` (with `?next=` a path to come back to), `/callback`, `/logout` (POST, from a page
    of this application) and `/backchannel-logout`. A page that raises `LoginRequired` leads to the login, one that
    raises `AdviceRequired` to a stronger login, and then back to the page.

    A browser has its session's handle in a cookie that no script and no other site gets, and nothing else: there is
    no state in this process. A login belongs to the browser that began it.
    """

    def _check(self, client: AsyncClient) -> None:
        needs_client(client)

    def _add_routes(self, prefix: str, cookie: str) -> None:
        #: The routes alone, for `include_router` in place of `install`.
        self.router = APIRouter(prefix=prefix, include_in_schema=False)
        self.router.add_api_route("/login", self._login, methods=["GET"], response_model=None)
        self.router.add_api_route("/callback", self._callback, methods=["GET"], response_model=None)
        self.router.add_api_route("/logout", self._logout, methods=["POST"], response_model=None)
        self.router.add_api_route("/backchannel-logout", self._backchannel, methods=["POST"], response_model=None)

    def install(self, app: FastAPI) -> None:
        """Adds the routes, and what answers `LoginRequired` and `AdviceRequired`.

        A page for which a user's session was read is not for a cache (`Cache-Control: no-store`), unless it has its own
        `Cache-Control`.
        """
        app.include_router(self.router)
        app.add_middleware(_UsersPages)
        app.add_exception_handler(LoginRequired, self._unanswered)
        app.add_exception_handler(AdviceRequired, self.advice_required)

    # Dependencies, of WebSockets as well: there, a browser on a page of another site has no session

    async def current_session(self, connection: HTTPConnection) -> str:
        """The handle of the browser's session, for `session=`; without one `LoginRequired` is raised.

        Nothing is called: the sidecar checks a handle when it is used.
        """
        return _shown(connection, self._rules.required(_request(connection)))

    async def optional_session(self, connection: HTTPConnection) -> str | None:
        """The same; None without one."""
        return _shown(connection, self._rules.session(_request(connection)))

    async def current_user(self, connection: HTTPConnection) -> Session:
        """The browser's session as the sidecar has it; without one `LoginRequired` is raised."""
        request = _request(connection)
        _shown(connection, self._rules.session(request))
        return await self._walked(self._rules.user(request))

    async def optional_user(self, connection: HTTPConnection) -> Session | None:
        """The same; None without one, and for one that has ended."""
        try:
            return await self.current_user(connection)
        except LoginRequired:
            return None

    # Exception handlers

    async def login_required(self, request: Request, error: Exception) -> Response:
        """Answers a request whose page raised `LoginRequired`."""
        return _response(self._rules.login_required(_request(request)))

    async def advice_required(self, request: Request, error: Exception) -> Response:
        """Answers a request whose page raised `AdviceRequired`."""
        if not isinstance(error, AdviceRequired):
            raise error
        return await self._answered(self._rules.advice_required(_request(request), error))

    async def _unanswered(self, connection: Any, error: Exception) -> Any:
        if not isinstance(connection, WebSocket):
            return await self.login_required(connection, error)
        await connection.close(1008)
        return None

    # Routes

    async def _login(self, request: Request) -> Response:
        return await self._answered(self._rules.login(_request(request)))

    async def _callback(self, request: Request) -> Response:
        return await self._answered(self._rules.callback(_request(request)))

    async def _logout(self, request: Request) -> Response:
        return await self._answered(self._rules.logout(_request(request)))

    async def _backchannel(self, request: Request) -> Response:
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > _login.MOST_FORM:
                break
        return await self._answered(self._rules.backchannel_logout(request.headers.get("content-type"), bytes(body)))

    async def _answered(self, steps: Steps) -> Response:
        return _response(await self._walked(steps))

    async def _walked(self, walk: Walk[_Found]) -> _Found:
        """Makes the calls, and returns what comes of them."""
        try:
            call = next(walk)
            while True:
                try:
                    result = await call(self.client)
                except PosternError as error:
                    call = walk.throw(error)
                else:
                    call = walk.send(result)
        except StopIteration as end:
            found: _Found = end.value
            return found


def _request(connection: HTTPConnection) -> _login.Request:
    method = connection.scope.get("method")  # None: a WebSocket
    return _login.Request(method, target_of(connection.scope), connection.headers.getlist)


def _response(answer: Answer) -> Response:
    response = Response(answer.body, answer.status)
    for name, value in answer.headers:
        response.headers.append(name, value)
    return response


class _Page:
    is_users = False


def _shown(connection: HTTPConnection, handle: _Found) -> _Found:
    """Notes that the page is for the user of a session."""
    page = connection.scope.get(_PAGE)
    if page is not None and handle is not None:
        page.is_users = True
    return handle


class _UsersPages:
    """A middleware that keeps pages of users out of caches."""

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        page = scope.setdefault(_PAGE, _Page())

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and page.is_users:
                lines = list(message.get("headers") or [])
                if not any(name.lower() == b"cache-control" for name, _ in lines):
                    message = {**message, "headers": [*lines, (b"cache-control", b"no-store")]}
            await send(message)

        await self.app(scope, receive, sending)
