"""Section 4.1 and 6: policy advice in `fetchResource`, against the playground's gateway."""
from __future__ import annotations

import json
import re
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import pytest

from harness import expect, journeys
from harness.connection import Connection
from harness.decisions import DecisionDouble
from harness.endpoints import Endpoint
from harness.journeys import SERVICE, TRANSACTION, filled, types
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually

Start = Callable[..., Sidecar]
RECEIVED = "delegate.onPolicyAdviceReceived"
EVALUATE = "delegate.evaluateAuthorizationPolicy"
UPDATE = "delegate.updateRequest"
PASSWORD = {"PasswordCallback": "alice-password", "ConfirmationCallback": "Yes"}


@pytest.fixture
def settings(playground: Playground, directory: Path) -> Dict[str, Any]:
    settings = journeys.settings(playground, directory)
    settings["resources"]["gate"] = {
        "baseUrl": playground.base + "/gateway/", "issuer": "am", "auth": "user", "scope": "orders"}
    return settings


@pytest.fixture
def sidecar(start: Start, settings: Dict[str, Any]) -> Sidecar:
    return start(settings)


@pytest.fixture
def session(connection: Connection, playground: Playground) -> str:
    return journeys.session(connection, playground)


def gate(session: str, path: str, **more: Any) -> Dict[str, Any]:
    return {"resource": "gate", "path": path, "session": session, **more}


def stopped(connection: Connection, session: str, path: str, code: int = 1017, **more: Any) -> Dict[str, Any]:
    return expect.fault(connection.error("fetchResource", gate(session, path, **more)), code)


def satisfy(connection: Connection, data: Dict[str, Any], answers: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    params = {"continuation": data["continuation"], "answers": answers or PASSWORD}
    result = connection.call("authenticateWithAdvice", params)
    assert result["state"] == "completed", result
    return result


def echo(result: Dict[str, Any]) -> Dict[str, Any]:
    assert result["status"] == 200, result
    return json.loads(result["body"])


@pytest.mark.parametrize("form", ["", "form=redirect", "form=body"])
def test_an_advice_stops_the_fetch_and_its_continuation_goes_on(
    connection: Connection, playground: Playground, session: str, form: str
) -> None:
    body = json.dumps({"amount": 10})
    data = stopped(connection, session, "service/pay?a=1&" + form, method="POST", body=body, headers={"X-Y": "z"})
    assert data["advice"]["type"] == SERVICE and data["advice"]["value"] == "/alpha:ConfirmPassword"
    assert data["advices"] == [data["advice"]] and data["outcome"] == "replied"
    assert expect.RFC3339_MILLISECONDS.match(data["expiresAt"])
    expected = {"": 401, "form=redirect": 307, "form=body": 403}[form]
    assert data["response"]["status"] == expected and data["response"]["attempts"] == 1
    step = connection.call("authenticateWithAdvice", {"continuation": data["continuation"]})
    assert types(step) == ["PasswordCallback"]
    params = {"continuation": step["continuation"], "callbacks": filled(step, "alice-password")}
    result = connection.call("authenticateWithAdvice", params)
    assert result == {
        "state": "completed", "session": session, "sessionUpgraded": True, "continuation": data["continuation"]}
    result = connection.call("fetchResource", {"continuation": data["continuation"], "timeoutMs": 20000})
    came = echo(result)
    assert came["method"] == "POST" and came["body"] == body and came["headers"]["x-y"] == ["z"]
    assert came["query"] == "a=1&" + form and "_txid" not in came["query"]
    assert result["advicesSatisfied"] == [data["advice"]]
    # Once, and from now on the session is good for it.
    error = connection.error("fetchResource", {"continuation": data["continuation"]})
    expect.fault(error, 3002, "/continuation")
    assert connection.call("fetchResource", gate(session, "service/other"))["advicesSatisfied"] == []


@pytest.mark.thorough
def test_what_is_kept_of_stopped_fetches_is_bounded_in_bytes(
    start: Start, connect: Callable[..., Connection], settings: Dict[str, Any], playground: Playground
) -> None:
    refusal = {"advices": {SERVICE: ["/alpha:ConfirmPassword"]}}
    gateway = DecisionDouble(lambda *_: (403, refusal, {}))
    settings["resources"]["gate"]["baseUrl"] = gateway.url + "/"
    connection = connect(start(settings))
    session = journeys.session(connection, playground)
    continuations = []
    for _ in range(9):
        # Parameters as large as messages may be, which are the whole of these requests.
        parameters = {"a": {"b": "x" * (9 << 20)}}
        error = connection.error("fetchResource", gate(session, "pay", method="POST", parameters=parameters))
        continuations.append(expect.fault(error, 1017)["continuation"])
    gateway.stop()
    kept = [
        name for name in continuations
        if connection.error("fetchResource", {"continuation": name, "timeoutMs": 2000})["code"] != 3002]
    assert kept == continuations[-3:], "32 MiB of one user's are kept, the newest"


@pytest.mark.parametrize("in_success", [None, False, True])
def test_advice_in_a_success_counts_only_where_the_configuration_says_so(
    start: Start, settings: Dict[str, Any], connect: Callable[[Sidecar], Connection], playground: Playground,
    in_success: Optional[bool],
) -> None:
    """Catches a success that is taken for a requirement by default, and a key without effect."""
    gateway = DecisionDouble(lambda *_: (200, {"advices": {SERVICE: ["/alpha:ConfirmPassword"]}}, {}))
    settings["resources"]["gate"]["baseUrl"] = gateway.url + "/"
    if in_success is not None:
        settings["resources"]["gate"]["advice"] = {"inSuccess": in_success}
    connection = connect(start(settings))
    session = journeys.session(connection, playground)
    if in_success:
        data = stopped(connection, session, "orders")
        assert data["advice"]["type"] == SERVICE and data["response"]["status"] == 200
    else:
        assert connection.call("fetchResource", gate(session, "orders"))["advicesSatisfied"] == []
    assert connection.call("fetchResource", gate(session, "orders", stream=True))["status"] == 200
    gateway.stop()


@pytest.mark.parametrize("configured", [True, False])
def test_advice_at_a_configured_status_counts(
    start: Start, settings: Dict[str, Any], connect: Callable[[Sidecar], Connection], playground: Playground,
    configured: bool,
) -> None:
    gateway = DecisionDouble(lambda *_: (404, {"advices": {SERVICE: ["/alpha:ConfirmPassword"]}}, {}))
    settings["resources"]["gate"]["baseUrl"] = gateway.url + "/"
    if configured:
        settings["resources"]["gate"]["advice"] = {"status": [404, 409]}
    connection = connect(start(settings))
    session = journeys.session(connection, playground)
    if configured:
        data = stopped(connection, session, "orders")
        assert data["advice"]["type"] == SERVICE and data["response"]["status"] == 404
    else:
        assert connection.call("fetchResource", gate(session, "orders"))["status"] == 404
    gateway.stop()


@pytest.mark.parametrize("named", [True, False])
def test_a_user_who_is_not_logged_in_logs_in_by_the_advice(
    start: Start, settings: Dict[str, Any], connect: Callable[[Sidecar], Connection], named: bool
) -> None:
    """Catches a retry with the tokens of another user: one is logged in, and the fetch is nobody's."""
    refusal = {"advices": {SERVICE: ["/alpha:Login"]}}
    gateway = DecisionDouble(
        lambda method, path, headers, body: (200, {}, {}) if "authorization" in headers else (403, refusal, {}))
    settings["resources"]["gate"] |= {
        "baseUrl": gateway.url + "/", "tokens": {"whenNoSession": "send_without_token"}}
    connection = connect(start(settings))
    answers = {"NameCallback": "bob", "PasswordCallback": "bob-password"}
    connection.call("authenticate", {"issuer": "am", "answers": answers})
    delegates(connection, RECEIVED)
    fetch = connection.request("fetchResource", gate("", "pay"))
    request = asked(connection, RECEIVED)
    params = request["params"]
    assert params["session"] is None and [one["type"] for one in params["advices"]] == [SERVICE]
    login = connection.call("authenticateWithAdvice", {
        "issuer": "am", "advices": params["advices"],
        "answers": {"NameCallback": "alice", "PasswordCallback": "alice-password"}})
    assert login["state"] == "completed"
    described = connection.call("getSession", {"session": login["session"]})
    answer(connection, request, {"satisfied": True, **({"session": login["session"]} if named else {})})
    if named:
        result = connection.answer_to(fetch)["result"]
        assert result["status"] == 200 and result["attempts"] == 2
        connection.call("fetchResource", gate(login["session"], "pay"))
        sent = [headers["authorization"] for _, _, headers, _ in gateway.requests if "authorization" in headers]
        assert len(sent) == 2 and len(set(sent)) == 1 and described["subject"] == "user-1001"
    else:
        # The same advice again: the retry is nobody's.
        answer(connection, asked(connection, RECEIVED), {"satisfied": False})
        expect.fault(connection.answer_to(fetch)["error"], 1018)
        assert all("authorization" not in headers for _, _, headers, _ in gateway.requests)
    gateway.stop()


def test_a_resource_without_tokens_asks_the_delegate(
    start: Start, settings: Dict[str, Any], connect: Callable[[Sidecar], Connection]
) -> None:
    answers = [(403, {"advices": {SERVICE: ["/alpha:Login"]}}, {}), (200, {}, {})]
    gateway = DecisionDouble(lambda *_: answers.pop(0))
    settings["resources"]["gate"] |= {"baseUrl": gateway.url + "/", "auth": "none"}
    del settings["resources"]["gate"]["scope"]
    connection = connect(start(settings))
    delegates(connection, RECEIVED)
    fetch = connection.request("fetchResource", {"resource": "gate", "path": "pay"})
    request = asked(connection, RECEIVED)
    assert request["params"]["session"] is None
    answer(connection, request, {"satisfied": True})
    assert connection.answer_to(fetch)["result"]["attempts"] == 2
    gateway.stop()


def test_who_may_not_log_in_does_not_log_in_by_advice(sidecar: Sidecar, session: str) -> None:
    advice = {"issuer": "am", "advices": [{"type": SERVICE, "value": "/alpha:Login"}]}
    with sidecar.connect() as maker:
        with Endpoint(maker, sessions=[session], methods=["authenticateWithAdvice"]).connect() as child:
            expect.fault(child.error("authenticateWithAdvice", advice), -32020)
        both = {**advice, "session": session}
        expect.fault(maker.error("authenticateWithAdvice", both), -32602, "/issuer")
        unknown = {**advice, "advices": [{"type": "insufficient_user_authentication", "acrValues": ["gold"]}]}
        expect.fault(maker.error("authenticateWithAdvice", unknown), 3001)


def test_a_continuation_is_not_lost_to_a_task_that_is_running(
    connection: Connection, sidecar: Sidecar, playground: Playground, session: str
) -> None:
    data = stopped(connection, session, "service/pay", task="pay")
    satisfy(connection, data)
    other = sidecar.connect()
    slow = other.request("fetchResource", {
        "resource": "mine", "path": "slow?ms=60000", "session": session, "task": "pay", "timeoutMs": 90000})
    eventually(lambda: connection.call("getTask", {"task": "pay"})["state"] == "running")
    error = connection.error("fetchResource", {"continuation": data["continuation"]})
    expect.fault(error, -32602, "/task")
    connection.call("cancelTask", {"task": "pay"})
    expect.fault(other.answer_to(slow)["error"], -32800)
    assert connection.call("fetchResource", {"continuation": data["continuation"]})["status"] == 200
    other.close()


def test_no_token_is_renewed_for_advice(connection: Connection, playground: Playground, session: str) -> None:
    playground.request("DELETE", "/playground/statistics")
    stopped(connection, session, "service/x")
    statistics = playground.statistics()
    assert statistics["gatewayRequests"] == 1 and statistics["tokenRequests"] == 0


def test_a_transaction_is_for_one_request(connection: Connection, playground: Playground, session: str) -> None:
    data = stopped(connection, session, "transaction/pay?_txid=old&_TXID=older&x=%2F", method="POST", body="10 coins")
    transaction = data["advice"]["txId"]
    assert data["advice"]["type"] == TRANSACTION and data["advice"]["value"] == transaction
    result = satisfy(connection, data)
    assert result["txId"] == transaction and result["sessionUpgraded"] is False
    result = connection.call("fetchResource", {"continuation": data["continuation"]})
    assert echo(result)["query"] == f"x=%2F&_txid={transaction}" and echo(result)["body"] == "10 coins"
    assert result["advicesSatisfied"][0]["txId"] == transaction and result["attempts"] == 1
    # Good once: the same transaction by hand is refused with another.
    again = stopped(connection, session, f"transaction/pay?_txid={transaction}", method="POST", body="10 coins")
    assert again["advice"]["txId"] != transaction
    # A declined one is told by the resource alone.
    result = satisfy(connection, again, {"ConfirmationCallback": "No"})
    failed = expect.fault(connection.error("fetchResource", {"continuation": again["continuation"]}), 1017)
    assert failed["advice"]["txId"] != again["advice"]["txId"]


def test_what_else_is_asked_for_comes_before_the_transaction(connection: Connection, session: str) -> None:
    data = stopped(connection, session, "both/pay")
    assert data["advice"]["type"] == SERVICE
    satisfy(connection, data)
    data = expect.fault(connection.error("fetchResource", {"continuation": data["continuation"]}), 1017)
    assert data["advice"]["type"] == TRANSACTION
    satisfy(connection, data)
    result = connection.call("fetchResource", {"continuation": data["continuation"]})
    assert [advice["type"] for advice in result["advicesSatisfied"]] == [SERVICE, TRANSACTION]


def test_rounds_end(connection: Connection, playground: Playground, session: str) -> None:
    playground.faults(gateway={"kind": "sameAdvice"})
    data = stopped(connection, session, "service/x")
    for _ in range(2):
        satisfy(connection, data)
        data = expect.fault(connection.error("fetchResource", {"continuation": data["continuation"]}), 1017)
    satisfy(connection, data)
    error = connection.error("fetchResource", {"continuation": data["continuation"]})
    failed = expect.fault(error, 1018)
    assert failed["response"]["status"] == 401 and failed["advice"]["type"] == SERVICE
    assert "continuation" not in failed
    # Of a transaction the first repetition is one too many.
    data = stopped(connection, session, "transaction/x")
    satisfy(connection, data)
    error = connection.error("fetchResource", {"continuation": data["continuation"]})
    assert expect.fault(error, 1018)["advice"]["txId"] == data["advice"]["txId"]


def test_continuations_are_bound_and_checked(connection: Connection, session: str) -> None:
    data = stopped(connection, session, "service/x")
    continuation = data["continuation"]
    for name, value in [("path", "service/y"), ("method", "POST"), ("body", "x"), ("resource", "gate"), ("task", "t")]:
        error = connection.error("fetchResource", {"continuation": continuation, name: value})
        expect.fault(error, -32602, "/" + name)
    for wrong in ["", "x", "x" * 43]:
        expect.fault(connection.error("fetchResource", {"continuation": wrong}), 3002, "/continuation")
    # Resumed before anything was done about it: the gateway asks again.
    data = expect.fault(connection.error("fetchResource", {"continuation": continuation}), 1017)
    assert data["continuation"] != continuation


def test_continuations_expire(start: Start, settings: Dict[str, Any], playground: Playground) -> None:
    settings["resources"]["gate"]["advice"] = {"wait": "300ms"}
    connection = start(settings).connect("stream")
    session = journeys.session(connection, playground)
    data = stopped(connection, session, "service/x")
    time.sleep(0.4)
    expect.fault(connection.error("fetchResource", {"continuation": data["continuation"]}), 3002)
    expect.fault(connection.error("authenticateWithAdvice", {"continuation": data["continuation"]}), 3002)
    connection.close()


def test_advice_of_another_access_manager_is_an_answer(
    connection: Connection, sidecar: Sidecar, session: str
) -> None:
    result = connection.call("fetchResource", gate(session, "service/x?form=foreign"))
    assert result["status"] == 401
    sidecar.awaits_log("another access manager")


def test_where_advice_is_off_it_is_an_answer(start: Start, settings: Dict[str, Any], playground: Playground) -> None:
    settings["resources"]["gate"]["advice"] = {"enabled": False}
    connection = start(settings).connect("stream")
    session = journeys.session(connection, playground)
    result = connection.call("fetchResource", gate(session, "service/x", followRedirects=False))
    assert result["status"] == 307 and "composite_advice" in result["headers"]["location"][0]
    connection.close()


def delegates(connection: Connection, *methods: str) -> None:
    connection.call("registerDelegate", {"methods": list(methods)})


def asked(connection: Connection, method: str) -> Dict[str, Any]:
    for position, message in enumerate(connection._set_aside):
        if isinstance(message, dict) and message.get("method") == method:
            return connection._set_aside.pop(position)
    while True:
        message: Any = connection.receive()
        if message.get("method") == method:
            return message
        connection._set_aside.append(message)


def answer(connection: Connection, request: Dict[str, Any], result: Any) -> None:
    connection.send({"jsonrpc": "2.0", "id": request["id"], "result": result})


def test_a_delegate_satisfies_advice_while_the_fetch_waits(connection: Connection, session: str) -> None:
    delegates(connection, RECEIVED)
    fetch = connection.request("fetchResource", gate(session, "both/pay", task="payment"))
    for kind in [SERVICE, TRANSACTION]:
        request = asked(connection, RECEIVED)
        params = request["params"]
        assert params["task"] == "payment" and params["session"] == session
        assert [advice["type"] for advice in params["advices"]] == [kind]
        result = satisfy(connection, params)
        assert result["continuation"] == params["continuation"]
        answer(connection, request, {"satisfied": True})
    result = connection.answer_to(fetch)["result"]
    assert result["status"] == 200 and result["attempts"] == 3
    assert [advice["type"] for advice in result["advicesSatisfied"]] == [SERVICE, TRANSACTION]
    expect.fault(connection.error("fetchResource", {"continuation": params["continuation"]}), 3002)


@pytest.mark.parametrize("word", ["no", "yes", "nothing"])
@pytest.mark.parametrize("asker", ["its maker", "a sibling", "a connection that was not narrowed"])
def test_a_narrowed_program_does_not_answer_for_others(
    sidecar: Sidecar, playground: Playground, asker: str, word: str
) -> None:
    """Both use the same session, and meet the same advice at the same time."""
    with ExitStack() as stack:
        maker = stack.enter_context(sidecar.connect("stream"))
        user = journeys.session(maker, playground)

        def narrowed(path: str) -> Connection:
            endpoint = Endpoint(maker, resources=["gate"], paths=[path], sessions=[user])
            return stack.enter_context(endpoint.connect("stream"))

        if asker == "a connection that was not narrowed":
            child, other = stack.enter_context(sidecar.connect("stream")), maker
            child.call("narrow", {"resources": ["gate"], "paths": ["service/harmless"], "sessions": [user]})
        else:
            child, other = narrowed("service/harmless"), maker if asker == "its maker" else narrowed("service/pay")
        for each in (child, other):
            delegates(each, RECEIVED)
        child.request("fetchResource", gate(user, "service/harmless"))
        question = asked(child, RECEIVED)
        met = playground.statistics()["gatewayAdvices"]
        fetch = other.request("fetchResource", gate(user, "service/pay"))
        eventually(lambda: playground.statistics()["gatewayAdvices"] == met + 1)
        if word != "nothing":
            answer(child, question, {"satisfied": word == "yes"})
        own = asked(other, RECEIVED)
        satisfy(other, own["params"])
        answer(other, own, {"satisfied": True})
        assert other.answer_to(fetch)["result"]["status"] == 200


@pytest.mark.parametrize("level", ["endpoint", "narrow"])
def test_a_narrowed_program_displaces_no_others_fetches_and_journeys(
    sidecar: Sidecar, playground: Playground, level: str
) -> None:
    """All of them use one session, which may have 32 of each at each level."""
    with ExitStack() as stack:
        maker = stack.enter_context(sidecar.connect("stream"))
        user = journeys.session(maker, playground)

        def narrowed(path: str) -> Connection:
            lists: Dict[str, Any] = {"resources": ["gate"], "paths": [path], "sessions": [user]}
            if level == "endpoint":
                return stack.enter_context(Endpoint(maker, **lists).connect("stream"))
            connection = stack.enter_context(sidecar.connect("stream"))
            connection.call("narrow", lists)
            return connection

        def begun(connection: Connection, path: str) -> Dict[str, str]:
            """The continuations of a fetch that waits for a step-up, and of the step-up's journey."""
            fetch = stopped(connection, user, path)
            step = connection.call("authenticateWithAdvice", {"continuation": fetch["continuation"]})
            return {"fetch": fetch["continuation"], "journey": step["continuation"]}

        child, sibling = narrowed("service/harmless"), narrowed("service/pay")
        others = [(connection, begun(connection, "service/pay")) for connection in (maker, sibling)]
        own = [begun(child, "service/harmless") for _ in range(40)]
        for connection, waiting in [*others, (child, own[-1])]:
            assert satisfy(connection, {"continuation": waiting["journey"]})
            assert connection.call("fetchResource", {"continuation": waiting["fetch"]})["status"] == 200
        expect.fault(child.error("fetchResource", {"continuation": own[0]["fetch"]}), 3002, "/continuation")
        expect.fault(
            child.error("authenticateWithAdvice", {"continuation": own[0]["journey"], "answers": PASSWORD}), 3002,
            "/continuation")


def test_a_program_that_narrows_again_and_again_displaces_no_other_sessions_fetch(
    start: Start, settings: Dict[str, Any], playground: Playground
) -> None:
    """Catches levels that are compared with sessions where a user has as many bytes as there may be: one session with
    a little at each of many levels would have less than another one with a single fetch."""
    refusal = {"advices": {SERVICE: ["/alpha:ConfirmPassword"]}}
    gateway = DecisionDouble(lambda *_: (403, refusal, {}))
    settings["resources"]["gate"]["baseUrl"] = gateway.url + "/"
    with start(settings).connect("stream") as maker, ExitStack() as stack:
        stack.callback(gateway.stop)
        alice, bob = journeys.session(maker, playground), journeys.session(maker, playground, "bob")
        kept = stopped(maker, bob, "pay", method="POST", body="x" * (3 << 20))["continuation"]
        endpoint = Endpoint(maker, resources=["gate"], sessions=[alice], methods=["fetchResource", "narrow"])
        for _ in range(17):
            with endpoint.connect("stream") as child:
                child.call("narrow", {})
                stopped(child, alice, "pay", method="POST", body="x" * (2 << 20))
        # It is still there, so that it is sent again, and stopped again.
        expect.fault(maker.error("fetchResource", {"continuation": kept, "timeoutMs": 2000}), 1017)


def test_a_delegate_that_says_no_and_one_that_says_nothing(connection: Connection, session: str) -> None:
    delegates(connection, RECEIVED)
    fetch = connection.request("fetchResource", gate(session, "service/x"))
    answer(connection, asked(connection, RECEIVED), {"satisfied": False})
    failed = expect.fault(connection.answer_to(fetch)["error"], 1018)
    assert failed["response"]["status"] == 401
    for nonsense in [{}, {"satisfied": "yes"}, None, []]:
        fetch = connection.request("fetchResource", gate(session, "service/x"))
        answer(connection, asked(connection, RECEIVED), nonsense)
        data = expect.fault(connection.answer_to(fetch)["error"], 1017)
    satisfy(connection, data)
    assert connection.call("fetchResource", {"continuation": data["continuation"]})["status"] == 200


def test_a_delegate_that_is_late_costs_the_wait_only(
    start: Start, settings: Dict[str, Any], playground: Playground
) -> None:
    settings["resources"]["gate"]["advice"] = {"wait": "500ms"}
    connection = start(settings).connect("stream")
    session = journeys.session(connection, playground)
    delegates(connection, RECEIVED)
    fetch = connection.request("fetchResource", gate(session, "service/x"))
    request = asked(connection, RECEIVED)
    data = expect.fault(connection.answer_to(fetch)["error"], 1017)
    assert data["continuation"]
    answer(connection, request, {"satisfied": True})
    # The whole call is bounded by its own time, the user's included.
    fetch = connection.request("fetchResource", gate(session, "service/x", timeoutMs=200))
    expect.fault(connection.answer_to(fetch)["error"], -32022)
    connection.close()


def test_fifty_fetches_with_the_same_advice_are_one_question(
    connection: Connection, playground: Playground, session: str
) -> None:
    delegates(connection, RECEIVED)
    fetches = [connection.request("fetchResource", gate(session, f"service/{n}")) for n in range(50)]
    request = asked(connection, RECEIVED)
    satisfy(connection, request["params"])
    answer(connection, request, {"satisfied": True})
    for fetch in fetches:
        assert connection.answer_to(fetch)["result"]["status"] == 200
    assert [m for m in connection.others() if isinstance(m, dict) and m.get("method") == RECEIVED] == []
    # A transaction is each request's own.
    fetches = [connection.request("fetchResource", gate(session, "transaction/same")) for _ in range(5)]
    seen = set()
    for _ in fetches:
        request = asked(connection, RECEIVED)
        seen.add(request["params"]["advices"][0]["txId"])
        satisfy(connection, request["params"])
        answer(connection, request, {"satisfied": True})
    assert len(seen) == 5
    for fetch in fetches:
        assert connection.answer_to(fetch)["result"]["status"] == 200


def test_fifty_fetches_are_one_journey_for_each_session(
    connection: Connection, playground: Playground, sidecar: Sidecar, session: str
) -> None:
    sessions = [session, journeys.session(connection, playground, "bob")]
    delegates(connection, RECEIVED)
    playground.faults(gateway={"kind": "slow", "delayMs": 300, "times": 100})
    playground.request("DELETE", "/playground/statistics")
    fetches = [
        connection.request("fetchResource", gate(sessions[n % 2], f"service/{n}")) for n in range(100)]
    asked_about = set()
    for _ in sessions:
        request = asked(connection, RECEIVED)
        asked_about.add(request["params"]["session"])
        user = "bob" if request["params"]["session"] == sessions[1] else "alice"
        satisfy(connection, request["params"], {"PasswordCallback": f"{user}-password"})
        answer(connection, request, {"satisfied": True})
    for fetch in fetches:
        result = connection.answer_to(fetch)["result"]
        assert result["status"] == 200 and result["attempts"] <= 3
    assert asked_about == set(sessions)
    assert [m for m in connection.others() if m.get("method") == RECEIVED] == []
    statistics = playground.statistics()
    # A page, what was typed into it, an exchange, for each of the sessions: of a hundred fetches.
    assert statistics["authenticateRequests"] == 4 and statistics["ssoAuthorizations"] == 2
    assert statistics["grants"]["authorization_code"] == 2


def test_each_transaction_is_a_journey_of_its_own(
    connection: Connection, playground: Playground, session: str
) -> None:
    delegates(connection, RECEIVED)
    playground.request("DELETE", "/playground/statistics")
    fetches = [connection.request("fetchResource", gate(session, "transaction/pay")) for _ in range(10)]
    seen = set()
    for _ in fetches:
        request = asked(connection, RECEIVED)
        seen.add(satisfy(connection, request["params"])["txId"])
        answer(connection, request, {"satisfied": True})
    results = [connection.answer_to(fetch)["result"] for fetch in fetches]
    assert {result["advicesSatisfied"][0]["txId"] for result in results} == seen and len(seen) == 10
    assert {result["status"] for result in results} == {200}
    assert playground.statistics()["authenticateRequests"] == 20


def test_the_silence_of_one_connection_is_not_anothers(
    sidecar: Sidecar, playground: Playground
) -> None:
    silent, other, none = (sidecar.connect("stream") for _ in range(3))
    session = journeys.session(silent, playground)
    for connection in (silent, other):
        delegates(connection, RECEIVED)
    first = silent.request("fetchResource", gate(session, "service/1"))
    question = asked(silent, RECEIVED)
    second = other.request("fetchResource", gate(session, "service/2"))
    third = none.request("fetchResource", gate(session, "service/3"))
    eventually(lambda: playground.statistics()["gatewayAdvices"] == 3)
    answer(silent, question, None)
    stopped_first = expect.fault(silent.answer_to(first)["error"], 1017)
    assert stopped_first["continuation"] == question["params"]["continuation"]
    request = asked(other, RECEIVED)
    satisfy(other, request["params"])
    answer(other, request, {"satisfied": True})
    assert other.answer_to(second)["result"]["status"] == 200
    # Without a delegate a fetch waits for nobody's, or goes by what another's has done.
    message = none.answer_to(third)
    assert message.get("result", {}).get("status") == 200 or message["error"]["code"] == 1017
    assert silent.call("fetchResource", {"continuation": stopped_first["continuation"]})["status"] == 200
    for connection in (silent, other, none):
        connection.close()


def resource_refusals(connection: Connection) -> int:
    """How many answers with 4xx have arrived from resources."""
    text = connection.call("metrics")["text"]
    found = re.search(r'^postern_upstream_requests_total\{kind="resource",outcome="4xx"\} (\d+)$', text, re.MULTILINE)
    return int(found.group(1)) if found else 0


def test_who_asks_may_leave_while_others_wait(
    sidecar: Sidecar, connection: Connection, playground: Playground, session: str
) -> None:
    delegates(connection, RECEIVED)
    first = connection.request("fetchResource", gate(session, "service/1"))
    request = asked(connection, RECEIVED)
    refusals = resource_refusals(connection)
    second = connection.request("fetchResource", gate(session, "service/2"))
    # Until the answer of the gateway has arrived, and a moment more.
    eventually(lambda: resource_refusals(connection) == refusals + 1)
    time.sleep(0.3)
    connection.notify("$/cancelRequest", {"id": first})
    expect.fault(connection.answer_to(first)["error"], -32800)
    # What the delegate was told is good for its journey, and the answer for whoever is left.
    satisfy(connection, request["params"])
    answer(connection, request, {"satisfied": True})
    assert connection.answer_to(second)["result"]["status"] == 200
    params = {"continuation": request["params"]["continuation"]}
    expect.fault(connection.error("fetchResource", params), 3002)


def test_a_connection_that_dies_leaves_the_fetch_behind(sidecar: Sidecar, playground: Playground) -> None:
    first = sidecar.connect("stream")
    session = journeys.session(first, playground)
    delegates(first, RECEIVED)
    first.request("fetchResource", gate(session, "service/x"))
    asked(first, RECEIVED)
    first.close()
    second = sidecar.connect("stream")
    assert second.works()
    data = stopped(second, session, "service/x")
    satisfy(second, data)
    assert second.call("fetchResource", {"continuation": data["continuation"]})["status"] == 200
    second.close()


def test_a_cancelled_fetch_asks_nobody_any_more(connection: Connection, session: str) -> None:
    delegates(connection, RECEIVED)
    fetch = connection.request("fetchResource", gate(session, "service/x", task="t"))
    request = asked(connection, RECEIVED)
    connection.call("cancelTask", {"task": "t"})
    expect.fault(connection.answer_to(fetch)["error"], -32800)
    params = {"continuation": request["params"]["continuation"]}
    expect.fault(connection.error("fetchResource", params), 3002)
    answer(connection, request, {"satisfied": True})
    assert connection.works()


def test_a_delegate_finds_advice_of_its_own(connection: Connection, playground: Playground, session: str) -> None:
    delegates(connection, EVALUATE)
    fetch = connection.request("fetchResource", gate(session, "open/x"))
    request = asked(connection, EVALUATE)
    assert request["params"]["status"] == 200 and "body" in request["params"]
    answer(connection, request, {"advices": [{"type": SERVICE, "value": "ConfirmPassword"}]})
    data = expect.fault(connection.answer_to(fetch)["error"], 1017)
    assert data["advice"]["value"] == "ConfirmPassword" and data["response"]["status"] == 200
    # None is an answer, too; nonsense leaves it to the sidecar.
    for given, status in [({"advices": []}, 401), ({"advices": "x"}, None), ({"advices": [{"value": 1}]}, None)]:
        fetch = connection.request("fetchResource", gate(session, "service/x"))
        answer(connection, asked(connection, EVALUATE), given)
        message = connection.answer_to(fetch)
        if status:
            assert message["result"]["status"] == status
        else:
            expect.fault(message["error"], 1017)


def test_a_delegate_marks_the_request_itself(connection: Connection, session: str) -> None:
    delegates(connection, RECEIVED, UPDATE)
    fetch = connection.request("fetchResource", gate(session, "transaction/pay?keep=1"))
    request = asked(connection, RECEIVED)
    transaction = satisfy(connection, request["params"])["txId"]
    answer(connection, request, {"satisfied": True})
    request = asked(connection, UPDATE)
    url = request["params"]["request"]["url"]
    assert request["params"]["txId"] == transaction and url.endswith("transaction/pay?keep=1")
    assert "authorization" not in request["params"]["request"]["headers"]
    answer(connection, request, {"url": url + "&_txid=" + transaction + "&mine=1", "headers": {"X-TxID": transaction}})
    came = echo(connection.answer_to(fetch)["result"])
    assert came["query"].endswith("&mine=1") and came["headers"]["x-txid"] == [transaction]
    for update in [
        {"url": "https://evil.test/"}, {"url": "/resource/orders"}, {"headers": {"Authorization": "x"}},
        {"headers": {"X-Original-URL": "/"}}, {"headers": {"Cookie": "a=b\u0600; playgroundSSO=x"}},
    ]:
        fetch = connection.request("fetchResource", gate(session, "transaction/pay"))
        request = asked(connection, RECEIVED)
        satisfy(connection, request["params"])
        answer(connection, request, {"satisfied": True})
        answer(connection, asked(connection, UPDATE), update)
        code = 1005 if "headers" in update else 1006
        data = expect.fault(connection.answer_to(fetch)["error"], code)
        assert data["outcome"] == "replied", "the request has been answered with advice"


def test_a_streamed_fetch_stops_and_goes_on_streaming(connection: Connection, session: str) -> None:
    data = stopped(connection, session, "service/x", stream=True, task="s")
    satisfy(connection, data)
    result = connection.call("fetchResource", {"continuation": data["continuation"]})
    assert result["status"] == 200 and result["task"] == "s" and "body" not in result
    chunks = [m for m in connection.others() if m.get("method") == "fetchResource.chunk"]
    assert chunks and chunks[0]["params"]["sequence"] == 0


def test_a_step_up_of_rfc_9470_stops_the_fetch(connection: Connection, playground: Playground, session: str) -> None:
    data = expect.fault(connection.error("fetchResource", {"resource": "mine", "path": "vault", "session": session}), 1017)
    assert data["advice"] == {"type": "insufficient_user_authentication", "acrValues": ["mfa"]} or "maxAge" in data["advice"]
    step = connection.call("authenticateWithAdvice", {"continuation": data["continuation"]})
    playground.request("POST", "/playground/login", json.dumps({"user": "alice", "acr": "mfa", "times": 1}).encode())
    url = step["callbacks"][0]["output"][0]["value"]
    callback = playground.request("GET", url.replace(playground.base, ""))[1]["location"]
    params = {"continuation": step["continuation"], "callbacks": filled(step, callback)}
    assert connection.call("authenticateWithAdvice", params)["continuation"] == data["continuation"]
    assert connection.call("fetchResource", {"continuation": data["continuation"]})["status"] == 200
