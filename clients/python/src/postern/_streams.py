"""Bodies as file-like objects."""

from __future__ import annotations

import collections
import io
import threading
from typing import TYPE_CHECKING, Any

from ._chunks import HEAD, ResponseHead, Sequence, piece, weakly
from ._flow import MOST_REFUSALS, Flow, pause_after
from ._limits import Deadline
from ._pending import Pending
from .errors import DeadlineExceeded, PosternError, ProtocolViolation, from_answer
from .types import FetchResult

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from ._connection import Connection


class ResourceStream(io.RawIOBase):
    """A body that is read while it comes. Closing it before its end cancels the fetch.

    Reading slowly slows the server down; what has come and was not read is bounded. An exception while reading means
    that the body is not whole. Wrap it in `io.BufferedReader` to read lines.
    """

    def __init__(self, task: str, timeout: float | None = None, until_head: float | None = None) -> None:
        super().__init__()
        #: The task's name, for `get_task` and its like.
        self.task = task
        self._timeout = timeout
        self._until_head = until_head
        #: How often steering was refused, one after the other, and why.
        self._refusals = 0
        self._why = ""
        self._changed = threading.Condition()
        self._pieces: collections.deque[str] = collections.deque()
        self._rest = memoryview(b"")
        self._flow = Flow()
        self._sequence = Sequence()
        self._connection: Connection | None = None
        self._pending: Pending | None = None
        self._head: ResponseHead | None = None
        self._answer: dict[str, Any] | None = None
        self._error: PosternError | None = None

    # What the connection does

    def begin(self, connection: Connection, params: dict[str, Any], deadline: Deadline) -> None:
        """Sends the request, on a connection of which a place was taken."""
        self._connection = connection
        connection.streams[self.task] = weakly(self._take)
        connection.keep()
        try:
            self._pending = connection.start(
                "fetchResource", params, None, deadline, weakly(self._settled), connection.places
            )
        except BaseException:
            connection.streams.pop(self.task, None)
            self._connection = None
            raise

    def _take(self, message: dict[str, Any]) -> None:
        if message["method"] == HEAD:
            with self._changed:
                self._head = ResponseHead.from_json(message["params"])
                self._changed.notify_all()
            return
        data = self._sequence.encoded(message["params"])
        with self._changed:
            self._pieces.append(data)
            method = self._flow.arrived(len(data))
            is_over = self._flow.is_over
            self._changed.notify_all()
        if is_over:
            self._fail(ProtocolViolation(f"more comes than is read, and the task is not suspended{self._why}"))
        self._steer(method)

    def _settled(self, pending: Pending) -> None:
        if self._connection is not None:
            self._connection.streams.pop(self.task, None)
            self._connection.is_leaving |= refusal(pending) == "shutting_down"
        with self._changed:
            self._answer = pending.answer
            self._error = self._error or pending.error
            self._changed.notify_all()

    def _fail(self, error: PosternError) -> None:
        with self._changed:
            self._error = error
            self._pieces.clear()
            self._changed.notify_all()
        self._abandon()

    def _steer(self, method: str | None) -> None:
        connection = self._connection
        if method is None or connection is None:
            return
        params, steered = {"task": self.task}, weakly(self._steered)
        connection.later(lambda: connection.start(method, params, None, Deadline(30), steered))

    def _steered(self, pending: Pending) -> None:
        reason = refusal(pending)
        if reason == "task_not_found":  # it has ended meanwhile: nothing to do about that
            return
        with self._changed:
            method = self._flow.answered(reason is not None)
        if reason is None:
            self._refusals, self._why = 0, ""
            self._steer(method)
            return
        self._why = f": {reason}"
        if method is None:
            return
        self._refusals += 1
        if self._refusals > MOST_REFUSALS or reason == "peer_forbidden":
            self._fail(ProtocolViolation(f"the task does not go on: {pending.method} was refused{self._why}"))
            return
        again = threading.Timer(pause_after(self._refusals), weakly(self._steer), (method,))
        again.daemon = True
        again.start()

    def _abandon(self) -> None:
        connection, pending = self._connection, self._pending
        if connection is not None and pending is not None and not pending.is_settled:
            connection.streams.pop(self.task, None)
            connection.cancel_request(pending.identifier)

    # What the reader does

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Waits for at least a byte; 0 at the end."""
        if self.closed:
            raise ValueError("I/O operation on closed file")
        view = memoryview(buffer).cast("B")
        if not view:
            return 0
        if not self._rest:
            self._rest = memoryview(self._next())
        size = min(len(view), len(self._rest))
        view[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size

    def _next(self) -> bytes:
        """The next piece; nothing at the end."""
        with self._changed:
            # Until the head is there the user may be asked for something.
            in_time = self._changed.wait_for(self._has_head_or_news, self._until_head)
            in_time = in_time and self._changed.wait_for(self._has_news, self._timeout)
            data = self._pieces.popleft() if self._pieces else ""
            method = self._flow.taken(len(data))
        self._punctual(in_time)
        self._steer(method)
        if not data:
            self._raise_error()
        return piece(data)

    def _punctual(self, in_time: bool) -> None:
        if not in_time:
            error = DeadlineExceeded("nothing more of the response came in time", data={"outcome": "sent_no_reply"})
            self._fail(error)
            raise error

    def _has_head_or_news(self) -> bool:
        return self._head is not None or self._has_news()

    def _has_news(self) -> bool:
        return bool(self._pieces) or self._is_settled()

    def _is_settled(self) -> bool:
        return self._answer is not None or self._error is not None

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error
        if self._answer is not None and "error" in self._answer:
            raise from_answer(self._answer["error"])

    @property
    def head(self) -> ResponseHead:
        """Status and headers: waits until they are there, which is before the body is."""
        with self._changed:
            in_time = self._changed.wait_for(lambda: self._head is not None or self._is_settled(), self._until_head)
        self._punctual(in_time)
        if self._head is None:
            self._raise_error()
            raise ProtocolViolation("the stream has no head")
        return self._head

    @property
    def result(self) -> FetchResult:
        """The rest, which comes behind the body: what is left of that is read and dropped for this."""
        while not self.closed and self._next():
            self._rest = memoryview(b"")
        self._raise_error()
        if self._answer is None:
            raise ValueError("the stream was closed before its end")
        return FetchResult.from_json(self._answer["result"])

    def close(self) -> None:
        """Ends the fetch if it has not ended."""
        if not self.closed:
            self._pieces.clear()
            self._abandon()
        super().close()


def refusal(pending: Pending) -> str | None:
    """The reason of an answer that is an error."""
    if pending.answer is not None and "error" in pending.answer:
        return from_answer(pending.answer["error"]).reason
    return None
