"""Coroutines as tests."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Coroutine
from typing import Any, Callable

from postern_auth import AsyncClient


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Runs a test in an event loop of its own, within a minute."""

    @functools.wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*arguments, **named), 60))

    return run


def connection_of(client: AsyncClient) -> Any:
    """The connection of a client that one event loop uses; None before there is one."""
    homes = list(client._homes.values())
    return homes[0].connection if homes else None
