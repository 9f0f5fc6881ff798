"""Back-pressure of one stream among others on a connection.

The connection is always read: calls and streams share it, and a connection that is not read for 45 seconds is closed.
What a reader has not taken is held here; over a mark the task is suspended, which moves no bytes and stops its clock,
and under another it goes on.
"""

from __future__ import annotations

from ._limits import STREAM_HIGH, STREAM_LOW, STREAM_MOST

#: Refusals of `resumeTask`, one after the other, at which a stream is given up.
MOST_REFUSALS = 8


def pause_after(refusals: int) -> float:
    """Seconds until a task is steered again."""
    return min(0.05 * refusals * refusals, 2.0)


class Flow:
    """Says when to call `suspendTask` and `resumeTask`, one call at a time. Not thread-safe by itself."""

    def __init__(self, high: int = STREAM_HIGH, low: int = STREAM_LOW, most: int = STREAM_MOST) -> None:
        self._high, self._low, self._most = high, low, most
        self._held = 0
        self._mark = high
        self._suspended = False
        self._asking = False

    @property
    def is_over(self) -> bool:
        """Whether more has come than a sidecar sends that heeds suspensions."""
        return self._held > self._most

    @property
    def held(self) -> int:
        return self._held

    def arrived(self, size: int) -> str | None:
        """The method to call now, if any."""
        self._held += size
        return self._next()

    def taken(self, size: int) -> str | None:
        self._held -= size
        return self._next()

    def answered(self, refused: bool = False) -> str | None:
        """The last call was answered. One that was refused is made again: a suspension when more has come."""
        self._asking = False
        if refused:
            self._suspended = not self._suspended
        self._mark = self._held + self._high if refused and not self._suspended else self._high
        return self._next()

    def _next(self) -> str | None:
        if self._asking:
            return None
        if not self._suspended and self._held >= self._mark:
            self._suspended = self._asking = True
            return "suspendTask"
        if self._suspended and self._held <= self._low:
            self._suspended, self._asking = False, True
            return "resumeTask"
        return None
