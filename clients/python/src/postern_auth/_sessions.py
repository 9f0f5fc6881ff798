"""Whose request it is: the session that an adapter's program names, once for all requests or with each of them."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Callable, Optional, Union, cast

from .errors import LoginRequired, RequestError

#: The field of a request that names its session. It goes nowhere but to the sidecar, as `session`.
HEADER = "postern-session"
#: The text for "the only live session of this user id", for programs whose user id is the user.
ONLY = "only"

#: A session's handle or `only`, or what has the handle of the user of the moment, and None when no user is logged in.
SessionSource = Union[str, Callable[[], Optional[str]], "ContextVar[str]", "ContextVar[str | None]"]


def named(source: SessionSource | None, own: str | None = None) -> str | None:
    """The member `session` of a call; None only where the program names no session at all.

    :param own: What the request itself names.
    :raises LoginRequired: No user is logged in. Nothing is called then: an endpoint may have a session of its own.
    """
    if own is not None and source is not None:
        raise _ambiguous(f"the session is named twice: by `session` and by the request's {HEADER}")
    if own is None and source is None:
        return None
    if isinstance(source, str):
        found: Any = source
    elif own is not None:
        found = _of_one_user(own)
    else:
        found = _value(source) if isinstance(source, ContextVar) else cast("Callable[[], Any]", source)()
        if found is not None and not isinstance(found, str):
            raise TypeError(f"`session` gave {type(found).__name__}, and a handle is text")
        found = _of_one_user(found or "")
    if not found:
        raise login_required("no user is logged in: `session` has none")
    return str(found)


def login_required(message: str) -> LoginRequired:
    """The sidecar's own error, where it need not be asked."""
    data = {"reason": "not_authenticated", "outcome": "not_sent", "retryable": False, "detail": "session_missing"}
    return LoginRequired(message, 1001, data)


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
    return values[0].strip(" \t") if values else None


def _of_one_user(handle: str) -> str:
    """The handle. What is found out with each request is often a browser's text, and `only` is no user's handle."""
    if handle == ONLY:
        raise _ambiguous(f'"{ONLY}" is for programs whose user id is the user: they pass session="{ONLY}" itself')
    return handle


def _ambiguous(message: str) -> RequestError:
    return RequestError(message, -32602, {"reason": "invalid_params", "outcome": "not_sent", "path": "/session"})
