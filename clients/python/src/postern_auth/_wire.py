"""Values between Python and the protocol's JSON."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Callable, TypeVar, cast

_T = TypeVar("_T")


def time(text: str) -> datetime:
    """An RFC 3339 time in UTC."""
    return datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)


def optional_time(text: str | None) -> datetime | None:
    return None if text is None else time(text)


def optional(read: Callable[[dict[str, Any]], _T], value: dict[str, Any] | None) -> _T | None:
    return None if value is None else read(value)


def items(read: Callable[[dict[str, Any]], _T], values: list[dict[str, Any]] | None) -> list[_T]:
    return [read(value) for value in values or ()]


def mapping(read: Callable[[dict[str, Any]], _T], values: dict[str, dict[str, Any]] | None) -> dict[str, _T]:
    return {name: read(value) for name, value in (values or {}).items()}


def members(value: Any) -> dict[str, Any] | None:
    """A JSON object; None for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def as_object(value: Any) -> dict[str, Any]:
    found = members(value)
    if found is None:
        raise TypeError("not an object")
    return found


def present(members: dict[str, Any]) -> dict[str, Any]:
    """Those that are there."""
    return {name: value for name, value in members.items() if value is not None}


def wire(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, list):
        return wires(value)  # pyright: ignore[reportUnknownArgumentType]
    to_json = getattr(value, "to_json", None)
    return value if to_json is None else to_json()


def wires(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else [wire(value) for value in values]


def text_or_base64(name: str, value: str | bytes | None) -> dict[str, str]:
    """`name` with text, or `nameBase64` with bytes."""
    if value is None:
        return {}
    if isinstance(value, str):
        return {name: value}
    return {name + "Base64": base64.b64encode(value).decode("ascii")}


def body_members(body: str | bytes | None) -> dict[str, str]:
    return text_or_base64("body", body)
