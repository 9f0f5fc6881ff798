"""What opens a stream: to be awaited, or used in `async with` without that."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from typing import Any, Generic, Protocol, TypeVar


class _Closable(Protocol):
    async def aclose(self) -> None: ...


_Stream = TypeVar("_Stream", bound=_Closable)


class Opening(Generic[_Stream]):
    """A stream that is not open yet.

    `async with` opens it, and closes it at the end of the block; `await` opens it, and you close it.
    """

    def __init__(self, opening: Coroutine[Any, Any, _Stream]) -> None:
        self._opening = opening
        self._stream: _Stream | None = None

    def __await__(self) -> Generator[Any, None, _Stream]:
        return self._opening.__await__()

    async def __aenter__(self) -> _Stream:
        self._stream = await self._opening
        return self._stream

    async def __aexit__(self, *exception: object) -> None:
        if self._stream is not None:
            await self._stream.aclose()
