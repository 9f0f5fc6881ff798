"""Limits the calls in progress to what the sidecar accepts from one connection; the others wait in order.

The sidecar allows 128 (`limits.inFlightPerConnection`). Calls that end or serve other calls have slots of their own,
so that a delegate never waits behind the fetches that wait for it.
"""

from __future__ import annotations

import asyncio
import collections
import contextvars
import math
import threading

from ._limits import Deadline
from .errors import DeadlineExceeded, Unavailable

#: Slots in addition to those of `Limits.in_flight`.
URGENT_SLOTS = 28
_URGENT = frozenset({"authenticateWithAdvice", "authenticate", "cancelTask", "suspendTask", "resumeTask", "getTask"})
#: Set while a delegate runs: a fetch waits for the delegate's calls.
serving: contextvars.ContextVar[bool] = contextvars.ContextVar("postern_serving", default=False)


def is_urgent(method: str) -> bool:
    return method in _URGENT or serving.get()


def _crowded(waiting: int) -> Unavailable:
    data = {"reason": "overloaded", "retryable": True, "outcome": "not_sent"}
    return Unavailable(f"{waiting} calls are already waiting", -32009, data)


def _late() -> DeadlineExceeded:
    return DeadlineExceeded("too many calls were in progress for too long", data={"outcome": "not_sent"})


class Slots:
    """The slots of the blocking client's calls. A slot may be given back by any thread."""

    def __init__(self, most: int, queued: int) -> None:
        self._most = self._free = most
        self._queued = queued
        self._has_ended = False
        # Re-entrant: the garbage collector may end a connection at any point.
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
        """Waits for a slot; also returns when the connection has ended."""
        with self._lock:
            if self._free > 0 or self._has_ended:
                self._free -= 1
                return
            if len(self._waiting) >= self._queued:
                raise _crowded(len(self._waiting))
            waiter = threading.Lock()
            waiter.acquire()
            self._waiting.append(waiter)
        try:
            if waiter.acquire(timeout=min(deadline.left(), threading.TIMEOUT_MAX)):
                return
            raise _late()
        except BaseException:
            with self._lock:
                if waiter in self._waiting:
                    self._waiting.remove(waiter)
                else:  # a slot was given at the same moment
                    self.give()
            raise

    def give(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1

    def end(self) -> None:
        """Ends all waits, also later ones: the connection raises its error."""
        with self._lock:
            self._has_ended = True
            while self._waiting:
                self._waiting.popleft().release()


class AsyncSlots:
    """The slots of the asynchronous client's calls in one event loop."""

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
        """Waits for a slot; also returns when the connection has ended."""
        if self._has_ended or self.try_take():
            return
        if len(self._waiting) >= self._queued:
            raise _crowded(len(self._waiting))
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        left = deadline.left()
        try:
            done, _ = await asyncio.wait({waiter}, timeout=None if left == math.inf else left)
            if not done:
                raise _late()
        except BaseException:
            if waiter.done():
                self.give()
            else:
                self._waiting.remove(waiter)
            raise

    def give(self) -> None:
        if self._waiting:
            self._waiting.popleft().set_result(None)
        else:
            self._free += 1

    def end(self) -> None:
        """Ends all waits, also later ones: the connection raises its error."""
        self._has_ended = True
        while self._waiting:
            self._waiting.popleft().set_result(None)
