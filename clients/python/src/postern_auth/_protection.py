"""The common part of the middlewares that check who calls an API."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, get_args
from urllib.parse import quote, urlsplit

from ._wire import members, present
from .errors import PosternError

METHOD = "validateRequest"
#: Seconds that a verdict may take. The request waits for it.
TIMEOUT = 10.0
_OWN = {"content-type", "content-length", "transfer-encoding", "connection"}
#: What a path may have as it is (RFC 3986): the rest was percent-encoded when the server decoded it.
_PATH = "/:@!$&'()*+,;=-._~"

log = logging.getLogger("postern_auth")

_Application = TypeVar("_Application")
_Client = TypeVar("_Client")
DPoP = Literal["optional", "required", "forbidden"]


@dataclass(frozen=True)
class Accepted:
    """Who sends a request: the claims of its token."""

    #: The claims of the access token, or what its issuer returned about it.
    claims: dict[str, Any]
    #: `Bearer` or `DPoP`.
    token_type: str
    #: The key or certificate that the token is bound to, and the request has proved: `jkt`, `x5tS256`.
    confirmation: dict[str, str] = field(default_factory=dict[str, str])

    def __repr__(self) -> str:
        return f"<Accepted {self.token_type}>"


@dataclass(frozen=True)
class Answer:
    """What the client gets instead of the API's response."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes = b""

    def lines(self) -> list[tuple[str, str]]:
        """The header lines, with those of the body."""
        own = [("Content-Length", str(len(self.body)))]
        return [*self.headers, *([("Content-Type", "application/json")] if self.body else []), *own]


@dataclass(frozen=True)
class Requirements:
    """What a token must fulfil, and under which URL clients know the API."""

    issuer: str | None
    audience: str | None
    public_url: str | None
    required_scopes: Sequence[str]
    dpop: DPoP | None
    max_age: int | None
    acr_values: Sequence[str]
    resource_metadata: str | None

    def __post_init__(self) -> None:
        # Without both, a token would be judged by a host that its sender has chosen.
        if not self.audience and not self.public_url:
            raise ValueError("audience or public_url is needed: a token must be for this API, and not for another one")
        if isinstance(self.required_scopes, str) or isinstance(self.acr_values, str):
            raise TypeError("required_scopes and acr_values are lists of strings")
        # The sidecar would reject each request's call, and clients would get 503 for ever.
        if self.dpop not in (None, *get_args(DPoP)):
            raise ValueError(f"dpop is one of {', '.join(get_args(DPoP))}")
        if self.max_age is not None and (type(self.max_age) is not int or self.max_age < 0):
            raise ValueError("max_age is a whole number of seconds")
        if self.public_url is not None:
            parts = urlsplit(self.public_url)
            if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
                raise ValueError("public_url is the URL of the API as clients use it, without a query")

    def url(self, scheme: str, hosts: Sequence[str], target: str) -> str | None:
        """The URL that the client used; None where the request does not name exactly one host."""
        if self.public_url is not None:
            return self.public_url.rstrip("/") + target
        if len(hosts) != 1 or not re.fullmatch(r"[A-Za-z0-9.:_\[\]-]+", hosts[0]):
            return None
        return f"{scheme}://{hosts[0]}{target}"

    def params(
        self, method: str, url: str, headers: Mapping[str, list[str]], certificate: str | None
    ) -> dict[str, Any]:
        """The params of the call for one request; `certificate` is the client's in PEM, of its TLS connection here."""
        return present(
            {
                "issuer": self.issuer,
                "method": method,
                "url": url,
                "headers": dict(headers),
                "clientCertificate": certificate or None,
                "audience": self.audience,
                "requiredScopes": list(self.required_scopes) or None,
                "dpop": self.dpop,
                "maxAge": self.max_age,
                "acrValues": list(self.acr_values) or None,
                "resourceMetadata": self.resource_metadata,
            }
        )


def grouped(lines: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Name, in lower case, to the values of its lines in their order."""
    headers: dict[str, list[str]] = {}
    for name, value in lines:
        headers.setdefault(name.lower(), []).append(value)
    return headers


def encoded(path: str) -> str:
    """A path that was decoded, percent-encoded again."""
    return quote(path, safe=_PATH, encoding="latin-1")


def verdict(result: Any) -> Accepted | Answer:
    """The verdict of the sidecar. What is no verdict lets nothing pass."""
    found = members(result) or {}
    claims = members(found.get("claims"))
    token_type = found.get("tokenType")
    if found.get("valid") is True and claims is not None and isinstance(token_type, str):
        return Accepted(claims, token_type, members(found.get("confirmation")) or {})
    response = members(found.get("response")) or {}
    status = response.get("status")
    if found.get("valid") is not False or not isinstance(status, int) or not 400 <= status < 500:
        log.error("the sidecar's answer to %s is no verdict", METHOD)
        return undecided()
    lines = _lines(members(response.get("headers")) or {})
    body = _body(lines)
    if not any(name.lower() == "cache-control" for name, _ in lines):
        lines.append(("Cache-Control", "no-store"))
    return Answer(status, lines, body)


def failed(error: PosternError) -> Answer:
    """The answer where there is no verdict: never a challenge, by which clients would give up a good token."""
    log.error("a request was not validated: %s", error)
    return undecided(error.retry_after)


def undecided(after: float | None = None) -> Answer:
    """503: the API cannot find out who calls."""
    seconds = str(max(1, int(-(-after // 1)))) if after else "1"
    return Answer(503, [("Retry-After", seconds), ("Cache-Control", "no-store")])


def without_host() -> Answer:
    """400: no, or no single, host that the request is for."""
    return Answer(400, [("Cache-Control", "no-store")], _json({"error": "invalid_request"}))


def _lines(headers: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, str(value)) for name, value in headers.items() if name.lower() not in _OWN]


def _body(lines: Iterable[tuple[str, str]]) -> bytes:
    """The error of the challenge as JSON; empty where the request had no token at all."""
    challenge = ", ".join(value for name, value in lines if name.lower() == "www-authenticate")
    found: dict[str, str] = dict(re.findall(r'\b(error|error_description)="([^"\\]*)"', challenge))
    return _json(found) if "error" in found else b""


def _json(value: Mapping[str, str]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


class Protection(Generic[_Application, _Client]):
    """What a token must fulfil, for every kind of application."""

    def __init__(
        self,
        app: _Application,
        client: _Client,
        *,
        issuer: str | None = None,
        audience: str | None = None,
        public_url: str | None = None,
        required_scopes: Sequence[str] = (),
        dpop: DPoP | None = None,
        max_age: int | None = None,
        acr_values: Sequence[str] = (),
        resource_metadata: str | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        """Whose tokens are accepted, and which of them.

        :param app: The application.
        :param client: It is not closed with the application.
        :param issuer: Whose tokens are accepted: an issuer of the sidecar's configuration.
        :param audience: Who tokens must be for: this API.
        :param public_url: The URL of the API as its clients use it, without what follows in the request's path. Needed
            where it is not that of the `Host` header, and without `audience`, and for proofs (DPoP) of clients.
        :param required_scopes: The scopes that a token must have, all of them.
        :param dpop: Whether tokens may, must or must not be bound to a key of the client; default: may.
        :param max_age: Seconds since the user's login at most (RFC 9470).
        :param acr_values: The kinds of login that are sufficient (RFC 9470).
        :param resource_metadata: The URL of the API's metadata (RFC 9728), for the challenges.
        :param timeout: Seconds that a verdict may take.
        """
        self._check(client)
        self.app = app
        self.client = client
        self._timeout = timeout
        self._requirements = Requirements(
            issuer, audience, public_url, required_scopes, dpop, max_age, acr_values, resource_metadata
        )

    def _check(self, client: _Client) -> None:
        """Raises the error for the other kind of client."""
        raise NotImplementedError
