"""The common part of the classes that put a token on the requests of a library's own transport."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from ._sessions import ONLY, SessionSource, named
from ._wire import present
from .errors import PosternError, RequestError
from .types import AccessToken, Auth

#: The longest minimum that `get_access_token` takes, in seconds. A token with more life left is not replaced by it.
_LONGEST_MINIMUM = 86_400
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class TokenSources:
    """Which token, of whom: what a program has set once for all its requests."""

    resource: str | None
    issuer: str | None
    auth: Auth | None
    session: SessionSource | None = field(repr=False)

    def of(self, session: str | None) -> TokenSource:
        """The token of one request.

        :param session: What the request itself names.
        """
        return TokenSource(self.resource, self.issuer, self.auth, named(self.session, session))


@dataclass(frozen=True)
class TokenSource:
    """Which token: the arguments of `get_access_token`."""

    resource: str | None
    issuer: str | None
    auth: Auth | None
    #: Empty: no user is logged in.
    session: str | None = field(repr=False)

    def arguments(self, rejected: AccessToken | None = None) -> dict[str, Any]:
        """Arguments for a token; with `rejected` for another one than that, which a server has answered with 401."""
        members = {"resource": self.resource, "issuer": self.issuer, "auth": self.auth, "session": self.session}
        if rejected is not None:
            # What lives longer than the rejected token is a new one.
            left = int(rejected.expires_at.timestamp() - time.time()) + 1
            members["min_ttl_seconds"] = min(max(left, 1), _LONGEST_MINIMUM)  # type: ignore[assignment]
        return present(members)

    def is_kept(self, token: AccessToken, rejected: AccessToken) -> bool:
        """Whether a session must be refreshed because its token, valid for longer than any minimum, was rejected."""
        return self.session not in (None, ONLY) and token.access_token == rejected.access_token


class Origins:
    """The origins that a token goes to; with None the program decides which URLs it gives to its library.

    :raises ValueError: A text is no origin, or has plain HTTP and is not on loopback, or there is none.
    """

    def __init__(self, origins: str | Iterable[str] | None) -> None:
        given = [origins] if isinstance(origins, str) else origins
        self._origins = None if given is None else frozenset(_origin(one) for one in given)
        if self._origins is not None and not self._origins:
            raise ValueError("origins is empty: no URL would get a token")

    def check(self, scheme: str | None, host: str | None, port: int | None) -> None:
        """Raises `RequestError` for a URL of another origin, before anything is sent.

        The parts are those that the library itself has read from the URL: it connects to these.
        """
        if self._origins is None:
            return
        scheme, host = (scheme or "").lower(), (host or "").lower().strip("[]")
        if (scheme, host, port or _PORTS.get(scheme)) not in self._origins:
            where = f"{scheme}://{host}" + (f":{port}" if port else "")
            message = f"{where} is not one of the origins that this token is for"
            raise RequestError(message, -32602, {"reason": "origin_not_allowed", "outcome": "not_sent"})


def _origin(text: str) -> tuple[str, str, int]:
    parts = urlsplit(text)
    scheme, host = parts.scheme, parts.hostname
    is_origin = parts.path in ("", "/") and not (parts.query or parts.fragment or "@" in parts.netloc)
    if scheme not in _PORTS or not host or not is_origin or not text.isascii():
        raise ValueError("an origin is scheme, host in ASCII letters and port, such as https://api.example.com:8443")
    if scheme == "http" and not is_loopback(host):
        raise ValueError(f"{text}: a token may be sent by plain http to loopback only; use https")
    return scheme, host, parts.port or _PORTS[scheme]


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def credentials(token: AccessToken) -> str:
    """The value of `Authorization`."""
    return f"Bearer {token.access_token}"


def explained(error: PosternError) -> str:
    """The error's text, with what to do when tokens may not leave the sidecar."""
    if error.reason != "peer_forbidden":
        return str(error)
    return (
        f"{error}. A program that sets the header itself needs `tokens.leaveTheSidecar: true` in the sidecar's "
        "configuration, and a peer rule that permits getAccessToken; requests through Postern need neither"
    )
