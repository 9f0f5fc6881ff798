"""The asynchronous client."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import math
import os
import time
import warnings
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping, Sequence
from typing import Any, Callable, Literal, TypeVar, cast

from . import delegates
from ._address import Path, socket_path
from ._async_connection import AsyncConnection, result_of
from ._async_dispatch import AsyncAsking, AsyncDispatch, AsyncEventStream
from ._async_methods import AsyncMethods
from ._async_streams import AsyncBeginning, AsyncResourceStream, blocking
from ._bodies import AsyncBody, Bodies, Body, Target, Unpassable, Upload, gathered, is_small, knows_bodies, most_inline
from ._calls import CallRules, bounded, chosen_for, new_task, parameters, read
from ._connection import CannotPass
from ._dial import PASSING, pauses
from ._endpoints import Endpoint
from ._exchange import lost
from ._limits import STREAMS_EACH, Deadline, Limits
from ._opening import Opening
from ._retry import Retries
from ._rpc_over_http import RPCOverHTTP, is_address, unavailable
from .errors import ClientClosed, ConnectionFailed, DeadlineExceeded, PosternError
from .events import checked
from .types import (
    DelegateName,
    EndpointRate,
    EventName,
    FetchResult,
    Session,
    Subscription,
    Task,
)

__all__ = ["AsyncClient"]

_Result = TypeVar("_Result")
_Client = TypeVar("_Client", bound="AsyncClient")


class _Home:
    """The connections of a client in one event loop."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.connecting = asyncio.Lock()
        self.connection: AsyncConnection | None = None
        self.retired: list[AsyncConnection] = []
        #: Streams, and bodies that go by descriptors, have connections of their own, which they share.
        self.streaming: list[AsyncConnection] = []
        #: When an attempt to connect failed last, and why.
        self.failure: tuple[float, PosternError] | None = None
        self.subscribed: set[str] = set()

    def connections(self) -> list[AsyncConnection]:
        return [one for one in (self.connection, *self.retired, *self.streaming) if one is not None]


class AsyncClient(CallRules[AsyncDispatch], AsyncMethods):
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
        self._homes: dict[asyncio.AbstractEventLoop, _Home] = {}
        #: What `narrow` has given up, for connections to come.
        self._narrowings: list[dict[str, Any]] = []
        self._was_there = False
        self._is_closed = False

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
                if pause is None or self._is_closed:
                    raise
                await asyncio.sleep(pause)

    def cancel_request(self, identifier: int) -> None:
        """Ends the request of that id on this connection. Cancelling the task that waits for it does it, too."""
        connection = self._home().connection
        if connection is not None:
            connection.cancel_request(identifier)

    async def _invoke(
        self,
        method: str,
        params: dict[str, Any],
        decode: Callable[[Any], _Result],
        timeout: float | None,
        traceparent: str | None,
    ) -> _Result:
        if method == "narrow":
            return await self._narrow(params, decode, timeout, traceparent)
        return read(method, decode, await self.call(method, params, timeout=timeout, traceparent=traceparent))

    # Bodies: as in `Client`, but what may block does it in a thread

    async def _fetch(
        self,
        params: dict[str, Any],
        body: AsyncBody | None,
        body_to: Target | None,
        timeout: float | None,
        traceparent: str | None,
    ) -> FetchResult:
        if body_to is None and is_small(body):
            small = Bodies(params, cast("Body | None", body))
            return await self._whole({**params, **small.inline()}, timeout, traceparent)
        deadline = self._deadline("fetchResource", timeout)
        with await self._bodies(params, body, body_to) as bodies:
            try:
                if not bodies.descriptors or self._http is not None:
                    raise Unpassable
                result = await self._passed(params, bodies, deadline, traceparent)
            except (Unpassable, CannotPass):
                whole = {**params, **await blocking(bodies.inline, is_short=bodies.upload is None)}
                left = max(deadline.left(), 0.001)
                if bodies.sink is None:
                    return await self._whole(whole, left, traceparent)
                return await self._collected(whole, bodies, left, traceparent)
            bodies.done()
        return result

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

    async def _whole(self, params: dict[str, Any], timeout: float | None, traceparent: str | None) -> FetchResult:
        return await self._invoke("fetchResource", params, FetchResult.from_json, timeout, traceparent)

    async def _passed(
        self, params: dict[str, Any], bodies: Bodies, deadline: Deadline, traceparent: str | None
    ) -> FetchResult:
        own = {**params, **bodies.members}
        retries = Retries("fetchResource", own, deadline, self._limits.reconnect)
        key = new_task()
        while True:
            try:
                connection = await self._stream_connection(deadline, key)
                answer = await self._pass(connection, key, own, bodies, deadline, traceparent=traceparent)
                return read("fetchResource", FetchResult.from_json, answer)
            except PosternError as error:
                bodies.check(error)
                if bodies.may_go_inline(error):
                    raise Unpassable from error
                pause = retries.pause_after(error) if bodies.may_go_again else None
                if pause is None or self._is_closed:
                    raise
                await asyncio.sleep(pause)

    async def _pass(
        self,
        connection: AsyncConnection,
        key: str,
        params: dict[str, Any],
        bodies: Bodies,
        deadline: Deadline,
        *,
        traceparent: str | None,
    ) -> Any:
        if connection.knows_bodies is False:
            connection.release(key)
            raise Unpassable
        try:
            await connection.drain(deadline, connection.slots)
            sent, left = bounded(params, deadline, traceparent)
            slots, descriptors = connection.slots, bodies.descriptors
            pending = connection.start("fetchResource", sent, left, slots, deadline, descriptors=descriptors)
            bodies.offered()
            try:
                answer = result_of(await pending.future)
            except asyncio.CancelledError:
                connection.cancel(pending)
                raise
            connection.knows_bodies = True
        except PosternError as error:
            connection.is_leaving |= error.reason == "shutting_down"
            if connection.knows_bodies is None and bodies.suspects(error):
                connection.knows_bodies = await self._knows_bodies(connection, deadline)
                if not connection.knows_bodies:
                    raise Unpassable from error
            raise
        finally:
            connection.streams.pop(key, None)
        return answer

    @staticmethod
    async def _knows_bodies(connection: AsyncConnection, deadline: Deadline) -> bool:
        try:
            return knows_bodies(await connection.ask("rpc.discover", {}, None, deadline))
        except PosternError as error:
            if error.reason not in ("peer_forbidden", "method_not_found"):
                raise
            return False

    async def _collected(
        self, params: dict[str, Any], bodies: Bodies, timeout: float, traceparent: str | None
    ) -> FetchResult:
        assert bodies.sink is not None
        count = 0
        if "continuation" in params or self._http is not None:
            result = await self._whole(params, timeout, traceparent)
            count = len(result.content)
            await blocking(bodies.sink.write, result.content)
        else:
            meta = None if timeout == math.inf else max(1, int(timeout * 1000))
            async with await self._stream(params, None, timeout, traceparent, meta) as stream:
                async for piece in stream:
                    await blocking(bodies.sink.write, piece)
                    count += len(piece)
                result = await stream.result()
        return dataclasses.replace(result, body=None, body_base64=None, body_bytes=count)

    async def _stream(
        self,
        params: dict[str, Any],
        body: AsyncBody | None,
        timeout: float | None,
        traceparent: str | None,
        timeout_ms: int | None = None,
    ) -> AsyncResourceStream:
        plan = self._stream_plan(params, timeout, traceparent, timeout_ms)
        if self._http is not None:
            self._http.check("fetchResource", plan.members)
        bodies = await self._bodies(params, body, None)
        window, has_ended = self._limits.reconnect, lambda: self._is_closed
        connect = self._stream_connection
        beginning = AsyncBeginning(connect, has_ended, plan.members, plan.patience, window, bodies=bodies)
        stream = AsyncResourceStream(plan.task, plan.bound, plan.head_bound, beginning)
        await beginning.begin(stream)
        return stream

    # Lists

    async def iter_sessions(
        self, *, limit: int | None = None, timeout: float | None = None, traceparent: str | None = None
    ) -> AsyncIterator[Session]:
        """All sessions of this user, the oldest first: `list_sessions` in pages, each when it is needed.

        :param limit: The maximum number of entries in a page.
        :param timeout: For each page.
        """
        cursor: str | None = None
        while True:
            page = await self.list_sessions(limit=limit, cursor=cursor, timeout=timeout, traceparent=traceparent)
            for one in page.sessions:
                yield one
            cursor = page.next_cursor
            if cursor is None:
                return

    async def iter_tasks(
        self, *, limit: int | None = None, timeout: float | None = None, traceparent: str | None = None
    ) -> AsyncIterator[Task]:
        """All tasks of this user, first those that run: `list_tasks` in pages, each when it is needed.

        :param limit: The maximum number of entries in a page.
        :param timeout: For each page.
        """
        cursor: str | None = None
        while True:
            page = await self.list_tasks(limit=limit, cursor=cursor, timeout=timeout, traceparent=traceparent)
            for one in page.tasks:
                yield one
            cursor = page.next_cursor
            if cursor is None:
                return

    # Endpoints

    @contextlib.asynccontextmanager
    async def endpoint(
        self,
        *,
        resources: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        http_methods: Sequence[str] | None = None,
        paths: Sequence[str] | None = None,
        sessions: Sequence[str] | None = None,
        rate: EndpointRate | Mapping[str, Any] | None = None,
        concurrency: int | None = None,
        expires_in_ms: int | None = None,
        bind_to: Literal["connection"] | Mapping[str, int] | None = "connection",
        label: str | None = None,
        session: str | None = None,
        approval: Literal["ask"] | None = None,
        http: bool | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> AsyncGenerator[Endpoint, None]:
        """A socket for one child, which can do a part of what this client can; revoked at the end of the block.

        The lists are those of `create_endpoint`. It also ends with this connection, also when this process is killed,
        unless `bind_to` is another.

        For one with a descriptor use `Client`.

        :param session: The session of its calls, which need not name one then: a handle, or `only`, this user id's only
            live one now.
        """
        made = await self.create_endpoint(
            resources=resources,
            methods=methods,
            http_methods=http_methods,
            paths=paths,
            sessions=sessions,
            rate=rate,
            concurrency=concurrency,
            expires_in_ms=expires_in_ms,
            bind_to=bind_to,
            label=label,
            session=session,
            approval=approval,
            http=http,
            timeout=timeout,
            traceparent=traceparent,
        )
        try:
            yield Endpoint.of(made)
        finally:
            with contextlib.suppress(PosternError):  # it has ended, or ends with the connection
                await self.revoke_endpoint(made.endpoint)

    async def _narrow(
        self,
        params: dict[str, Any],
        decode: Callable[[Any], _Result],
        timeout: float | None,
        traceparent: str | None,
    ) -> _Result:
        if self._http is not None:
            self._http.check("narrow", params)
        await self._connected(self._deadline("narrow", timeout))  # whose narrowings are those of before
        # From now on new connections are narrowed, and those for streams are left.
        self._narrowings.append(params)
        for home in self._homes.values():
            for one in home.streaming:
                one.is_leaving = True
        try:
            return read("narrow", decode, await self.call("narrow", params, timeout=timeout, traceparent=traceparent))
        except PosternError as error:
            if error.data.get("outcome") in (None, "not_sent"):  # rejected, or not sent
                self._narrowings.remove(params)
            raise

    # Delegates and events

    async def register_delegate(
        self,
        *,
        on_policy_advice_received: delegates.AsyncOnAdvice | None = None,
        evaluate_authorization_policy: delegates.AsyncEvaluatePolicy | None = None,
        update_request: delegates.AsyncUpdateRequest | None = None,
        evaluate_token_refresh: delegates.AsyncEvaluateRefresh | None = None,
        approve_call: delegates.AsyncApproveCall | None = None,
        timeout: float | None = None,
    ) -> list[DelegateName]:
        """Registers callables for the sidecar's requests about this client's fetches, replacing earlier ones.

        Coroutine functions are awaited, for as long as the sidecar waits (180 s), and may call this client; others
        are called in the loop and must not block. They are kept over reconnections. What is not given, or raises, is
        decided by the sidecar. `approve_call` is for calls through the endpoints that this client makes with
        `approval`; without an answer within 60 s: "no".
        """
        if self._http is not None:
            self._http.check("registerDelegate", {})
        self._dispatch.delegates = delegates.chosen(
            on_policy_advice_received,
            evaluate_authorization_policy,
            update_request,
            evaluate_token_refresh,
            approve_call,
        )
        answer = await self.call("registerDelegate", {"methods": sorted(self._dispatch.delegates)}, timeout=timeout)
        return read("registerDelegate", lambda result: list(result["registered"]), answer)

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

    async def subscribe(
        self, events: Sequence[EventName], *, timeout: float | None = None, traceparent: str | None = None
    ) -> Subscription:
        """Subscribes this connection to the named events; `events` does this, too, and returns them."""
        subscription = await super().subscribe(events, timeout=timeout, traceparent=traceparent)
        self._home().subscribed = set(subscription.subscribed)
        return subscription

    async def unsubscribe(
        self, events: Sequence[EventName], *, timeout: float | None = None, traceparent: str | None = None
    ) -> Subscription:
        """Stops the named events on this connection."""
        subscription = await super().unsubscribe(events, timeout=timeout, traceparent=traceparent)
        self._home().subscribed = set(subscription.subscribed)
        return subscription

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
        unwanted = names - self._dispatch.wanted(asyncio.get_running_loop())
        home.subscribed -= unwanted
        if unwanted and home.connection is not None and home.connection.is_open:
            with contextlib.suppress(PosternError):  # a connection that has ended has no subscriptions
                home.connection.start("unsubscribe", {"events": sorted(unwanted)})

    async def _restore(self) -> None:
        await self._connected(Deadline(self._limits.connect + self._limits.reconnect))

    # The connection

    def _home(self) -> _Home:
        """The connections in the running loop."""
        loop = asyncio.get_running_loop()
        home = self._homes.get(loop)
        if home is None or home.process != os.getpid():
            for other, left in list(self._homes.items()):
                if other.is_closed() or left.process != os.getpid():
                    self._homes.pop(other, None)
                    for one in left.connections():
                        one.drop()
            home = self._homes[loop] = _Home()
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

    async def _stream_connection(self, deadline: Deadline, task: str) -> AsyncConnection:
        """Returns a connection with a slot for a stream of that name, and with the registered delegates."""
        home = self._home()
        async with self._door(home, deadline) as begun:
            found, home.streaming = chosen_for(task, home.streaming)
            if found is None:
                found = await self._made(home, begun, deadline, AsyncAsking(self._dispatch))
                await self._narrow_again(found, deadline)
                found.reserve(task)
                home.streaming.append(found)
            try:
                wanted = frozenset(self._dispatch.delegates)
                if found.registered != wanted:
                    await found.ask("registerDelegate", {"methods": sorted(wanted)}, None, deadline)
                    found.registered = wanted
            except BaseException:
                found.release(task)
                raise
            return found

    @contextlib.asynccontextmanager
    async def _door(self, home: _Home, deadline: Deadline) -> AsyncGenerator[float, None]:
        """Admits one caller at a time, and none after the end. Yields the time of its arrival."""
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

    async def _made(self, home: _Home, begun: float, deadline: Deadline, asking: AsyncAsking | None) -> AsyncConnection:
        """Returns a new connection, for streams if there is an `asking`."""
        if home.failure is not None and home.failure[0] > begun:  # the attempt that this one waited for has failed
            raise lost(home.failure[1], "not_sent")
        try:
            connection = await self._connect(deadline, asking)
        except ConnectionFailed as error:
            if deadline.left():  # not because of this caller's deadline
                home.failure = (time.monotonic(), error)
            raise
        self._was_there = True
        if self._is_closed:  # meanwhile
            connection.close(ClientClosed("the client was closed"))
        return connection

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

    async def _introduce(self, connection: AsyncConnection, deadline: Deadline) -> None:
        """Registers delegates and subscriptions of the previous connection on a new one."""
        wishes = self._wishes(self._home().subscribed | self._dispatch.wanted(connection.loop))
        try:
            await self._narrow_again(connection, deadline)
            for method, params in wishes.items():
                await connection.ask(method, params, None, deadline)
        except PosternError as error:
            connection.close(error)
            raise ConnectionFailed(
                f"{self.path}: {error.message}", data={"outcome": "not_sent", "retryable": True}
            ) from error
        except BaseException:
            connection.close(ClientClosed("cancelled while connecting"))
            raise

    async def _narrow_again(self, connection: AsyncConnection, deadline: Deadline) -> None:
        """Gives up on a new connection what was given up before. Without that, the connection is not used."""
        try:
            for params in self._narrowings:
                await connection.ask("narrow", params, None, deadline)
        except BaseException:
            connection.close(ClientClosed("the connection could not be narrowed"))
            raise

    def _retire(self, connection: AsyncConnection | None) -> None:
        """Sends no more requests on the connection, which still receives responses."""
        home = self._home()
        if connection is not None and home.connection is connection:
            home.connection = None
            home.retired = [one for one in home.retired if one.is_open] + [connection]

    # The end

    async def aclose(self) -> None:
        """Closes the connection; its waiting calls end with `ClientClosed`."""
        self._is_closed = True
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
        """All of this process."""
        homes = [home for home in list(self._homes.values()) if home.process == os.getpid()]
        return [one for home in homes for one in home.connections()]

    async def __aenter__(self: _Client) -> _Client:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        if not hasattr(self, "_is_closed"):
            return  # its initializer failed
        connections = [one for one in self._connections() if one.is_open]
        if not connections:
            return
        warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
        # The loop would keep the connections for as long as it runs.
        for one in connections:
            with contextlib.suppress(RuntimeError):  # it is closed
                one.loop.call_soon_threadsafe(one.close, ClientClosed("the client was dropped"))
