"""Random contents, the same in every run."""

from __future__ import annotations

import random
import string
from typing import Any

from judges import compact

LETTERS = string.printable + "äöüßéñ€√Ω漢字かな한국어العربية\u0301\u200d\u202e😀🇩🇪\ufeff\u2028\u0000"


def text(source: random.Random, longest: int = 24) -> str:
    return "".join(source.choice(LETTERS) for _ in range(source.randrange(longest)))


def value(source: random.Random, depth: int = 3) -> Any:
    kind = source.randrange(8 if depth else 6)
    if kind == 6:
        return [value(source, depth - 1) for _ in range(source.randrange(4))]
    if kind == 7:
        return {text(source): value(source, depth - 1) for _ in range(source.randrange(4))}
    return [None, True, source.randrange(-(2**63), 2**63), source.uniform(-1e9, 1e9), text(source), ""][kind]


def content(source: random.Random) -> bytes:
    """Claims, unicode, bytes that are no text, nothing at all, and now and then a great deal."""
    kind = source.randrange(12)
    if kind == 0:
        return b""
    if kind <= 2:
        return source.randbytes(source.randrange(200))
    if kind == 3:
        return source.randbytes(source.randrange(20_000, 40_000))
    if kind == 4:
        return text(source, 2000).encode()
    return compact({text(source): value(source) for _ in range(source.randrange(12))})
