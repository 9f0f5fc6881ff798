"""Events of the sidecar."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ._wire import optional_time, time
from .errors import ProtocolViolation

__all__ = ["NAMES", "Event"]

#: All events.
NAMES: frozenset[str] = frozenset(
    {
        "event.sessionRefreshed",
        "event.sessionEnded",
        "event.sessionExpiring",
        "event.keysRotated",
        "event.configReloaded",
        "event.healthChanged",
    }
)


def _nothing() -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Event:
    """One event."""

    #: `event.sessionEnded` and so on.
    name: str
    #: When it happened.
    at: datetime
    #: The session, for events about sessions.
    session: str | None = field(default=None, repr=False)
    #: The issuer of the event.
    issuer: str | None = None
    #: All members of the event, by the protocol's names.
    params: Mapping[str, Any] = field(default_factory=_nothing, repr=False)
    #: How many events were dropped right before this one because they were not read in time.
    lost: int = 0
    #: Whether the connection was lost right before this one, so that events may be missing.
    gap: bool = False

    @property
    def expires_at(self) -> datetime | None:
        """Of `event.sessionExpiring`."""
        return optional_time(self.params.get("expiresAt"))


def checked(names: Iterable[str]) -> frozenset[str]:
    """The checked names; all events if there are none."""
    chosen = frozenset("event." + name if "." not in name else name for name in names)
    unknown = chosen - NAMES
    if unknown:
        raise ValueError(f"no such event: {', '.join(sorted(unknown))}")
    return chosen or NAMES


class Backlog:
    """Events that were not read yet; beyond its size the oldest are dropped and counted. Not thread-safe by itself."""

    def __init__(self, names: frozenset[str], size: int) -> None:
        if size < 1:
            raise ValueError("size must be at least 1")
        self.names = names
        self._gap = False
        self._size = size
        self._events: collections.deque[tuple[dict[str, Any], bool]] = collections.deque()
        self._lost = 0

    def __len__(self) -> int:
        return len(self._events)

    def put(self, message: dict[str, Any]) -> None:
        if len(self._events) >= self._size:
            self._events.popleft()
            self._lost += 1
        self._events.append((message, self._gap))
        self._gap = False

    def mark_gap(self) -> None:
        """The connection was lost."""
        self._gap = True

    def take(self) -> Event:
        message, gap = self._events.popleft()
        lost, self._lost = self._lost, 0
        params = message["params"]
        try:
            at = time(params["at"])
        except ValueError:
            raise ProtocolViolation("an event of another shape came from the socket") from None
        return Event(message["method"], at, params.get("session"), params.get("issuer"), params, lost, gap)
