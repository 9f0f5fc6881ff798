"""What both fake clients show a test, and let it say."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from ._expectations import Expectations
from ._fake import Core, RecordedCall
from ._wire import wire
from .events import checked
from .types import EventName, Session


class Faked:
    """The set-up and the record of a fake."""

    _core: Core

    @property
    def when(self) -> Expectations:
        """Sets up answers: `fake.when.fetch_resource("orders").returns(FetchResult.of(200, json=[]))`."""
        return Expectations(self._core)

    @property
    def calls(self) -> list[RecordedCall]:
        """All calls of the program, in their order."""
        return list(self._core.calls)

    @property
    def sessions(self) -> list[Session]:
        """The users who are logged in, the oldest first."""
        return [Session.from_json(one) for one in self._core.sessions.values()]

    def add_session(self, subject: str, *, issuer: str = "fake", session: str | None = None) -> str:
        """Logs a user in, and returns the session's handle.

        :param session: The handle; default: a new one.
        """
        return str(self._core.new_session(subject, issuer, session)["session"])

    def expire_session(self, session: str) -> None:
        """From now on the issuer returns no more tokens for a session, so that its user has to log in again."""
        self._core.expired.add(session)

    def log_in_as(self, subject: str) -> None:
        """From now on logins of the program, by any method, are those of this user."""
        self._core.subject = subject

    def callback_url(self, authorization_url: str) -> str:
        """What the issuer and the user's browser do: the URL with which the browser comes back from a login."""
        return self._core.callback_url(authorization_url)

    def require_login(self, *resources: str) -> None:
        """From now on fetches of these resources need a session, as with `auth: user` in the configuration."""
        self._core.protected |= set(resources)

    def assert_all_called(self) -> None:
        """Fails if one of the answers that were set up was never given."""
        unused = [str(one) for one in self._core.expectations if not one.calls]
        if unused:
            raise AssertionError(f"set up, and never called: {', '.join(unused)}")

    def assert_nothing_unexpected(self) -> None:
        """Fails if there was a call without an answer. The fixtures do this after each test."""
        if self._core.unexpected:
            raise self._core.unexpected[0]

    def __reduce__(self) -> Any:
        raise TypeError("a fake cannot be copied: its calls and answers are those of one test")

    @staticmethod
    def _event(name: EventName, members: Mapping[str, Any]) -> dict[str, Any]:
        checked([name])
        now: str = wire(datetime.now(timezone.utc))
        return {"jsonrpc": "2.0", "method": name, "params": {"at": now, **members}}
