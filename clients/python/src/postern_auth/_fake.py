"""The sidecar's part of a fake client: what it was told to answer, its sessions, and the calls that came."""

from __future__ import annotations

import base64
import functools
import json
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Generic, TypeVar, Union
from urllib.parse import parse_qs, urlencode, urlsplit

from . import delegates
from ._bodies import AsyncBody
from ._framing import encoded
from ._names import METHODS, PARAMETERS
from ._schema import document, methods, params_violation, result_violation
from ._wire import as_object, body_members, present, wire
from .errors import OWN_CLASSES, ClientReason, PosternError, error_class
from .reasons import MEANINGS, REASONS, Reason
from .types import Advice, FetchResult, Session

_Result = TypeVar("_Result")
_Own = TypeVar("_Own", bound="Expectation[Any]")
#: What is shown of a call that nothing was set up for; the rest may be secret.
_SHOWN = frozenset({"resource", "method", "issuer", "provider", "task", "audience", "events", "auth", "label"})
#: Reasons that pass, so that the same call may succeed later.
_PASSING = frozenset({
    "overloaded", "shutting_down", "deadline_exceeded", "network_unreachable", "server_unreachable",
    "jwks_fetch_failed", "discovery_failed", "access_manager_unreachable", "token_endpoint_unreachable",
    "authorization_pending", "store_unavailable", "audit_unavailable", "pass_unreachable", "connection_failed",
})  # fmt: skip
_FIVE_MINUTES = timedelta(minutes=5)


class UnexpectedCall(AssertionError):
    """The program made a call that no answer was set up for. The message shows how to set one up."""

    __module__ = "postern_auth.testing"


class InvalidAnswer(AssertionError):
    """The test set up an answer that the sidecar never gives. The message shows what is wrong with it."""

    __module__ = "postern_auth.testing"


@dataclass
class RecordedCall:
    """A call that the program under test made."""

    #: The method's name in the protocol: `fetchResource`.
    method: str
    #: The params as they would go to the sidecar, by the names of the protocol.
    params: dict[str, Any] = field(repr=False)
    #: Seconds that the call may take; None: no limit.
    timeout: float | None = None
    #: The error that the call ended with.
    error: BaseException | None = None

    @property
    def body(self) -> bytes:
        """The body of the request, for calls of `fetch_resource` and `stream_resource`."""
        return _body_of(self.params) or b""

    def json(self) -> Any:
        """The body of the request as JSON."""
        return json.loads(self.body)

    @property
    def query(self) -> dict[str, list[str]]:
        """The query of the request's path: name to values."""
        return parse_qs(urlsplit(str(self.params.get("path") or "")).query, keep_blank_values=True)

    def header(self, name: str) -> str | None:
        """The value of a header of the request, in any case; None: the request does not have it."""
        values = _headers(self.params.get("headers") or {}).get(name.lower())
        return None if values is None else ", ".join(values)


#: What computes an answer: a result, or an exception to be raised.
Answer = Callable[[RecordedCall], Union[_Result, Mapping[str, Any], PosternError]]


@dataclass(frozen=True)
class _StepUp:
    """The fetch needs the user first."""

    advices: list[dict[str, Any]]
    callbacks: list[dict[str, Any]]


@dataclass(frozen=True)
class _Value:
    value: Any


@dataclass(frozen=True)
class _Failure:
    reason: str
    message: str | None
    data: dict[str, Any]


@dataclass(frozen=True)
class _Login:
    subject: str


@dataclass
class _Journey:
    """A step-up under way."""

    expectation: Expectation[Any]
    call: RecordedCall
    asked: _StepUp
    session: str | None
    #: Whether the user has done what was asked.
    is_done: bool = False
    #: Whether a delegate waits for it, and not a continuation of the fetch.
    is_delegated: bool = False


@dataclass
class Asked:
    """The answer depends on the delegate `on_policy_advice_received`."""

    core: Core
    journey: _Journey
    continuation: str
    advices: list[dict[str, Any]]

    @property
    def request(self) -> delegates.AdviceReceived:
        """What the delegate gets."""
        advices = [Advice.from_json(advice) for advice in self.advices]
        task = str(self.journey.call.params.get("task") or "fake-task")
        return delegates.AdviceReceived(task, self.journey.session or "", advices, self.continuation)

    def decided(self, satisfied: bool | None) -> Any:
        """The answer, or what to ask next. None: the delegate failed."""
        if satisfied is None:
            self.journey.is_delegated = False
            raise self.core.advice_required(self.journey, self.continuation, self.advices)
        self.core.journeys.pop(self.continuation, None)
        if not satisfied:
            data = {"advice": self.advices[0], "advices": self.advices, "outcome": "replied"}
            raise self.core.failure("fetchResource", "advice_failed", None, data)
        return self.journey.expectation.answer(self.journey.call)


class Expectation(Generic[_Result]):
    """Answers for some calls. Each answer is given once, in order, and the last one to all calls that follow.

    Of several expectations that describe a call, the one that was set up last answers it.
    """

    def __init__(self, core: Core, method: str, params: dict[str, Any]) -> None:
        self._core = core
        self._method = method
        self._params = params
        self._answers: list[Any] = []
        self._given = 0
        #: The calls that it has answered.
        self.calls: list[RecordedCall] = []

    def returns(self: _Own, *results: _Result | Mapping[str, Any]) -> _Own:
        """Answers with these results, one after the other.

        :param results: Typed results, or mappings with the members of the protocol.
        :raises InvalidAnswer: The sidecar never returns such a result.
        """
        self._answers += [_Value(self._checked(result)) for result in results]
        return self

    def fails(
        self: _Own,
        reason: Reason | ClientReason,
        message: str | None = None,
        *,
        retryable: bool | None = None,
        retry_after: float | None = None,
        outcome: str | None = None,
        path: str | None = None,
        detail: str | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> _Own:
        """Answers with the error of that reason.

        :param message: For people; default: the meaning of the reason.
        :param retryable: Whether the call may succeed later; default: as usual for the reason.
        :param retry_after: Seconds to wait before that.
        :param outcome: `not_sent`, `sent_no_reply`, `replied` or `unknown`.
        :param path: JSON Pointer of an invalid parameter.
        :param detail: The symbol of the exact cause.
        :param data: More members of the error's data, by the names of the protocol.
        :raises InvalidAnswer: The method never fails for that reason.
        """
        members = present({
            "retryable": retryable,
            "retryAfterMs": None if retry_after is None else int(retry_after * 1000),
            "outcome": outcome,
            "path": path,
            "detail": detail,
            **(data or {}),
        })  # fmt: skip
        self._core.failure(self._method, reason, message, members)  # now, so that the test's line is in the traceback
        self._answers.append(_Failure(reason, message, members))
        return self

    def answers(self: _Own, answer: Answer[_Result]) -> _Own:
        """Answers with what a function returns for the call: a result, or an exception to be raised."""
        self._answers.append(answer)
        return self

    def logs_in(self: _Own, subject: str) -> _Own:
        """Answers with a new session of that user, for methods that return a `Session`."""
        self._answers.append(_Login(subject))
        return self

    def assert_called(self, times: int | None = None) -> None:
        """Fails unless the program made such calls.

        :param times: How many; default: at least one.
        """
        count = len(self.calls)
        if count == 0 if times is None else count != times:
            wanted = "at least once" if times is None else f"{times} times"
            raise AssertionError(f"{self} was called {count} times, not {wanted}")

    # Used by the fake

    def describes(self, method: str, params: Mapping[str, Any]) -> bool:
        """Whether it is about that call."""
        return method == self._method and _describes(self._params, params)

    @property
    def names_session(self) -> bool:
        """Whether it is for one session, so that it is its test that says what becomes of that."""
        return "session" in self._params

    @property
    def names_continuation(self) -> bool:
        """Whether it is for the continuation of one fetch."""
        return "continuation" in self._params

    @property
    def has_answers(self) -> bool:
        """Whether the test has set one up."""
        return bool(self._answers)

    def answer(self, call: RecordedCall) -> Any:
        """The next answer."""
        with self._core.lock:
            chosen = self._answers[min(self._given, len(self._answers) - 1)]
            self._given += 1
        if isinstance(chosen, _Value):
            return self._core.fitted(call, chosen.value)
        if isinstance(chosen, _StepUp):
            return self._core.step_up(self, call, chosen)
        if isinstance(chosen, _Failure):
            raise self._core.failure(self._method, chosen.reason, chosen.message, chosen.data)
        if isinstance(chosen, _Login):
            return self._core.new_session(chosen.subject, str(call.params.get("issuer") or "fake"))
        found = chosen(call)
        if isinstance(found, BaseException):
            raise found
        return self._core.fitted(call, self._checked(found))

    def _checked(self, result: Any) -> Any:
        value = json.loads(json.dumps(wire(result)))
        fault = result_violation(self._method, value)
        if fault is not None:
            where = fault.path or "it"
            raise InvalidAnswer(f"the sidecar never returns this from {METHODS[self._method]}: {where} {fault.message}")
        return value

    def __repr__(self) -> str:
        return _shown(self._method, self._params)


class FetchExpectation(Expectation[FetchResult]):
    """Answers for fetches, as a whole or as streams."""

    def requires_step_up(
        self,
        *advices: Advice | Mapping[str, Any],
        callbacks: Any = (),
    ) -> FetchExpectation:
        """Answers with `advice_required`; when the user has done what is asked, the next answer follows.

        `authenticate_with_advice(continuation=…)` of the fake ends the step-up, and `fetch_resource(continuation=…)`
        gets the next answer. A delegate `on_policy_advice_received` is called instead, as by the sidecar.

        :param advices: What the user has to do; default: one advice.
        :param callbacks: Questions that `authenticate_with_advice` asks before it is completed.
        """
        asked = [as_object(wire(advice)) for advice in advices]
        default = {"type": "AuthenticateToServiceConditionAdvice", "value": "fake"}
        self._answers.append(_StepUp(asked or [default], [dict(callback) for callback in callbacks]))
        return self


class Core:
    """What both fakes have in common.

    :param has_delegate: Whether the program has registered a delegate for policy advice.
    """

    def __init__(self, has_delegate: Callable[[], bool]) -> None:
        self.lock = threading.RLock()
        self.calls: list[RecordedCall] = []
        self.unexpected: list[UnexpectedCall] = []
        self.expectations: list[Expectation[Any]] = []
        #: By handle, as the protocol has them.
        self.sessions: dict[str, dict[str, Any]] = {}
        #: The handles of those whose issuer returns no more tokens.
        self.expired: set[str] = set()
        #: Resources that need a user.
        self.protected: set[str] = set()
        #: Who logs in next.
        self.subject: str | None = None
        #: By the continuations of their fetches.
        self.journeys: dict[str, _Journey] = {}
        #: By the continuation of a step, that of its fetch.
        self._steps: dict[str, str] = {}
        #: Logins under way: the state, or the handle of a device's login, and the issuer.
        self._logins: dict[str, str] = {}
        self._subscribed: set[str] = set()
        self._has_delegate = has_delegate

    # Setting up

    def expect(self, method: str, params: dict[str, Any], decode: Callable[[Any], _Result]) -> Expectation[_Result]:
        """Answers of a method. `decode` tells the type."""
        del decode
        return self._added(Expectation[_Result](self, method, json.loads(json.dumps(params))))

    def expect_fetch(self, params: dict[str, Any]) -> FetchExpectation:
        """Answers of fetches."""
        return self._added(FetchExpectation(self, "fetchResource", json.loads(json.dumps(params))))

    def _added(self, expectation: _Own) -> _Own:
        with self.lock:
            self.expectations.append(expectation)
        return expectation

    def new_session(self, subject: str, issuer: str, session: str | None = None) -> dict[str, Any]:
        """A session of that user, in which it is logged in."""
        made = Session.of(subject, issuer=issuer, session=session or secrets.token_urlsafe(32)).to_json()
        with self.lock:
            self.sessions[made["session"]] = made
        return made

    # Answering

    def answer(self, method: str, params: Mapping[str, Any], timeout: float | None) -> Any:
        """The result of a call, or `Asked`."""
        __tracebackhide__ = True  # pytest shows the program's line
        # As the other side of a socket would get them.
        call = RecordedCall(method, json.loads(encoded(params)), timeout)
        with self.lock:
            self.calls.append(call)
        try:
            return self._answer(call)
        except BaseException as error:
            call.error = error
            raise

    def _answer(self, call: RecordedCall) -> Any:
        __tracebackhide__ = True
        method, params = call.method, call.params
        if method not in methods():
            raise self.failure(method, "method_not_found", f"no method {method}", {})
        fault = params_violation(method, params)
        if fault is not None:
            data = {"path": fault.path}
            raise self.failure(method, "invalid_params", f"{fault.path} {fault.message}", data)
        described = [one for one in reversed(self.expectations) if one.describes(method, params)]
        expectation = next((one for one in described if one.has_answers), None)
        if expectation is None or not expectation.names_session:
            self._check_session(call)
        is_continued = method == "fetchResource" and "continuation" in params
        if is_continued and (expectation is None or not expectation.names_continuation):
            return self._continued(call)
        if expectation is not None:
            expectation.calls.append(call)
            return expectation.answer(call)
        own = _OWN_ANSWERS.get(method)
        with self.lock:
            found_here = None if own is None else own(self, params)
        if found_here is None:
            raise self._unexpected(call, described)
        return found_here

    def _unexpected(self, call: RecordedCall, described: list[Expectation[Any]]) -> UnexpectedCall:
        how = f"fake.when.{_shown(call.method, call.params, to_copy=True)}.returns(…)"
        if call.method in _LOGINS:
            how += ', or let a user log in: fake.log_in_as("alice")'
        known = [str(one) for one in self.expectations if one._method == call.method]  # pyright: ignore[reportPrivateUsage]
        there = f"; set up for this method: {', '.join(known)}" if known else ""
        if described:
            there = f"; {described[0]} is set up without an answer"
        error = UnexpectedCall(f"no answer is set up for {_shown(call.method, call.params)}{there}. Set one up: {how}")
        with self.lock:
            self.unexpected.append(error)
        return error

    def failure(self, method: str, reason: str, message: str | None, data: Mapping[str, Any]) -> PosternError:
        """The error of a reason as that method has it."""
        passing = {"retryable": reason in _PASSING, **data}
        own = OWN_CLASSES.get(reason)
        if own is not None:
            return own(message or "set up by the test", data={"outcome": "unknown", **passing})
        errors = methods()[method].get("errors", ()) if method in methods() else ()
        code = next((error["code"] for error in errors if error["data"]["reason"] == reason), None)
        if code is None:
            code = _of_any_method().get(reason)
        if code is None:
            possible = sorted({error["data"]["reason"] for error in errors})
            raise InvalidAnswer(
                f"{METHODS.get(method, method)} never fails with {reason!r}, but with: {', '.join(possible)}"
            )
        whole = {"reason": reason, **passing}
        return error_class(code, whole)(message or MEANINGS[code], code, whole)

    @staticmethod
    def fitted(call: RecordedCall, value: Any) -> Any:
        """The result of that call: its task is the caller's."""
        task = call.params.get("task")
        return {**value, "task": task} if call.method == "fetchResource" and task else value

    # Sessions

    def _check_session(self, call: RecordedCall) -> None:
        params = call.params
        if call.method not in _WITH_SESSION:
            return
        handle = params.get("session")
        if not handle:
            auth = params.get("auth") or ("user" if params.get("resource") in self.protected else None)
            is_for_user = call.method in ("fetchResource", "getAccessToken") and auth == "user"
            if is_for_user and "continuation" not in params:
                raise self._nobody("no session was named", "session_missing")
            return
        if handle == "only":
            if len(self.sessions) != 1:
                raise self._nobody("there is not exactly one session", None)
            params["session"] = next(iter(self.sessions))
        elif handle not in self.sessions:
            raise self.failure(call.method, "session_not_found", None, {})
        if params["session"] in self.expired and call.method == "fetchResource":
            raise self._nobody("the session has ended", None)
        if params["session"] in self.expired and call.method in ("getAccessToken", "refreshSession"):
            raise self.failure(call.method, "session_expired", None, {})

    def _nobody(self, message: str, detail: str | None) -> PosternError:
        data = present({"outcome": "not_sent", "detail": detail})
        return self.failure("fetchResource", "not_authenticated", message, data)

    def _list_sessions(self, params: Mapping[str, Any]) -> Any:
        first, size = int(params.get("cursor") or 0), int(params.get("limit") or 100)
        found = list(self.sessions.values())
        page: dict[str, Any] = {"sessions": found[first : first + size]}
        if len(found) > first + size:
            page["nextCursor"] = str(first + size)
        return page

    def _session(self, params: Mapping[str, Any]) -> Any:
        return self.sessions[params["session"]]

    def _end_session(self, params: Mapping[str, Any]) -> Any:
        del self.sessions[params["session"]]
        return {"ended": True, "upstream": "none"}

    # Logins

    def _create_session(self, params: Mapping[str, Any]) -> Any:
        return None if self.subject is None else self.new_session(self.subject, params["issuer"])

    def _begin(self, params: Mapping[str, Any]) -> Any:
        if self.subject is None:
            return None
        state = secrets.token_urlsafe(32)
        self._logins[state] = params["issuer"]
        callback = params.get("redirectUri") or "http://localhost/callback"
        query = urlencode({"state": state, "redirect_uri": callback})
        return {
            "authorizationUrl": f"https://issuer.invalid/authorize?{query}",
            "state": state,
            "cookie": f"postern-login={state}; Path=/; Max-Age=600; HttpOnly; SameSite=Lax",
            "expiresAt": _soon(),
            **({} if params.get("redirectUri") else {"redirectUri": callback}),
        }

    def callback_url(self, authorization_url: str) -> str:
        """The redirect URI of a login that has begun, with its state and a code."""
        query = parse_qs(urlsplit(authorization_url).query)
        state = query.get("state", [""])[0]
        if state not in self._logins:
            raise ValueError("callback_url needs the authorization_url of a login that has begun, and is not over")
        [callback] = query["redirect_uri"]
        return f"{callback}?{urlencode({'code': secrets.token_urlsafe(8), 'state': state})}"

    def _complete(self, params: Mapping[str, Any]) -> Any:
        returned = parse_qs(urlsplit(str(params["callbackUrl"])).query).get("state", [""])[0]
        if returned not in self._logins:
            if self.subject is None:
                return None
            raise self.failure("completeAuthorization", "state_unknown", None, {})
        if params.get("state") != returned:
            data = {"detail": "state_mismatch"}
            raise self.failure("completeAuthorization", "authorization_failed", None, data)
        self.sessions.pop(str(params.get("replaces")), None)
        return self.new_session(self.subject or "user", self._logins.pop(returned))

    def _begin_device(self, params: Mapping[str, Any]) -> Any:
        if self.subject is None:
            return None
        handle = secrets.token_urlsafe(32)
        self._logins[handle] = params["issuer"]
        return {
            "handle": handle,
            "userCode": "FAKE-CODE",
            "verificationUri": "https://issuer.invalid/device",
            "expiresAt": _soon(),
            "intervalMs": 1,
        }

    def _complete_device(self, params: Mapping[str, Any]) -> Any:
        issuer = self._logins.pop(str(params.get("handle")), None)
        return None if issuer is None else self.new_session(self.subject or "user", issuer)

    # Step-up

    def step_up(self, expectation: Expectation[Any], call: RecordedCall, asked: _StepUp) -> Any:
        """Suspends a fetch: asks the delegate if there is one, else raises `AdviceRequired`."""
        continuation = secrets.token_urlsafe(32)
        journey = _Journey(expectation, call, asked, call.params.get("session"))
        with self.lock:
            self.journeys[continuation] = journey
        if self._has_delegate():
            journey.is_delegated = True
            return Asked(self, journey, continuation, asked.advices)
        raise self.advice_required(journey, continuation, asked.advices)

    def advice_required(self, journey: _Journey, continuation: str, advices: list[dict[str, Any]]) -> PosternError:
        """The error of a suspended fetch."""
        data = {
            "advice": advices[0],
            "advices": advices,
            "continuation": continuation,
            "expiresAt": _soon(),
            "outcome": "replied",
        }
        return self.failure(journey.call.method, "advice_required", None, data)

    def _continued(self, call: RecordedCall) -> Any:
        with self.lock:
            journey = self.journeys.pop(str(call.params["continuation"]), None)
        if journey is None:
            raise self.failure(call.method, "continuation_unknown", None, {"path": "/continuation"})
        if journey.is_done:
            return journey.expectation.answer(call)
        return self.step_up(journey.expectation, journey.call, journey.asked)

    def _authenticate_with_advice(self, params: Mapping[str, Any]) -> Any:
        if "continuation" not in params:
            return None
        continuation = str(params["continuation"])
        fetch = self._steps.pop(continuation, continuation)
        journey = self.journeys.get(fetch)
        if journey is None:
            raise self.failure("authenticateWithAdvice", "continuation_unknown", None, {"path": "/continuation"})
        is_answered = bool(params.get("callbacks") or params.get("answers"))
        if journey.asked.callbacks and not is_answered:
            following = secrets.token_urlsafe(32)
            self._steps[following] = fetch
            step = {"state": "callbacks", "continuation": following, "callbacks": journey.asked.callbacks}
            return {**step, "expiresAt": _soon()}
        journey.is_done = True
        done = {"state": "completed", "sessionUpgraded": True, "session": journey.session}
        return present({**done, "continuation": None if journey.is_delegated else fetch})

    # The connection

    def _subscribe(self, params: Mapping[str, Any]) -> Any:
        self._subscribed |= set(params["events"])
        return {"subscribed": sorted(self._subscribed)}

    def _unsubscribe(self, params: Mapping[str, Any]) -> Any:
        self._subscribed -= set(params["events"])
        return {"subscribed": sorted(self._subscribed)}


#: What a fake answers without having been told.
_OWN_ANSWERS: dict[str, Callable[[Core, Mapping[str, Any]], Any]] = {
    "rpc.discover": lambda core, params: document(),
    "health": lambda core, params: {"status": "ok", "checks": {}},
    "narrow": lambda core, params: {},
    "listTasks": lambda core, params: {"tasks": []},
    "registerDelegate": lambda core, params: {"registered": params["methods"]},
    "subscribe": Core._subscribe,  # pyright: ignore[reportPrivateUsage]
    "unsubscribe": Core._unsubscribe,  # pyright: ignore[reportPrivateUsage]
    "listSessions": Core._list_sessions,  # pyright: ignore[reportPrivateUsage]
    "getSession": Core._session,  # pyright: ignore[reportPrivateUsage]
    "refreshSession": Core._session,  # pyright: ignore[reportPrivateUsage]
    "endSession": Core._end_session,  # pyright: ignore[reportPrivateUsage]
    "createSession": Core._create_session,  # pyright: ignore[reportPrivateUsage]
    "beginAuthorization": Core._begin,  # pyright: ignore[reportPrivateUsage]
    "completeAuthorization": Core._complete,  # pyright: ignore[reportPrivateUsage]
    "beginDeviceAuthorization": Core._begin_device,  # pyright: ignore[reportPrivateUsage]
    "completeDeviceAuthorization": Core._complete_device,  # pyright: ignore[reportPrivateUsage]
    "authenticateWithAdvice": Core._authenticate_with_advice,  # pyright: ignore[reportPrivateUsage]
}
_LOGINS = frozenset({
    "createSession", "beginAuthorization", "completeAuthorization", "beginDeviceAuthorization",
    "completeDeviceAuthorization",
})  # fmt: skip
#: Methods that act for the user of a session.
_WITH_SESSION = frozenset({
    "fetchResource", "getAccessToken", "getSession", "refreshSession", "endSession",
})  # fmt: skip


@functools.cache
def _of_any_method() -> dict[str, int]:
    """The codes of the envelope's errors, which any call may meet, so that no method lists them."""
    listed = {error["code"] for method in methods().values() for error in method.get("errors", ())}
    return {reason: code for code, reason in REASONS.items() if code not in listed}


def with_body(members: dict[str, Any], body: AsyncBody | None) -> dict[str, Any]:
    """The params of fetches with that body."""
    if body is not None and not isinstance(body, (str, bytes)):
        raise TypeError("describe a body by text or bytes, or by `json`")
    return present({**members, **body_members(body)})


def _describes(wanted: Mapping[str, Any], params: Mapping[str, Any]) -> bool:
    for name, value in wanted.items():
        own = params.get(name)
        if name in ("body", "bodyBase64"):
            if not _same_body(_body_of(wanted) or b"", _body_of(params)):
                return False
        elif name == "path":
            text = str(own or "")
            if value not in (text, text.partition("?")[0]):
                return False
        elif name == "headers":
            there = _headers(own or {})
            if any(there.get(header) != values for header, values in _headers(value).items()):
                return False
        elif name == "method":
            if str(own or "GET").upper() != str(value).upper():
                return False
        elif own != value:
            return False
    return True


def _headers(given: Mapping[str, Any]) -> dict[str, list[str]]:
    lowered: dict[str, list[str]] = {}
    for name, values in given.items():
        lowered.setdefault(name.lower(), []).extend([values] if isinstance(values, str) else values)
    return lowered


def _body_of(params: Mapping[str, Any]) -> bytes | None:
    if "bodyBase64" in params:
        return base64.b64decode(params["bodyBase64"])
    if "body" in params:
        return str(params["body"]).encode()
    return json.dumps(params["parameters"]).encode() if "parameters" in params else None


def _same_body(wanted: bytes, own: bytes | None) -> bool:
    if own is None or wanted == own:
        return own is not None
    try:
        return bool(json.loads(wanted) == json.loads(own))
    except ValueError:
        return False


def _shown(method: str, params: Mapping[str, Any], *, to_copy: bool = False) -> str:
    """A call as Python, without what may be secret."""
    texts: list[str] = []
    for name, value in params.items():
        if name in ("meta", "stream", "streamHead", "timeoutMs") or (to_copy and name not in (*_SHOWN, "path")):
            continue
        shown = repr(str(value).partition("?")[0] if name == "path" else value)
        shown = shown if name in _SHOWN or name == "path" else "…"
        texts.append(f"{PARAMETERS.get(name, name)}={shown}")
    return f"{METHODS.get(method, method)}({', '.join(texts)})"


def _soon() -> str:
    text: str = wire(datetime.now(timezone.utc) + _FIVE_MINUTES)
    return text
