"""Arguments as HTTP libraries name them, which become members of a request: `params`, `json`, `data`, `timeout`."""

from __future__ import annotations

import json as _json
import math
from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, Union, cast
from urllib.parse import quote, urlencode

from ._bodies import AsyncBody, Body

#: A value of a query or a form; None is left out, a sequence has a pair for each value.
Value = Union[str, int, float, bool, None, Sequence[Union[str, int, float, bool, None]]]
#: A query: by name, in pairs, or as it is.
Query = Union[Mapping[str, Value], Sequence["tuple[str, Value]"], str]
#: A form, or a body as it is.
Data = Union[Mapping[str, Value], Sequence["tuple[str, Value]"], Body]
#: The same for `AsyncClient`.
AsyncData = Union[Data, AsyncIterable[bytes]]
_Body = TypeVar("_Body", bound=AsyncBody)

#: The longest `timeoutMs` that the sidecar takes, in seconds.
LONGEST_TIMEOUT = 600.0


def compose(
    members: dict[str, Any],
    body: _Body | None,
    *,
    params: Query | None,
    json: Any,
    data: Mapping[str, Value] | Sequence[tuple[str, Value]] | _Body | None,
) -> _Body | str | None:
    """Adds `params`, `json` and `data` to the members of a request, and returns its body.

    :raises TypeError: Several arguments are the body.
    """
    if params is not None:
        members["path"] = with_query(str(members.get("path") or ""), params)
    if json is None and data is None:
        return body
    bodies = {"json": json, "data": data, "body": body}
    bodies.update({name: members.get(name) for name in ("parameters", "multipart")})
    given = [f"`{name}`" for name, value in bodies.items() if value is not None]
    if len(given) > 1:
        raise TypeError(f"{' and '.join(given)} exclude each other: each of them is the body")
    if json is not None:
        _default_type(members, "application/json")
        return _json.dumps(json, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if isinstance(data, (Mapping, list, tuple)):
        _default_type(members, "application/x-www-form-urlencoded")
        return urlencode(_pairs(data))
    return cast("_Body", data)


def with_query(path: str, params: Query) -> str:
    """The path, or URL, with more query parameters."""
    query = params.lstrip("?") if isinstance(params, str) else urlencode(_pairs(params), quote_via=quote)
    if not query:
        return path
    path, mark, fragment = path.partition("#")
    joint = "" if path.endswith(("?", "&")) else "&" if "?" in path else "?"
    return f"{path}{joint}{query}{mark}{fragment}"


def _pairs(values: Any) -> list[tuple[str, str]]:
    items: Iterable[tuple[str, Any]] = values.items() if hasattr(values, "items") else values
    pairs: list[tuple[str, str]] = []
    for name, value in items:
        is_one = value is None or isinstance(value, (str, int, float)) or _is_binary(value)
        several: Iterable[Any] = [value] if is_one else cast("Iterable[Any]", value)
        pairs += [(name, _text(one)) for one in several if one is not None]
    return pairs


def _is_binary(value: object) -> bool:
    """Whether it is bytes: a sequence as well, of numbers."""
    return isinstance(value, (bytes, bytearray, memoryview))


def _text(value: Any) -> str:
    if _is_binary(value):
        raise TypeError(f"a value is {type(value).__name__}: decode it to text")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _default_type(members: dict[str, Any], content_type: str) -> None:
    headers: Mapping[str, Any] = members.get("headers") or {}
    if not any(name.lower() == "content-type" for name in headers):
        members["headers"] = {**headers, "Content-Type": content_type}


def milliseconds(seconds: float | None, name: str) -> int | None:
    """`timeoutMs`, for a timeout in seconds; None if there is none.

    :param name: The argument, for the error.
    :raises ValueError: It is not positive.
    """
    if seconds is None or seconds == math.inf:
        return None
    if not seconds > 0:
        raise ValueError(f"{name} must be more than 0 seconds")
    return max(1, math.ceil(min(seconds, LONGEST_TIMEOUT) * 1000))


def without_body(answer: Mapping[str, Any]) -> dict[str, Any]:
    """A result of a fetch whose body came before it."""
    return {name: value for name, value in answer.items() if name not in ("body", "bodyBase64")}
