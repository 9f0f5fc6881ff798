"""The common part of the adapters for HTTP libraries.

Two kinds of URL are fetched. `http+postern://NAME/path` is `path` of the resource NAME; the sidecar follows its
redirects, because only it knows the address of NAME. Any other URL is passed on unchanged and must be one that the
resource allows; the library follows redirects, which are handled here again if their URL is mounted here.
"""

from __future__ import annotations

import io
import math
from collections.abc import AsyncIterable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Optional, Union, cast
from urllib.parse import unquote, urlsplit

from ._limits import REQUEST_BYTES
from ._sessions import HEADER, SessionSource, named
from ._wire import present
from .errors import PosternError, RequestError
from .types import Auth

if TYPE_CHECKING:
    from ._async_streams import AsyncResourceStream
    from ._streams import ResourceStream
    from .aio import AsyncClient
    from .client import Client
    from .types import FetchResult

SCHEME = "http+postern"
#: Headers that libraries add to every request, and that the sidecar sets itself.
ADDED_BY_LIBRARIES = frozenset(
    {
        "host",
        "user-agent",
        "accept-encoding",
        "connection",
        "keep-alive",
        "content-length",
        "transfer-encoding",
        "te",
        "expect",
        "upgrade",
        "proxy-connection",
    }
)
#: The largest body whose base64 form fits into a message with its other members.
MOST_BODY = REQUEST_BYTES * 3 // 4 - (256 << 10)


#: The access token that this program has received from its own client, or what returns the one of the moment.
InboundToken = Union[str, Callable[[], Optional[str]]]


@dataclass(frozen=True)
class Target:
    """The client, resource and URL of a request."""

    resource: str | None
    auth: Auth | None
    session: SessionSource | None = field(repr=False)
    #: None: the sidecar for `http+postern`, otherwise the library.
    follow_redirects: bool | None = None
    #: The timeout of each fetch in the sidecar; None: the resource's.
    timeout_ms: int | None = None
    on_behalf_of: InboundToken | None = field(default=None, repr=False)

    def params(
        self,
        method: str,
        url: str,
        headers: Iterable[tuple[str, str]],
        body: Any,
        session: str | None,
        *,
        has_delegate: bool = False,
    ) -> dict[str, Any]:
        """The members of a fetch, for `fetch` and `stream`.

        :param body: As the library has it.
        :param session: What the request itself names.
        :param has_delegate: Whether policy advice has a delegate.
        """
        parts = urlsplit(url)
        by_name = parts.scheme.lower() == SCHEME
        if by_name:
            path = parts.path[1:] + (f"?{parts.query}" if parts.query else "")
            resource: str | None = unquote(parts.netloc.rpartition("@")[2])
            if self.resource and resource == self.resource.lower():
                resource = self.resource  # httpx writes hosts in lower case
        else:
            path, resource = url.partition("#")[0], self.resource
        follow = by_name if self.follow_redirects is None else self.follow_redirects
        members = {
            "resource": resource or None,
            "path": path,
            "method": method.upper(),
            "auth": self.auth,
            "session": named(self.session, session),
            "headers": request_headers(headers) or None,
            "followRedirects": follow,
            "timeoutMs": self.timeout_ms,
            "onBehalfOf": self._inbound(),
        }
        own = present(members)
        found = uploaded(body, may_step_up=may_step_up(own, has_delegate))
        return {**own, "body": found} if found else own

    def _inbound(self) -> dict[str, str] | None:
        token = self.on_behalf_of() if callable(self.on_behalf_of) else self.on_behalf_of
        return None if token is None else {"token": token}


# `Client.fetch_resource` sends an explicit timeout as that of the fetch, too, in place of the resource's. The timeout
# of a library is for one connection, and has a default.


def fetch(client: Client, members: dict[str, Any], timeout: float | None) -> FetchResult:
    """The whole response."""
    own, body = _split(members)
    return client._fetch(own, body, None, timeout, None)  # pyright: ignore[reportPrivateUsage]


def stream(client: Client, members: dict[str, Any], timeout: float | None) -> ResourceStream:
    """A response whose body comes in pieces."""
    own, body = _split(members)
    return client._stream(own, body, timeout, None)  # pyright: ignore[reportPrivateUsage]


async def fetch_async(client: AsyncClient, members: dict[str, Any], timeout: float | None) -> FetchResult:
    own, body = _split(members)
    return await client._fetch(own, body, None, timeout, None)  # pyright: ignore[reportPrivateUsage]


async def stream_async(client: AsyncClient, members: dict[str, Any], timeout: float | None) -> AsyncResourceStream:
    own, body = _split(members)
    return await client._stream(own, body, timeout, None)  # pyright: ignore[reportPrivateUsage]


def _split(members: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    own = dict(members)
    return own, own.pop("body", None)


def request_headers(headers: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The headers without the session's, and those that libraries add. The sidecar rejects other reserved ones."""
    chosen: dict[str, list[str]] = {}
    for name, value in headers:
        if name.lower() != HEADER and name.lower() not in ADDED_BY_LIBRARIES:
            chosen.setdefault(name, []).append(value)
    return chosen


def uploaded(body: Any, *, may_step_up: bool) -> Any:
    """A request's body as `fetch_resource` takes it: without a copy of a large file or of an iterable's pieces.

    :param may_step_up: Whether the fetch may have to be continued, for which the sidecar keeps no file.
    """
    if body is None or isinstance(body, (str, bytes, bytearray, memoryview)):
        return b"" if body is None else _encoded(body)
    if hasattr(body, "__aiter__"):
        return cast("AsyncIterable[bytes]", body)
    if not hasattr(body, "read"):
        return _encoded_pieces(iterator_of(body))
    if isinstance(body, io.TextIOBase):
        return _encoded_pieces(iter(lambda: body.read(1 << 16), ""))
    return _encoded_pieces(iter(lambda: body.read(1 << 16), b"")) if may_step_up else body


def iterator_of(body: Any) -> Iterator[Any]:
    """The pieces of a body; raises the error for what is not one."""
    name = type(body).__name__
    if hasattr(body, "__aiter__"):
        raise TypeError(f"{name} is asynchronous: pass it to an AsyncClient, or pass a generator")
    if hasattr(body, "keys") or not hasattr(body, "__iter__"):
        raise TypeError(
            f"{name} is not a body: pass text, bytes, a path, a file in binary mode, a socket or an iterable of bytes; "
            "json= takes what becomes JSON, data= a form"
        )
    return iter(cast("Iterable[Any]", body))


def _encoded(piece: Any) -> bytes:
    return piece.encode("utf-8") if isinstance(piece, str) else bytes(piece)


def _encoded_pieces(pieces: Iterable[str | bytes]) -> Iterator[bytes]:
    return (_encoded(piece) for piece in pieces)


def may_step_up(params: Mapping[str, Any], has_delegate: bool) -> bool:
    """Whether a fetch may need the user first. It continues without the files that came with it."""
    return has_delegate or params.get("auth") == "user" or "session" in params


def is_repeatable(members: Mapping[str, Any]) -> bool:
    """Whether the fetch may be made once more: its body is not one that is read once."""
    return isinstance(members.get("body", b""), bytes)


def within(data: bytes) -> bytes:
    if len(data) > MOST_BODY:
        raise RequestError(
            f"the body has more than {MOST_BODY} bytes, and this sidecar takes it in a message only",
            -32007,
            {"reason": "message_too_large", "outcome": "not_sent", "path": "/body"},
        )
    return data


def cannot_stream(error: PosternError) -> bool:
    """The error of a resource with encrypted responses, which can only be authenticated at their end."""
    return error.reason == "invalid_params" and error.path == "/stream"


def timeout_of(given: Any) -> float:
    """One timeout from a library's timeouts for connecting and reading; infinite if one of them is.

    Seconds, a pair of them, a mapping (httpx), or an object with `total` (urllib3, aiohttp).
    """
    if given is None:
        return math.inf
    if isinstance(given, Mapping):
        times = cast("Mapping[str, float | None]", given)
        values = [times.get("connect"), times.get("read")]
    elif isinstance(given, tuple):
        values = list(cast("tuple[float | None, ...]", given))
    elif hasattr(given, "total"):
        values = [given.total]
        if given.total is None and hasattr(given, "connect_timeout"):
            values = [given.connect_timeout, given.read_timeout]
    else:
        return float(given)
    return math.inf if None in values else float(sum(value or 0 for value in values))
