"""`httpx` through Postern: give a client one of these transports, and its requests get tokens, refresh and step-up.

httpx.Client(transport=PosternTransport(client, resource="billing"))
httpx.Client(mounts={"http+postern://": PosternTransport(client)})
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from typing import IO, Any

import httpx

from ._http import Target, cannot_stream, collected, collected_async, response_headers, spool, timeout_of
from .aio import AsyncClient
from .client import Client
from .errors import DeadlineExceeded, PosternError
from .types import Auth, FetchResult

__all__ = ["AsyncPosternTransport", "PosternTransport"]

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


def _translated(error: PosternError, request: httpx.Request) -> httpx.TransportError:
    kind = httpx.ReadTimeout if isinstance(error, DeadlineExceeded) else _EXCEPTIONS.get(error.reason)
    return (kind or httpx.TransportError)(str(error), request=request)


class _Spooled(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that was put aside."""

    def __init__(self, body: IO[bytes]) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        while data := self._body.read(_PIECE):
            yield data

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while data := self._body.read(_PIECE):
            yield data

    def close(self) -> None:
        self._body.close()

    async def aclose(self) -> None:
        self._body.close()


def _response(result: FetchResult, stream: _Spooled | None) -> httpx.Response:
    # The client would keep cookies and send them again; they are the sidecar's, `extensions` has them.
    headers = [pair for pair in response_headers(result) if pair[0] != "set-cookie"]
    extensions: dict[str, Any] = {
        "http_version": b"HTTP/1.1",
        "reason_phrase": (result.reason or "").encode("ascii", "replace"),
        "postern": result,
    }
    if stream is not None:
        return httpx.Response(result.status, headers=headers, stream=stream, extensions=extensions)
    response = httpx.Response(result.status, headers=headers, content=result.content, extensions=extensions)
    if "content-length" not in result.headers:
        response.headers.pop("content-length", None)
    return response


class _Transport:
    def __init__(
        self, resource: str | None, auth: Auth | None, session: str | None, follow: bool | None, spooling: bool
    ) -> None:
        self._target = Target(resource, auth, session, follow)
        self._spooling = spooling

    def _params(self, request: httpx.Request, body: bytes) -> tuple[dict[str, Any], float | None]:
        params = self._target.params(request.method, str(request.url), request.headers.multi_items(), body)
        return params, timeout_of(request.extensions.get("timeout"))


class PosternTransport(_Transport, httpx.BaseTransport):
    """Fetches through the sidecar.

    Errors of the sidecar are raised as `httpx.TransportError` and its kinds, with the client's own as `__cause__`.
    Cookies are not kept. `response.extensions["postern"]` is the `FetchResult`.

    :param client: Its delegates answer for step-up; it is not closed with the transport.
    :param resource: Whose URLs are fetched, when they are not `http+postern://NAME/`.
    :param auth: As in `fetch_resource`; default: the resource's own.
    :param session: The user's session.
    :param follow_redirects: Whether the sidecar follows redirects; default: for `http+postern` URLs. Otherwise
        `httpx` does if it is asked to, and reports them in `history`.
    :param spooling: Puts bodies aside in a temporary file while they come: they have no size limit then.
    """

    def __init__(
        self,
        client: Client,
        *,
        resource: str | None = None,
        auth: Auth | None = None,
        session: str | None = None,
        follow_redirects: bool | None = None,
        spooling: bool = False,
    ) -> None:
        super().__init__(resource, auth, session, follow_redirects, spooling)
        self.client = client

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        try:
            assert isinstance(request.stream, httpx.SyncByteStream)
            params, timeout = self._params(request, collected(request.stream))
            if self._spooling:
                try:
                    return self._spooled(params, timeout)
                except PosternError as error:
                    if not cannot_stream(error):
                        raise
            return _response(self.client.fetch_resource(**params, timeout=timeout), None)
        except PosternError as error:
            raise _translated(error, request) from error

    def _spooled(self, params: dict[str, Any], timeout: float | None) -> httpx.Response:
        with self.client.stream_resource(**params, timeout=timeout) as stream:
            body = spool()
            try:
                shutil.copyfileobj(stream, body, _PIECE)
                result = stream.result
            except BaseException:
                body.close()
                raise
        body.seek(0)
        return _response(result, _Spooled(body))


class AsyncPosternTransport(_Transport, httpx.AsyncBaseTransport):
    """The same for `httpx.AsyncClient`, over an `AsyncClient`."""

    def __init__(
        self,
        client: AsyncClient,
        *,
        resource: str | None = None,
        auth: Auth | None = None,
        session: str | None = None,
        follow_redirects: bool | None = None,
        spooling: bool = False,
    ) -> None:
        super().__init__(resource, auth, session, follow_redirects, spooling)
        self.client = client

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            assert isinstance(request.stream, httpx.AsyncByteStream)
            params, timeout = self._params(request, await collected_async(request.stream))
            if self._spooling:
                try:
                    return await self._spooled(params, timeout)
                except PosternError as error:
                    if not cannot_stream(error):
                        raise
            return _response(await self.client.fetch_resource(**params, timeout=timeout), None)
        except PosternError as error:
            raise _translated(error, request) from error

    async def _spooled(self, params: dict[str, Any], timeout: float | None) -> httpx.Response:
        async with await self.client.stream_resource(**params, timeout=timeout) as stream:
            body = spool()
            try:
                async for piece in stream:
                    await asyncio.to_thread(body.write, piece)  # a disk may be slow
                result = await stream.result()
            except BaseException:
                body.close()
                raise
        body.seek(0)
        return _response(result, _Spooled(body))
