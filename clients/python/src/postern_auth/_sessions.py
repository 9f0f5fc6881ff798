"""Whose request it is: the session that an adapter's program names, once for all requests or with each of them."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Callable, Optional, Union

from .errors import RequestError

#: The field of a request that names its session. It goes nowhere but to the sidecar, as `session`.
HEADER = "postern-session"
#: The text for "the only live session of this user id", for programs whose user id is the user.
ONLY = "only"

#: A session's handle or `only`, or what has the handle of the user of the moment, and None when no user is logged in.
SessionSource = Union[str, Callable[[], Optional[str]], "ContextVar[str]", "ContextVar[str | None]"]


def named(source: SessionSource | None, own: str | None = None) -> str | None:
    """The member `session` of a call; None only where the program names no session at all.

    Where no user is logged in it is an empty text, for which the sidecar uses neither a session nor another token.

    :param own: What the request itself names.
    """
    if own is not None:
        if source is not None:
            raise _ambiguous(f"the session is named twice: by `session` and by the request's {HEADER}")
        return _of_one_user(own)
    if source is None or isinstance(source, str):
        return source
    found: Any = _value(source) if isinstance(source, ContextVar) else source()
    if found is not None and not isinstance(found, str):
        raise TypeError(f"`session` gave {type(found).__name__}, and a handle is text")
    return _of_one_user(found or "")


def _value(variable: ContextVar[Any]) -> Any:
    """Its value or its own default; None without either."""
    try:
        return variable.get()
    except LookupError:
        return None


def one_of(values: list[str]) -> str | None:
    """The value of the request's field; None without it."""
    if len(values) > 1:
        raise _ambiguous(f"the request has {HEADER} {len(values)} times")
    return values[0].strip() if values else None


def _of_one_user(handle: str) -> str:
    """The handle. What is found out with each request is often a browser's text, and `only` is no user's handle."""
    if handle == ONLY:
        raise _ambiguous(f'"{ONLY}" is for programs whose user id is the user: they pass session="{ONLY}" itself')
    return handle


def _ambiguous(message: str) -> RequestError:
    return RequestError(message, -32602, {"reason": "invalid_params", "outcome": "not_sent", "path": "/session"})
