"""What both clients decide in the same way about calls, without input and output."""

from __future__ import annotations

import functools
import math
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Callable, Generic, Protocol, TypeVar

from . import delegates
from ._exchange import Exchange
from ._limits import Deadline, Limits
from .errors import ClientClosed, ProtocolViolation

_Result = TypeVar("_Result")
_Exchange = TypeVar("_Exchange", bound="Exchange[Any, Any]")
_Dispatch = TypeVar("_Dispatch", bound="Delegating")
_NO_PARAMS: dict[str, Any] = {}


class Delegating(Protocol):
    """The dispatch of either client."""

    delegates: dict[str, Any]
    delegate_seconds: float


@dataclass(frozen=True)
class StreamPlan:
    """A fetch whose body comes in pieces."""

    task: str
    #: Its members.
    members: dict[str, Any]
    #: Bounds each wait for a piece.
    patience: Deadline
    #: Seconds of that, and of the wait for the head, during which the user may do something; None: no limit.
    bound: float | None
    head_bound: float | None


class CallRules(Generic[_Dispatch]):
    """Timeouts, streams and registrations, of either client."""

    path: str
    timeout: float | None
    _limits: Limits
    _dispatch: _Dispatch
    _was_there: bool

    @property
    def step_up_seconds(self) -> float:
        """The additional time of a fetch when a delegate has the user do something."""
        return self._dispatch.delegate_seconds * self._has_advice_delegate

    @property
    def _has_advice_delegate(self) -> bool:
        return delegates.ADVICE_RECEIVED in self._dispatch.delegates

    def _deadline(self, method: str, timeout: float | None) -> Deadline:
        chosen = self.timeout if timeout is None else timeout
        if timeout is None and chosen is not None and method == "fetchResource":
            chosen += self.step_up_seconds
        return Deadline(chosen)

    def _stream_plan(
        self, params: dict[str, Any], timeout: float | None, traceparent: str | None, timeout_ms: int | None
    ) -> StreamPlan:
        patience = self._deadline("", timeout)
        task = str(params.get("task") or new_task())
        own: dict[str, Any] = {**params, "stream": True, "streamHead": True, "task": task}
        meta = {"traceparent": traceparent, "timeoutMs": timeout_ms}
        if traceparent is not None or timeout_ms is not None:
            own["meta"] = {name: value for name, value in meta.items() if value is not None}
        bound = None if patience.seconds == math.inf else patience.seconds
        return StreamPlan(task, own, patience, bound, None if bound is None else bound + self.step_up_seconds)

    def _wishes(self, subscribed: set[str]) -> dict[str, dict[str, Any]]:
        """Methods and params that give a new connection the delegates and subscriptions of the previous one."""
        wishes: dict[str, dict[str, Any]] = {}
        if self._was_there and self._dispatch.delegates:
            wishes["registerDelegate"] = {"methods": sorted(self._dispatch.delegates)}
        if self._was_there and subscribed:
            wishes["subscribe"] = {"events": sorted(subscribed)}
        return wishes

    def __reduce__(self) -> Any:
        """Supports copies: a copy is a client with the same settings and its own connection."""
        if self._dispatch.delegates:
            raise TypeError("a client with delegates cannot be copied: create another one")
        own: Any = type(self)
        return functools.partial(own, timeout=self.timeout, limits=self._limits), (self.path,)

    def __repr__(self) -> str:
        return f"<postern_auth.{type(self).__name__} {self.path}>"


def chosen_for(task: str, connections: Iterable[_Exchange]) -> tuple[_Exchange | None, list[_Exchange]]:
    """A connection with a slot for a stream of that name, if there is one, and all that stay open.

    Those that no stream uses are closed.
    """
    there = [one for one in connections if one.is_open]
    found = next((one for one in there if not one.is_leaving and one.reserve(task)), None)
    for one in there:
        if one is not found and one.slots.is_unused:
            one.close(ClientClosed("a connection that no stream uses"))
    return found, [one for one in there if one.is_open]


def new_task() -> str:
    return "py-" + uuid.uuid4().hex


def parameters(method: str, params: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The params, checked before a slot is taken, and not only by the sidecar's parser."""
    if not params:
        return _NO_PARAMS
    if not _is_mapping(params) or ("meta" in params and not _is_mapping(params["meta"] or _NO_PARAMS)):
        raise TypeError(f"the params of {method}, and their meta, must be mappings")
    return params


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def bounded(
    params: Mapping[str, Any], deadline: Deadline, traceparent: str | None
) -> tuple[Mapping[str, Any], int | None]:
    """The params to send with `meta`, or the remaining milliseconds if they have no `meta`."""
    left = deadline.left_ms()
    if traceparent is None and "meta" not in params:
        return params, left
    meta: dict[str, Any] = dict(params.get("meta") or {})
    if left is not None:
        meta.setdefault("timeoutMs", left)
    if traceparent is not None:
        meta["traceparent"] = traceparent
    return {**params, "meta": meta} if meta else params, None


def read(method: str, decode: Callable[[Any], _Result], result: Any) -> _Result:
    """A typed result."""
    try:
        return decode(result)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ProtocolViolation(
            f"the result of {method} has another shape: {error!r}", data={"outcome": "replied"}
        ) from error
