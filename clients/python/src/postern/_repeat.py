"""Which calls are retried: the rule of proto-docs/wire.md, section 3.

What was certainly not done may always be tried again. What may have been done is tried again only when it reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._dial import pauses
from ._limits import Deadline
from .errors import ConnectionFailed, ConnectionLost, PosternError, ProtocolViolation

#: Methods that read, and those whose effect ends with the connection: those that wire.md names.
READS = frozenset({
    "rpc.discover", "getInfo", "health", "metrics", "subscribe", "unsubscribe", "registerDelegate",
    "getTask", "listTasks", "preauthorize",
    "validateIdToken", "validateAccessToken", "introspectToken", "verifyJws", "decryptJwe", "parseAdvice",
    "getSession", "listSessions", "getAccessToken",
})  # fmt: skip
#: RFC 9110 section 9.2.1, as far as the sidecar sends them.
SAFE_HTTP = frozenset({"GET", "HEAD"})
#: How often a call that may have been done, or whose connection was lost, is tried again.
MOST = 2


def only_reads(method: str, params: Mapping[str, Any]) -> bool:
    """Whether a call that may have been done may be done again."""
    if method != "fetchResource":
        return method in READS
    if "continuation" in params or "task" in params or params.get("stream"):
        return False  # a continuation is good once, a task's name may still be taken
    return str(params.get("method", "GET")).upper() in SAFE_HTTP


class Repeats:
    """The retries of one call."""

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
        is_lost = isinstance(error, ConnectionLost)
        if not is_lost and error.reason != "shutting_down":
            return None  # the sidecar's own answer
        may_be_done = error.outcome != "not_sent"
        if may_be_done and not only_reads(self._method, self._params):
            return None
        if is_lost or may_be_done:
            self._lost += 1
            if self._lost > MOST or error.reason == "client_closed":
                return None
        if is_lost:
            return 0.0
        # Its successor takes it, when it is there.
        left = min(self._window.left() if self._window else 0.0, self._deadline.left())
        return next(self._pauses) if left > 0 else None
