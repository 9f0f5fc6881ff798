"""The rule of retries in proto-docs/wire.md, section 3.

A call that was certainly not started may always be retried. One that may have been executed is retried only if it
reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._dial import pauses
from ._limits import Deadline
from .errors import ConnectionFailed, ConnectionLost, PosternError, ProtocolViolation

#: Methods that read, and those whose effect ends with the connection: the list in wire.md.
READS = frozenset({
    "rpc.discover", "getInfo", "health", "metrics", "subscribe", "unsubscribe", "registerDelegate",
    "getTask", "listTasks", "preauthorize", "listEndpoints", "explainCall",
    "validateIdToken", "validateAccessToken", "introspectToken", "verifyJws", "decryptJwe", "parseAdvice",
    "getSession", "listSessions", "getAccessToken",
    "pass.getConfiguration", "pass.getSession", "pass.listProfiles",
})  # fmt: skip
#: RFC 9110 section 9.2.1, of the methods that the sidecar sends.
SAFE_HTTP = frozenset({"GET", "HEAD"})
#: How often a call that may have been executed, or whose connection was lost, is retried.
MOST = 2


def only_reads(method: str, params: Mapping[str, Any]) -> bool:
    """Whether a call that may have been executed may be retried."""
    if method == "pass.listProfiles" and "samlResponse" in (params.get("partner") or {}):
        return False  # it makes a profile
    if method != "fetchResource":
        return method in READS
    if "continuation" in params or "task" in params or params.get("stream"):
        return False  # a continuation is valid once, a task's name may still be in use
    if "bodyTo" in params or "bodyFrom" in params:
        return False  # a part of the body may have been written or read
    return str(params.get("method", "GET")).upper() in SAFE_HTTP


class Retries:
    """The retries of one call."""

    def __init__(self, method: str, params: Mapping[str, Any], deadline: Deadline, window: float) -> None:
        self._method = method
        self._params = params
        self._deadline = deadline
        self._window = Deadline(window) if window > 0 else None
        self._lost = 0
        self._pauses = pauses()

    def pause_after(self, error: PosternError) -> float | None:
        """Seconds to wait before the retry; None if there is none."""
        if isinstance(error, (ConnectionFailed, ProtocolViolation)) or not self._deadline.left():
            return None
        is_lost = isinstance(error, ConnectionLost)
        if not is_lost and error.reason != "shutting_down":
            return None  # the sidecar's own error
        may_be_done = error.outcome != "not_sent"
        if may_be_done and not only_reads(self._method, self._params):
            return None
        if is_lost or may_be_done:
            self._lost += 1
            if self._lost > MOST or error.reason == "client_closed":
                return None
        if is_lost:
            return 0.0
        # Its successor accepts it, once it has started.
        left = min(self._window.left() if self._window else 0.0, self._deadline.left())
        return next(self._pauses) if left > 0 else None
