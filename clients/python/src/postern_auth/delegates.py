"""Requests of the sidecar to its caller, and the results of delegates.

A delegate is a plain callable. It is called in a thread of its own by `Client`, and awaited, if it is a coroutine
function, by `AsyncClient`. One that raises, or takes longer than the sidecar waits, leaves the decision to the sidecar.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Callable, Literal, Optional, Union

from ._conveniences import FetchedBody
from ._headers import Headers
from ._wire import members, present, wire
from .types import Advice

__all__ = [
    "NAMES",
    "AdviceReceived",
    "AnsweredRequest",
    "CallToApprove",
    "RequestChange",
    "RequestToUpdate",
]


@dataclass(frozen=True)
class AdviceReceived:
    """`on_policy_advice_received`: the user has to do something before a fetch continues.

    Walk `client.authenticate_with_advice(continuation=...)` to its end, then return whether it was done. Without a
    session the user is not logged in: `client.authenticate_with_advice(issuer=..., advices=...)` is their login; return
    the handle of the session that it made.
    """

    task: str
    session: str | None = field(repr=False)
    advices: list[Advice]
    #: None: the fetch cannot be continued by another call.
    continuation: str | None = field(repr=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> AdviceReceived:
        """Reads it from the protocol's members."""
        advices = [Advice.from_json(advice) for advice in value["advices"]]
        return cls(value["task"], value["session"], advices, value.get("continuation"))


@dataclass(frozen=True)
class AnsweredRequest(FetchedBody):
    """`evaluate_token_refresh`, `evaluate_authorization_policy`: a resource's response."""

    task: str
    status: int
    headers: Headers = field(repr=False)
    body: str | None = field(default=None, repr=False)
    body_base64: str | None = field(default=None, repr=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> AnsweredRequest:
        """Reads it from the protocol's members."""
        headers = Headers.from_json(value["headers"])
        return cls(value["task"], value["status"], headers, value.get("body"), value.get("bodyBase64"))


@dataclass(frozen=True)
class RequestToUpdate:
    """`update_request`: a request that is retried after a transaction was confirmed."""

    task: str
    method: str
    url: str
    headers: Headers = field(repr=False)
    tx_id: str | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> RequestToUpdate:
        """Reads it from the protocol's members."""
        request = value["request"]
        headers = Headers.from_json(request.get("headers") or {})
        return cls(value["task"], request["method"], request["url"], headers, value.get("txId"))


@dataclass(frozen=True)
class RequestChange:
    """Changes of a request; None leaves a part unchanged."""

    url: str | None = None
    headers: Mapping[str, str | Sequence[str]] | None = None

    def to_json(self) -> dict[str, Any]:
        """The protocol's members."""
        return present({"url": self.url, "headers": self.headers})


@dataclass(frozen=True)
class CallToApprove:
    """`approve_call`: a call through an endpoint that was made with `approval="ask"`.

    Its texts come from the child: show them as text.
    """

    endpoint: str
    chain: list[str]
    method: str
    label: str | None = None
    resource: str | None = None
    http_method: str | None = None
    path: str | None = None
    """Path and query below the resource's base URL, as they will be sent."""
    session: str | None = field(default=None, repr=False)
    url: str | None = None
    """The whole URL that will be sent."""
    other_urls: Sequence[tuple[str, str]] = ()
    """The resources that header fields name, such as `Destination`: pairs of field and URL."""
    body_bytes: int | None = None
    """How many bytes the request's body has; None: it has none, or that is not known."""
    content_type: str | None = None
    parameters: Mapping[str, Any] | None = None
    """Parameters in the body, where they are short."""
    params: Mapping[str, Any] | None = None
    """Of methods other than `fetchResource`: the call's params, secrets masked."""

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> CallToApprove:
        """Reads it from the protocol's members."""
        body = members(value.get("body")) or {}
        return cls(
            endpoint=value["endpoint"],
            chain=list(value["chain"]),
            method=value["method"],
            label=value.get("label"),
            resource=value.get("resource"),
            http_method=value.get("httpMethod"),
            path=value.get("path"),
            session=value.get("session"),
            url=value.get("url"),
            other_urls=[(other["header"], other["url"]) for other in value.get("otherUrls") or ()],
            body_bytes=body.get("bytes"),
            content_type=body.get("contentType"),
            parameters=value.get("parameters"),
            params=value.get("params"),
        )


#: The answers of `approve_call`; everything else is "no".
Approval = Literal["once", "always", "no"]
OnAdvice = Callable[[AdviceReceived], Union[bool, str]]
EvaluatePolicy = Callable[[AnsweredRequest], Sequence[Union[Advice, Mapping[str, Any]]]]
UpdateRequest = Callable[[RequestToUpdate], Optional[RequestChange]]
EvaluateRefresh = Callable[[AnsweredRequest], bool]
AsyncOnAdvice = Callable[[AdviceReceived], Union[bool, str, Awaitable[Union[bool, str]]]]
AsyncEvaluatePolicy = Callable[
    [AnsweredRequest],
    Union[Sequence[Union[Advice, Mapping[str, Any]]], Awaitable[Sequence[Union[Advice, Mapping[str, Any]]]]],
]
AsyncUpdateRequest = Callable[[RequestToUpdate], Union[Optional[RequestChange], Awaitable[Optional[RequestChange]]]]
ApproveCall = Callable[[CallToApprove], Approval]
AsyncEvaluateRefresh = Callable[[AnsweredRequest], Union[bool, Awaitable[bool]]]

AsyncApproveCall = Callable[[CallToApprove], Union[Approval, Awaitable[Approval]]]


@dataclass(frozen=True)
class Form:
    """The params and the result of one kind of delegate."""

    read: Callable[[dict[str, Any]], Any]
    answer: Callable[[Any], dict[str, Any]]


ADVICE_RECEIVED = "delegate.onPolicyAdviceReceived"
EVALUATE_POLICY = "delegate.evaluateAuthorizationPolicy"
UPDATE_REQUEST = "delegate.updateRequest"
EVALUATE_REFRESH = "delegate.evaluateTokenRefresh"
APPROVE_CALL = "delegate.approveCall"

FORMS: dict[str, Form] = {
    ADVICE_RECEIVED: Form(
        AdviceReceived.from_json,
        lambda value: {"satisfied": True, "session": value} if isinstance(value, str) else {"satisfied": value is True},
    ),
    EVALUATE_POLICY: Form(AnsweredRequest.from_json, lambda value: {"advices": [wire(advice) for advice in value]}),
    UPDATE_REQUEST: Form(RequestToUpdate.from_json, lambda value: {} if value is None else wire(value)),
    EVALUATE_REFRESH: Form(AnsweredRequest.from_json, lambda value: {"refresh": value is True}),
    APPROVE_CALL: Form(
        CallToApprove.from_json, lambda value: {"answer": value if value in ("once", "always") else "no"}
    ),
}

#: The delegates' names in the protocol.
NAMES = frozenset(FORMS)


def chosen(
    on_policy_advice_received: Any,
    evaluate_authorization_policy: Any,
    update_request: Any,
    evaluate_token_refresh: Any,
    approve_call: Any,
) -> dict[str, Callable[[Any], Any]]:
    """The delegates that were passed, by their names in the protocol."""
    return present(
        {
            ADVICE_RECEIVED: on_policy_advice_received,
            EVALUATE_POLICY: evaluate_authorization_policy,
            UPDATE_REQUEST: update_request,
            EVALUATE_REFRESH: evaluate_token_refresh,
            APPROVE_CALL: approve_call,
        }
    )


def answered(identifier: Any, name: str, value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identifier, "result": FORMS[name].answer(value)}


def rejection(identifier: Any, code: int, message: str, reason: str) -> dict[str, Any]:
    """An error: the sidecar uses its default."""
    return {"jsonrpc": "2.0", "id": identifier, "error": {"code": code, "message": message, "data": {"reason": reason}}}
