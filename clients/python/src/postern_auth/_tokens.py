"""The common part of the classes that put a token on the requests of a library's own transport."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from ._wire import present
from .errors import PosternError
from .types import AccessToken, Auth

#: The longest minimum that `get_access_token` takes, in seconds.
_LONGEST_MINIMUM = 86_400


@dataclass(frozen=True)
class TokenSource:
    """Which token: the arguments of `get_access_token`."""

    resource: str | None
    issuer: str | None
    auth: Auth | None
    session: str | None

    def arguments(self, rejected: AccessToken | None = None) -> dict[str, Any]:
        """Arguments for a token; with `rejected` for another one than that, which a server has answered with 401."""
        members = {"resource": self.resource, "issuer": self.issuer, "auth": self.auth, "session": self.session}
        if rejected is not None:
            # What lives longer than the rejected token is a new one.
            left = int(rejected.expires_at.timestamp() - time.time()) + 1
            members["min_ttl_seconds"] = min(max(left, 1), _LONGEST_MINIMUM)  # type: ignore[assignment]
        return present(members)


def credentials(token: AccessToken) -> str:
    """The value of `Authorization`."""
    return f"Bearer {token.access_token}"


def explained(error: PosternError) -> str:
    """The error's text, with what to do when tokens may not leave the sidecar."""
    if error.reason != "peer_forbidden":
        return str(error)
    return (
        f"{error}. A program that sets the header itself needs `tokens.leaveTheSidecar: true` in the sidecar's "
        "configuration, and a peer rule that permits getAccessToken; requests through Postern need neither"
    )
