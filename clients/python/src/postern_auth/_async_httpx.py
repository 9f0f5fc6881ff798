"""The transport and the authentication of `httpx.AsyncClient`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import httpx

from . import _http
from ._arguments import milliseconds
from ._async_auth import AsyncTokenAuth
from ._async_streams import AsyncResourceStream
from ._http import InboundToken, Target, cannot_stream, is_repeatable
from ._httpx_forms import OneFlow, Transport, authorized, is_rejected, response, source, translated, whole
from ._sessions import SessionSource
from ._tokens import TokenSource, explained
from .aio import AsyncClient
from .errors import PosternError
from .types import AccessToken, Auth

_PIECE = 1 << 16


class AsyncStream(httpx.AsyncByteStream):
    """A body that is still to come."""

    def __init__(self, stream: AsyncResourceStream, request: httpx.Request) -> None:
        self._stream = stream
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while data := await self._stream.read(_PIECE):
                yield data
        except PosternError as error:
            raise translated(error, self._request) from error

    async def aclose(self) -> None:
        self._stream.close()


class AsyncPosternTransport(Transport, httpx.AsyncBaseTransport):
    """Fetches through the sidecar.

    Errors of the sidecar are raised as `httpx.TransportError` and its subclasses, with the `AsyncClient`'s as
    `__cause__`; where no user is logged in, the exception is a `LoginRequired`, too. Cookies are not stored.
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

    __module__ = "postern_auth.httpx"

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
            return whole(await _http.fetch_async(self.client, params, timeout + self.client.step_up_seconds))
        except PosternError as error:
            raise translated(error, request) from error

    async def _streamed(self, request: httpx.Request, params: dict[str, Any], timeout: float) -> httpx.Response:
        stream = await _http.stream_async(self.client, params, timeout)
        try:
            head = await stream.head()
            return response(head, AsyncStream(stream, request), stream)
        except BaseException:
            stream.close()
            raise


class AsyncPosternAuth(AsyncTokenAuth, OneFlow):
    """The sidecar's tokens on requests of an `httpx.AsyncClient` that keeps its own transport.

    The sidecar's configuration must have `tokens.leaveTheSidecar: true`; `AsyncPosternTransport` works without it, and
    with it no token leaves. After a response 401 the sidecar gets a new token, and the request is sent once more,
    unless its body was an iterator, a file or `files=`. A rejected token that is valid for more than a day is replaced
    only with `session`, whose tokens are refreshed then. Errors are raised as by `AsyncPosternTransport`.

    Without `origins` the token goes to every URL that the program requests: name them wherever a URL can come from
    elsewhere.
    """

    __module__ = "postern_auth.httpx"

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        wanted = source(self._sources, self._origins, request)
        token = await self._token(request, wanted)
        answer = yield authorized(request, token)
        if is_rejected(request, answer):
            newer = await self._token(request, wanted, token)
            if newer.access_token != token.access_token and isinstance(request.stream, httpx.ByteStream):
                yield authorized(request, newer)

    async def _token(
        self, request: httpx.Request, source: TokenSource, rejected: AccessToken | None = None
    ) -> AccessToken:
        try:
            return await self._fresh(source, rejected)
        except PosternError as error:
            raise translated(error, request, explained(error)) from error
