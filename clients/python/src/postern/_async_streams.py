"""Bodies as asynchronous iterators."""

from __future__ import annotations

import asyncio
import collections
from typing import TYPE_CHECKING, Any

from ._chunks import HEAD, ResponseHead, Sequence, piece, weakly
from ._flow import MOST_REFUSALS, Flow, pause_after
from ._limits import Deadline
from .errors import DeadlineExceeded, PosternError, ProtocolViolation, from_answer
from .types import FetchResult

if TYPE_CHECKING:
    from ._async_connection import AsyncConnection, AsyncPending


class AsyncResourceStream:
    """A body in pieces, while it comes. Closing it before its end cancels the fetch.

    Reading slowly slows the server down; what has come and was not read is bounded. An exception while reading means
    that the body is not whole.
    """

    def __init__(self, task: str, timeout: float | None = None, until_head: float | None = None) -> None:
        #: The task's name, for `get_task` and its like.
        self.task = task
        self._timeout = timeout
        self._until_head = until_head
        #: Why steering was refused last.
        self._why = ""
        self._news = asyncio.Event()
        self._pieces: collections.deque[str] = collections.deque()
        self._rest = b""
        self._flow = Flow()
        self._sequence = Sequence()
        self._connection: AsyncConnection | None = None
        self._pending: AsyncPending | None = None
        self._head: ResponseHead | None = None
        self._settled: Any = None
        self._closed = False
        self._steering: set[asyncio.Future[None]] = set()

    async def begin(self, connection: AsyncConnection, params: dict[str, Any], deadline: Deadline) -> None:
        """Sends the request, on a connection of which a place was taken."""
        self._connection = connection
        connection.streams[self.task] = weakly(self._take)
        try:
            try:
                await connection.room(deadline)
            except BaseException:
                connection.places.give()
                raise
            self._pending = connection.start("fetchResource", params, None, connection.places)
        except BaseException:
            connection.streams.pop(self.task, None)
            self._connection = None
            raise
        self._pending.future.add_done_callback(weakly(self._end))

    # What the connection does

    def _take(self, message: dict[str, Any]) -> None:
        if message["method"] == HEAD:
            self._head = ResponseHead.from_json(message["params"])
            self._news.set()
            return
        data = self._sequence.encoded(message["params"])
        self._pieces.append(data)
        self._news.set()
        method = self._flow.arrived(len(data))
        if self._flow.is_over:
            self._fail(ProtocolViolation(f"more comes than is read, and the task is not suspended{self._why}"))
        self._steer(method)

    def _end(self, future: asyncio.Future[Any]) -> None:
        if self._connection is not None:
            self._connection.streams.pop(self.task, None)
        if self._settled is None and not future.cancelled():
            self._settled = future.result()
        if self._connection is not None and reason_of(self._settled) == "shutting_down":
            self._connection.is_leaving = True
        self._news.set()

    def _fail(self, error: PosternError) -> None:
        self._settled = error
        self._pieces.clear()
        self._abandon()
        self._news.set()

    def _steer(self, method: str | None) -> None:
        if method is not None and self._connection is not None:
            task = asyncio.ensure_future(self._ask(self._connection, method))
            self._steering.add(task)
            task.add_done_callback(self._steering.discard)

    async def _ask(self, connection: AsyncConnection, method: str) -> None:
        asked: str | None = method
        refusals = 0
        while asked is not None and connection.is_open:
            try:
                await connection.ask(asked, {"task": self.task}, None, Deadline(30))
            except PosternError as error:
                if error.reason == "task_not_found":  # it has ended meanwhile: nothing to do about that
                    return
                self._why = f": {error.reason}"
                last, asked = asked, self._flow.answered(refused=True)
                if asked is None:
                    return
                refusals += 1
                if refusals > MOST_REFUSALS or error.reason == "peer_forbidden":
                    self._fail(ProtocolViolation(f"the task does not go on: {last} was refused{self._why}"))
                    return
                await asyncio.sleep(pause_after(refusals))
            else:
                asked, refusals, self._why = self._flow.answered(), 0, ""

    def _abandon(self) -> None:
        connection, pending = self._connection, self._pending
        if connection is not None and pending is not None:
            connection.streams.pop(self.task, None)
            if not pending.future.done():
                connection.cancel(pending)

    # What the reader does

    def __aiter__(self) -> AsyncResourceStream:
        return self

    async def __anext__(self) -> bytes:
        data = await self._next()
        if not data:
            raise StopAsyncIteration
        return data

    async def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, at least one unless the body has ended; all that is left without a size."""
        if size < 0:
            return b"".join([piece async for piece in self])
        data = await self._next()
        data, self._rest = data[:size], data[size:]
        return data

    async def _next(self) -> bytes:
        if self._closed:
            raise ValueError("I/O operation on closed stream")
        if self._rest:
            data, self._rest = self._rest, b""
            return data
        while not self._pieces:
            if self._settled is not None:
                self._raise_error()
                return b""
            await self._something()
        encoded = self._pieces.popleft()
        self._steer(self._flow.taken(len(encoded)))
        return piece(encoded)

    async def _something(self) -> None:
        """Waits for more of the response. Until the head is there the user may be asked for something."""
        self._news.clear()
        try:
            await asyncio.wait_for(self._news.wait(), self._until_head if self._head is None else self._timeout)
        except asyncio.TimeoutError:
            error = DeadlineExceeded("nothing more of the response came in time", data={"outcome": "sent_no_reply"})
            self._fail(error)
            raise error from None
        if self._closed:
            raise ValueError("the stream was closed")

    async def head(self) -> ResponseHead:
        """Status and headers, as soon as they are there, which is before the body is."""
        while self._head is None:
            if self._settled is not None:
                self._raise_error()
                raise ProtocolViolation("the stream has no head")
            await self._something()
        return self._head

    def _raise_error(self) -> Any:
        from ._async_connection import result_of

        return result_of(self._settled)

    async def result(self) -> FetchResult:
        """The rest, which comes behind the body: what is left of that is read and dropped for this."""
        while not self._closed and await self._next():
            pass
        if self._settled is None:
            raise ValueError("the stream was closed before its end")
        return FetchResult.from_json(self._raise_error())

    async def aclose(self) -> None:
        """Ends the fetch if it has not ended."""
        self.close()

    def close(self) -> None:
        """The same, without waiting for anything."""
        if not self._closed:
            self._closed = True
            self._pieces.clear()
            self._abandon()
            self._news.set()

    def __del__(self) -> None:
        connection, pending = self._connection, self._pending
        if connection is not None and pending is not None and not self._closed and not pending.future.done():
            connection.streams.pop(self.task, None)
            connection.cancel_later(pending)

    async def __aenter__(self) -> AsyncResourceStream:
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.close()


def reason_of(settled: Any) -> str | None:
    """The reason of an answer that is an error."""
    if isinstance(settled, dict) and "error" in settled:
        return from_answer(settled["error"]).reason  # pyright: ignore[reportUnknownArgumentType]
    return None
