"""What adapters of HTTP libraries have in common.

Two kinds of URL are fetched. `http+postern://NAME/path` is `path` of the resource NAME; the sidecar follows its
redirects, because nobody else knows where NAME is. Any other URL is passed on as it is and must be one that the
resource allows; redirects are left to the library, each of which comes back here if its URL is mounted here.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from ._chunks import ResponseHead
from ._limits import REQUEST_BYTES
from .errors import PosternError, RequestError
from .types import Auth, FetchResult

SCHEME = "http+postern"
#: What libraries add to every request, and the sidecar sets itself.
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
#: A body in base64 fills a message with some room for the rest.
MOST_BODY = REQUEST_BYTES * 3 // 4 - (256 << 10)


@dataclass(frozen=True)
class Target:
    """Whom and what to ask."""

    resource: str | None
    auth: Auth | None
    session: str | None
    #: None: the sidecar for `http+postern`, else the library.
    follow_redirects: bool | None = None
    #: Bounds each fetch at the sidecar; None: the resource's own.
    timeout_ms: int | None = None

    def params(self, method: str, url: str, headers: Iterable[tuple[str, str]], body: bytes) -> dict[str, Any]:
        """Arguments of `fetch_resource`."""
        parts = urlsplit(url)
        named = parts.scheme.lower() == SCHEME
        if named:
            path = parts.path[1:] + (f"?{parts.query}" if parts.query else "")
            resource: str | None = unquote(parts.netloc.rpartition("@")[2])
            if self.resource and resource == self.resource.lower():
                resource = self.resource  # httpx writes hosts in lower case
        else:
            path, resource = url.partition("#")[0], self.resource
        follow = named if self.follow_redirects is None else self.follow_redirects
        return {
            "resource": resource or None,
            "path": path,
            "method": method.upper(),
            "auth": self.auth,
            "session": self.session,
            "headers": request_headers(headers) or None,
            "body": body or None,
            "follow_redirects": follow,
            "timeout_ms": self.timeout_ms,
        }


def request_headers(headers: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Without what libraries add by themselves. What else is reserved is refused by the sidecar, and says so."""
    chosen: dict[str, list[str]] = {}
    for name, value in headers:
        if name.lower() not in ADDED_BY_LIBRARIES:
            chosen.setdefault(name, []).append(value)
    return chosen


def response_headers(result: FetchResult | ResponseHead) -> list[tuple[str, str]]:
    """One pair a line, repeated ones in order."""
    return [(name, value) for name, values in result.headers.items() for value in values]


def collected(body: Any) -> bytes:
    """A request's body: bytes, text, a file or an iterable."""
    if body is None:
        return b""
    if isinstance(body, (bytes, bytearray, memoryview)):
        data = bytes(cast("bytes | bytearray", body))
    elif isinstance(body, str):
        data = body.encode("utf-8")
    elif hasattr(body, "read"):
        read = body.read(MOST_BODY + 1)
        data = read.encode("utf-8") if isinstance(read, str) else bytes(read)
    else:
        gathered = bytearray()
        for piece in body:
            gathered += piece.encode("utf-8") if isinstance(piece, str) else piece
            if len(gathered) > MOST_BODY:
                break
        data = bytes(gathered)
    return within(data)


async def collected_async(body: AsyncIterable[bytes]) -> bytes:
    gathered = bytearray()
    async for piece in body:
        gathered += piece
        if len(gathered) > MOST_BODY:
            break
    return within(bytes(gathered))


def within(data: bytes) -> bytes:
    if len(data) > MOST_BODY:
        raise RequestError(
            f"the body has more than {MOST_BODY} bytes",
            -32007,
            {"reason": "message_too_large", "outcome": "not_sent", "path": "/body"},
        )
    return data


def cannot_stream(error: PosternError) -> bool:
    """Of a resource whose answers are encrypted: they prove themselves at their end only."""
    return error.reason == "invalid_params" and error.path == "/stream"


def timeout_of(given: Any) -> float:
    """One bound from a library's times for connecting and reading; infinite when one of them is.

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
