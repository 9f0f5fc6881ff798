"""Requests that wait for their answers."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, Callable, Protocol, TypeVar

from ._framing import most_values
from ._places import Places
from .errors import PosternError, from_answer

Message = dict[str, Any]


class Sent(Protocol):
    """What is known of a request that was sent."""

    identifier: int
    #: Its bytes.
    size: int
    #: Its JSON values, or more.
    values: int


_Sent = TypeVar("_Sent", bound=Sent)


def blamed(error: PosternError, sent: Iterable[_Sent]) -> _Sent | None:
    """The request that an error without an id is about, if that is certain."""
    found = sorted(sent, key=lambda one: one.identifier)
    limit = error.data.get("limitBytes" if error.reason == "message_too_large" else "limitValues")
    if error.reason == "message_too_large" and isinstance(limit, int):
        found = [one for one in found if one.size > limit][:1]  # of several each is refused, in order
    elif error.reason == "message_too_complex" and isinstance(limit, int):
        found = [one for one in found if one.values > limit]
    return found[0] if len(found) == 1 else None


class Pending:
    """One request under way. Settled once, by whoever reads its answer."""

    __slots__ = (
        *("_lock", "_on_settled", "answer", "error", "has_waiter", "identifier"),
        *("method", "places", "size", "values"),
    )

    def __init__(
        self,
        identifier: int,
        method: str,
        line: bytes,
        on_settled: Callable[[Pending], None] | None = None,
        places: Places | None = None,
    ) -> None:
        self.identifier = identifier
        self.method = method
        self.size = len(line)
        self.values = most_values(line)
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

    def failure(self) -> PosternError | None:
        """The error of a settled request."""
        if self.error is not None:
            return self.error
        answer = self.answer or {}
        return None if "result" in answer else from_answer(answer.get("error"))

    def result(self) -> Any:
        """The result of a settled request; raises its error."""
        error = self.failure()
        if error is not None:
            raise error
        return (self.answer or {})["result"]
