"""One connection of the blocking client."""

from __future__ import annotations

import array
import contextlib
import errno
import logging
import math
import os
import queue
import select
import socket
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Protocol

from . import _framing
from ._dial import address, failure
from ._endpoints import Passed
from ._exchange import Exchange, lost
from ._limits import OWED_BYTES, Deadline, Limits
from ._pending import Message, Pending
from ._slots import URGENT_SLOTS, Slots
from .errors import Cancelled, ConnectionLost, DeadlineExceeded, PosternError, ProtocolViolation, inherited

_FLAGS = socket.MSG_DONTWAIT | getattr(socket, "MSG_NOSIGNAL", 0)
_READ = 1 << 16
#: Of a connection for bodies, whose frames are larger than most messages.
_READ_FRAMES = 1 << 18
#: Space for the descriptors of one read: the kernel ends a read behind a message with some.
_RIGHTS = socket.CMSG_SPACE(4 * array.array("i").itemsize)
_CLOEXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
_LONGEST_POLL = 1 << 30
#: How long a thread that reads for others sleeps at most, without a deadline.
_NAP = 1.0
#: How long a thread that cannot send waits for the reader to notice the connection's end.
_NOTICE = 1.0
log = logging.getLogger("postern_auth")


class CannotPass(Exception):
    """The kernel does not pass descriptors to this sidecar. Nothing was sent."""


def rights(descriptors: Sequence[int]) -> list[tuple[int, int, Any]]:
    """Descriptors as ancillary data."""
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []


def may_not_pass(error: OSError) -> bool:
    """Whether the kernel rejects descriptors (SO_PASSRIGHTS), or has too many of them on their way."""
    return error.errno in (errno.EPERM, errno.ETOOMANYREFS)


class Handler(Protocol):
    """Receives the sidecar's requests and notifications. Called by the thread that reads: must not wait."""

    def on_request(self, connection: Connection, message: Message) -> None: ...

    def on_notification(self, connection: Connection, message: Message) -> None: ...

    def on_end(self, connection: Connection, error: PosternError) -> None: ...


def interval(seconds: float) -> bytes:
    """A struct timeval."""
    return struct.pack("ll", int(seconds), int(seconds % 1 * 1_000_000))


def seconds(left: float) -> float:
    return min(left, threading.TIMEOUT_MAX)


class Connection(Exchange[Pending, Slots]):
    """Pipelined and thread-safe.

    Callers read by themselves: one of the waiting threads reads for all, and when it has its response hands over to
    another. This saves a switch of threads in every call. Once messages may come without a waiting call (`keep`), a
    thread of its own reads.

    `_lock` guards the end and what is started once; the reading thread has `_reading`, the writing one `_writing`.
    A thread that reads for others never writes, so that it never waits for a sidecar that waits for us to read.
    Requests in progress need none: only one thread gets a request out of `_pending`, and settles it.

    :param bodies: Whether it is for bodies: header framing, in which pieces come without JSON.
    """

    def __init__(
        self,
        path: str,
        limits: Limits,
        handler: Handler,
        in_flight: int | None = None,
        *,
        bodies: bool = False,
        own: socket.socket | None = None,
    ) -> None:
        name = b"" if own is not None else address(path)
        slots = Slots(in_flight or limits.in_flight, limits.queued), Slots(URGENT_SLOTS, limits.queued)
        super().__init__(limits, slots, bodies)
        self._handler = handler
        # Re-entrant: the garbage collector may close a stream or a client at any point.
        self._lock = threading.RLock()
        self._reading = threading.Lock()
        self._writing = threading.RLock()
        self._is_sending = False
        self._keeper: threading.Thread | None = None
        #: Bytes of responses that wait to be sent.
        self._owed = 0
        self._errands: queue.SimpleQueue[Callable[[], None] | None] | None = None
        #: Descriptors that have come, in the order of the results that they belong to.
        self._passed: deque[Passed] = deque()
        self._socket = own or socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # The timeout only applies when the socket's queue is full.
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, interval(limits.connect))
            if own is None:
                self._socket.connect(name)
            else:
                self._socket.setblocking(True)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, interval(0))
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, interval(_NAP))
        except OSError as error:
            self._socket.close()
            raise failure(path, error) from error
        self._readable = select.poll()
        self._readable.register(self._socket, select.POLLIN)

    # Requests

    def take_slot(self, method: str, deadline: Deadline) -> Slots:
        """Waits until a call may be sent; pass the returned value to `start`."""
        slots = self.slots_for(method)
        slots.take(deadline)
        return slots

    def start(  # noqa: PLR0917 - on the path of every call
        self,
        method: str,
        params: Mapping[str, Any],
        timeout_ms: int | None,
        deadline: Deadline,
        on_settled: Callable[[Pending], None] | None = None,
        slots: Slots | None = None,
        descriptors: Sequence[int] = (),
    ) -> Pending:
        """Sends a request, and descriptors with it. If this raises, the outcome shows whether it may have arrived."""
        try:
            identifier = next(self._identifiers)
            line = _framing.request(identifier, method, params, self._limits.request_bytes, timeout_ms)
            pending = Pending(identifier, method, line, on_settled, slots)
            if method == "createEndpoint" and params.get("descriptor") is True:
                pending.claim = self._claim
            self._pending[identifier] = pending
            try:
                if self._error is not None:  # read after the request was added: see `close`
                    raise lost(self._error, "not_sent")
                self._write(line, deadline, descriptors)
            except BaseException:
                self._pending.pop(identifier, None)
                raise
        except BaseException:
            if slots is not None:
                slots.give()
            raise
        return pending

    def ask(
        self,
        method: str,
        params: Mapping[str, Any],
        timeout_ms: int | None,
        deadline: Deadline,
        slots: Slots | None = None,
        *,
        descriptors: Sequence[int] = (),
        on_sent: Callable[[], None] | None = None,
    ) -> Any:
        """Sends a request and waits for its response."""
        pending = self.start(method, params, timeout_ms, deadline, None, slots, descriptors)
        if on_sent is not None:
            on_sent()
        return self.result(pending, deadline)

    def result(self, pending: Pending, deadline: Deadline) -> Any:
        """Waits for a response; a timeout, and an interrupt, cancel the request."""
        if self._process != os.getpid():
            raise inherited("this is a call")
        try:
            while not pending.is_settled:
                left = deadline.patience()
                if not left:
                    text = f"no response to {pending.method} within {deadline.seconds:g} s"
                    late = DeadlineExceeded(text, data={"outcome": "unknown"})
                    # Another thread that has removed it settles it next.
                    if not self.cancel(pending, late) and not self._wait(pending, 1.0):
                        raise late
                elif self._keeper is None:
                    self._lead(pending, deadline, left)
                else:
                    self._wait(pending, left)
        except BaseException:
            self.cancel(pending, Cancelled("the thread that waited for the response was interrupted", -32800))
            raise
        return pending.result()

    def cancel(self, pending: Pending, error: PosternError) -> bool:
        """Cancels a request on both sides and settles it with the error. Returns False if there is a response."""
        identifier = pending.identifier
        with self._lock:
            if identifier in self._left:  # cancelled by another thread
                return False
            # It is always in one of the two: its response may come at this moment.
            self._left[identifier] = pending
            if self._pending.pop(identifier, None) is None:
                self._left.pop(identifier, None)
                return False
        pending.settle(error)
        self.cancel_request(identifier)
        self.keep()  # its response still comes
        return True

    def cancel_request(self, identifier: int) -> None:
        """Requests that the sidecar cancels a request; its response, if a caller waits for it, is -32800."""
        line = _framing.notification("$/cancelRequest", {"id": identifier})
        self.later(lambda: self._write(line, Deadline(5.0)))

    def answer(self, message: Message, deadline: Deadline) -> None:
        """Responds to a request of the sidecar."""
        self._write(_framing.encoded(message, self._limits.request_bytes), deadline)

    def answer_later(self, message: Message) -> None:
        """The same for the reading thread. If the sidecar sends requests but reads no responses, raises a violation."""
        line = _framing.encoded(message, self._limits.request_bytes)
        with self._lock:
            if self._owed > OWED_BYTES:
                raise ProtocolViolation("the sidecar sends requests, and does not read the responses")
            self._owed += len(line)
        self.later(lambda: self._send_owed(line))

    def _send_owed(self, line: bytes) -> None:
        try:
            self._write(line, Deadline(5.0))
        finally:
            with self._lock:
                self._owed -= len(line)

    def later(self, errand: Callable[[], Any]) -> None:
        """Runs work that may wait in another thread, in order."""
        if sys.is_finalizing() or self.is_inherited:
            return  # no thread can start any more; a forked child must not write for its parent
        with self._lock:
            if self._error is not None:
                return
            if self._errands is None:
                self._errands = queue.SimpleQueue()
                threading.Thread(target=_run, args=(self._errands,), name="postern-errands", daemon=True).start()
            self._errands.put(errand)

    # Writing

    def _write(self, line: bytes, deadline: Deadline, descriptors: Sequence[int] = ()) -> None:
        if not self._writing.acquire(False) and not self._writing.acquire(timeout=seconds(deadline.left())):
            raise DeadlineExceeded("the request could not be sent in time", data={"outcome": "not_sent"})
        try:
            if self._is_sending:
                raise RuntimeError(
                    "this thread is in the middle of a request: a signal handler cannot send another one"
                )
            self._is_sending = True
            try:
                self._send_whole(_framing.framed(line) if self._is_framed else line, deadline, descriptors)
            finally:
                self._is_sending = False
        finally:
            self._writing.release()

    def _send_whole(self, line: bytes, deadline: Deadline, descriptors: Sequence[int]) -> None:
        sent = 0
        try:
            sent = self._send(line, descriptors=descriptors)
            if sent == len(line):
                return
            view = memoryview(line)
            ready = select.poll()
            ready.register(self._socket, select.POLLOUT)
            while sent < len(line):
                if not ready.poll(min(deadline.left() * 1000, _LONGEST_POLL)):
                    outcome = "unknown" if sent == len(line) - 1 else "not_sent"
                    raise DeadlineExceeded("the sidecar does not read in time", data={"outcome": outcome})
                # They go with the first bytes.
                sent += self._send(view[sent:], len(line) - 1 - sent, () if sent else descriptors)
        except BaseException as error:
            # Nothing can follow an incomplete message, and after an interrupt it is unknown how much was sent.
            if sent or not isinstance(error, (PosternError, CannotPass)):
                self.close(ConnectionLost("a request could not be sent completely"))
            raise

    def _send(self, data: Any, whole: int | None = None, descriptors: Sequence[int] = ()) -> int:
        """Returns how much was sent. A text without its last byte, a line feed, may have been understood."""
        try:
            if descriptors:
                return self._socket.sendmsg([data], rights(descriptors), _FLAGS)
            return self._socket.send(data, _FLAGS)
        except BlockingIOError:
            return 0
        except OSError as error:
            if descriptors and may_not_pass(error):
                raise CannotPass from error
            self._look()  # the reason may have arrived
            fault = self._error or ConnectionLost(f"the sidecar is gone: {error.strerror or error}")
            raise lost(fault, "unknown" if whole == 0 else "not_sent") from error

    # Reading

    def keep(self) -> None:
        """From now on a thread reads: delegate requests, events and streams come without a call."""
        if sys.is_finalizing():
            return  # no thread can start any more
        with self._lock:
            if self._error is not None or self._keeper is not None:
                return
            self._keeper = threading.Thread(target=self._keep, name="postern-reader", daemon=True)
            try:
                self._keeper.start()
            except BaseException:
                self._keeper = None
                raise

    def _keep(self) -> None:
        # A thread that is still running when the interpreter exits never releases its locks: here only `_reading`.
        with self._reading:
            while self._error is None:
                self._read(math.inf)
            self._dispose()

    def _lead(self, pending: Pending, deadline: Deadline, left: float) -> None:
        """Reads until the response has come, or waits while another thread reads."""
        if not self._reading.acquire(False):
            with self._lock:
                pending.expect()
            # A thread that stops reading looks for waiters after that: it may have done so just before.
            if not self._reading.acquire(False):
                pending.wait(left)
                return
        try:
            while left and self._error is None:
                self._read(left)
                if pending.is_settled:
                    break
                left = deadline.patience()
            if self._error is not None:
                self._dispose()
        finally:
            self._reading.release()
            if self._pending:
                self._hand_over(pending)

    def _wait(self, pending: Pending, left: float) -> bool:
        """Waits while another thread reads. Returns whether the request is settled."""
        with self._lock:
            pending.expect()
        pending.wait(left)
        return pending.is_settled

    def _hand_over(self, own: Pending | None = None) -> None:
        """Makes one of the waiting threads read from now on, but not that of `own`."""
        if self._keeper is not None:
            return
        heir = next((one for one in list(self._pending.values()) if one is not own and one.has_waiter), None)
        if heir is not None:
            heir.wake()

    def _look(self) -> None:
        """Detects an end that came while no thread was reading, or waits until the reading thread detects it."""
        if self._keeper is None and self._reading.acquire(blocking=False):
            try:
                if self._error is None:
                    self._read(0)
                if self._error is not None:
                    self._dispose()
            finally:
                self._reading.release()
            if self._pending:
                self._hand_over()
        # Another thread reads and will detect it: until then this connection would be used again and again.
        until = time.monotonic() + _NOTICE
        while self._error is None and self._reading.locked() and time.monotonic() < until:
            time.sleep(0.001)

    def _read(self, patience: float) -> None:
        """Reads once. The caller has `_reading`."""
        flags = 0  # waits for SO_RCVTIMEO, which saves a system call with every response
        if patience < _NAP or patience == math.inf:
            if not self._readable.poll(None if patience == math.inf else patience * 1000):
                return
            flags = int(socket.MSG_DONTWAIT)
        error: PosternError
        try:
            data = self._socket.recv(_READ_FRAMES, flags) if self._is_framed else self._receive(flags)
            if data:
                self.feed(data)
                return
            error = self.end_of_input()
        except BlockingIOError:
            return
        except PosternError as fault:
            error = fault
        except OSError as fault:
            error = ConnectionLost(f"the connection broke: {fault.strerror or fault}")
        except Exception as fault:
            error = self.fault_of(fault)
        except BaseException:  # an interrupt between reading and processing: the data is lost
            self.close(ConnectionLost("interrupted while a response was read"))
            raise
        self.close(error)

    def _receive(self, flags: int) -> bytes:
        """Reads bytes, and descriptors, which come with the first byte of the result that they belong to."""
        data, ancillary, _, _ = self._socket.recvmsg(_READ, _RIGHTS, flags | _CLOEXEC)
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                numbers = array.array("i", content[: len(content) - len(content) % 4])
                self._passed.extend(Passed(number) for number in numbers)
        return data

    def _claim(self) -> Passed | None:
        return self._passed.popleft() if self._passed else None

    def on_request(self, message: Message) -> None:
        self._handler.on_request(self, message)

    def on_notification(self, message: Message) -> None:
        self._handler.on_notification(self, message)

    # The end

    def close(self, error: PosternError) -> None:
        """Ends the connection, and all waiting calls with `error`. A second call has no effect."""
        if sys.is_finalizing():  # threads and their locks are gone; the system closes the rest
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            return
        with self._lock:
            if self._error is not None:
                return
            self._error, self.is_open = error, False
            if self._errands is not None:
                self._errands.put(None)
        with contextlib.suppress(OSError):  # already closed
            self._socket.shutdown(socket.SHUT_RDWR)
        self.end_all(error)
        self._handler.on_end(self, error)
        if self._reading.acquire(blocking=False):  # otherwise the reading thread does it
            try:
                self._dispose()
            finally:
                self._reading.release()

    def forsake(self) -> None:
        """In a forked child: closes its copy of the descriptor; the connection stays the parent's."""
        self._socket.close()

    def _dispose(self) -> None:
        """Closes the descriptor, when no thread reads or writes any more. The caller has `_reading`."""
        with self._writing:
            self._socket.close()


def _run(errands: queue.SimpleQueue[Callable[[], None] | None]) -> None:
    while True:
        errand = errands.get()
        if errand is None:
            return
        with contextlib.suppress(PosternError):  # the connection has ended, which all waiters learn elsewhere
            errand()
