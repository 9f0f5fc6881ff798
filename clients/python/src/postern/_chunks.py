"""Pieces of a streamed body, in order."""

from __future__ import annotations

import base64
import binascii
import weakref
from typing import Any, Callable, TypeVar

from .errors import ProtocolViolation

_Argument = TypeVar("_Argument")


def weakly(method: Callable[[_Argument], None]) -> Callable[[_Argument], None]:
    """Calls a method as long as its object is there: a connection keeps no stream that nobody reads."""
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

    def encoded(self, params: dict[str, Any]) -> str:
        """A piece's data, still encoded."""
        data = params.get("dataBase64")
        if params.get("sequence") != self._next or not isinstance(data, str):
            raise ProtocolViolation("a piece of a stream is missing, or of another shape")
        self._next += 1
        return data


def piece(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error:
        raise ProtocolViolation("a piece of a stream is not base64", data={"outcome": "unknown"}) from None
