"""No session is ever guessed: method by way of naming a session, for two users of one sidecar."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest

from harness import expect
from harness.connection import Connection
from harness.endpoints import Endpoint, Maker
from harness.gateway import Upstream, ask
from harness.issuer import IssuerDouble
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, acting_as, connect_as, needs_root, open_to_all

Start = Callable[..., Sidecar]

#: What a call names, and the number of live sessions that the caller has.
Case = Tuple[str, int]
CASES: List[Case] = [
    ("left out", 1), ("null", 1), ("empty", 1), ("left out", 0), ("left out", 2), ("own", 1), ("own", 2),
    ("foreign", 1), ("foreign", 0), ("ended", 1), ("unknown", 1), ("only", 0), ("only", 1), ("only", 2),
]
METHODS = [
    "fetchResource", "fetchResource implicit", "getAccessToken", "getAccessToken of an issuer", "preauthorize",
    "authenticateWithAdvice", "gateway", "explainCall", "endpoint", "endpoint over HTTP", "createEndpoint",
]


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    made = Upstream()
    yield made
    made.stop()


@pytest.fixture
def sidecar(start: Start, directory: Path, upstream: Upstream, issuer: IssuerDouble) -> Sidecar:
    configuration: Dict[str, Any] = {
        **BOTH,
        "gateway": {"listen": {"path": str(directory / "http.sock"), "mode": "0666"}},
        "tokens": {"leaveTheSidecar": True},
        "issuers": {"corp": issuer.settings(implicit={"grant": "token_exchange"})},
        "resources": {
            "mine": {"baseUrl": upstream.base + "/v1/", "issuer": "corp", "auth": "user"},
            "quiet": {"baseUrl": upstream.base + "/v1/", "issuer": "corp", "auth": "implicit"},
            "news": {"baseUrl": upstream.base + "/v1/", "issuer": "corp", "auth": "user",
                     "tokens": {"whenNoSession": "send_without_token"}},
        },
        "preauthorization": {"point": {"kind": "authzen", "baseUrl": upstream.base + "/v1", "issuer": "corp"}},
    }
    made = start(configuration)
    open_to_all(directory)
    open_to_all(made.directory)
    return made


def log_in(connection: Connection, token: str) -> str:
    grant = {"type": "tokens", "accessToken": token, "expiresIn": 3600}
    session: str = connection.call("createSession", {"issuer": "corp", "grant": grant})["session"]
    return session


class Table:
    """Bob has one session. Alice, who calls, has as many as the case says."""

    def __init__(self, sidecar: Sidecar, directory: Path, upstream: Upstream, case: Case) -> None:
        self.sidecar, self.upstream = sidecar, upstream
        self.http = str(directory / "http.sock")
        naming, count = case
        self.alice, self.bob = connect_as(ALICE, sidecar), connect_as(BOB, sidecar)
        foreign = log_in(self.bob, "token-of-bob")
        ended = log_in(self.alice, "token-of-the-ended")
        self.alice.call("endSession", {"session": ended})
        self.own = [log_in(self.alice, f"token-of-alice-{number}") for number in range(count)]
        self.named: Dict[str, Any] = {
            "left out": {}, "null": {"session": None}, "empty": {"session": ""}, "foreign": {"session": foreign},
            "ended": {"session": ended}, "unknown": {"session": "x" * 43}, "only": {"session": "only"},
            "own": {"session": self.own[-1] if self.own else None},
        }[naming]
        #: The one answer that is right, if any: the token of the session that is named.
        self.token = {"own": f"token-of-alice-{count - 1}", "only": "token-of-alice-0" if count == 1 else None}.get(naming)
        self.fault: Tuple[int, Optional[str]] = {
            "foreign": (5001, None), "ended": (5001, None), "unknown": (5001, None),
            "only": (-32602, None) if count == 2 else (1001, "session_missing"),
        }.get(naming, (1001, "session_missing"))

    def close(self) -> None:
        self.alice.close()
        self.bob.close()

    def call(self, connection: Connection, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        """The result, or the error as `error`."""
        connection.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, **self.named}})
        answer = connection.answer_to(1)
        return answer["result"] if "result" in answer else {"error": answer["error"]}

    def check(self, answer: Dict[str, Any], token: Callable[[Dict[str, Any]], Any]) -> None:
        """The caller gets the answer of the session that it names, or the error of the case, and nothing is sent."""
        if self.token is not None:
            assert "error" not in answer, answer
            assert token(answer) == self.token
            return
        code, detail = self.fault
        error = answer["error"]
        assert error["code"] == code, error
        if detail is not None:
            assert error["data"]["detail"] == detail and error["data"]["outcome"] == "not_sent"
            assert error["data"]["retryable"] is False
        if code == -32602:
            assert error["data"]["path"] == "/session" and "2 sessions" in error["message"]
        assert not self.upstream.seen, "nothing may be sent"


def sent_token(answer: Dict[str, Any]) -> Optional[str]:
    body = answer["body"]
    shown = body if isinstance(body, dict) else json.loads(body)
    value = {name.lower(): text for name, text in dict(shown["headers"]).items()}.get("authorization")
    return value.removeprefix("Bearer ") if value else None


@needs_root
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} of {case[1]}")
def test_each_call_is_of_the_session_that_it_names_or_of_nobody(
    sidecar: Sidecar, directory: Path, upstream: Upstream, case: Case, method: str
) -> None:
    table = Table(sidecar, directory, upstream, case)
    try:
        _carry_out(table, method, case)
    finally:
        table.close()


def _carry_out(table: Table, method: str, case: Case) -> None:
    alice = table.alice
    if method == "fetchResource":
        table.check(table.call(alice, "fetchResource", {"resource": "mine", "path": "echo"}), sent_token)
    elif method == "fetchResource implicit":
        # Alice has no session of that kind: whatever she names, nobody's token is sent.
        answer = table.call(alice, "fetchResource", {"resource": "quiet", "path": "echo"})
        code = answer["error"]["code"]
        assert code in ((1001, 1002) if table.named.get("session") in (None, "", "only", *table.own) else (5001,))
        assert not table.upstream.seen
    elif method == "getAccessToken":
        table.check(table.call(alice, "getAccessToken", {"resource": "mine"}), lambda answer: answer["accessToken"])
    elif method == "getAccessToken of an issuer":
        table.check(
            table.call(alice, "getAccessToken", {"issuer": "corp", "auth": "user"}), lambda answer: answer["accessToken"])
    elif method == "preauthorize":
        # The sessions have no subject: what is right comes as far as that.
        answer = table.call(alice, "preauthorize", {"resources": ["r"]})
        if table.fault[0] == -32602 and table.token is None:
            expect.fault(answer["error"], -32602, "/session")
        else:
            assert answer["outcome"] == "failure" and answer["status"]["code"] == "authentication_session_missing"
            is_named = table.token is not None
            assert (answer["status"].get("details") == "the session has no subject") == is_named
        assert not table.upstream.seen
    elif method == "authenticateWithAdvice":
        # The issuer has no access manager: what is right comes as far as that.
        answer = table.call(
            alice, "authenticateWithAdvice", {"advice": {"type": "TransactionConditionAdvice", "value": "t-1"}})
        if table.token is None:
            table.check(answer, lambda _: None)
        else:
            assert answer["error"]["code"] not in (1001, 5001, -32602), answer
    elif method == "explainCall":
        params = {"method": "fetchResource", "params": {"resource": "mine", "path": "echo", **table.named}}
        answer = alice.call("explainCall", params)
        assert answer["allowed"] == (table.token is not None)
        if table.token is None:
            step = [step for step in answer["steps"] if step["verdict"] == "rejects"][0]
            assert step["errorCode"] == table.fault[0]
    elif method == "gateway":
        _over_http(table, table.http)
    elif method in ("endpoint", "endpoint over HTTP"):
        endpoint = Endpoint(alice, resources=["mine"], http=True)
        with acting_as(ALICE):
            if method == "endpoint":
                with endpoint.connect() as child:
                    table.check(table.call(child, "fetchResource", {"resource": "mine", "path": "echo"}), sent_token)
            else:
                _over_http(table, endpoint.answer["http"]["path"])
    else:
        _bound_endpoint(table, case)


def _over_http(table: Table, path: str) -> None:
    session = table.named.get("session")
    headers = {} if session is None else {"Postern-Session": session}
    with acting_as(ALICE):
        answer = ask(path, "GET", "/mine/echo", headers=headers)
    if table.token is not None:
        assert answer.status == 200
        assert sent_token({"body": answer.json}) == table.token
        assert "postern-session" not in {name.lower() for name in dict(answer.json["headers"])}
        return
    code, detail = table.fault
    assert answer.json["code"] == code, answer.json
    assert not table.upstream.seen
    if detail is not None:
        assert answer.json["detail"].startswith(f"{detail}: ") and answer.json["outcome"] == "not_sent"
    if code in (1001, 5001):
        assert answer.status == 401


def _bound_endpoint(table: Table, case: Case) -> None:
    """The endpoint's calls name no session: they are of the one that its creator named."""
    table.alice.send({"jsonrpc": "2.0", "id": 1, "method": "createEndpoint", "params": {"resources": ["mine"], **table.named}})
    answer = table.alice.answer_to(1)
    naming, _ = case
    if table.token is None and naming not in ("left out", "null"):
        assert answer["error"]["code"] == table.fault[0]
        return
    other = log_in(table.alice, "token-of-a-later-login")
    with acting_as(ALICE), Connection(answer["result"]["path"], "stream", 10.0) as child:
        if table.token is None:
            error = child.error("fetchResource", {"resource": "mine", "path": "echo"})
            assert error["code"] == 1001 and error["data"]["detail"] == "session_missing"
            return
        assert sent_token(child.call("fetchResource", {"resource": "mine", "path": "echo"})) == table.token
        # It is bound to what `session` was then.
        expect.fault(child.error("fetchResource", {"resource": "mine", "path": "echo", "session": other}), 5001)
        grandchild = child.call("createEndpoint", {"resources": ["mine"]})
        with Connection(grandchild["path"], "stream", 10.0) as below:
            assert sent_token(below.call("fetchResource", {"resource": "mine", "path": "echo"})) == table.token
        table.alice.call("endSession", {"session": table.named["session"] if naming == "own" else table.own[0]})
        expect.fault(child.error("fetchResource", {"resource": "mine", "path": "echo"}), 5001)


@needs_root
def test_nobody_goes_without_a_token_where_the_resource_says_so_and_a_named_session_never_does(
    sidecar: Sidecar, directory: Path, upstream: Upstream
) -> None:
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        foreign, own = log_in(bob, "token-of-bob"), log_in(alice, "token-of-alice")
        for nobody in ({}, {"session": None}, {"session": ""}):
            answer = alice.call("fetchResource", {"resource": "news", "path": "echo", **nobody})
            assert answer["status"] == 200 and sent_token(answer) is None
        assert sent_token(alice.call("fetchResource", {"resource": "news", "path": "echo", "session": own})) == "token-of-alice"
        count = len(upstream.seen)
        alice.call("endSession", {"session": own})
        for session in (foreign, own, "x" * 43):
            expect.fault(alice.error("fetchResource", {"resource": "news", "path": "echo", "session": session}), 5001)
        assert len(upstream.seen) == count
        # The only session of a user who has none is nobody's.
        assert sent_token(alice.call("fetchResource", {"resource": "news", "path": "echo", "session": "only"})) is None
        with acting_as(ALICE):
            assert sent_token({"body": ask(str(directory / "http.sock"), "GET", "/news/echo").json}) is None


def test_an_endpoint_of_one_session_excludes_a_list_of_sessions(sidecar: Sidecar) -> None:
    with sidecar.connect() as connection:
        own = log_in(connection, "token")
        expect.fault(connection.error("createEndpoint", {"session": own, "sessions": [own]}), -32602, "/session")


@needs_root
def test_an_approval_is_for_the_session_that_was_shown(sidecar: Sidecar, upstream: Upstream) -> None:
    """Catches an agreement about a user's only session that is good for the one who logs in after them."""
    with connect_as(ALICE, sidecar) as asked, connect_as(ALICE, sidecar) as alice:
        maker = Maker(asked, ["always", "always", "once"])
        with maker.endpoint().connect() as child:
            def fetch(path: str = "a") -> Any:
                return child.answer_to(
                    child.request("fetchResource", {"resource": "mine", "path": path, "session": "only"}))

            assert fetch()["error"]["code"] == 1001 and maker.questions == [], "nobody is logged in, nobody is asked"
            first = log_in(alice, "token-of-the-first")
            assert sent_token(maker.while_answering(1, fetch)["result"]) == "token-of-the-first"
            assert sent_token(fetch()["result"]) == "token-of-the-first"
            alice.call("endSession", {"session": first})
            second = log_in(alice, "token-of-the-second")
            assert sent_token(maker.while_answering(1, fetch)["result"]) == "token-of-the-second"
            assert [question["session"] for question in maker.questions] == [first, second]

            def change_user() -> None:
                alice.call("endSession", {"session": second})
                log_in(alice, "token-of-the-third")

            count = len(upstream.seen)
            maker.before_answer = change_user
            assert maker.while_answering(1, lambda: fetch("b"))["error"]["code"] == 5001
            assert len(upstream.seen) == count


@needs_root
def test_what_was_agreed_to_for_nobody_is_nobodys(sidecar: Sidecar, upstream: Upstream) -> None:
    """Catches a fetch without a token that carries the one of a user who logged in while it was asked about."""
    with connect_as(ALICE, sidecar) as asked, connect_as(ALICE, sidecar) as alice:
        maker = Maker(asked, ["once"])
        maker.before_answer = lambda: log_in(alice, "token-of-the-next")
        with maker.endpoint().connect() as child:
            params = {"resource": "news", "path": "echo", "session": "only"}
            answer = maker.while_answering(1, lambda: child.answer_to(child.request("fetchResource", params)))
            assert "session" not in maker.questions[0] and sent_token(answer["result"]) is None


@needs_root
def test_what_is_to_be_approved_names_its_session(sidecar: Sidecar) -> None:
    """Catches an approval of the word `only`, which means another session after another login."""
    with connect_as(ALICE, sidecar) as asked, connect_as(ALICE, sidecar) as alice:
        maker = Maker(asked, ["once"])
        session = log_in(alice, "token-of-alice")
        with maker.endpoint().connect() as child:
            def token(session: str) -> Any:
                return child.answer_to(child.request("getAccessToken", {"resource": "mine", "session": session}))

            expect.fault(token("only")["error"], -32602, "/session")
            assert maker.questions == []
            assert maker.while_answering(1, lambda: token(session))["result"]["accessToken"] == "token-of-alice"


@needs_root
def test_a_session_that_is_named_is_never_left_out(start: Start, upstream: Upstream, issuer: IssuerDouble) -> None:
    """Catches a caller whose rule hides the session's issuer, and whose fetch goes out as nobody's."""
    rules = [{"uid": ALICE, "methods": ["*"], "issuers": ["other"]}, {"uid": 0, "methods": ["*"]}]
    sidecar = start({
        **BOTH, "peers": rules,
        "issuers": {"corp": issuer.settings(), "other": issuer.settings(clientId="other")},
        "resources": {"news": {"baseUrl": upstream.base + "/v1/", "issuer": "corp", "auth": "user",
                               "tokens": {"whenNoSession": "send_without_token"}}},
    })
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar) as alice:
        call = {"resource": "news", "path": "echo", "session": "x" * 43}
        expect.fault(alice.error("fetchResource", call), 5001)
        assert upstream.seen == []
        assert sent_token(alice.call("fetchResource", {"resource": "news", "path": "echo"})) is None
