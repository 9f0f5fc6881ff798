"""Parts of a streamed response: its head, and the pieces of its body in order."""

from __future__ import annotations

import base64
import binascii
import weakref
from dataclasses import dataclass, field
from typing import Any, Callable, TypeVar

from ._conveniences import ResponseStatus
from ._headers import Headers
from .errors import ProtocolViolation

_Argument = TypeVar("_Argument")
HEAD = "fetchResource.head"
#: Notifications that belong to a stream.
STREAMED = frozenset({HEAD, "fetchResource.chunk"})


@dataclass(frozen=True)
class ResponseHead(ResponseStatus):
    """Status and headers of a response, before its body."""

    #: The task's name.
    task: str
    #: The HTTP status.
    status: int
    #: The URL of the response, after redirects.
    url: str
    #: Of any case: `headers["Content-Type"]`.
    headers: Headers = field(repr=False)
    #: The reason phrase, if there is one.
    reason: str | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ResponseHead:
        """Reads it from the protocol's members."""
        try:
            headers = Headers.from_json(value["headers"])
            return cls(value["task"], value["status"], value["url"], headers, value.get("reason"))
        except KeyError as missing:
            raise ProtocolViolation(f"the head of a stream has no {missing}") from None


def weakly(method: Callable[[_Argument], None]) -> Callable[[_Argument], None]:
    """Calls a method while its object exists, so that a connection does not keep a dropped stream alive."""
    reference = weakref.WeakMethod(method)

    def call(argument: _Argument) -> None:
        found = reference()
        if found is not None:
            found(argument)

    return call


class Sequence:
    """Checks that pieces come complete and in order."""

    def __init__(self) -> None:
        self._next = 0

    @property
    def has_begun(self) -> bool:
        return self._next > 0

    def came(self) -> None:
        """A piece has come as a frame, which are in order."""
        self._next += 1

    def encoded(self, params: dict[str, Any]) -> str:
        """A piece's data, still encoded."""
        data = params.get("dataBase64")
        if params.get("sequence") != self._next or not isinstance(data, str):
            raise ProtocolViolation("a piece of a stream is missing, or of another shape")
        self._next += 1
        return data


def piece(data: str | bytes) -> bytes:
    """A piece, decoded if it came in JSON."""
    if isinstance(data, bytes):
        return data
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error:
        raise ProtocolViolation("a piece of a stream is not base64", data={"outcome": "unknown"}) from None
