"""The common part of the authentication classes that libraries call with a `Client`.

Generated from _async_auth.py by tools/generate.py: do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable

from ._sessions import SessionSource
from ._tokens import Origins, TokenSource, TokenSources
from .client import Client
from .types import AccessToken, Auth


class TokenAuth:
    """Whose tokens go where."""

    def __init__(
        self,
        client: Client,
        *,
        resource: str | None = None,
        issuer: str | None = None,
        auth: Auth | None = None,
        session: SessionSource | None = None,
        origins: str | Iterable[str] | None = None,
    ) -> None:
        """Without `origins` the token goes to every URL that the program requests.

        :param client: It is not closed with the library's own client.
        :param resource: The resource whose token is used, or with `issuer` that issuer's.
        :param auth: As in `get_access_token`.
        :param session: The user's session: a handle, or a function or `ContextVar` that has the one of the user of the
            moment (None: no user is logged in, which is `LoginRequired`). Without it, each request may name its own, by
            the header `Postern-Session`, which goes to the sidecar only.
        :param origins: One origin or several, such as `https://api.example.com`, that the token goes to; plain http on
            loopback only. A request to another one is an error before anything is sent.
        """
        self.client = client
        self._sources = TokenSources(resource, issuer, auth, session)
        self._origins = Origins(origins)

    def _fresh(self, source: TokenSource, rejected: AccessToken | None = None) -> AccessToken:
        """A token; with `rejected` another one than that, if there is one."""
        token = self.client.get_access_token(**source.arguments(rejected))
        if rejected is not None and source.is_kept(token, rejected):
            self.client.refresh_session(source.session or "")
            token = self.client.get_access_token(**source.arguments())
        return token
