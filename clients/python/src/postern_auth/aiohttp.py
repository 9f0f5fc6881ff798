"""In the manner of `aiohttp`: a session whose requests go through Postern.

async with PosternSession(client, resource="billing") as session:
    async with session.get("invoices", params={"year": 2026}) as response:
        invoices = await response.json()
"""

from __future__ import annotations

import json as _json
from collections.abc import AsyncIterator, Awaitable, Generator, Mapping
from types import TracebackType
from typing import Any, Callable, Union, cast
from urllib.parse import quote, urlencode

import aiohttp
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from . import _http
from ._arguments import milliseconds
from ._async_streams import AsyncResourceStream
from ._chunks import ResponseHead
from ._conveniences import decoded
from ._http import InboundToken, Target, cannot_stream, is_repeatable, timeout_of
from ._sessions import HEADER, SessionSource, one_of
from .aio import AsyncClient
from .errors import DeadlineExceeded, LoginRequired, PosternError
from .types import Auth, FetchResult

__all__ = ["PosternResponse", "PosternSession"]

_UNREACHABLE = frozenset(
    {
        "network_unreachable",
        "server_unreachable",
        "connection_failed",
        "connection_lost",
        "protocol_violation",
        "client_closed",
        "shutting_down",
        "tls_failure",
        "pin_mismatch",
        "protocol_error",
    }
)


#: Of a timeout that was not given.
_OWN: Any = object()


class PosternConnectionError(aiohttp.ClientConnectionError):
    """The server, or the sidecar, could not be reached; `__cause__` is the exception of the `Client`."""


class PosternTimeoutError(aiohttp.ServerTimeoutError):
    """The request timed out."""


class PosternClientError(aiohttp.ClientError):
    """Everything else."""


class PosternLoginRequired(LoginRequired, PosternClientError):
    """No user is logged in, or not any more: `LoginRequired`, for code that catches exceptions of `aiohttp`, too."""


def _translated(error: PosternError) -> aiohttp.ClientError:
    if isinstance(error, LoginRequired):
        return PosternLoginRequired(error.message, error.code, error.data)
    if isinstance(error, DeadlineExceeded):
        return PosternTimeoutError(str(error))
    return (PosternConnectionError if error.reason in _UNREACHABLE else PosternClientError)(str(error))


class PosternResponse:
    """What `aiohttp.ClientResponse` has, of a response that is there, or whose body is still to come."""

    def __init__(
        self, method: str, result: FetchResult | ResponseHead, stream: AsyncResourceStream | None = None
    ) -> None:
        #: The `FetchResult`; of a session with `streaming` the `ResponseHead`.
        self.postern = result
        self._stream = stream
        self._content = result.content if isinstance(result, FetchResult) else None
        self.method = method
        self.status = result.status
        self.reason = result.reason
        self.url = URL(result.url)
        self.real_url = self.url
        self.headers: CIMultiDictProxy[str] = CIMultiDictProxy(CIMultiDict(result.headers.lines()))

    @property
    def ok(self) -> bool:
        return self.postern.ok

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "application/octet-stream").partition(";")[0].strip(" \t")

    async def read(self) -> bytes:
        if self._content is None:
            self._content = b"".join([piece async for piece in self._pieces()])
        return self._content

    async def text(self, encoding: str | None = None, errors: str = "strict") -> str:
        content = await self.read()
        if encoding is None:
            return decoded(content, self.headers.get("content-type"))
        return content.decode(encoding, errors)

    async def json(self, *, encoding: str | None = None, content_type: str | None = "application/json") -> Any:
        """None for an empty body. `content_type=None` takes any type."""
        own = self.content_type
        if content_type and own != content_type and not (own.startswith("application/") and own.endswith("+json")):
            raise aiohttp.ContentTypeError(
                self._request_info(), (), status=self.status, message=f"unexpected type {own}", headers=self.headers
            )
        text = (await self.text(encoding)).strip()
        return _json.loads(text) if text else None

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        async for piece in self._pieces():
            for start in range(0, len(piece), size):
                yield piece[start : start + size]

    async def _pieces(self) -> AsyncIterator[bytes]:
        if self._content is not None or self._stream is None:
            yield self._content or b""
            return
        try:
            async for piece in self._stream:
                yield piece
        except PosternError as error:
            raise _translated(error) from error

    def raise_for_status(self) -> None:
        if not self.ok:
            raise aiohttp.ClientResponseError(
                self._request_info(), (), status=self.status, message=self.reason or "", headers=self.headers
            )

    def _request_info(self) -> aiohttp.RequestInfo:
        empty: CIMultiDict[str] = CIMultiDict()
        return aiohttp.RequestInfo(self.url, self.method, CIMultiDictProxy(empty), self.url)

    def release(self) -> None:
        """Ends the fetch if its body has not ended."""
        if self._stream is not None:
            self._stream.close()

    close = release


#: Whether a status from 400 on is an exception, or what checks each response.
RaiseForStatus = Union[bool, Callable[[PosternResponse], Awaitable[None]]]


class _Requesting:
    """To be awaited, or entered."""

    def __init__(self, session: PosternSession, arguments: dict[str, Any]) -> None:
        self._session = session
        self._arguments = arguments

    def __await__(self) -> Generator[Any, None, PosternResponse]:
        return self._session.fetch(**self._arguments).__await__()

    async def __aenter__(self) -> PosternResponse:
        self._response = await self
        return self._response

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._response.release()


class PosternSession:
    """Requests through the sidecar; the methods are those of `aiohttp.ClientSession`.

    URLs are paths of the resource, or `http+postern://NAME/path`, or absolute ones that the resource allows. Redirects
    are followed by the sidecar unless `allow_redirects=False`. Cookies are not stored.

    :param client: Its delegates handle step-up; it is not closed with the session.
    :param session: The user's session: a handle, or a function or `ContextVar` that has the one of the user of the
        moment (None: no user is logged in, which is `LoginRequired`). Without it, each request may name its own, by the
        header `Postern-Session`, which goes to the sidecar only.
    :param timeout: Seconds for each request, or a `ClientTimeout` (its `total`); None: no limit. Default: that
        of the client.
    :param raise_for_status: Whether each response with a status from 400 on is raised as
        `aiohttp.ClientResponseError`; or an asynchronous callable that checks it. A request may have its own.
    :param streaming: Returns responses before their bodies, which then have no size limit: use them with `async with`.
    :param total_timeout: Seconds for each fetch in the sidecar, at most 600; default: the resource's timeout.
    :param on_behalf_of: The inbound token on whose user's behalf the resource is fetched, or a function that returns
        the one of the request in progress, called for each request.
    """

    def __init__(
        self,
        client: AsyncClient,
        *,
        resource: str | None = None,
        auth: Auth | None = None,
        session: SessionSource | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | aiohttp.ClientTimeout | None = _OWN,
        raise_for_status: RaiseForStatus = False,
        streaming: bool = False,
        total_timeout: float | None = None,
        on_behalf_of: InboundToken | None = None,
    ) -> None:
        self.client = client
        self._streaming = streaming
        self._options = (resource, auth, session)
        self._on_behalf_of = on_behalf_of
        self._timeout_ms = milliseconds(total_timeout, "total_timeout")
        self._headers = dict(headers or {})
        self._timeout = timeout
        self._raise = raise_for_status

    def request(
        self,
        method: str,
        url: str | URL,
        *,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
        data: Any = None,
        allow_redirects: bool = True,
        timeout: float | aiohttp.ClientTimeout | None = _OWN,
        raise_for_status: RaiseForStatus | None = None,
    ) -> _Requesting:
        """`data`: bytes, text, a file, or a mapping for a form. `raise_for_status`: default: that of the session."""
        return _Requesting(
            self,
            {
                "method": method,
                "url": str(url),
                "params": params,
                "headers": headers,
                "json": json,
                "data": data,
                "allow_redirects": allow_redirects,
                "timeout": timeout,
                "raise_for_status": raise_for_status,
            },
        )

    def get(self, url: str | URL, **options: Any) -> _Requesting:
        return self.request("GET", url, **options)

    def head(self, url: str | URL, **options: Any) -> _Requesting:
        options.setdefault("allow_redirects", False)
        return self.request("HEAD", url, **options)

    def post(self, url: str | URL, **options: Any) -> _Requesting:
        return self.request("POST", url, **options)

    def put(self, url: str | URL, **options: Any) -> _Requesting:
        return self.request("PUT", url, **options)

    def patch(self, url: str | URL, **options: Any) -> _Requesting:
        return self.request("PATCH", url, **options)

    def delete(self, url: str | URL, **options: Any) -> _Requesting:
        return self.request("DELETE", url, **options)

    async def fetch(
        self,
        *,
        method: str,
        url: str,
        params: Mapping[str, Any] | None,
        headers: Mapping[str, str] | None,
        json: Any,
        data: Any,
        allow_redirects: bool,
        timeout: float | aiohttp.ClientTimeout | None,
        raise_for_status: RaiseForStatus | None = None,
    ) -> PosternResponse:
        """One request."""
        if json is not None and data is not None:
            raise ValueError("data and json cannot be used at the same time")
        sent = {**self._headers, **(headers or {})}
        names = {name.lower() for name in sent}
        if json is not None:
            data = _json.dumps(json)
            if "content-type" not in names:
                sent["Content-Type"] = "application/json"
        elif isinstance(data, Mapping):
            data = urlencode(dict(cast("Mapping[str, Any]", data)))
            if "content-type" not in names:
                sent["Content-Type"] = "application/x-www-form-urlencoded"
        if params:
            url += ("&" if "?" in url else "?") + urlencode(params, doseq=True, quote_via=quote)
        chosen: Any = self._timeout if timeout is _OWN else timeout
        bound = None if chosen is _OWN else timeout_of(chosen)
        resource, auth, session = self._options
        target = Target(resource, auth, session, allow_redirects, self._timeout_ms, self._on_behalf_of)
        try:
            own = one_of([value for name, value in sent.items() if name.lower() == HEADER])
            arguments = target.params(
                method, url, sent.items(), data, own, has_delegate=bool(self.client.step_up_seconds)
            )
            response = await self._sent(arguments, bound)
        except PosternError as error:
            raise _translated(error) from error
        check = self._raise if raise_for_status is None else raise_for_status
        try:
            if callable(check):
                await check(response)
            elif check:
                response.raise_for_status()
        except BaseException:
            response.release()
            raise
        return response

    async def _sent(self, arguments: dict[str, Any], timeout: float | None) -> PosternResponse:
        method: str = arguments["method"]
        if self._streaming:
            stream = await _http.stream_async(self.client, arguments, timeout)
            try:
                return PosternResponse(method, await stream.head(), stream)
            except BaseException as error:
                stream.close()
                if not (isinstance(error, PosternError) and cannot_stream(error) and is_repeatable(arguments)):
                    raise
        whole = None if timeout is None else timeout + self.client.step_up_seconds
        return PosternResponse(method, await _http.fetch_async(self.client, arguments, whole))

    async def close(self) -> None:
        """The client is its owner's to close."""

    async def __aenter__(self) -> PosternSession:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None
