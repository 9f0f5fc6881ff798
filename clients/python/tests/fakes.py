"""Both fake clients, with the same answers."""

from __future__ import annotations

from typing import Any, Callable

from postern_auth import AsyncClient, Client
from postern_auth.testing import AsyncFakePostern, FakePostern


class Fakes:
    """A fake of each kind, set up alike."""

    def __init__(self, set_up: Callable[[FakePostern | AsyncFakePostern], object]) -> None:
        self.blocking, self.asynchronous = FakePostern(), AsyncFakePostern()
        for fake in (self.blocking, self.asynchronous):
            set_up(fake)

    @property
    def params(self) -> list[dict[str, Any]]:
        """Those of all calls, the blocking fake's first."""
        return [call.params for fake in (self.blocking, self.asynchronous) for call in fake.calls]


def client_of(sidecar: Fakes | str) -> Client:
    """A fake, or a client of the sidecar at that path."""
    return Client(sidecar) if isinstance(sidecar, str) else sidecar.blocking


def async_client_of(sidecar: Fakes | str) -> AsyncClient:
    return AsyncClient(sidecar) if isinstance(sidecar, str) else sidecar.asynchronous
