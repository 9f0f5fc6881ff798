"""Bodies as file-like objects."""

from __future__ import annotations

import collections
import io
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, Callable

from ._bodies import Bodies
from ._chunks import HEAD, ResponseHead, Sequence, piece, weakly
from ._flow import MOST_REJECTIONS, Flow, pause_after
from ._framing import Piece
from ._limits import Deadline
from ._pending import Pending
from ._retry import Retries
from ._slots import Slots
from .errors import ClientClosed, DeadlineExceeded, PosternError, ProtocolViolation, from_answer, inherited
from .types import FetchResult

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from ._connection import Connection
    from ._exchange import Part


class Offer:
    """How a stream requests its bodies: as frames and descriptors, or through messages if the sidecar is an older one.

    An older one rejects the first member that it does not know, which is why `bodyAs` is the first.
    """

    def __init__(self, params: dict[str, Any], bodies: Bodies) -> None:
        self._params = params
        self._bodies = bodies
        #: Whether the last request wanted frames, and whether the next one may pass descriptors.
        self._as_frames = False
        self._passes = True

    def request(self, knows_bodies: bool | None) -> tuple[dict[str, Any], list[int]]:
        """The params for a connection, and the descriptors. May block."""
        self._as_frames = knows_bodies is not False
        if not self._as_frames or not self._passes:
            self._bodies.inline()
        first = {"bodyAs": "frames"} if self._as_frames else {}
        return {**first, **self._params, **self._bodies.members}, self._bodies.descriptors

    @property
    def reads(self) -> bool:
        """Whether `request` may have to read a body."""
        return self._bodies.upload is not None

    def cannot_pass(self) -> None:
        self._passes = False

    def sent(self) -> None:
        self._bodies.offered()

    def is_of_older(self, error: PosternError) -> bool:
        """Whether the request was rejected because the sidecar does not know frames."""
        return self._as_frames and error.reason == "invalid_params" and error.path == "/bodyAs"

    def goes_again(self, error: PosternError) -> bool:
        """Whether a rejected request goes again at once, in another form."""
        if self.is_of_older(error):
            return True
        if not self._bodies.may_go_inline(error):
            return False
        self.cannot_pass()
        return True

    @property
    def may_be_retried(self) -> bool:
        return self._bodies.may_go_again

    def end(self, error: PosternError | None) -> BaseException | None:
        """The fetch has ended. Returns its error, or the request body's own one."""
        found: BaseException | None = error
        try:
            if error is None:
                self._bodies.done()
            else:
                self._bodies.check(error)
        except Exception as own:
            found = own
        self._bodies.close()
        return found

    def abandon(self) -> None:
        """There is no fetch: descriptors are closed only when no request uses them."""
        self._bodies.close()


class Beginning:
    """Starts a stream, with the retries of all calls.

    :param connect: Returns a connection with a slot for a stream of that name.
    :param pause: Waits for that many seconds; returns True if the client was closed meanwhile.
    """

    def __init__(
        self,
        connect: Callable[[Deadline, str], Connection],
        pause: Callable[[float], bool],
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

    def begin(self, stream: ResourceStream) -> None:
        from ._connection import CannotPass

        while True:
            try:
                stream.begin(self._connect(self._deadline, stream.task), self.offer, self._deadline)
                self.offer.sent()
                return
            except CannotPass:
                self.offer.cannot_pass()
            except PosternError as error:
                pause = self._retries.pause_after(error)
                if pause is None or self._pause(pause):
                    self.offer.abandon()
                    raise
            except BaseException:
                stream.is_left = True
                self.offer.abandon()
                raise

    def begin_again(self, stream: ResourceStream, error: PosternError, connection: Connection) -> bool:
        """Retries in a thread of its own, because the current one reads for others. Returns whether it does."""
        if self.offer.is_of_older(error):
            connection.knows_bodies = False
        if self.offer.goes_again(error):
            pause: float | None = 0.0
        else:
            pause = self._retries.pause_after(error) if self.offer.may_be_retried else None
        if pause is None or sys.is_finalizing():
            return False
        threading.Thread(target=self._later, args=(stream, pause), name="postern-again", daemon=True).start()
        return True

    def _later(self, stream: ResourceStream, pause: float) -> None:
        try:
            if self._pause(pause):
                raise ClientClosed("the client was closed", data={"outcome": "not_sent"})
            if not stream.is_left:
                self.begin(stream)
        except Exception as error:  # also of a body that is read
            stream.fail(error)
        if stream.is_left:
            stream.close_bodies()


class ResourceStream(io.RawIOBase):
    """A body that is read as it arrives. Closing it before its end cancels the fetch.

    Reading slowly slows the server down; the unread data is bounded. An exception while reading means that the body is
    incomplete. Wrap it in `io.BufferedReader` to read lines.
    """

    def __init__(
        self,
        task: str,
        timeout: float | None = None,
        until_head: float | None = None,
        beginning: Beginning | None = None,
    ) -> None:
        super().__init__()
        #: The task's name, for `get_task` and similar methods.
        self.task = task
        self._timeout = timeout
        self._until_head = until_head
        self._beginning = beginning
        #: How often suspending or resuming was rejected in a row, and the last reason.
        self._rejections = 0
        self._why = ""
        self._changed = threading.Condition()
        self._pieces: collections.deque[str | bytes] = collections.deque()
        self._rest = memoryview(b"")
        self._flow = Flow()
        self._sequence = Sequence()
        self._connection: Connection | None = None
        self._pending: Pending | None = None
        #: The current attempt.
        self._attempt: object = None
        #: Whether it was closed or has ended.
        self.is_left = False
        self._head: ResponseHead | None = None
        self._answer: dict[str, Any] | None = None
        self._error: BaseException | None = None

    # Called by the connection

    def begin(self, connection: Connection, offer: Offer, deadline: Deadline) -> None:
        """Sends the request on a connection with a slot for it."""
        task, attempt, me = self.task, object(), weakref.ref(self)

        def settled(pending: Pending) -> None:
            # Not earlier: late parts must not be taken for those of the next stream of that name.
            connection.streams.pop(task, None)
            stream = me()
            if stream is not None and stream._attempt is attempt:
                stream._settled(connection, pending, attempt)
            elif stream is None:
                offer.abandon()

        self._connection, self._attempt = connection, attempt
        connection.streams[task] = weakly(self._take)
        slots: Slots | None = connection.slots
        try:
            connection.keep()
            params, descriptors = offer.request(connection.knows_bodies)
            given, slots = slots, None  # `start` gives it back
            self._pending = connection.start("fetchResource", params, None, deadline, settled, given, descriptors)
        except BaseException:
            if slots is not None:
                slots.give()
            connection.streams.pop(task, None)
            with self._changed:
                self._connection = self._attempt = None
                if not self.is_left:  # the error is raised for the caller of `begin`, not for the reader
                    self._error = None
            raise
        if self.is_left:  # meanwhile
            self._abandon()

    def _take(self, message: Part) -> None:
        if self.is_left:
            return
        if isinstance(message, Piece):
            self._sequence.came()
            if message.data:
                self._put(message.data)
            return
        if message["method"] == HEAD:
            with self._changed:
                self._head = ResponseHead.from_json(message["params"])
                self._changed.notify_all()
            return
        self._put(self._sequence.encoded(message["params"]))

    def _put(self, data: str | bytes) -> None:
        with self._changed:
            self._pieces.append(data)
            method = self._flow.arrived(len(data))
            is_over = self._flow.is_over
            self._changed.notify_all()
        if is_over:
            self.fail(ProtocolViolation(f"more data arrives than is read, and the task is not suspended{self._why}"))
        self._steer(method)

    def _settled(self, connection: Connection, pending: Pending, attempt: object) -> None:
        error = pending.failure()
        if error is not None:
            connection.is_leaving |= error.reason == "shutting_down"
            # Only the sidecar's own error: if the connection ended, `begin` raises that for its caller.
            is_rejected = pending.error is None and self._head is None and not self._sequence.has_begun
            if (
                is_rejected
                and not self.is_left
                and self._beginning is not None
                and self._beginning.begin_again(self, error, connection)
            ):
                return
        elif connection.knows_bodies is None:
            connection.knows_bodies = True
        own: BaseException | None = pending.error
        if self._beginning is not None:
            found = self._beginning.offer.end(error)
            own = own if found is error else found
        with self._changed:
            if self._attempt is not attempt:
                return
            self._answer = pending.answer
            self._error = self._error or own
            self._changed.notify_all()

    def complete(self, head: ResponseHead, body: bytes, result: dict[str, Any]) -> None:
        """The whole response is there, and came over no connection."""
        with self._changed:
            self._head, self._answer = head, {"result": result}
            if body:
                self._pieces.append(body)
            self._changed.notify_all()

    def close_bodies(self) -> None:
        """No request of it is in progress, and none follows."""
        pending = self._pending
        if self._beginning is not None and (pending is None or pending.is_settled):
            self._beginning.offer.abandon()

    def fail(self, error: BaseException) -> None:
        """Ends the stream, for its reader and for the sidecar."""
        with self._changed:
            self.is_left = True
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
        error = pending.failure()
        reason = None if error is None else error.reason
        if reason == "task_not_found":  # it has ended meanwhile
            return
        with self._changed:
            method = self._flow.answered(reason is not None)
        if reason is None:
            self._rejections, self._why = 0, ""
            self._steer(method)
            return
        self._why = f": {reason}"
        if method is None:
            return
        self._rejections += 1
        if self._rejections > MOST_REJECTIONS or reason == "peer_forbidden":
            self.fail(ProtocolViolation(f"the task does not continue: {pending.method} was rejected{self._why}"))
            return
        again = threading.Timer(pause_after(self._rejections), weakly(self._steer), (method,))
        again.daemon = True
        again.start()

    def _abandon(self) -> None:
        connection, pending = self._connection, self._pending
        if connection is not None and pending is not None and not pending.is_settled:
            connection.cancel_request(pending.identifier)

    # Called by the reader

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Waits for at least one byte; returns 0 at the end."""
        if self.closed:
            raise ValueError("I/O operation on closed file")
        view = memoryview(buffer).cast("B")
        if not view:
            return 0
        self._check_process()
        if not self._rest:
            self._rest = memoryview(self._next())
        size = min(len(view), len(self._rest))
        view[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size

    def _check_process(self) -> None:
        if self._connection is not None and self._connection.is_inherited:
            raise inherited("this is a stream")

    def _next(self) -> bytes:
        """The next piece; empty at the end."""
        with self._changed:
            # Before the head, a delegate may have the user do something.
            in_time = self._changed.wait_for(self._has_head_or_news, self._until_head)
            in_time = in_time and self._changed.wait_for(self._has_news, self._timeout)
            data: str | bytes = self._pieces.popleft() if self._pieces else b""
            method = self._flow.taken(len(data))
        self._punctual(in_time)
        self._steer(method)
        if not data:
            self._raise_error()
        return piece(data)

    def _punctual(self, in_time: bool) -> None:
        if not in_time:
            error = DeadlineExceeded("no more of the response came in time", data={"outcome": "sent_no_reply"})
            self.fail(error)
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
        """Status and headers: waits until they have come, before the body."""
        self._check_process()
        with self._changed:
            in_time = self._changed.wait_for(lambda: self._head is not None or self._is_settled(), self._until_head)
        self._punctual(in_time)
        if self._head is None:
            self._raise_error()
            raise ProtocolViolation("the stream has no head")
        return self._head

    @property
    def result(self) -> FetchResult:
        """The result, which follows the body: the unread rest of the body is dropped."""
        self._check_process()
        while not self.closed and self._next():
            self._rest = memoryview(b"")
        self._raise_error()
        if self._answer is None:
            raise ValueError("the stream was closed before its end")
        return FetchResult.from_json(self._answer["result"])

    def close(self) -> None:
        """Cancels the fetch if it has not ended."""
        if not self.closed:
            self.is_left = True
            self._pieces.clear()
            self._abandon()
        super().close()


def blocking(function: Callable[..., Any], *arguments: Any, is_short: bool = False) -> Any:
    """The result of a function that may block, as the calling thread may."""
    return function(*arguments)
