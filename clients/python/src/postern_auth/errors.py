"""Exceptions: one class for each family of reasons.

Switch on the class, or on `reason`; codes and reasons are stable, messages are for people.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Union, cast

from ._conveniences import ResponseStatus
from ._wire import members, optional, optional_time, present
from .reasons import REASONS, Reason
from .types import Advice, FetchResult, Status

__all__ = [
    "AdviceFailed",
    "AdviceRequired",
    "AuthenticationError",
    "AuthorizationPending",
    "Cancelled",
    "ClientAuthenticationError",
    "ClientClosed",
    "ConfigurationInvalid",
    "ConnectionFailed",
    "ConnectionLost",
    "DeadlineExceeded",
    "FetchError",
    "Forbidden",
    "InteractionRequired",
    "InternalError",
    "LoginRequired",
    "PassError",
    "PassNotConfigured",
    "PassRejected",
    "PassUnreachable",
    "PosternError",
    "ProtocolViolation",
    "RequestError",
    "SessionError",
    "StatusError",
    "Unavailable",
    "ValidationUndecided",
]


#: The reasons of errors of the client itself.
ClientReason = Literal[
    "client_closed",
    "connection_failed",
    "connection_lost",
    "http_status",
    "protocol_violation",
    "unavailable_over_http",
    "unknown",
]
#: What `PosternError.reason` may be. A newer sidecar may know more reasons: compare with those that you handle, and
#: treat any other as the error's class says.
ErrorReason = Union[Reason, ClientReason]
#: Whether a request may have had an effect.
Outcome = Literal["not_sent", "sent_no_reply", "replied", "unknown"]


class PosternError(Exception):
    """Base of all exceptions. An error with a reason unknown to this release has this class or its family's."""

    #: The reason of errors of the client itself.
    _own_reason: ErrorReason = "unknown"

    def __init__(self, message: str, code: int = 0, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        #: For people.
        self.message = message
        #: The protocol's number; 0 for errors of the client itself.
        self.code = code
        #: All members of the sidecar's error data.
        self.data: dict[str, Any] = dict(data or {})

    @property
    def reason(self) -> ErrorReason:
        """The stable symbol to switch on. A type checker rejects a comparison with a text that is not a reason."""
        reason = self.data.get("reason")
        found = reason if isinstance(reason, str) else REASONS.get(self.code, self._own_reason)
        return cast("ErrorReason", found)

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed later."""
        return self.data.get("retryable") is True

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before that, if known."""
        after = self.data.get("retryAfterMs")
        return after / 1000 if isinstance(after, (int, float)) else None

    @property
    def outcome(self) -> Outcome | None:
        """Whether the request may have had an effect: `not_sent`, `sent_no_reply`, `replied`.

        `unknown`: the sidecar took the call, and its answer was lost. None: nothing upstream was concerned.
        """
        outcome = self.data.get("outcome")
        return cast("Outcome", outcome) if isinstance(outcome, str) else None

    @property
    def path(self) -> str | None:
        """JSON Pointer of the invalid parameter."""
        path = self.data.get("path")
        return path if isinstance(path, str) else None

    @property
    def detail(self) -> str | None:
        """What exactly is wrong, as a symbol, for the reasons that have several causes: `session_missing`."""
        detail = self.data.get("detail")
        return detail if isinstance(detail, str) else None

    @property
    def trace_id(self) -> str | None:
        """The id of the call's trace: in spans, and in the sidecar's log if it has a line for the call."""
        trace = self.data.get("traceId")
        return trace if isinstance(trace, str) else None

    @property
    def upstream(self) -> dict[str, Any]:
        """Another server's error: `status`, `code`, `description`."""
        return members(self.data.get("upstream")) or {}

    def __str__(self) -> str:
        where = f" at {self.path}" if self.path else ""
        outcome = f" (outcome: {self.outcome})" if self.outcome else ""
        return f"{self.reason}{where}: {self.message}{outcome}"

    def __reduce__(self) -> Any:
        return (type(self), (self.message, self.code, self.data))


# Errors of the sidecar


class RequestError(PosternError):
    """The call itself is invalid: unknown method, wrong parameters, too large. `path` points to the parameter."""


class InternalError(PosternError):
    """A bug in the sidecar; its log has more under `trace_id`."""


class Cancelled(PosternError):
    """The call was cancelled, by `cancel` or `cancel_task`."""

    _own_reason: ErrorReason = "request_cancelled"


class DeadlineExceeded(PosternError, TimeoutError):
    """The call timed out, in the sidecar or here."""

    _own_reason: ErrorReason = "deadline_exceeded"


class Unavailable(PosternError):
    """Too much is in progress (`retry_after`), or the sidecar is shutting down."""


class Forbidden(PosternError):
    """This user may not call this method, or use this resource or session."""


class ConfigurationInvalid(PosternError):
    """`reload_config` found problems: `data["problems"]`. The running configuration stays."""


class FetchError(PosternError):
    """A resource could not be fetched."""


class _AboutAdvice(FetchError):
    @property
    def advice(self) -> Advice | None:
        """The first advice to satisfy."""
        return optional(Advice.from_json, members(self.data.get("advice")))

    @property
    def advices(self) -> list[Advice]:
        """All advices."""
        return [Advice.from_json(advice) for advice in self.data.get("advices") or ()]

    @property
    def response(self) -> FetchResult | None:
        """The unchanged response."""
        return optional(FetchResult.from_json, members(self.data.get("response")))


class AdviceRequired(_AboutAdvice):
    """The resource requires that the user does something first.

    Walk `authenticate_with_advice(continuation=...)`, then `fetch_resource(continuation=...)`.
    """

    @property
    def continuation(self) -> str | None:
        """The param of both calls; None if too many fetches wait."""
        continuation = self.data.get("continuation")
        return continuation if isinstance(continuation, str) else None

    @property
    def expires_at(self) -> datetime | None:
        """The time until which the continuation is valid."""
        return optional_time(self.data.get("expiresAt"))


class AdviceFailed(_AboutAdvice):
    """The advice was not satisfied, or that was not sufficient."""


class InteractionRequired(FetchError):
    """The issuer gives no token on behalf of the user before that user has done something.

    Answer your own client with 401 and `www_authenticate`.
    """

    @property
    def claims(self) -> str | None:
        """The claims request as JSON text, as the issuer sent it."""
        claims = self.data.get("claims")
        return claims if isinstance(claims, str) else None

    @property
    def www_authenticate(self) -> str | None:
        """A value of `WWW-Authenticate` for your client.

        None where the issuer named nothing that a client could act on.
        """
        value = self.data.get("wwwAuthenticate")
        return value if isinstance(value, str) else None


class StatusError(FetchError):
    """`raise_for_status`: the response has a status of 400 or above."""

    _own_reason: ErrorReason = "http_status"
    #: The response. None after copying between processes.
    response: Any = None

    @classmethod
    def of(cls, response: ResponseStatus) -> StatusError:
        """The error of that response."""
        status, after = response.status, getattr(response, "retry_after_ms", None)
        where = str(getattr(response, "url", "")).partition("?")[0]
        phrase = f"{status} {getattr(response, 'reason', None) or ''}".rstrip()
        data = {"outcome": "replied", "upstream": {"status": status}, "retryAfterMs": after}
        made = cls(f"{phrase} from {where}" if where else phrase, data=present(data))
        made.response = response
        return made

    @property
    def status(self) -> int:
        """The HTTP status."""
        return int(self.upstream["status"])


class ValidationUndecided(PosternError):
    """A token could not be validated: treat it as not valid."""


class AuthenticationError(PosternError):
    """A login or step-up at an access manager could not continue."""


class SessionError(PosternError):
    """Sessions and tokens: unknown, expired, rejected, issuer unreachable."""


class LoginRequired(FetchError, SessionError):
    """No user is logged in, or not any more: log the user in. The one class to catch for that.

    A call without a session (None, an empty text, left out alike), and one whose session is unknown or has ended.
    """


class ClientAuthenticationError(FetchError, SessionError):
    """The issuer does not accept the sidecar's own client id and secret: correct its configuration. No login helps.

    From fetches with client credentials, and from everything that obtains tokens of a session.
    """


class AuthorizationPending(SessionError):
    """The user has not decided yet: call again after `retry_after` seconds."""


class PassError(PosternError):
    """A call to Adobe Pass has no result."""


class PassRejected(PassError):
    """Adobe Pass answered, and it was no success: `error` has its code, `next` what helps."""

    @property
    def error(self) -> Status | None:
        """Adobe's error; with status 0 the sidecar's own finding."""
        return optional(Status.from_json, members(self.data.get("error")))

    @property
    def next(self) -> str | None:
        """What helps.

        `login`, `newCode`, `chooseMvpd`, `identity`, `partnerStatus`, `operator`, `later` or `none`.
        """
        step = self.data.get("next")
        return step if isinstance(step, str) else None


class PassUnreachable(PassError):
    """Adobe Pass gave no usable answer; `outcome` shows whether the request may have had an effect."""


class PassNotConfigured(PassError):
    """No decision point of kind adobe-pass has that name, for this peer."""


# Errors of the client itself


class ConnectionFailed(PosternError, ConnectionError):
    """No connection to the sidecar; nothing was sent."""

    _own_reason: ErrorReason = "connection_failed"


class ConnectionLost(PosternError, ConnectionError):
    """The connection ended before the response; `outcome` shows whether the call may have been executed."""

    _own_reason: ErrorReason = "connection_lost"


def inherited(what: str) -> ConnectionLost:
    """The error in a forked child, which must not write or read on its parent's connection."""
    return ConnectionLost(f"{what} of the process that forked this one", data={"outcome": "unknown"})


class ProtocolViolation(ConnectionLost):
    """A message from the socket violates the protocol. The connection was closed."""

    _own_reason: ErrorReason = "protocol_violation"


class ClientClosed(ConnectionLost):
    """The client was closed while, or before, it was called."""

    _own_reason: ErrorReason = "client_closed"


#: The classes of the client's own reasons, without those that need a response or an address.
OWN_CLASSES: dict[str, type[PosternError]] = {
    "connection_failed": ConnectionFailed,
    "connection_lost": ConnectionLost,
    "protocol_violation": ProtocolViolation,
    "client_closed": ClientClosed,
}

_CLASSES: dict[int, type[PosternError]] = {
    -32700: RequestError,
    -32600: RequestError,
    -32601: RequestError,
    -32602: RequestError,
    -32007: RequestError,
    -32010: RequestError,
    -32025: RequestError,
    -32603: InternalError,
    -32800: Cancelled,
    -32022: DeadlineExceeded,
    -32009: Unavailable,
    -32021: Unavailable,
    -32024: Unavailable,
    -32020: Forbidden,
    -32023: ConfigurationInvalid,
    1001: LoginRequired,
    1002: LoginRequired,
    1017: AdviceRequired,
    1018: AdviceFailed,
    1019: InteractionRequired,
    5001: LoginRequired,
    5002: LoginRequired,
    5007: AuthorizationPending,
    6001: PassRejected,
    6002: PassUnreachable,
    6003: PassNotConfigured,
}
#: Codes that can mean that the client could not authenticate itself.
_OF_THE_TOKEN_ENDPOINT = frozenset({1003, 5003})
_FAMILIES: dict[int, type[PosternError]] = {
    1: FetchError,
    2: ValidationUndecided,
    3: AuthenticationError,
    5: SessionError,
    6: PassError,
}


def error_class(code: int, data: Mapping[str, Any] | None = None) -> type[PosternError]:
    """The class for a code: its own, otherwise its family's."""
    if code in _OF_THE_TOKEN_ENDPOINT and _oauth_error(data or {}) == "invalid_client":
        return ClientAuthenticationError
    return _CLASSES.get(code) or _FAMILIES.get(code // 1000, PosternError)


def _oauth_error(data: Mapping[str, Any]) -> Any:
    return data.get("error") or (members(data.get("upstream")) or {}).get("code")


def from_answer(error: Any) -> PosternError:
    """The exception of an `error` member."""
    found = members(error) or {}
    code, message = found.get("code"), found.get("message")
    if not isinstance(code, int):
        return ProtocolViolation("an error of another shape", data={"outcome": "unknown"})
    data = members(found.get("data"))
    return error_class(code, data)(message if isinstance(message, str) else "", code, data)
