"""Requests that wait for their answers."""

from __future__ import annotations

import threading
from typing import Any, Callable

from ._places import Places
from .errors import PosternError, from_answer

Message = dict[str, Any]


class Pending:
    """One request under way. Settled once, by whoever reads its answer."""

    __slots__ = ("_lock", "_on_settled", "answer", "error", "has_waiter", "identifier", "method", "places", "size")

    def __init__(
        self,
        identifier: int,
        method: str,
        size: int,
        on_settled: Callable[[Pending], None] | None = None,
        places: Places | None = None,
    ) -> None:
        self.identifier = identifier
        self.method = method
        self.size = size
        #: To which its place goes back with its answer.
        self.places = places
        self.answer: Message | None = None
        self.error: PosternError | None = None
        #: Whether somebody waits who would read if asked to.
        self.has_waiter = False
        self._on_settled = on_settled
        # Held until there is news: the cheapest thing to wait for.
        self._lock = threading.Lock()
        self._lock.acquire()

    def settle(self, answer: Message | None, error: PosternError | None = None) -> None:
        """Called at most once: whoever calls it has taken the request off the list of those under way."""
        self.answer = answer
        self.error = error
        self.wake()
        if self._on_settled is not None:
            self._on_settled(self)

    @property
    def is_settled(self) -> bool:
        return self.answer is not None or self.error is not None

    def wake(self) -> None:
        """Has `wait` return: there is an answer, or nobody reads any more."""
        try:  # noqa: SIM105 - in the way of every answer
            self._lock.release()
        except RuntimeError:
            pass  # woken already, and not up yet

    def wait(self, seconds: float) -> bool:
        """Waits for news. Whether there was any in time."""
        woken = self._lock.acquire(timeout=min(seconds, threading.TIMEOUT_MAX))
        if woken and self.is_settled:
            self.wake()  # another thread may wait for the same answer
        return woken

    def result(self) -> Any:
        """The result of a settled request; raises its error."""
        if self.error is not None:
            raise self.error
        answer = self.answer or {}
        if "result" in answer:
            return answer["result"]
        raise from_answer(answer.get("error"))
