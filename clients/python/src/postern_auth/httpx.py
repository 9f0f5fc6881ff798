"""`httpx` through Postern: give a client one of these transports, and its requests get tokens, refresh and step-up.

httpx.Client(transport=PosternTransport(client, resource="billing"))
httpx.Client(mounts={"http+postern://": PosternTransport(client)})

A program that must keep its own transport has `PosternAuth` for its tokens, where these may leave the sidecar.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterable, Iterator
from typing import Any

import httpx

from . import _http
from ._arguments import milliseconds
from ._async_streams import AsyncResourceStream
from ._chunks import ResponseHead
from ._http import InboundToken, Target, cannot_stream, is_repeatable, timeout_of
from ._sessions import HEADER, SessionSource, one_of
from ._streams import ResourceStream
from ._tokens import Origins, TokenSource, TokenSources, credentials, explained
from .aio import AsyncClient
from .client import Client
from .errors import DeadlineExceeded, LoginRequired, PosternError
from .types import AccessToken, Auth, FetchResult

__all__ = ["AsyncPosternAuth", "AsyncPosternTransport", "PosternAuth", "PosternTransport"]

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
_PIECE = 1 << 16
#: The extension of a request that has named its session.
_EXTENSION = "postern_session"


class _LoginRequired(LoginRequired, httpx.TransportError):
    """`LoginRequired`, for code that catches the exceptions of `httpx`, too."""

    def __init__(self, error: LoginRequired, request: httpx.Request | None = None) -> None:
        LoginRequired.__init__(self, error.message, error.code, error.data)
        self._request = request

    def __reduce__(self) -> Any:
        return type(self), (LoginRequired(self.message, self.code, self.data),)


def _translated(error: PosternError, request: httpx.Request, text: str | None = None) -> httpx.TransportError:
    if isinstance(error, LoginRequired):
        return _LoginRequired(error, request)
    kind = httpx.ReadTimeout if isinstance(error, DeadlineExceeded) else _EXCEPTIONS.get(error.reason)
    return (kind or httpx.TransportError)(text or str(error), request=request)


def _named_session(request: httpx.Request) -> str | None:
    """Takes the session's header off a request, from where a redirect would carry it to another server.

    A request that follows its redirects has its extensions.
    """
    own = one_of(request.headers.get_list(HEADER))
    if own is not None:
        del request.headers[HEADER]
        request.extensions = {**request.extensions, _EXTENSION: own}
    return request.extensions.get(_EXTENSION)


class _Stream(httpx.SyncByteStream):
    """A body that is still to come."""

    def __init__(self, stream: ResourceStream, request: httpx.Request) -> None:
        self._stream = stream
        self._request = request

    def __iter__(self) -> Iterator[bytes]:
        try:
            while data := self._stream.read(_PIECE):
                yield data
        except PosternError as error:
            raise _translated(error, self._request) from error

    def close(self) -> None:
        self._stream.close()


class _AsyncStream(httpx.AsyncByteStream):
    """The same, awaited."""

    def __init__(self, stream: AsyncResourceStream, request: httpx.Request) -> None:
        self._stream = stream
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._stream:
                yield piece
        except PosternError as error:
            raise _translated(error, self._request) from error

    async def aclose(self) -> None:
        self._stream.close()


def _pairs(result: FetchResult | ResponseHead) -> list[tuple[str, str]]:
    # The client would keep cookies and send them again; they are the sidecar's, `extensions` has them.
    return [pair for pair in result.headers.lines() if pair[0] != "set-cookie"]


def _extensions(result: FetchResult | ResponseHead, postern: Any) -> dict[str, Any]:
    reason = (result.reason or "").encode("ascii", "replace")
    return {"http_version": b"HTTP/1.1", "reason_phrase": reason, "postern": postern}


def _response(
    result: FetchResult | ResponseHead, body: httpx.SyncByteStream | httpx.AsyncByteStream, postern: Any
) -> httpx.Response:
    return httpx.Response(result.status, headers=_pairs(result), stream=body, extensions=_extensions(result, postern))


def _whole(result: FetchResult) -> httpx.Response:
    # As a stream, which the client closes: that is when it knows how long the response took.
    return _response(result, httpx.ByteStream(result.content), result)


class _Transport:
    def __init__(
        self,
        target: Target,
        streaming: bool,
    ) -> None:
        self._target = target
        self._streaming = streaming

    def _params(self, request: httpx.Request, body: Any, has_delegate: bool) -> tuple[dict[str, Any], float]:
        own, headers = _named_session(request), request.headers.multi_items()
        if isinstance(request.stream, httpx.ByteStream):
            body = b"".join(request.stream)
        params = self._target.params(request.method, str(request.url), headers, body, own, has_delegate=has_delegate)
        return params, timeout_of(request.extensions.get("timeout"))


class PosternTransport(_Transport, httpx.BaseTransport):
    """Fetches through the sidecar.

    Errors of the sidecar are raised as `httpx.TransportError` and its subclasses, with the `Client`'s as `__cause__`;
    where no user is logged in, the exception is a `LoginRequired`, too. Cookies are not stored.
    `response.extensions["postern"]` is the `FetchResult`, with `streaming` the stream.

    :param client: Its delegates handle step-up; it is not closed with the transport.
    :param resource: The resource of URLs other than `http+postern://NAME/`.
    :param auth: As in `fetch_resource`; default: the resource's.
    :param session: The user's session: a handle, or a function or `ContextVar` that has the one of the user of the
        moment (None: no user is logged in, which is `LoginRequired`). Without it, each request may name its own, by the
        header `Postern-Session`, which goes to the sidecar only.
    :param follow_redirects: Whether the sidecar follows redirects; default: for `http+postern` URLs. Otherwise
        `httpx` does with its own option, and reports them in `history`.
    :param streaming: Returns responses before their bodies, which then have no size limit; `httpx` reads them
        unless it streams.
    :param total_timeout: Seconds for each fetch in the sidecar, at most 600; default: the resource's timeout.
    :param on_behalf_of: The inbound token on whose user's behalf the resource is fetched, or a function that returns
        the one of the request in progress, called for each request.
    """

    def __init__(
        self,
        client: Client,
        *,
        resource: str | None = None,
        auth: Auth | None = None,
        session: SessionSource | None = None,
        follow_redirects: bool | None = None,
        streaming: bool = False,
        total_timeout: float | None = None,
        on_behalf_of: InboundToken | None = None,
    ) -> None:
        bound = milliseconds(total_timeout, "total_timeout")
        super().__init__(Target(resource, auth, session, follow_redirects, bound, on_behalf_of), streaming)
        self.client = client

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        try:
            assert isinstance(request.stream, httpx.SyncByteStream)
            params, timeout = self._params(request, iter(request.stream), bool(self.client.step_up_seconds))
            if self._streaming:
                try:
                    return self._streamed(request, params, timeout)
                except PosternError as error:
                    if not (cannot_stream(error) and is_repeatable(params)):
                        raise
            return _whole(_http.fetch(self.client, params, timeout + self.client.step_up_seconds))
        except PosternError as error:
            raise _translated(error, request) from error

    def _streamed(self, request: httpx.Request, params: dict[str, Any], timeout: float) -> httpx.Response:
        stream = _http.stream(self.client, params, timeout)
        try:
            head = stream.head
            return _response(head, _Stream(stream, request), stream)
        except BaseException:
            stream.close()
            raise


class AsyncPosternTransport(_Transport, httpx.AsyncBaseTransport):
    """The same for `httpx.AsyncClient`, over an `AsyncClient`."""

    def __init__(
        self,
        client: AsyncClient,
        *,
        resource: str | None = None,
        auth: Auth | None = None,
        session: SessionSource | None = None,
        follow_redirects: bool | None = None,
        streaming: bool = False,
        total_timeout: float | None = None,
        on_behalf_of: InboundToken | None = None,
    ) -> None:
        bound = milliseconds(total_timeout, "total_timeout")
        super().__init__(Target(resource, auth, session, follow_redirects, bound, on_behalf_of), streaming)
        self.client = client

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            assert isinstance(request.stream, httpx.AsyncByteStream)
            params, timeout = self._params(request, request.stream.__aiter__(), bool(self.client.step_up_seconds))
            if self._streaming:
                try:
                    return await self._streamed(request, params, timeout)
                except PosternError as error:
                    if not (cannot_stream(error) and is_repeatable(params)):
                        raise
            return _whole(await _http.fetch_async(self.client, params, timeout + self.client.step_up_seconds))
        except PosternError as error:
            raise _translated(error, request) from error

    async def _streamed(self, request: httpx.Request, params: dict[str, Any], timeout: float) -> httpx.Response:
        stream = await _http.stream_async(self.client, params, timeout)
        try:
            head = await stream.head()
            return _response(head, _AsyncStream(stream, request), stream)
        except BaseException:
            stream.close()
            raise


class PosternAuth(httpx.Auth):
    """The sidecar's tokens on requests of an `httpx.Client` that keeps its own transport.

    The sidecar's configuration must have `tokens.leaveTheSidecar: true`; `PosternTransport` works without it, and with
    it no token leaves. After a response 401 the sidecar gets a new token, and the request is sent once more, unless
    its body was an iterator, a file or `files=`. A rejected token that is valid for more than a day is replaced only
    with `session`, whose tokens are refreshed then. Errors of the sidecar are raised as by `PosternTransport`.

    Without `origins` the token goes to every URL that the program requests: name them wherever a URL can come from
    elsewhere.

    :param client: It is not closed with the `httpx.Client`.
    :param resource: The resource whose token is used, or with `issuer` that issuer's.
    :param auth: As in `get_access_token`.
    :param session: The user's session: a handle, or a function or `ContextVar` that has the one of the user of the
        moment (None: no user is logged in, which is `LoginRequired`). Without it, each request may name its own, by the
        header `Postern-Session`, which goes to the sidecar only.
    :param origins: One origin or several, such as `https://api.example.com`, that the token goes to; plain http on
        loopback only. A request to another one is an error before anything is sent.
    """

    def __init__(
        self,
        client: Client,
        *,
        resource: str | None = None,
        issuer: str | None = None,
        auth: Auth | None = None,
        session: SessionSource | None = None,
        origins: str | Iterable[str] | None = None,
    ) -> None:
        self.client = client
        self._source = TokenSources(resource, issuer, auth, session)
        self._origins = Origins(origins)

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        source = _source(self._source, self._origins, request)
        token = self._token(request, source)
        response = yield _authorized(request, token)
        if _is_rejected(request, response):
            newer = self._token(request, source, token)
            if newer.access_token != token.access_token and isinstance(request.stream, httpx.ByteStream):
                yield _authorized(request, newer)

    def _token(self, request: httpx.Request, source: TokenSource, rejected: AccessToken | None = None) -> AccessToken:
        try:
            token = self.client.get_access_token(**source.arguments(rejected))
            if rejected is not None and source.is_kept(token, rejected):
                self.client.refresh_session(source.session or "")
                token = self.client.get_access_token(**source.arguments())
            return token
        except PosternError as error:
            raise _translated(error, request, explained(error)) from error

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        raise TypeError("PosternAuth is for httpx.Client: use AsyncPosternAuth with httpx.AsyncClient")
        yield request


class AsyncPosternAuth(httpx.Auth):
    """The same for `httpx.AsyncClient`, over an `AsyncClient`."""

    def __init__(
        self,
        client: AsyncClient,
        *,
        resource: str | None = None,
        issuer: str | None = None,
        auth: Auth | None = None,
        session: SessionSource | None = None,
        origins: str | Iterable[str] | None = None,
    ) -> None:
        self.client = client
        self._source = TokenSources(resource, issuer, auth, session)
        self._origins = Origins(origins)

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        source = _source(self._source, self._origins, request)
        token = await self._token(request, source)
        response = yield _authorized(request, token)
        if _is_rejected(request, response):
            newer = await self._token(request, source, token)
            if newer.access_token != token.access_token and isinstance(request.stream, httpx.ByteStream):
                yield _authorized(request, newer)

    async def _token(
        self, request: httpx.Request, source: TokenSource, rejected: AccessToken | None = None
    ) -> AccessToken:
        try:
            token = await self.client.get_access_token(**source.arguments(rejected))
            if rejected is not None and source.is_kept(token, rejected):
                await self.client.refresh_session(source.session or "")
                token = await self.client.get_access_token(**source.arguments())
            return token
        except PosternError as error:
            raise _translated(error, request, explained(error)) from error

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        raise TypeError("AsyncPosternAuth is for httpx.AsyncClient: use PosternAuth with httpx.Client")
        yield request


def _source(sources: TokenSources, origins: Origins, request: httpx.Request) -> TokenSource:
    url = request.url
    try:
        origins.check(url.scheme, url.raw_host.decode("ascii"), url.port)
        return sources.of(_named_session(request))
    except PosternError as error:
        raise _translated(error, request) from error


def _authorized(request: httpx.Request, token: AccessToken) -> httpx.Request:
    request.headers["Authorization"] = credentials(token)
    return request


def _is_rejected(request: httpx.Request, response: httpx.Response) -> bool:
    """Whether the server that got the token has rejected it: after a redirect another one may have answered."""
    origin, answered = request.url, response.request.url
    same = (origin.scheme, origin.host, origin.port) == (answered.scheme, answered.host, answered.port)
    return response.status_code == 401 and same
