"""Turns: no more calls are under way than the sidecar takes from one connection; the others wait in order.

The sidecar allows 128 (`limits.inFlightPerConnection`). What ends or serves other calls has places of its own, so that
a delegate never waits behind the fetches that wait for it.
"""

from __future__ import annotations

import asyncio
import collections
import contextvars
import math
import threading

from ._limits import Deadline
from .errors import DeadlineExceeded, Unavailable

#: Places beside those of `Limits.in_flight`.
URGENT_PLACES = 28
_URGENT = frozenset({"authenticateWithAdvice", "authenticate", "cancelTask", "suspendTask", "resumeTask", "getTask"})
#: Set while a delegate runs: a fetch waits for what it calls.
serving: contextvars.ContextVar[bool] = contextvars.ContextVar("postern_serving", default=False)


def is_urgent(method: str) -> bool:
    return method in _URGENT or serving.get()


def _crowded(waiting: int) -> Unavailable:
    data = {"reason": "overloaded", "retryable": True, "outcome": "not_sent"}
    return Unavailable(f"{waiting} calls are waiting already", -32009, data)


def _late() -> DeadlineExceeded:
    return DeadlineExceeded("too many calls were under way for too long", data={"outcome": "not_sent"})


class Places:
    """Those of the blocking client. Whoever takes one gives it back, from any thread."""

    def __init__(self, most: int, queued: int) -> None:
        self._most = self._free = most
        self._queued = queued
        self._has_ended = False
        # Re-entrant: the collector may end a connection in the middle of anything.
        self._lock = threading.RLock()
        self._waiting: collections.deque[threading.Lock] = collections.deque()

    @property
    def is_unused(self) -> bool:
        return self._free == self._most

    def try_take(self) -> bool:
        with self._lock:
            if self._free <= 0:
                return False
            self._free -= 1
            return True

    def take(self, deadline: Deadline) -> None:
        """Waits for a place; also returns when the connection has ended."""
        with self._lock:
            if self._free > 0 or self._has_ended:
                self._free -= 1
                return
            if len(self._waiting) >= self._queued:
                raise _crowded(len(self._waiting))
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        try:
            if turn.acquire(timeout=min(deadline.left(), threading.TIMEOUT_MAX)):
                return
            raise _late()
        except BaseException:
            with self._lock:
                if turn in self._waiting:
                    self._waiting.remove(turn)
                else:  # it came in that very moment
                    self.give()
            raise

    def give(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1

    def end(self) -> None:
        """Lets all go who wait, and who come: the connection tells them."""
        with self._lock:
            self._has_ended = True
            while self._waiting:
                self._waiting.popleft().release()


class AsyncPlaces:
    """The same for the tasks of one event loop."""

    def __init__(self, most: int, queued: int) -> None:
        self._most = self._free = most
        self._queued = queued
        self._has_ended = False
        self._waiting: collections.deque[asyncio.Future[None]] = collections.deque()

    @property
    def is_unused(self) -> bool:
        return self._free == self._most

    def try_take(self) -> bool:
        if self._free <= 0:
            return False
        self._free -= 1
        return True

    async def take(self, deadline: Deadline) -> None:
        """Waits for a place; also returns when the connection has ended."""
        if self._has_ended or self.try_take():
            return
        if len(self._waiting) >= self._queued:
            raise _crowded(len(self._waiting))
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        left = deadline.left()
        try:
            done, _ = await asyncio.wait({turn}, timeout=None if left == math.inf else left)
            if not done:
                raise _late()
        except BaseException:
            if turn.done():
                self.give()
            else:
                self._waiting.remove(turn)
            raise

    def give(self) -> None:
        if self._waiting:
            self._waiting.popleft().set_result(None)
        else:
            self._free += 1

    def end(self) -> None:
        """Lets all go who wait, and who come: the connection tells them."""
        self._has_ended = True
        while self._waiting:
            self._waiting.popleft().set_result(None)
