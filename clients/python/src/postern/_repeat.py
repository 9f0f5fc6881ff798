"""Which calls are repeated after a lost connection.

What was never sent may always be. What was sent may have been done; it is repeated only when doing it twice is the
same as doing it once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._dial import pauses
from ._limits import Deadline
from .errors import ConnectionFailed, ConnectionLost, PosternError, ProtocolViolation

#: Methods that only look, or whose second call changes nothing. Not `validateLogoutToken`: a token is good for one use.
IDEMPOTENT = frozenset({
    "rpc.discover", "getInfo", "health", "metrics", "subscribe", "unsubscribe", "registerDelegate",
    "getTask", "listTasks", "suspendTask", "resumeTask", "cancelTask",
    "preauthorize", "invalidateDecisions",
    "validateIdToken", "validateAccessToken", "introspectToken", "verifyJws", "decryptJwe", "parseAdvice",
    "getSession", "listSessions", "getAccessToken",
})  # fmt: skip
#: RFC 9110 section 9.2.2.
IDEMPOTENT_HTTP = frozenset({"GET", "HEAD", "PUT", "DELETE"})
#: How often a call is repeated because its connection was lost.
MOST = 2


def is_idempotent(method: str, params: Mapping[str, Any]) -> bool:
    """Whether a call that may have been done may be done again."""
    if method != "fetchResource":
        return method in IDEMPOTENT
    if "continuation" in params or "task" in params or params.get("stream"):
        return False  # a continuation is good once, a task's name may still be taken
    return str(params.get("method", "GET")).upper() in IDEMPOTENT_HTTP


class Repeats:
    """The repetitions of one call."""

    def __init__(self, method: str, params: Mapping[str, Any], deadline: Deadline, window: float) -> None:
        self._method = method
        self._params = params
        self._deadline = deadline
        self._window = Deadline(window) if window > 0 else None
        self._lost = 0
        self._pauses = pauses()

    def pause_after(self, error: PosternError) -> float | None:
        """Seconds to wait before the call is made again; None when it is not."""
        if isinstance(error, (ConnectionFailed, ProtocolViolation)) or not self._deadline.left():
            return None
        if isinstance(error, ConnectionLost):
            self._lost += 1
            again = error.outcome == "not_sent" or is_idempotent(self._method, self._params)
            return 0.0 if again and self._lost <= MOST and error.reason != "client_closed" else None
        if error.reason == "shutting_down" and self._window is not None:
            # Refused before anything was done, and its successor will take it; or cut off, with no time left for it.
            if error.outcome == "sent_no_reply" and not is_idempotent(self._method, self._params):
                return None
            left = min(self._window.left(), self._deadline.left())
            return next(self._pauses) if left > 0 else None
        return None
