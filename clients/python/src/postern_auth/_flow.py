"""Backpressure of one stream among others on a connection.

The connection is always read: calls and streams share it, and a connection that is not read for 45 seconds is closed.
Pieces that the reader has not taken are buffered here; over a mark the task is suspended, which transfers no bytes and
pauses its timeout, and under another mark it is resumed.
"""

from __future__ import annotations

from ._limits import STREAM_HIGH, STREAM_LOW, STREAM_MOST

#: Rejections of `resumeTask` in a row after which the stream fails.
MOST_REJECTIONS = 8


def pause_after(rejections: int) -> float:
    """Seconds until a task is suspended or resumed again."""
    return min(0.05 * rejections * rejections, 2.0)


class Flow:
    """Decides when to call `suspendTask` and `resumeTask`, one call at a time. Not thread-safe by itself."""

    def __init__(self, high: int = STREAM_HIGH, low: int = STREAM_LOW, most: int = STREAM_MOST) -> None:
        self._high, self._low, self._most = high, low, most
        self._buffered = 0
        self._mark = high
        self._suspended = False
        self._asking = False

    @property
    def is_over(self) -> bool:
        """Whether more has arrived than a sidecar sends after a suspension."""
        return self._buffered > self._most

    @property
    def buffered(self) -> int:
        return self._buffered

    def arrived(self, size: int) -> str | None:
        """The method to call now, if any."""
        self._buffered += size
        return self._next()

    def taken(self, size: int) -> str | None:
        self._buffered -= size
        return self._next()

    def answered(self, rejected: bool = False) -> str | None:
        """Handles the response to the last call. A rejected one is retried: a suspension when more has arrived."""
        self._asking = False
        if rejected:
            self._suspended = not self._suspended
        self._mark = self._buffered + self._high if rejected and not self._suspended else self._high
        return self._next()

    def _next(self) -> str | None:
        if self._asking:
            return None
        if not self._suspended and self._buffered >= self._mark:
            self._suspended = self._asking = True
            return "suspendTask"
        if self._suspended and self._buffered <= self._low:
            self._suspended, self._asking = False, True
            return "resumeTask"
        return None
