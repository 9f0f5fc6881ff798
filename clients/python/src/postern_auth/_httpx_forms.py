"""How requests, responses and errors of `httpx` become those of the sidecar, and back."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import Any

import httpx

from ._chunks import ResponseHead
from ._http import Target, timeout_of
from ._sessions import HEADER, one_of
from ._tokens import Origins, TokenSource, TokenSources, credentials
from .errors import DeadlineExceeded, LoginRequired, PosternError
from .types import AccessToken, FetchResult

_EXCEPTIONS: dict[str, type[httpx.TransportError]] = {
    "network_unreachable": httpx.ConnectError,
    "server_unreachable": httpx.ConnectError,
    "connection_failed": httpx.ConnectError,
    "tls_failure": httpx.ConnectError,
    "pin_mismatch": httpx.ConnectError,
    "connection_lost": httpx.ReadError,
    "protocol_violation": httpx.ReadError,
    "client_closed": httpx.ReadError,
    "shutting_down": httpx.ReadError,
    "protocol_error": httpx.RemoteProtocolError,
    "invalid_url": httpx.UnsupportedProtocol,
    "origin_not_allowed": httpx.UnsupportedProtocol,
    "invalid_headers": httpx.LocalProtocolError,
}
#: The extension of a request that has named its session.
_EXTENSION = "postern_session"


class HTTPXLoginRequired(LoginRequired, httpx.TransportError):
    """`LoginRequired`, for code that catches the exceptions of `httpx`, too."""

    def __init__(self, error: LoginRequired, request: httpx.Request | None = None) -> None:
        LoginRequired.__init__(self, error.message, error.code, error.data)
        self._request = request

    def __reduce__(self) -> Any:
        return type(self), (LoginRequired(self.message, self.code, self.data),)


def translated(error: PosternError, request: httpx.Request, text: str | None = None) -> httpx.TransportError:
    if isinstance(error, LoginRequired):
        return HTTPXLoginRequired(error, request)
    kind = httpx.ReadTimeout if isinstance(error, DeadlineExceeded) else _EXCEPTIONS.get(error.reason)
    return (kind or httpx.TransportError)(text or str(error), request=request)


def named_session(request: httpx.Request) -> str | None:
    """Takes the session's header off a request, from where a redirect would carry it to another server.

    A request that follows its redirects has its extensions.
    """
    own = one_of(request.headers.get_list(HEADER))
    if own is not None:
        del request.headers[HEADER]
        request.extensions = {**request.extensions, _EXTENSION: own}
    return request.extensions.get(_EXTENSION)


def pairs(result: FetchResult | ResponseHead) -> list[tuple[str, str]]:
    # The client would keep cookies and send them again; they are the sidecar's, `extensions` has them.
    return [pair for pair in result.headers.lines() if pair[0] != "set-cookie"]


def extensions(result: FetchResult | ResponseHead, postern: Any) -> dict[str, Any]:
    reason = (result.reason or "").encode("ascii", "replace")
    return {"http_version": b"HTTP/1.1", "reason_phrase": reason, "postern": postern}


def response(
    result: FetchResult | ResponseHead, body: httpx.SyncByteStream | httpx.AsyncByteStream, postern: Any
) -> httpx.Response:
    return httpx.Response(result.status, headers=pairs(result), stream=body, extensions=extensions(result, postern))


def whole(result: FetchResult) -> httpx.Response:
    # As a stream, which the client closes: that is when it knows how long the response took.
    return response(result, httpx.ByteStream(result.content), result)


class Transport:
    def __init__(self, target: Target, streaming: bool) -> None:
        self._target = target
        self._streaming = streaming

    def _params(self, request: httpx.Request, body: Any, has_delegate: bool) -> tuple[dict[str, Any], float]:
        own, headers = named_session(request), request.headers.multi_items()
        if isinstance(request.stream, httpx.ByteStream):
            body = b"".join(request.stream)
        params = self._target.params(request.method, str(request.url), headers, body, own, has_delegate=has_delegate)
        return params, timeout_of(request.extensions.get("timeout"))


class OneFlow(httpx.Auth):
    """Authentication for one of the two clients of `httpx`: with the other one it is an error."""

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        raise TypeError("AsyncPosternAuth is for httpx.AsyncClient: use PosternAuth with httpx.Client")
        yield request

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        raise TypeError("PosternAuth is for httpx.Client: use AsyncPosternAuth with httpx.AsyncClient")
        yield request


def source(sources: TokenSources, origins: Origins, request: httpx.Request) -> TokenSource:
    url = request.url
    try:
        origins.check(url.scheme, url.raw_host.decode("ascii"), url.port)
        return sources.of(named_session(request))
    except PosternError as error:
        raise translated(error, request) from error


def authorized(request: httpx.Request, token: AccessToken) -> httpx.Request:
    request.headers["Authorization"] = credentials(token)
    return request


def is_rejected(request: httpx.Request, response: httpx.Response) -> bool:
    """Whether the server that got the token has rejected it: after a redirect another one may have answered."""
    origin, answered = request.url, response.request.url
    same = (origin.scheme, origin.host, origin.port) == (answered.scheme, answered.host, answered.port)
    return response.status_code == 401 and same
