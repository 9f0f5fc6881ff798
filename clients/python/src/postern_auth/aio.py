"""The asynchronous client."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import os
import time
import warnings
from collections.abc import AsyncGenerator, AsyncIterable, Mapping
from typing import Any, TypeVar

from ._address import Path, socket_path
from ._async_base import AsyncAsking, AsyncBase, AsyncHome
from ._async_connection import AsyncConnection, result_of
from ._async_dispatch import AsyncDispatch, AsyncEventStream
from ._async_streams import blocking
from ._bodies import AsyncBody, Bodies, Body, Target, Upload, gathered, is_small, most_inline
from ._calls import bounded, parameters
from ._dial import PASSING, pauses
from ._limits import STREAMS_EACH, Deadline, Limits
from ._opening import Opening
from ._retry import Retries
from ._rpc_over_http import RPCOverHTTP, is_address, unavailable
from .errors import ClientClosed, ConnectionFailed, DeadlineExceeded, PosternError
from .events import checked

__all__ = ["AsyncClient"]

_Client = TypeVar("_Client", bound="AsyncClient")


class AsyncClient(AsyncBase):
    """Calls the sidecar from any number of tasks, over one connection for each event loop.

    Everything else is as with `Client`. Cancelling the task that waits for a call cancels the call.

    :param path: The socket, or for development `http://127.0.0.1:PORT` with the key in $POSTERN_KEY_FILE; default:
        $POSTERN_SOCKET, $XDG_RUNTIME_DIR/postern.sock, /run/postern/postern.sock.
    :param timeout: Seconds that a call without its own timeout may take; None: no limit.
    :param limits: Limits of sizes, and timeouts for connecting.
    """

    def __init__(self, path: Path | None = None, *, timeout: float | None = 60.0, limits: Limits | None = None) -> None:
        Deadline(timeout)
        self.path = socket_path(path)
        self.timeout = timeout
        self._limits = limits or Limits()
        self._http = RPCOverHTTP(self.path, self._limits) if is_address(self.path) else None
        self._dispatch = AsyncDispatch()
        #: By loop; those of closed loops, and of a parent process, are removed when another one is added.
        self._homes: dict[asyncio.AbstractEventLoop, AsyncHome] = {}
        self._narrowings = []
        self._was_there = False
        self._closed = False

    # Calls

    async def call(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Any:
        """Calls a method by its name in the protocol and returns its result unchanged."""
        deadline = self._deadline(method, timeout)
        own = parameters(method, params)
        if self._http is not None:
            over_http = self._http.start(method, own, deadline, traceparent)
            try:
                return await asyncio.to_thread(over_http.run)
            except asyncio.CancelledError:
                over_http.abandon()
                raise
        retries: Retries | None = None
        while True:
            connection: AsyncConnection | None = None
            try:
                connection = self._current() or await self._connected(deadline)
                slots = connection.slots_for(method)
                if not slots.try_take():
                    await slots.take(deadline)
                if connection.may_write is not None:
                    await connection.drain(deadline, slots)
                sent, left = bounded(own, deadline, traceparent)
                pending = connection.start(method, sent, left, slots, deadline)
                # As `ask` does: to wait here saves a coroutine in every call.
                try:
                    return result_of(await pending.future)
                except asyncio.CancelledError:
                    connection.cancel(pending)
                    raise
            except PosternError as error:
                retries = retries or Retries(method, own, deadline, self._limits.reconnect)
                pause = retries.pause_after(error)
                if error.reason == "shutting_down":
                    self._retire(connection)
                if pause is None or await self._paused(pause):
                    raise

    def cancel_request(self, identifier: int) -> None:
        """Ends the request of that id on this connection. Cancelling the task that waits for it does it, too."""
        connection = self._home().connection
        if connection is not None:
            connection.cancel_request(identifier)

    # Bodies: what may block does it in a thread

    async def _bodies(self, params: dict[str, Any], body: AsyncBody | None, target: Target | None) -> Bodies:
        own: Body | Upload | None
        if isinstance(body, AsyncIterable):
            own = await gathered(body, most_inline(params, self._has_advice_delegate))
        else:
            own = body
        make = functools.partial(Bodies, has_delegate=self._has_advice_delegate)
        is_short = target is None and (isinstance(own, bytes) or is_small(body))
        bodies: Bodies = await blocking(make, params, own, target, is_short=is_short)
        return bodies

    # Delegates and events

    def events(self, *names: str, size: int = 256) -> Opening[AsyncEventStream]:
        """The named events from now on, all without a name, as an iterator to be closed after use.

        Use it in `async with`, or await it and close the stream yourself.

        :param names: `event.sessionEnded` or `sessionEnded`.
        :param size: How many events are buffered; beyond that the oldest are dropped and counted.
        """
        return Opening(self._events(checked(names), size))

    async def _events(self, names: frozenset[str], size: int) -> AsyncEventStream:
        stream = AsyncEventStream(names, size, self._restore, self._ended, self._forgotten)
        self._dispatch.open(stream)
        try:
            await self.subscribe(sorted(stream.names))  # type: ignore[arg-type]
        except BaseException:
            await stream.aclose()
            raise
        return stream

    def _ended(self, stream: AsyncEventStream) -> None:
        self._dispatch.drop(stream)
        if stream.loop is asyncio.get_running_loop():
            self._unsubscribe(stream.names)

    def _forgotten(self, stream: AsyncEventStream) -> None:
        self._dispatch.drop(stream)
        with contextlib.suppress(RuntimeError):  # the loop is closed, and with it the connection
            stream.loop.call_soon_threadsafe(self._unsubscribe, stream.names)

    def _unsubscribe(self, names: frozenset[str]) -> None:
        """Unsubscribes from events that no stream has subscribed to any more."""
        home = self._home()
        unwanted = names - self._dispatch.wanted()
        home.subscribed -= unwanted
        if unwanted and home.connection is not None and home.connection.is_open:
            with contextlib.suppress(PosternError):  # a connection that has ended has no subscriptions
                home.connection.start("unsubscribe", {"events": sorted(unwanted)})

    # The connection

    @property
    def _is_closed(self) -> bool:
        return self._closed

    async def _paused(self, seconds: float) -> bool:
        if self._closed:
            return True
        await asyncio.sleep(seconds)
        return False

    def _home(self) -> AsyncHome:
        """The connections in the running loop."""
        loop = asyncio.get_running_loop()
        home = self._homes.get(loop)
        if home is None or home.process != os.getpid():
            for other, left in list(self._homes.items()):
                if other.is_closed() or left.process != os.getpid():
                    self._homes.pop(other, None)
                    for one in left.connections():
                        one.drop()
            home = self._homes[loop] = AsyncHome()
        return home

    def _current(self) -> AsyncConnection | None:
        """The connection, if there is one that is usable here and now."""
        connection = self._home().connection
        return connection if connection is not None and connection.is_open else None

    async def _connected(self, deadline: Deadline) -> AsyncConnection:
        home = self._home()
        async with self._door(home, deadline) as begun:
            if home.connection is None or not home.connection.is_open:
                home.connection = None
                home.connection = await self._made(home, begun, deadline, None)
            return home.connection

    @contextlib.asynccontextmanager
    async def _door(self, home: AsyncHome, deadline: Deadline) -> AsyncGenerator[float, None]:
        if self._http is not None:
            raise unavailable("this")
        begun = time.monotonic()
        left = deadline.left()
        try:
            await asyncio.wait_for(home.connecting.acquire(), None if left == math.inf else left)
        except asyncio.TimeoutError:
            raise DeadlineExceeded("no connection in time", data={"outcome": "not_sent"}) from None
        try:
            if self._is_closed:
                raise ClientClosed("the client is closed", data={"outcome": "not_sent"})
            yield begun
        finally:
            home.connecting.release()

    async def _connect(self, deadline: Deadline, asking: AsyncAsking | None) -> AsyncConnection:
        """Connects. Waits for a sidecar that was connected before, which may be restarting, and for a full queue."""
        returning = Deadline(self._limits.reconnect) if self._was_there and self._limits.reconnect > 0 else None
        crowded = Deadline(self._limits.connect)
        for pause in pauses():
            try:
                if asking is not None:
                    return await AsyncConnection.open(self.path, self._limits, asking, STREAMS_EACH, bodies=True)
                connection = await AsyncConnection.open(self.path, self._limits, self._dispatch)
                await self._introduce(connection, deadline)
                return connection
            except ConnectionFailed as error:
                number = error.data.get("errno")
                window = crowded if isinstance(error.__cause__, BlockingIOError) else returning
                left = min(window.left() if window else 0.0, deadline.left())
                if number not in PASSING or left <= 0 or self._is_closed:
                    raise
                await asyncio.sleep(min(pause, left))
        raise AssertionError("unreachable")

    def _retire(self, connection: AsyncConnection | None) -> None:
        """Sends no more requests on the connection, which still receives responses."""
        home = self._home()
        if connection is not None and home.connection is connection:
            home.connection = None
            home.retired = [one for one in home.retired if one.is_open] + [connection]

    # The end

    async def aclose(self) -> None:
        """Closes the connection; its waiting calls end with `ClientClosed`."""
        self._closed = True
        if self._http is not None:
            self._http.close()
        self._dispatch.end()
        for connection in self._connections():
            if connection.loop is asyncio.get_running_loop():
                connection.close(ClientClosed("the client was closed"))
                await connection.closed()
            elif connection.loop.is_closed():
                connection.drop()
            else:
                with contextlib.suppress(RuntimeError):  # it has been closed meanwhile
                    connection.loop.call_soon_threadsafe(connection.close, ClientClosed("the client was closed"))

    def _connections(self) -> list[AsyncConnection]:
        homes = [home for home in list(self._homes.values()) if home.process == os.getpid()]
        return [one for home in homes for one in home.connections()]

    async def __aenter__(self: _Client) -> _Client:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        if not hasattr(self, "_closed"):
            return  # its initializer failed
        connections = [one for one in self._connections() if one.is_open]
        if not connections:
            return
        warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
        # The loop would keep the connections for as long as it runs.
        for one in connections:
            with contextlib.suppress(RuntimeError):  # it is closed
                one.loop.call_soon_threadsafe(one.close, ClientClosed("the client was dropped"))
