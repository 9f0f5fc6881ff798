"""Requests that wait for their responses."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, Callable, Protocol, TypeVar

from ._framing import most_values
from ._slots import Slots
from .errors import PosternError, from_answer

Message = dict[str, Any]


class Sent(Protocol):
    """The properties of a request that was sent."""

    identifier: int
    #: Its size in bytes.
    size: int
    #: An upper bound of the number of its JSON values.
    values: int


_Sent = TypeVar("_Sent", bound=Sent)


def blamed(error: PosternError, sent: Iterable[_Sent]) -> _Sent | None:
    """The request that an error without an id is about, if that is certain."""
    found = sorted(sent, key=lambda one: one.identifier)
    limit = error.data.get("limitBytes" if error.reason == "message_too_large" else "limitValues")
    if error.reason == "message_too_large" and isinstance(limit, int):
        found = [one for one in found if one.size > limit][:1]  # if there are several, each is rejected, in order
    elif error.reason == "message_too_complex" and isinstance(limit, int):
        found = [one for one in found if one.values > limit]
    return found[0] if len(found) == 1 else None


class Pending:
    """One request in progress. Settled once, by the thread that reads its response."""

    __slots__ = (
        *("_lock", "_on_settled", "answer", "error", "has_waiter", "identifier"),
        *("method", "slots", "size", "values"),
    )

    def __init__(
        self,
        identifier: int,
        method: str,
        line: bytes,
        on_settled: Callable[[Pending], None] | None = None,
        slots: Slots | None = None,
    ) -> None:
        self.identifier = identifier
        self.method = method
        self.size = len(line)
        self.values = most_values(line)
        #: Its slot is given back to them with its response.
        self.slots = slots
        self.answer: Message | None = None
        self.error: PosternError | None = None
        #: Whether a thread waits that would read when it is woken.
        self.has_waiter = False
        self._on_settled = on_settled
        # Locked until there is news: the cheapest way to wait.
        self._lock = threading.Lock()
        self._lock.acquire()

    def settle(self, answer: Message | None, error: PosternError | None = None) -> None:
        """Called at most once, after the request was removed from those in progress."""
        self.answer = answer
        self.error = error
        self.wake()
        if self._on_settled is not None:
            self._on_settled(self)

    @property
    def is_settled(self) -> bool:
        return self.answer is not None or self.error is not None

    def wake(self) -> None:
        """Makes `wait` return: there is a response, or no thread reads any more."""
        try:  # noqa: SIM105 - on the path of every response
            self._lock.release()
        except RuntimeError:
            pass  # already woken, and not running yet

    def wait(self, seconds: float) -> bool:
        """Waits for news. Returns whether there was any in time."""
        woken = self._lock.acquire(timeout=min(seconds, threading.TIMEOUT_MAX))
        if woken and self.is_settled:
            self.wake()  # another thread may wait for the same response
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
