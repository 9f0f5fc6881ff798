"""What a fake `AsyncClient` does in place of the real one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, TypeVar

from ._arguments import without_body
from ._async_streams import AsyncResourceStream
from ._bodies import AsyncBody, Target
from ._calls import bounded, parameters, read
from ._fake import Asked, Core
from ._fake_bodies import head_of, whole_async, written
from ._faked import Faked
from ._limits import Deadline
from .aio import AsyncClient
from .errors import ClientClosed, PosternError
from .types import EventName, FetchResult

_Result = TypeVar("_Result")


class AsyncAnswering(Faked, AsyncClient):
    """An `AsyncClient` that answers by itself.

    :param timeout: As with `AsyncClient`.
    """

    def __init__(self, *, timeout: float | None = 60.0) -> None:
        super().__init__("fake", timeout=timeout)
        self._core = Core(lambda: self._has_advice_delegate)

    def emit(self, name: EventName, **members: Any) -> None:
        """Sends an event to the program: `fake.emit("event.sessionEnded", session=handle)`.

        :param members: Its members, by the names of the protocol.
        """
        self._dispatch.publish(self._event(name, members))

    async def call(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Any:
        """Calls a method by its name in the protocol and returns its result unchanged."""
        return await self._answer(method, params, self._deadline(method, timeout), traceparent)

    async def _answer(
        self, method: str, params: Mapping[str, Any] | None, deadline: Deadline, traceparent: str | None
    ) -> Any:
        if self._is_closed:
            raise ClientClosed("the client is closed", data={"outcome": "not_sent"})
        own, _ = bounded(parameters(method, params), deadline, traceparent)
        found = self._core.answer(method, own, deadline.seconds_or_none)
        while isinstance(found, Asked):
            found = found.decided(await self._dispatch.satisfied(found.request))
        return found

    def cancel_request(self, identifier: int) -> None:
        """Does nothing: a call of the fake has always ended."""

    async def _fetch(
        self,
        params: dict[str, Any],
        body: AsyncBody | None,
        body_to: Target | None,
        timeout: float | None,
        traceparent: str | None,
    ) -> FetchResult:
        own = {**params, **await whole_async(body)}
        result = await self._whole(own, timeout, traceparent)
        return result if body_to is None else written(result, params, body_to)

    async def _stream(
        self,
        params: dict[str, Any],
        body: AsyncBody | None,
        timeout: float | None,
        traceparent: str | None,
        timeout_ms: int | None = None,
    ) -> AsyncResourceStream:
        plan = self._stream_plan({**params, **await whole_async(body)}, timeout, traceparent, timeout_ms)
        stream = AsyncResourceStream(plan.task)
        try:
            answer = await self._answer("fetchResource", plan.members, plan.patience, None)
        except PosternError as error:
            stream.fail(error)
            return stream
        stream.complete(head_of(answer), FetchResult.from_json(answer).content, without_body(answer))
        return stream

    async def _narrow(
        self,
        params: dict[str, Any],
        decode: Callable[[Any], _Result],
        timeout: float | None,
        traceparent: str | None,
    ) -> _Result:
        return read("narrow", decode, await self.call("narrow", params, timeout=timeout, traceparent=traceparent))
