"""What generated classes can do beyond holding their members."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from json import dumps as _dumps
from typing import Any, Literal, TypeVar

from ._headers import Headers
from ._wire import present, text_or_base64

_T = TypeVar("_T", bound="_Readable")
_Response = TypeVar("_Response", bound="ResponseStatus")


def decoded(content: bytes, content_type: str | None) -> str:
    """A body as text, by its charset, else as UTF-8; what does not decode is replaced."""
    _, _, charset = (content_type or "").lower().partition("charset=")
    try:
        return content.decode(charset.split(";")[0].strip(" \"'") or "utf-8", "replace")
    except LookupError:
        return content.decode("utf-8", "replace")


class _Readable:
    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Any:
        raise NotImplementedError


def _bytes(text: str | None, encoded: str | None) -> bytes:
    if encoded is not None:
        return base64.b64decode(encoded)
    return (text or "").encode("utf-8")


class ResponseStatus:
    """The status of a response."""

    status: int

    @property
    def ok(self) -> bool:
        """Whether the status is below 400."""
        return 0 < self.status < 400

    def raise_for_status(self: _Response) -> _Response:
        """Raises `StatusError` if the status is 400 or above, else returns the response itself."""
        if self.status >= 400:
            from .errors import StatusError

            raise StatusError.of(self)
        return self


class FetchedBody(ResponseStatus):
    """The body of a response."""

    headers: Headers

    @property
    def content(self) -> bytes:
        """The body, its content codings undone."""
        return _bytes(getattr(self, "body", None), getattr(self, "body_base64", None))

    @property
    def text(self) -> str:
        """The body as text, by its charset, else as UTF-8; what does not decode is replaced."""
        body: str | None = getattr(self, "body", None)
        if body is not None:
            return body
        return decoded(self.content, self.headers.get("content-type"))

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.content)


class FetchResultForms(FetchedBody, _Readable):
    """How a result is made, for tests."""

    @classmethod
    def of(
        cls: type[_T],
        status: int = 200,
        *,
        json: Any = None,
        text: str | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str | Sequence[str]] | None = None,
        reason: str | None = None,
        url: str = "https://resource.invalid/",
        task: str = "fake-task",
        retry_after: float | None = None,
    ) -> _T:
        """A response for tests of your own code.

        :param json: The body, as JSON; at most one of `json`, `text` and `content`.
        :param text: The body, as text.
        :param content: The body, as bytes.
        :param headers: Name to value, or to several values. `Content-Type` fits to the body, unless it is there.
        :param retry_after: Seconds that the server wants no requests, with 429 and 503.
        """
        if sum(one is not None for one in (json, text, content)) > 1:
            raise TypeError("`json`, `text` and `content` exclude each other: each of them is the body")
        lines = {
            name.lower(): [value] if isinstance(value, str) else list(value) for name, value in (headers or {}).items()
        }
        if json is not None:
            text = _dumps(json, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            lines.setdefault("content-type", ["application/json"])
        elif text is not None:
            lines.setdefault("content-type", ["text/plain; charset=utf-8"])
        elif content is not None:
            lines.setdefault("content-type", ["application/octet-stream"])
        members: dict[str, Any] = {
            "task": task,
            "status": status,
            "reason": reason,
            "url": url,
            "headers": lines,
            **text_or_base64("body", content if text is None else text),
            "attempts": 1,
            "tokenRefreshed": False,
            "advicesSatisfied": [],
            "timing": {"totalMs": 0, "queueMs": 0, "connectMs": 0, "firstByteMs": 0},
            "retryAfterMs": None if retry_after is None else int(retry_after * 1000),
        }
        made: _T = cls.from_json(present(members))
        return made


class SessionForms(_Readable):
    """How a session is made, for tests."""

    @classmethod
    def of(
        cls: type[_T],
        subject: str,
        *,
        issuer: str = "fake",
        session: str = "fake-session-of-forty-three-characters-long",
        kind: Literal["user", "implicit"] = "user",
        scope: str = "",
        claims: Mapping[str, Any] | None = None,
        acr: str | None = None,
    ) -> _T:
        """A session of that user for tests of your own code.

        :param session: The handle.
        """
        created = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        members = {
            "session": session,
            "issuer": issuer,
            "subject": subject,
            "kind": kind,
            "scope": scope,
            "createdAt": created,
            "claims": None if claims is None else dict(claims),
            "acr": acr,
        }
        made: _T = cls.from_json(present(members))
        return made


class JWSPayload:
    """A payload."""

    @property
    def content(self) -> bytes:
        """The payload; empty when not valid."""
        return _bytes(getattr(self, "payload", None), getattr(self, "payload_base64", None))


class JWEPlaintext:
    """A plaintext."""

    @property
    def content(self) -> bytes:
        """The plaintext; empty when not valid."""
        return _bytes(getattr(self, "plaintext", None), getattr(self, "plaintext_base64", None))


class DecisionTruth:
    """`if decision:` is `if decision.authorized:`."""

    def __bool__(self) -> bool:
        return getattr(self, "authorized", None) is True


class DecisionsTruth:
    """`if client.adobe_pass.authorize(…):` is true if there are decisions and each is a permit."""

    def __bool__(self) -> bool:
        decisions: list[Any] = getattr(self, "decisions", [])
        return bool(decisions) and all(decisions)


class PreauthorizationTruth(DecisionsTruth):
    """`if client.preauthorize(…):` is true if there are decisions and each is a permit."""

    def __bool__(self) -> bool:
        return getattr(self, "outcome", None) == "response" and super().__bool__()


class PartForms(_Readable):
    """How a part is made."""

    @classmethod
    def of(
        cls: type[_T],
        name: str,
        content: str | bytes,
        *,
        file_name: str | None = None,
        mime_type: str | None = None,
    ) -> _T:
        """A field, or with `file_name` a file."""
        members = {"name": name, "fileName": file_name, "mimeType": mime_type, **text_or_base64("data", content)}
        made: _T = cls.from_json(members)
        return made


class JourneyAnswers:
    """How callbacks are answered."""

    def filled(self, *values: Any) -> list[dict[str, Any]]:
        """The callbacks with these values as first inputs of those that have any, in order."""
        callbacks: list[dict[str, Any]] = copy.deepcopy(getattr(self, "callbacks", None) or [])
        asking = [callback for callback in callbacks if callback.get("input")]
        if len(values) > len(asking):
            raise ValueError(f"{len(values)} values for {len(asking)} callbacks with inputs")
        for callback, value in zip(asking, values):
            callback["input"][0]["value"] = value
        return callbacks


class GrantForms(_Readable):
    """The forms of grants."""

    @classmethod
    def from_tokens(
        cls: type[_T],
        *,
        access_token: str | None = None,
        refresh_token: str | None = None,
        id_token: str | None = None,
        expires_in: int | None = None,
        scope: str | None = None,
        sso_token: str | None = None,
    ) -> _T:
        """Tokens from elsewhere, at least one of them."""
        members = {
            "type": "tokens",
            "accessToken": access_token,
            "refreshToken": refresh_token,
            "idToken": id_token,
            "expiresIn": expires_in,
            "scope": scope,
            "ssoToken": sso_token,
        }
        made: _T = cls.from_json(present(members))
        return made

    @classmethod
    def from_refresh_token(cls: type[_T], refresh_token: str) -> _T:
        """A refresh token, used at once."""
        made: _T = cls.from_json({"type": "refresh_token", "refreshToken": refresh_token})
        return made

    @classmethod
    def from_sso_token(cls: type[_T], sso_token: str) -> _T:
        """A single sign-on token of the issuer's access manager."""
        made: _T = cls.from_json({"type": "sso", "ssoToken": sso_token})
        return made

    @classmethod
    def from_exchange(
        cls: type[_T],
        subject_token: str,
        *,
        subject_token_type: str | None = None,
        actor_token: str | None = None,
    ) -> _T:
        """Token exchange (RFC 8693)."""
        members = {
            "type": "token_exchange",
            "subjectToken": subject_token,
            "subjectTokenType": subject_token_type,
            "actorToken": actor_token,
        }
        made: _T = cls.from_json(present(members))
        return made

    @classmethod
    def from_assertion(cls: type[_T], assertion: str) -> _T:
        """A JWT assertion (RFC 7523)."""
        made: _T = cls.from_json({"type": "jwt_bearer", "assertion": assertion})
        return made

    @classmethod
    def from_code(cls: type[_T], code: str, redirect_uri: str, *, code_verifier: str | None = None) -> _T:
        """An authorization code of a login that the caller began itself."""
        members = {
            "type": "authorization_code",
            "code": code,
            "redirectUri": redirect_uri,
            "codeVerifier": code_verifier,
        }
        made: _T = cls.from_json(present(members))
        return made

    @classmethod
    def from_profile(cls: type[_T], profile: str) -> _T:
        """A profile, for implicit access: the subject of an earlier session."""
        made: _T = cls.from_json({"type": "implicit", "profile": profile})
        return made
