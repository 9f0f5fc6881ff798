"""The cookies of the logins for web frameworks: how they are read, and what a browser has begun, a cookie for each."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

#: Seconds that a login may take; the sidecar forgets it after that, too.
LOGIN_SECONDS = 600
#: How many of a browser's logins may be under way: it sends their cookies with each request.
MOST_LOGINS = 4
#: What HTTP has around a value (RFC 9110 section 5.6.3). `str.strip()` also removes bytes that belong to a name: a
#: browser lets a neighbour domain set `\xa0__Host-…`, whose name does not begin with that prefix.
WHITE_SPACE = " \t"

_LETTERS = 8


def cookies_of(lines: Iterable[str]) -> dict[str, str]:
    """The cookies of a request, by their names byte for byte.

    Without those that are there twice: the second one of a name is not the application's.
    """
    found: dict[str, str] = {}
    twice: set[str] = set()
    for pair in (pair for line in lines for pair in line.split(";")):
        name, sign, value = (part.strip(WHITE_SPACE) for part in pair.partition("="))
        if name in found:
            twice.add(name)
        if sign:
            found[name] = value
    return {name: value for name, value in found.items() if name not in twice}


@dataclass(frozen=True)
class CookieMaker:
    """Makes cookies that no script and no other site gets, and with TLS no other host either."""

    is_secure: bool

    def name(self, name: str) -> str:
        return f"__Host-{name}" if self.is_secure else name

    def set(self, name: str, value: str, max_age: int | None = None) -> tuple[str, str]:
        """The field that sets a cookie; without `max_age` it stays until the browser is closed."""
        age = "" if max_age is None else f"; Max-Age={max_age}"
        secure = "; Secure" if self.is_secure else ""
        return "Set-Cookie", f"{name}={value}; Path=/{age}; HttpOnly{secure}; SameSite=Lax"

    def clear(self, name: str) -> tuple[str, str]:
        return self.set(name, "", 0)


#: A login; a step-up; a step-up that was just completed.
PendingKind = Literal["login", "step-up", "done"]


class Pending(NamedTuple):
    """Something that a browser has begun, and that a callback completes."""

    kind: str
    #: The state of a login, the continuation of a step-up.
    secret: str
    #: Where the browser goes afterwards.
    target: str
    #: In milliseconds since the epoch.
    begun: int

    @classmethod
    def now(cls, kind: PendingKind, secret: str, target: str) -> Pending:
        return cls(kind, secret, target, time.time_ns() // 1_000_000)

    @property
    def mark(self) -> str:
        """The end of its cookie's name: of a login it follows from the state that a callback brings."""
        digest = hashlib.sha256((self.secret or self.target).encode()).digest()
        return base64.urlsafe_b64encode(digest).decode()[:_LETTERS]


class PendingLogins:
    """What a browser has begun: each has a cookie of its own, so that responses in several tabs replace none."""

    def __init__(self, cookies: CookieMaker, name: str) -> None:
        self._cookies = cookies
        self._prefix = cookies.name(name) + "-"

    def of(self, cookies: Mapping[str, str]) -> list[Pending]:
        """The newest last. The cookies are the browser's own text: they are trusted for nothing but this browser."""
        read = [(name, _read(value)) for name, value in cookies.items() if name.startswith(self._prefix)]
        return sorted((one for name, one in read if one and name == self._name(one)), key=lambda one: one.begun)

    def add(self, one: Pending, others: Sequence[Pending]) -> list[tuple[str, str]]:
        """Sets its cookie, and removes those of the oldest others that would be too many."""
        others = [other for other in others if other.mark != one.mark]
        text = base64.urlsafe_b64encode(json.dumps(one, separators=(",", ":")).encode()).decode().rstrip("=")
        own = self._cookies.set(self._name(one), text, LOGIN_SECONDS)
        return [own, *self.remove(others[: max(0, len(others) - MOST_LOGINS + 1)])]

    def remove(self, those: Iterable[Pending]) -> list[tuple[str, str]]:
        return [self._cookies.clear(self._name(one)) for one in those]

    def _name(self, one: Pending) -> str:
        return self._prefix + one.mark


def _read(text: str) -> Pending | None:
    try:
        entry: Any = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        kind, secret, target, begun = entry
    except (ValueError, TypeError, RecursionError):
        return None
    texts: list[Any] = [kind, secret, target]
    is_right = type(begun) is int and all(isinstance(one, str) and one.isascii() for one in texts)
    return Pending(kind, secret, target, begun) if is_right else None
