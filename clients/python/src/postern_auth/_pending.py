"""Requests that wait for their responses."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable
from typing import Any, Callable, Generic, TypeVar

from ._endpoints import Passed
from ._framing import most_values
from ._slots import AsyncSlots, Slots
from .errors import PosternError, from_answer

Message = dict[str, Any]


class Sent:
    """A request that was sent. Its line is kept, as counting its values for each call would cost more."""

    __slots__ = ("identifier", "line", "method")

    identifier: int
    method: str
    line: bytes

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return len(self.line)

    @property
    def values(self) -> int:
        """An upper bound of the number of its JSON values."""
        return most_values(self.line)


_Sent = TypeVar("_Sent", bound=Sent)
_Slots = TypeVar("_Slots", Slots, AsyncSlots)


class Request(Sent, Generic[_Slots]):
    """A request in progress, and what a response does to it."""

    __slots__ = ("slots",)

    #: Its slot is given back to them with its response.
    slots: _Slots | None

    def conclude(self, settled: Message | PosternError, is_waited_for: bool) -> None:
        """The sidecar has answered it: gives its slot to the next one, and settles it."""
        if self.slots is not None:
            self.slots.give()
        if is_waited_for:
            self.settle(settled)

    def settle(self, settled: Message | PosternError) -> None:
        """Settles it with the sidecar's response, or the error instead of one."""
        raise NotImplementedError

    def fail(self, error: PosternError) -> None:
        """There will be no response."""
        self.settle(error)


def blamed(error: PosternError, sent: Iterable[_Sent]) -> _Sent | None:
    """The request that an error without an id is about, if that is certain."""
    found = sorted(sent, key=lambda one: one.identifier)
    limit = error.data.get("limitBytes" if error.reason == "message_too_large" else "limitValues")
    if error.reason == "message_too_large" and isinstance(limit, int):
        found = [one for one in found if one.size > limit][:1]  # if there are several, each is rejected, in order
    elif error.reason == "message_too_complex" and isinstance(limit, int):
        found = [one for one in found if one.values > limit]
    return found[0] if len(found) == 1 else None


class Pending(Request[Slots]):
    """One request in progress. Settled once, by the thread that reads its response."""

    __slots__ = ("_news", "_on_settled", "answer", "claim", "descriptor", "error", "is_settled")

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
        self.line = line
        self.slots = slots
        self.answer: Message | None = None
        self.error: PosternError | None = None
        self.is_settled = False
        #: Takes the descriptor that comes with its result, if there is one.
        self.claim: Callable[[], Passed | None] | None = None
        self.descriptor: Passed | None = None
        self._on_settled = on_settled
        # Locked until there is news: the cheapest way to wait. A thread that reads its response itself needs none.
        self._news: threading.Lock | None = None

    def conclude(self, settled: Message | PosternError, is_waited_for: bool) -> None:
        """The same; takes its descriptor also when no caller waits, so that the next one is another's."""
        if self.claim is not None and isinstance(settled, dict) and "result" in settled:
            self.descriptor = self.claim()
        super().conclude(settled, is_waited_for)

    def settle(self, settled: Message | PosternError) -> None:
        """Called at most once, after the request was removed from those in progress."""
        if isinstance(settled, PosternError):
            self.error = settled
        else:
            self.answer = settled
        self.is_settled = True
        if self._news is not None:
            self.wake()
        if self._on_settled is not None:
            self._on_settled(self)

    def wake(self) -> None:
        """Makes `wait` return: there is a response, or no thread reads any more."""
        if self._news is not None:
            with contextlib.suppress(RuntimeError):  # already woken, and not running yet
                self._news.release()

    @property
    def has_waiter(self) -> bool:
        """Whether a thread waits that would read when it is woken."""
        return self._news is not None

    def expect(self) -> None:
        """From now on news wake the thread that waits. Called by one thread at a time."""
        if self._news is None:
            news = threading.Lock()
            news.acquire()
            self._news = news

    def wait(self, seconds: float) -> None:
        """Waits for news, which must be expected."""
        assert self._news is not None
        # News that came before they were expected have woken no thread.
        if not self.is_settled and self._news.acquire(timeout=min(seconds, threading.TIMEOUT_MAX)) and self.is_settled:
            self.wake()  # another thread may wait for the same response

    def failure(self) -> PosternError | None:
        """The error of a settled request."""
        if self.error is not None:
            return self.error
        answer = self.answer or {}
        return None if "result" in answer else from_answer(answer.get("error"))

    def result(self) -> Any:
        """The result of a settled request; raises its error."""
        answer = self.answer
        if answer is not None and "result" in answer:
            return answer["result"]
        error = self.failure()
        assert error is not None
        raise error
