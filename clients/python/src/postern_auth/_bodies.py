"""Bodies that do not go through a message: they are read from and written to descriptors, which go with the request.

A descriptor is passed when it holds the body and nothing else does: files, pipes and sockets, but not what decodes or
encrypts on the way, such as a GzipFile, whose `fileno` is that of its file. What has no such descriptor is copied:
bytes into memory (a memfd), the rest through a socket by a thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import select
import socket
import stat
import tempfile
import threading
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Callable, Protocol, Union, cast

from ._http import MOST_BODY, iterator_of, may_step_up, within
from ._wire import body_members
from .errors import PosternError

if TYPE_CHECKING:
    from typing_extensions import TypeGuard

#: A larger body does not go through a message.
DIRECT = 256 << 10
_COPIED = 64 << 10
#: Members of a request that an older sidecar does not know, and whose errors may mean just that.
_PATHS = frozenset({"/bodyTo", "/bodyFrom", "/contentLength"})


class Readable(Protocol):
    """A file to be read, in binary mode."""

    def read(self, size: int = ..., /) -> bytes | None: ...


class Writable(Protocol):
    """A file to be written, in binary mode."""

    def write(self, data: bytes, /) -> Any: ...


#: A request's body. An iterable, such as a generator, has its pieces.
Body = Union[str, bytes, bytearray, memoryview, "os.PathLike[str]", Readable, socket.socket, Iterable[bytes]]
#: The same for `AsyncClient`.
AsyncBody = Union[Body, AsyncIterable[bytes]]
#: Where a response's body goes.
Target = Union["os.PathLike[str]", Writable, socket.socket]


class Unpassable(Exception):
    """The sidecar does not take a body by a descriptor, and has done nothing: the body goes through messages."""


class Upload:
    """A request's body that is read from a descriptor.

    :param length: How many bytes follow; None: it is a pipe or a socket, which can be read once.
    :param is_own: Whether it is a copy of bytes that were given.
    :param close: Called once, when it is not needed any more.
    """

    def __init__(
        self, descriptor: int, start: int = 0, length: int | None = None, *, is_own: bool = False, close: Any = None
    ) -> None:
        self.descriptor = descriptor
        self.length = length
        self.is_own = is_own
        #: Why it could not be read.
        self.error: BaseException | None = None
        self._start = start
        self._file: Any = None
        self._close = close

    @property
    def is_repeatable(self) -> bool:
        return self.length is not None

    def inline(self, most: int | None = MOST_BODY) -> dict[str, str]:
        """The body as members of the params, for a sidecar that takes no descriptor.

        :param most: How many bytes it may have; None: any number.
        """
        data = bytearray()
        try:
            while (self.length is None or len(data) < self.length) and (most is None or len(data) <= most):
                piece = self._read(len(data))
                if not piece:
                    break
                data += piece
        except OSError as error:
            raise self.error or error from None
        return body_members(bytes(data) if most is None else within(bytes(data)))

    def _read(self, done: int) -> bytes:
        if self.length is not None:
            return os.pread(self.descriptor, min(1 << 20, self.length - done), self._start + done)
        while True:
            try:
                return os.read(self.descriptor, 1 << 20)
            except BlockingIOError:
                _wait(self.descriptor, select.POLLIN)

    def on_close(self, close: Callable[[], None]) -> None:
        """Calls `close` when it is not needed any more."""
        self._close = close

    def belongs_to(self, file: Any) -> Upload:
        """`file` is at the body's end when the body has been sent."""
        self._file = file
        return self

    def owns(self, file: io.FileIO) -> None:
        """`file` is closed with it."""
        first = self._close

        def close() -> None:
            if first is not None:
                first()
            file.close()

        self._close = close

    def sent(self) -> None:
        if self._file is not None and self.length is not None:
            self._file.seek(self._start + self.length)

    def close(self) -> None:
        close, self._close = self._close, None
        if close is not None:
            close()

    def __del__(self) -> None:
        if getattr(self, "_close", None) is not None:
            self.close()


class Sink:
    """Where a response's body goes.

    :param descriptor: The descriptor that it may be written to; None: there is none.
    """

    def __init__(self, file: Any, descriptor: int | None = None, is_own: bool = False) -> None:
        self.descriptor = descriptor
        self._file = file
        self._is_own = is_own

    def write(self, data: bytes) -> None:
        if isinstance(self._file, socket.socket):
            self._file.sendall(data)
            return
        view = memoryview(data)
        while view:
            count = self._file.write(view)
            if count is None and isinstance(self._file, io.RawIOBase) and self.descriptor is not None:
                _wait(self.descriptor, select.POLLOUT)
                continue
            view = view[len(view) if count is None else count :]

    def written(self) -> None:
        """The sidecar has written to the descriptor: the file learns its position."""
        if self.descriptor is not None and isinstance(self._file, io.IOBase) and self._file.seekable():
            self._file.seek(os.lseek(self.descriptor, 0, os.SEEK_CUR))

    def close(self) -> None:
        if self._is_own:
            self._file.close()


class Bodies:
    """The bodies of one fetch, until it has ended.

    :param params: Those of the fetch, without a body.
    :param has_delegate: Whether policy advice has a delegate.
    """

    def __init__(
        self,
        params: dict[str, Any],
        body: Body | Upload | None,
        target: Target | None = None,
        *,
        has_delegate: bool = False,
    ) -> None:
        self.upload: Upload | None = None
        self.sink: Sink | None = None
        self._members: dict[str, str] = {}
        #: Whether a sidecar may already have read from a body that can be read once.
        self._was_read = False
        method = str(params.get("method") or "GET").upper()
        may_pass = method not in ("GET", "HEAD") and not params.keys() & {"multipart", "continuation"}
        try:
            if target is not None:
                self.sink = _sink(target)
            found = _members_or_upload(body, most_inline(params, has_delegate))
            if isinstance(found, Upload):
                self.upload = found
                if not may_pass:
                    self._take_in()
            else:
                self._members = found
        except BaseException:
            self.close()
            raise

    @property
    def descriptors(self) -> list[int]:
        """Those that go with the request, in the protocol's order."""
        upload = [] if self.upload is None else [self.upload.descriptor]
        return [*upload, *([] if self.sink is None or self.sink.descriptor is None else [self.sink.descriptor])]

    @property
    def members(self) -> dict[str, Any]:
        """Their members of the params."""
        members: dict[str, Any] = dict(self._members)
        if self.upload is not None:
            members["bodyFrom"] = "fd"
        if self.sink is not None and self.sink.descriptor is not None:
            members["bodyTo"] = "fd"
        return members

    def inline(self) -> dict[str, Any]:
        """The request's body as members of the params. May block."""
        if self.upload is not None:
            self._take_in()
        return dict(self._members)

    def everything(self) -> dict[str, str]:
        """The request's body as members of the params, of any size. May block."""
        if self.upload is not None:
            self._take_in(None)
        return dict(self._members)

    def _take_in(self, most: int | None = MOST_BODY) -> None:
        assert self.upload is not None
        self._members = self.upload.inline(most)
        self.upload.sent()
        self.upload.close()
        self.upload = None

    def offered(self) -> None:
        """The request was sent."""
        self._was_read = self.upload is not None and not self.upload.is_repeatable

    @property
    def may_go_again(self) -> bool:
        return not self._was_read

    def suspects(self, error: PosternError) -> bool:
        """Whether an error may mean that the sidecar does not know these members."""
        return bool(self.descriptors) and error.reason == "invalid_params" and error.path in _PATHS

    def may_go_inline(self, error: PosternError) -> bool:
        """Whether a body that was given as bytes goes through a message: a resource may need bodies as a whole."""
        upload = self.upload
        is_about_it = upload is not None and upload.is_own and error.path in ("/bodyFrom", "/contentLength")
        return is_about_it and error.reason == "invalid_params" and error.outcome in (None, "not_sent")

    def check(self, error: BaseException) -> None:
        """Raises the error of the body itself, if it was the reason of this one."""
        if self.upload is not None and self.upload.error is not None:
            raise self.upload.error from error

    def done(self) -> None:
        """Files learn where they are."""
        if self.upload is not None:
            self.upload.sent()
        if self.sink is not None:
            self.sink.written()

    def close(self) -> None:
        if self.upload is not None:
            self.upload.close()
        if self.sink is not None:
            self.sink.close()

    def __enter__(self) -> Bodies:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def knows_bodies(document: Any) -> bool:
    """Whether the sidecar of an OpenRPC document takes bodies by descriptors."""
    methods: Iterable[Any] = document["methods"]
    return any(
        method["name"] == "fetchResource" and any(param["name"] == "bodyTo" for param in method["params"])
        for method in methods
    )


def most_inline(params: Mapping[str, Any], has_delegate: bool) -> int:
    """How many bytes that have no file go through a message.

    The sidecar does not keep a descriptor for a fetch that continues after a step-up: these bodies go through a message
    if there may be one.
    """
    return MOST_BODY if may_step_up(params, has_delegate) else DIRECT


def is_small(body: AsyncBody | None) -> TypeGuard[str | bytes | None]:
    """Whether a body goes through a message, and is there without any reading."""
    return body is None or (isinstance(body, (str, bytes)) and len(body) <= DIRECT)


def _members_or_upload(body: Body | Upload | None, most: int) -> dict[str, str] | Upload:
    """A body as members of the params, with at most so many bytes, else as a descriptor."""
    if body is None:
        return {}
    if isinstance(body, Upload):
        return body
    if isinstance(body, (str, bytes, bytearray, memoryview)):
        return _of_data(cast("str | bytes | bytearray | memoryview", body), most)
    if isinstance(body, os.PathLike):
        return _of_path(body)
    if isinstance(body, socket.socket):
        # That of an SSL socket is encrypted.
        return Upload(body.fileno()) if type(body) is socket.socket else _pumped(b"", _SocketFile(body))
    if isinstance(body, io.BytesIO):
        return _of_data(body.read(), most)
    return _of_readable(body, most)


def _of_path(path: os.PathLike[str]) -> dict[str, str] | Upload:
    own = io.FileIO(os.fspath(path), "rb")
    try:
        found = _of_file(own, own)
    except BaseException:
        own.close()
        raise
    if isinstance(found, Upload):
        found.owns(own)
    else:
        own.close()
    return found


def _of_readable(body: Any, most: int) -> dict[str, str] | Upload:
    if isinstance(body, io.TextIOBase):
        raise TypeError("a body's file must be opened in binary mode")
    real = _real(body)
    if real is not None:
        return _of_file(real, body)
    if not hasattr(body, "read"):
        body = _Pieces(iterator_of(body))
    begun = bytearray()
    while len(begun) <= most:
        piece = _piece(body, most + 1 - len(begun))
        if not piece:
            return body_members(bytes(begun))
        begun += piece
    return _pumped(bytes(begun), body)


def _of_data(data: str | bytes | bytearray | memoryview, most: int) -> dict[str, str] | Upload:
    if isinstance(data, memoryview):
        data = data.cast("B")
    if len(data) > DIRECT and hasattr(os, "memfd_create"):
        encoded = data.encode() if isinstance(data, str) else data
        if len(encoded) > most:
            with contextlib.suppress(OSError):  # there is no descriptor or memory left for it
                return _in_memory(encoded)
    return body_members(data if isinstance(data, (str, bytes)) else bytes(data))


def _in_memory(data: bytes | bytearray | memoryview) -> Upload:
    file = io.FileIO(os.memfd_create("postern-body", os.MFD_CLOEXEC), "r+b")
    try:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return Upload(file.fileno(), 0, len(data), is_own=True, close=file.close)


def _real(file: Any) -> Any:
    """The file itself if its descriptor has its bytes as they are; None: it has none like that."""
    if isinstance(file, tempfile._TemporaryFileWrapper):  # pyright: ignore[reportPrivateUsage]
        file = file.file  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    if type(file) is io.FileIO:
        return file
    buffered = type(file) in (io.BufferedReader, io.BufferedWriter, io.BufferedRandom)
    return file if buffered and type(file.raw) is io.FileIO else None


def _of_file(file: Any, given: Any) -> dict[str, str] | Upload:
    if not file.readable():
        raise io.UnsupportedOperation("a body's file must be opened for reading")
    descriptor = file.fileno()
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return Upload(descriptor) if isinstance(file, io.FileIO) else _pumped(b"", file)
    if file.writable():
        file.flush()
    start = file.tell()
    length = os.fstat(descriptor).st_size - start
    if length <= DIRECT:  # files of the kernel have no size
        return body_members(file.read() or b"")
    if os.lseek(descriptor, 0, os.SEEK_CUR) == start:
        return Upload(descriptor, start, length).belongs_to(given)
    # More was read than its program has seen: another offset, which the program's own reading does not notice.
    try:
        again = io.FileIO(os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC), "rb")
    except OSError:
        return _pumped(b"", file)
    again.seek(start)
    return Upload(again.fileno(), start, length, close=again.close).belongs_to(given)


def _pumped(begun: bytes, file: Any) -> Upload:
    """The bytes of a file that has no descriptor of its own, on their way through a socket."""
    ours, theirs = socket.socketpair()
    upload = Upload(theirs.fileno(), close=theirs.close)
    # A byte that stays unread makes the end of the socket an error there, instead of the end of the body.
    theirs.send(b"!")
    threading.Thread(target=_pump, args=(upload, ours, begun, file), name="postern-body", daemon=True).start()
    return upload


def _pump(upload: Upload, ours: socket.socket, begun: bytes, file: Any) -> None:
    with ours:
        try:
            piece = begun or _piece(file, _COPIED)
            while piece:
                ours.sendall(piece)
                piece = _piece(file, _COPIED)
        except (BrokenPipeError, ConnectionResetError):  # there is no reader any more
            return
        except BaseException as error:
            upload.error = error
            return
        ours.recv(1)


class _Pieces:
    """The pieces of an iterable, as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def read(self, size: int) -> bytes:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._rest = memoryview(_checked(piece))
        taken, self._rest = self._rest[:size], self._rest[size:]
        return bytes(taken)


async def gathered(pieces: AsyncIterable[bytes], most: int) -> bytes | Upload:
    """A body from an asynchronous iterator: its bytes if these are few, else what a task sends through a socket."""
    begun, iterator = bytearray(), pieces.__aiter__()
    async for piece in iterator:
        begun += _checked(piece)
        if len(begun) > most:
            break
    else:
        return bytes(begun)
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.send(b"!")  # as in `_pumped`
    loop = asyncio.get_running_loop()
    upload = Upload(theirs.fileno())
    task = loop.create_task(_pump_async(upload, ours, bytes(begun), iterator))

    def close() -> None:
        theirs.close()
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(task.cancel)

    upload.on_close(close)
    return upload


async def _pump_async(upload: Upload, ours: socket.socket, begun: bytes, pieces: AsyncIterator[bytes]) -> None:
    loop = asyncio.get_running_loop()
    with ours:
        try:
            await loop.sock_sendall(ours, begun)
            async for piece in pieces:
                await loop.sock_sendall(ours, _checked(piece))
        except (BrokenPipeError, ConnectionResetError):  # there is no reader any more
            return
        except asyncio.CancelledError:
            return  # the fetch has ended
        except BaseException as error:
            upload.error = error
            return
        ours.recv(1)


def _checked(piece: Any) -> bytes:
    if not isinstance(piece, (bytes, bytearray, memoryview)):
        raise TypeError(f"a piece of a body is {type(piece).__name__}: yield bytes")
    return bytes(cast("bytes", piece))


class _SocketFile:
    def __init__(self, own: socket.socket) -> None:
        self._own = own

    def read(self, size: int) -> bytes:
        return self._own.recv(size)


def _piece(file: Any, size: int) -> bytes:
    piece = file.read1(size) if hasattr(file, "read1") else file.read(size)
    if piece is None:
        raise BlockingIOError("a body's file must block")
    if not isinstance(piece, bytes):
        raise TypeError("a body's file must be opened in binary mode")
    return piece


def _sink(target: Target) -> Sink:
    if isinstance(target, os.PathLike):
        own = io.FileIO(os.fspath(target), "wb")
        return Sink(own, own.fileno(), is_own=True)
    if isinstance(target, socket.socket):
        return Sink(target, target.fileno() if type(target) is socket.socket else None)
    if isinstance(target, io.TextIOBase):
        raise TypeError("body_to must be opened in binary mode")
    file = _real(target)
    if file is None:
        if not hasattr(target, "write"):
            raise TypeError(f"{type(target).__name__} is nothing to write a body to: a path or a file")
        return Sink(target)
    if not file.writable():
        raise io.UnsupportedOperation("body_to must be opened for writing")
    file.flush()
    descriptor = file.fileno()
    if file.seekable() and os.lseek(descriptor, 0, os.SEEK_CUR) != file.tell():
        os.lseek(descriptor, file.tell(), os.SEEK_SET)
    return Sink(file, descriptor)


def _wait(descriptor: int, event: int) -> None:
    ready = select.poll()
    ready.register(descriptor, event)
    ready.poll()
