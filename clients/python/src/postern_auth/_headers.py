"""The headers of a response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

__all__ = ["Headers"]


class Headers(Mapping[str, str]):
    """Headers by name, in any case of its letters. The value of a name with several lines has them joined by `, `.

    `get_list` and `lines` have each line by itself, as `Set-Cookie` requires.

    Headers are equal to a mapping with the same names, in any case, and the same values.

    :param lines: Name to the values of its lines, in order, or to the one value.
    """

    __slots__ = ("_lines",)

    def __init__(self, lines: Mapping[str, str | Iterable[str]] | None = None) -> None:
        self._lines: dict[str, list[str]] = {}
        for name, values in (lines or {}).items():
            self._lines.setdefault(name.lower(), []).extend([values] if isinstance(values, str) else values)

    @classmethod
    def from_json(cls, value: dict[str, list[str]]) -> Headers:
        """Reads them from the protocol's members, whose names are in lower case."""
        made = cls.__new__(cls)
        made._lines = value
        return made

    def to_json(self) -> dict[str, list[str]]:
        """The protocol's members: name to lines."""
        return self._lines

    def __getitem__(self, name: str) -> str:
        return ", ".join(self._lines[name.lower()])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._lines

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Headers):
            return self._lines == other._lines
        if not isinstance(other, Mapping):
            return NotImplemented
        theirs: list[tuple[Any, Any]] = list(other.items())  # pyright: ignore[reportUnknownArgumentType]
        lowered = {name.lower() if isinstance(name, str) else name: value for name, value in theirs}
        return len(lowered) == len(theirs) and dict(self) == lowered

    def __hash__(self) -> int:
        return hash(frozenset((name, tuple(values)) for name, values in self._lines.items()))

    def get_list(self, name: str) -> list[str]:
        """The values of each line of that name, in order; empty if there is none."""
        return list(self._lines.get(name.lower(), ()))

    def lines(self) -> list[tuple[str, str]]:
        """One pair of name and value for each line, those of one name in order."""
        return [(name, value) for name, values in self._lines.items() for value in values]

    def __repr__(self) -> str:
        return f"<Headers {', '.join(self._lines)}>"
