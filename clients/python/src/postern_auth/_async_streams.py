"""Bodies as asynchronous iterators."""

from __future__ import annotations

import asyncio
import collections
import weakref
from collections.abc import Awaitable, Coroutine
from typing import TYPE_CHECKING, Any, Callable

from ._bodies import Bodies
from ._chunks import HEAD, ResponseHead, Sequence, piece, weakly
from ._flow import MOST_REJECTIONS, Flow, pause_after
from ._framing import Piece
from ._limits import Deadline
from ._retry import Retries
from ._streams import Offer
from .errors import ClientClosed, DeadlineExceeded, PosternError, ProtocolViolation, from_answer, inherited
from .types import FetchResult

if TYPE_CHECKING:
    from ._async_connection import AsyncConnection, AsyncPending
    from ._exchange import Part


class AsyncBeginning:
    """Starts a stream, with the retries of all calls.

    :param connect: Returns a connection with a slot for a stream of that name.
    :param pause: Waits for that many seconds; returns True at once if the client was closed.
    """

    def __init__(
        self,
        connect: Callable[[Deadline, str], Awaitable[AsyncConnection]],
        pause: Callable[[float], Awaitable[bool]],
        params: dict[str, Any],
        deadline: Deadline,
        window: float,
        *,
        bodies: Bodies,
    ) -> None:
        self._connect = connect
        self._pause = pause
        self.offer = Offer(params, bodies)
        self._deadline = deadline
        self._retries = Retries("fetchResource", params, deadline, window)

    async def begin(self, stream: AsyncResourceStream) -> None:
        from ._connection import CannotPass

        try:
            while True:
                try:
                    connection = await self._connect(self._deadline, stream.task)
                    await stream.begin(connection, self.offer, self._deadline)
                    self.offer.sent()
                    return
                except CannotPass:
                    self.offer.cannot_pass()
                except PosternError as error:
                    pause = self._retries.pause_after(error)
                    if pause is None or await self._pause(pause):
                        raise
        except BaseException:
            self.offer.abandon()
            raise

    def pause_after(self, error: PosternError, connection: AsyncConnection | None) -> float | None:
        if self.offer.is_of_older(error) and connection is not None:
            connection.knows_bodies = False
        if self.offer.goes_again(error):
            return 0.0
        return self._retries.pause_after(error) if self.offer.may_be_retried else None

    async def begin_again(self, stream: AsyncResourceStream, pause: float) -> None:
        try:
            if await self._pause(pause):
                raise ClientClosed("the client was closed", data={"outcome": "not_sent"})
            if not stream.is_left:
                await self.begin(stream)
        except Exception as error:  # also of a body that is read
            stream.fail(error)
        if stream.is_left:
            stream.close_bodies()


class AsyncResourceStream:
    """A body in pieces, as they arrive. Closing it before its end cancels the fetch.

    Reading slowly slows the server down; the unread data is bounded. An exception while reading means that the body is
    incomplete.
    """

    def __init__(
        self,
        task: str,
        timeout: float | None = None,
        until_head: float | None = None,
        beginning: AsyncBeginning | None = None,
    ) -> None:
        #: The task's name, for `get_task` and similar methods.
        self.task = task
        self._timeout = timeout
        self._until_head = until_head
        self._beginning = beginning
        #: The reason of the last rejected suspension or resumption.
        self._why = ""
        self._news = asyncio.Event()
        self._pieces: collections.deque[str | bytes] = collections.deque()
        self._rest = b""
        self._flow = Flow()
        self._sequence = Sequence()
        self._connection: AsyncConnection | None = None
        self._pending: AsyncPending | None = None
        self._head: ResponseHead | None = None
        self._settled: Any = None
        self._closed = False
        #: Running requests: suspensions and resumptions, or a retry.
        self._asking: set[asyncio.Future[None]] = set()

    async def begin(self, connection: AsyncConnection, offer: Offer, deadline: Deadline) -> None:
        """Sends the request on a connection with a slot for it."""
        task = self.task
        self._connection, self._pending = connection, None
        connection.streams[task] = weakly(self._take)
        try:
            try:
                # A body may have to be read, which may take its time.
                params, descriptors = await blocking(offer.request, connection.knows_bodies, is_short=not offer.reads)
            except BaseException:
                connection.slots.give()
                raise
            await connection.drain(deadline, connection.slots)
            self._pending = connection.start("fetchResource", params, None, connection.slots, descriptors=descriptors)
        except BaseException:
            connection.streams.pop(task, None)
            self._connection = None
            raise
        me = weakref.ref(self)

        def forget(_: object) -> None:
            if me() is None:
                offer.abandon()

        self._pending.future.add_done_callback(forget)
        # Not earlier: late parts must not be taken for those of the next stream of that name.
        self._pending.future.add_done_callback(lambda _: connection.streams.pop(task, None))
        self._pending.future.add_done_callback(weakly(self._end))
        if self.is_left:  # meanwhile
            self._abandon()

    # Called by the connection

    @property
    def is_left(self) -> bool:
        """Whether it was closed or has ended."""
        return self._closed or self._settled is not None

    def _take(self, message: Part) -> None:
        if self.is_left:
            return
        if isinstance(message, Piece):
            self._sequence.came()
            if message.data:
                self._put(message.data)
            return
        if message["method"] == HEAD:
            self._head = ResponseHead.from_json(message["params"])
            self._news.set()
            return
        self._put(self._sequence.encoded(message["params"]))

    def _put(self, data: str | bytes) -> None:
        self._pieces.append(data)
        self._news.set()
        method = self._flow.arrived(len(data))
        if self._flow.is_over:
            self.fail(ProtocolViolation(f"more data arrives than is read, and the task is not suspended{self._why}"))
        self._steer(method)

    def _end(self, future: asyncio.Future[Any]) -> None:
        if future.cancelled():
            return
        error = error_of(future.result())
        if error is not None and error.reason == "shutting_down" and self._connection is not None:
            self._connection.is_leaving = True
        is_rejected = error is not future.result() and self._head is None and not self._sequence.has_begun
        if error is not None and is_rejected and not self.is_left and self._beginning is not None:
            pause = self._beginning.pause_after(error, self._connection)
            if pause is not None:
                self._ask_for(self._beginning.begin_again(self, pause))
                return
        if error is None and self._connection is not None and self._connection.knows_bodies is None:
            self._connection.knows_bodies = True
        found = None if self._beginning is None else self._beginning.offer.end(error)
        if self._settled is None:
            self._settled = future.result() if found is None or found is error else found
        self._news.set()

    def complete(self, head: ResponseHead, body: bytes, result: dict[str, Any]) -> None:
        """The whole response is there, and came over no connection."""
        self._head, self._settled = head, {"result": result}
        if body:
            self._pieces.append(body)
        self._news.set()

    def close_bodies(self) -> None:
        """No request of it is in progress, and none follows."""
        if self._beginning is not None and (self._pending is None or self._pending.future.done()):
            self._beginning.offer.abandon()

    def fail(self, error: BaseException) -> None:
        """Ends the stream, for its reader and for the sidecar."""
        self._settled = error
        self._pieces.clear()
        self._abandon()
        self._news.set()

    def _steer(self, method: str | None) -> None:
        if method is not None and self._connection is not None:
            self._ask_for(self._ask(self._connection, method))

    def _ask_for(self, what: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(what)
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _ask(self, connection: AsyncConnection, method: str) -> None:
        method_to_call: str | None = method
        rejections = 0
        while method_to_call is not None and connection.is_open:
            try:
                await connection.ask(method_to_call, {"task": self.task}, None, Deadline(30))
            except PosternError as error:
                if error.reason == "task_not_found":  # it has ended meanwhile
                    return
                self._why = f": {error.reason}"
                last, method_to_call = method_to_call, self._flow.answered(rejected=True)
                if method_to_call is None:
                    return
                rejections += 1
                if rejections > MOST_REJECTIONS or error.reason == "peer_forbidden":
                    self.fail(ProtocolViolation(f"the task does not continue: {last} was rejected{self._why}"))
                    return
                await asyncio.sleep(pause_after(rejections))
            else:
                method_to_call, rejections, self._why = self._flow.answered(), 0, ""

    def _abandon(self) -> None:
        connection, pending = self._connection, self._pending
        if connection is not None and pending is not None and not pending.future.done():
            connection.cancel(pending)

    # Called by the reader

    def __aiter__(self) -> AsyncResourceStream:
        return self

    async def __anext__(self) -> bytes:
        data = await self._next()
        if not data:
            raise StopAsyncIteration
        return data

    async def read(self, size: int = -1) -> bytes:
        """Returns at most `size` bytes, at least one unless the body has ended; without a size the whole rest."""
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
        """Waits for more of the response. Before the head, a delegate may have the user do something."""
        if self._connection is not None and self._connection.is_inherited:
            raise inherited("this is a stream")
        self._news.clear()
        try:
            await asyncio.wait_for(self._news.wait(), self._until_head if self._head is None else self._timeout)
        except asyncio.TimeoutError:
            error = DeadlineExceeded("no more of the response came in time", data={"outcome": "sent_no_reply"})
            self.fail(error)
            raise error from None
        if self._closed:
            raise ValueError("the stream was closed")

    async def head(self) -> ResponseHead:
        """Status and headers, as soon as they have come, before the body."""
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
        """The result, which follows the body: the unread rest of the body is dropped."""
        while not self._closed and await self._next():
            pass
        if self._settled is None:
            raise ValueError("the stream was closed before its end")
        return FetchResult.from_json(self._raise_error())

    async def aclose(self) -> None:
        """Cancels the fetch if it has not ended."""
        self.close()

    def close(self) -> None:
        """Cancels the fetch if it has not ended, without waiting."""
        if not self._closed:
            self._closed = True
            self._pieces.clear()
            self._abandon()
            self._news.set()

    def __del__(self) -> None:
        connection, pending = self._connection, self._pending
        if connection is not None and pending is not None and not self._closed and not pending.future.done():
            connection.cancel_later(pending)

    async def __aenter__(self) -> AsyncResourceStream:
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.close()


async def blocking(function: Callable[..., Any], *arguments: Any, is_short: bool = False) -> Any:
    """The result of a function that may block: in a thread, unless it is short."""
    if is_short:
        return function(*arguments)
    return await asyncio.to_thread(function, *arguments)


def error_of(settled: Any) -> PosternError | None:
    """The error of a settled request."""
    if isinstance(settled, PosternError):
        return settled
    return None if "result" in settled else from_answer(settled["error"])
