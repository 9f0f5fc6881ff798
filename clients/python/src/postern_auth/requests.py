"""`requests` through Postern: mount an adapter, and existing code gets tokens, refresh and step-up.

session = requests.Session()
session.mount("http+postern://", PosternAdapter(client))
session.get("http+postern://billing/invoices")

A program that must keep its own transport has `PosternAuth` for its tokens, where these may leave the sidecar.
"""

from __future__ import annotations

import functools
import io
import socket
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, cast

import requests
from requests.adapters import BaseAdapter
from requests.auth import AuthBase
from requests.structures import CaseInsensitiveDict
from requests.utils import get_encoding_from_headers
from urllib3 import HTTPResponse
from urllib3._collections import HTTPHeaderDict  # urllib3 1.26 has it nowhere else
from urllib3.exceptions import ProtocolError, ReadTimeoutError
from urllib3.util import parse_url

from . import _http
from ._arguments import milliseconds
from ._auth import TokenAuth
from ._chunks import ResponseHead
from ._http import InboundToken, Target, cannot_stream, is_repeatable, timeout_of
from ._sessions import HEADER, SessionSource, one_of
from ._streams import ResourceStream
from ._tokens import TokenSource, credentials, explained
from .client import Client
from .errors import DeadlineExceeded, LoginRequired, PosternError
from .types import AccessToken, Auth, FetchResult

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["PosternAdapter", "PosternAuth"]

_EXCEPTIONS: dict[str, type[requests.RequestException]] = {
    "network_unreachable": requests.ConnectionError,
    "server_unreachable": requests.ConnectionError,
    "connection_failed": requests.ConnectionError,
    "connection_lost": requests.ConnectionError,
    "protocol_violation": requests.ConnectionError,
    "client_closed": requests.ConnectionError,
    "shutting_down": requests.ConnectionError,
    "protocol_error": requests.ConnectionError,
    "tls_failure": requests.exceptions.SSLError,
    "pin_mismatch": requests.exceptions.SSLError,
    "invalid_url": requests.exceptions.InvalidURL,
    "origin_not_allowed": requests.exceptions.InvalidURL,
    "invalid_headers": requests.exceptions.InvalidHeader,
}


class _Body(io.RawIOBase):
    """A body that is still to come, with exceptions that urllib3 makes its own of."""

    def __init__(self, stream: ResourceStream) -> None:
        super().__init__()
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        try:
            return self._stream.readinto(buffer)
        except DeadlineExceeded as error:
            raise socket.timeout(str(error)) from error
        except PosternError as error:
            raise ConnectionError(str(error)) from error

    def close(self) -> None:
        self._stream.close()
        super().close()


class _BodyTimeout(requests.exceptions.ReadTimeout, requests.ConnectionError):
    """A timeout within a body: `requests` raises a `ConnectionError` there; this one is a `Timeout`, too."""


def _behind(error: BaseException) -> BaseException:
    """The exception of the `Client` that caused one of urllib3."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, PosternError):
        found = found.__cause__ or found.__context__
    return found or error


class _StreamedResponse(HTTPResponse):
    """Gives pieces as they come: an event of a server does not wait until a chunk is full."""

    def stream(self, amt: int | None = 1 << 16, decode_content: bool | None = None) -> Generator[bytes, None, None]:
        """The rest of the body; content codings are undone by the sidecar."""
        try:
            while data := self.read(amt or 1 << 16, decode_content=False):
                yield data
        except (ReadTimeoutError, ProtocolError) as error:
            cause = _behind(error)
            kind = _BodyTimeout if isinstance(error, ReadTimeoutError) else requests.exceptions.ChunkedEncodingError
            raise kind(str(cause)) from cause


class _RequestSession:
    """The session that a request has named. A hook, because a request that follows its redirects has its hooks."""

    __slots__ = ("handle",)

    def __init__(self, handle: str) -> None:
        self.handle = handle

    def __call__(self, response: requests.Response, **options: Any) -> None:
        """Changes nothing about a response."""


def _named_session(request: requests.PreparedRequest) -> str | None:
    """Takes the session's header off a request, from where a redirect would carry it to another server."""
    given: object = request.headers.pop(HEADER, None)
    hooks: list[Any] = request.hooks.setdefault("response", [])
    if given is not None:
        own = _RequestSession(one_of([given.decode("latin-1") if isinstance(given, bytes) else str(given)]) or "")
        hooks[:] = [own, *(hook for hook in hooks if not isinstance(hook, _RequestSession))]
    return next((hook.handle for hook in hooks if isinstance(hook, _RequestSession)), None)


class _LoginRequired(LoginRequired, requests.RequestException):
    """`LoginRequired`, for code that catches the exceptions of `requests`, too."""

    def __init__(self, error: LoginRequired, request: requests.PreparedRequest | None = None) -> None:
        LoginRequired.__init__(self, error.message, error.code, error.data)
        self.request, self.response = request, None

    def __reduce__(self) -> Any:
        return type(self), (LoginRequired(self.message, self.code, self.data),)


class PosternAdapter(BaseAdapter):
    """Fetches through the sidecar.

    Errors of the sidecar are raised as exceptions of `requests`, with the `Client`'s as `__cause__`; where no user is
    logged in, the exception is a `LoginRequired`, too. Cookies are neither kept nor sent by the session. With
    `stream=True` the response is there before its body, which has no size limit then; `response.postern` is the
    `ResourceStream`, else the `FetchResult`.

    :param client: Its delegates handle step-up; it is not closed with the adapter.
    :param resource: Whose URLs are mounted, when they are not `http+postern://NAME/`.
    :param auth: As in `fetch_resource`; default: the resource's.
    :param session: The user's session: a handle, or a function or `ContextVar` that has the one of the user of the
        moment (None: no user is logged in, which is `LoginRequired`). Without it, each request may name its own, by the
        header `Postern-Session`, which goes to the sidecar only.
    :param follow_redirects: Whether the sidecar follows redirects; default: for `http+postern` URLs. Otherwise
        `requests` does, and reports them in `history`.
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
        total_timeout: float | None = None,
        on_behalf_of: InboundToken | None = None,
    ) -> None:
        super().__init__()
        self.client = client
        bound = milliseconds(total_timeout, "total_timeout")
        self._target = Target(resource, auth, session, follow_redirects, bound, on_behalf_of)

    def send(  # noqa: PLR0917 - as requests calls it
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: bool | str = True,
        cert: bytes | str | tuple[bytes | str, bytes | str] | None = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        """Trust, client certificates and proxies are the sidecar's: the last three mean nothing here."""
        bound = timeout_of(timeout)
        try:
            params = self._target.params(
                request.method or "GET",
                request.url or "",
                request.headers.items(),
                request.body,
                _named_session(request),
                has_delegate=bool(self.client.step_up_seconds),
            )
            return self._streamed(request, params, bound) if stream else self._whole(request, params, bound)
        except PosternError as error:
            raise _translated(error, request) from error

    def _whole(self, request: requests.PreparedRequest, params: dict[str, Any], timeout: float) -> requests.Response:
        result = _http.fetch(self.client, params, timeout + self.client.step_up_seconds)
        return self._response(request, result, HTTPResponse, io.BytesIO(result.content), result)

    def _streamed(self, request: requests.PreparedRequest, params: dict[str, Any], timeout: float) -> requests.Response:
        stream = _http.stream(self.client, params, timeout)
        try:
            return self._response(request, stream.head, _StreamedResponse, _Body(stream), stream)
        except BaseException as error:
            stream.close()
            if not (isinstance(error, PosternError) and cannot_stream(error) and is_repeatable(params)):
                raise
        return self._whole(request, params, timeout)

    def _response(
        self,
        request: requests.PreparedRequest,
        result: FetchResult | ResponseHead,
        kind: type[HTTPResponse],
        body: io.IOBase,
        postern: FetchResult | ResourceStream,
    ) -> requests.Response:
        lines = HTTPHeaderDict(result.headers.lines())
        response = requests.Response()
        response.status_code = result.status
        response.reason = result.reason or ""
        response.headers = CaseInsensitiveDict(lines)
        response.encoding = get_encoding_from_headers(response.headers)
        response.raw = kind(
            body=body,
            headers=lines,
            status=result.status,
            reason=result.reason,
            version=11,
            preload_content=False,
            decode_content=False,
            request_method=request.method,
        )
        response.url = result.url if self._target.follow_redirects else request.url or result.url
        if (request.url or "").lower().startswith("http+postern:"):
            response.url = result.url
        response.request = request
        # What annotations of requests do not know: adapters of other kinds, members of our own.
        vars(response).update(connection=self, postern=postern)
        return response

    def close(self) -> None:
        """The client is its owner's to close."""


class PosternAuth(TokenAuth, AuthBase):
    """The sidecar's tokens on requests of a `requests.Session` that keeps its own transport.

    The sidecar's configuration must have `tokens.leaveTheSidecar: true`; `PosternAdapter` works without it, and with it
    no token leaves. After a response 401 the sidecar gets a new token, and the request is sent once more, unless its
    body was an iterator or a pipe. A rejected token that is valid for more than a day is replaced only with `session`,
    whose tokens are refreshed then. Errors of the sidecar are raised as by `PosternAdapter`.

    Without `origins` the token goes to every URL that the program requests: name them wherever a URL can come from
    elsewhere.
    """

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        url = parse_url(request.url or "")
        try:
            self._origins.check(url.scheme, url.host, url.port)
            source = self._sources.of(_named_session(request))
        except PosternError as error:
            raise _translated(error, request) from error
        token = self._token(request, source)
        request.headers["Authorization"] = credentials(token)
        again = functools.partial(self._again, source, [token], _position(request.body))
        request.hooks["response"].append(again)
        return request

    def _token(
        self, request: requests.PreparedRequest, source: TokenSource, rejected: AccessToken | None = None
    ) -> AccessToken:
        try:
            return self._fresh(source, rejected)
        except PosternError as error:
            raise _translated(error, request, explained(error)) from error

    def _again(
        self,
        source: TokenSource,
        current: list[AccessToken],
        start: int | None,
        response: requests.Response,
        **options: Any,
    ) -> requests.Response:
        """Retries a request that its server answered with 401.

        :param source: Whose token it is.
        :param current: The request's token; a request that its program has prepared can be sent many times.
        :param start: Where the body begins, if it is a file.
        """
        request = response.request
        [token] = current
        # requests removes the header when it follows a redirect to another server.
        if response.status_code != 401 or request.headers.get("Authorization") != credentials(token):
            return response
        newer = self._token(request, source, token)
        if newer.access_token == token.access_token:
            return response
        # Also of the request itself: those that follow its redirects are made of it.
        current[0] = newer
        request.headers["Authorization"] = credentials(newer)
        body = cast("object", request.body)  # an iterator as well, whatever the annotations of requests are
        if start is None and body is not None and not isinstance(body, (bytes, str)):
            return response
        _ = response.content  # the connection is free after that
        response.close()
        another = request.copy()
        if start is not None:
            another.body.seek(start)  # type: ignore[union-attr]
        adapter: BaseAdapter = vars(response)["connection"]
        answer = adapter.send(another, **options)
        answer.history.append(response)
        answer.request = another
        return answer


def _position(body: object) -> int | None:
    """Where a file begins that can be read once more; a pipe has no position."""
    try:
        return body.tell()  # type: ignore[attr-defined, no-any-return]
    except (AttributeError, OSError):
        return None


def _translated(
    error: PosternError, request: requests.PreparedRequest, text: str | None = None
) -> requests.RequestException:
    if isinstance(error, LoginRequired):
        return _LoginRequired(error, request)
    kind = _EXCEPTIONS.get(error.reason, requests.RequestException)
    if isinstance(error, DeadlineExceeded):
        kind = requests.exceptions.ReadTimeout
    return kind(text or str(error), request=request)
