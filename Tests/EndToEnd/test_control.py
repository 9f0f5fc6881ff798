"""Section 3: the control methods."""
from __future__ import annotations

import json
import re
import subprocess
from typing import Any, Callable, Dict, List

import pytest

from harness import binaries, expect
from harness.connection import Connection
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually

CONTROL = [
    "rpc.discover", "getInfo", "health", "metrics", "$/cancelRequest", "registerDelegate", "subscribe", "unsubscribe",
    "reloadConfig",
]


def references(value: Any) -> List[str]:
    """Every `$ref` in a document."""
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [found for member in value.values() for found in references(member)]
    if isinstance(value, list):
        return [found for element in value for found in references(element)]
    return []


def resolve(document: Any, pointer: str) -> Any:
    assert pointer.startswith("#/"), pointer
    for part in pointer[2:].split("/"):
        document = document[part.replace("~1", "/").replace("~0", "~")]
    return document


def test_discover_returns_an_openrpc_1_3_document(connection: Connection) -> None:
    document = connection.call("rpc.discover")
    assert document["openrpc"].startswith("1.3.")
    assert document["info"]["title"] and document["info"]["version"]
    names = [method["name"] for method in document["methods"]]
    assert len(set(names)) == len(names)
    assert set(CONTROL + ["fetchResource"]) - {"rpc.discover", "$/cancelRequest"} <= set(names)
    for method in document["methods"]:
        assert method.get("paramStructure", "by-name") == "by-name", method["name"]
        assert isinstance(method["params"], list), method["name"]
        parameters = [parameter["name"] for parameter in method["params"] if "$ref" not in parameter]
        assert len(set(parameters)) == len(parameters), method["name"]
        for parameter in method["params"]:
            assert "$ref" in parameter or isinstance(parameter["schema"], (dict, bool)), method["name"]
        if "result" in method:
            assert "$ref" in method["result"] or (method["result"]["name"] and "schema" in method["result"])
        for error in method.get("errors", []):
            assert "$ref" in error or (isinstance(error["code"], int) and isinstance(error["message"], str))
    for pointer in references(document):
        resolve(document, pointer)


def test_discover_says_what_fetch_resource_takes_and_which_errors_it_has(connection: Connection) -> None:
    document = connection.call("rpc.discover")
    method = next(method for method in document["methods"] if method["name"] == "fetchResource")
    parameters = {parameter["name"]: parameter for parameter in method["params"]}
    assert {"resource", "path", "method", "auth", "parameters", "body", "headers", "timeoutMs"} <= set(parameters)
    errors = [resolve(document, error["$ref"]) if "$ref" in error else error for error in method["errors"]]
    assert {1003, 1004, 1005, 1006, 1007, 1009, 1012, 1013} <= {error["code"] for error in errors}


def test_the_openrpc_command_prints_the_same_document(connection: Connection) -> None:
    printed = subprocess.run([binaries.postern(), "openrpc"], capture_output=True, timeout=20, check=True)
    assert json.loads(printed.stdout) == connection.call("rpc.discover")


def test_get_info(connection: Connection, sidecar: Sidecar) -> None:
    info = connection.call("getInfo")
    assert info["name"] == "postern"
    assert re.match(r"\d+\.\d+", info["version"])
    assert info["protocolVersion"]
    assert info["pid"] == sidecar.process.pid
    assert expect.RFC3339_MILLISECONDS.match(info["startedAt"])
    assert set(info["libraries"]) >= {"curl", "openssl", "jansson", "swift"}
    assert all(isinstance(version, str) and version for version in info["libraries"].values())
    assert isinstance(info["features"], list) and all(isinstance(feature, str) for feature in info["features"])


def test_get_info_shows_development_switches(connection: Connection) -> None:
    assert "plainHTTPOnLoopback" in json.dumps(connection.call("getInfo"))


def test_development_switches_warn_at_start(sidecar: Sidecar) -> None:
    sidecar.awaits_log("plainHTTPOnLoopback")


def test_health(connection: Connection) -> None:
    health = connection.call("health")
    assert health["status"] in ("ok", "degraded", "down")
    assert isinstance(health["checks"], dict)
    for check in health["checks"].values():
        assert check["status"] in ("ok", "degraded", "down")
        assert set(check) <= {"status", "detail", "ageMs"}


SAMPLE = re.compile(
    r'[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-zA-Z_][a-zA-Z0-9_]*="(\\.|[^"\\\n])*",?)*\})? '
    r"(NaN|[+-]?Inf|[+-]?[0-9.]+([eE][+-]?[0-9]+)?)( -?[0-9]+)?\Z"
)


def samples(text: str) -> Dict[str, float]:
    values = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            values[name] = float(value)
    return values


def test_metrics_are_prometheus_text(connection: Connection) -> None:
    connection.call("getInfo")
    text = connection.call("metrics")["text"]
    assert text.endswith("\n")
    families: List[str] = []
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert kind in ("counter", "gauge", "histogram", "summary", "untyped")
            families.append(name)
        elif line and not line.startswith("#"):
            assert SAMPLE.match(line), line
            name = re.split(r"[ {]", line)[0]
            assert any(name == family or name[: len(family)] == family for family in families), line
    assert len(set(families)) == len(families)
    values = samples(text)
    assert len(values) == len([line for line in text.splitlines() if line and not line.startswith("#")])


def test_metrics_count_calls_by_method_and_outcome(connection: Connection, playground: Playground) -> None:
    def total(text: str, *words: str) -> float:
        return sum(value for name, value in samples(text).items() if all(word in name for word in words))

    before = connection.call("metrics")["text"]
    for _ in range(5):
        connection.call("getInfo")
    connection.error("fetchResource", {"resource": "unheard"})
    connection.call("fetchResource", {"resource": "open", "path": "echo"})
    after = connection.call("metrics")["text"]
    assert total(after, '"getInfo"') > total(before, '"getInfo"')
    assert total(after, '"fetchResource"') > total(before, '"fetchResource"')
    assert re.search(r"_bucket\{[^}]*le=\"\+Inf\"", after), "no latency histogram"
    assert re.search(r"^[a-z_]*connections[a-z_]*", after, re.MULTILINE), "no connections"


def test_metrics_hold_nothing_a_caller_made_up(connection: Connection) -> None:
    for number in range(50):
        connection.error(f"made.up.{number}")
    assert "made.up" not in connection.call("metrics")["text"]


@pytest.mark.parametrize("identifier", ["text", 7, 0])
def test_cancel_request_ends_the_named_request(connection: Connection, identifier: Any) -> None:
    slow = {"resource": "open", "path": "slow", "parameters": {"ms": 20_000}}
    connection.request("fetchResource", slow, identifier=identifier)
    assert connection.works()
    connection.notify("$/cancelRequest", {"id": identifier})
    expect.error(connection.answer_to(identifier), -32800, identifier)


def test_cancel_request_of_what_is_not_running_does_nothing(connection: Connection) -> None:
    done = connection.request("getInfo")
    connection.answer_to(done)
    for params in [{"id": done}, {"id": "never"}, {"id": 5}, {"id": None}, {}, None]:
        connection.notify("$/cancelRequest", params)
    assert connection.works()
    assert connection.others() == []


def test_cancel_request_does_not_reach_another_connection(
    sidecar: Sidecar, connect: Callable[[Sidecar], Connection]
) -> None:
    one, another = connect(sidecar), connect(sidecar)
    slow = {"resource": "open", "path": "slow", "parameters": {"ms": 700}}
    one.request("fetchResource", slow, identifier="mine")
    assert one.works()
    another.notify("$/cancelRequest", {"id": "mine"})
    assert one.answer_to("mine")["result"]["status"] == 200


def test_a_cancelled_request_is_answered_exactly_once(connection: Connection) -> None:
    for round_ in range(100):
        identifier = connection.request("fetchResource", {"resource": "open", "path": "echo"}, identifier=f"race-{round_}")
        connection.notify("$/cancelRequest", {"id": identifier})
        message = connection.answer_to(identifier)
        assert "result" in message or message["error"]["code"] == -32800
    assert connection.works()
    assert connection.others() == []


DELEGATE = "delegate.evaluateTokenRefresh"


def test_register_delegate(connection: Connection) -> None:
    assert connection.call("registerDelegate", {"methods": [DELEGATE]}) == {"registered": [DELEGATE]}


def test_register_delegate_says_what_it_will_be_asked(connection: Connection) -> None:
    methods = [DELEGATE, "delegate.onPolicyAdviceReceived", "delegate.evaluateAuthorizationPolicy", "delegate.updateRequest"]
    registered = connection.call("registerDelegate", {"methods": methods})["registered"]
    assert DELEGATE in registered
    assert set(registered) <= set(methods) and len(set(registered)) == len(registered)


def asked(connection: Connection) -> Dict[str, Any]:
    """The sidecar's next own request on this connection."""
    request: Any = connection.receive()
    assert request["jsonrpc"] == "2.0" and request["method"].startswith("delegate."), request
    assert isinstance(request["id"], (str, int))
    return request


@pytest.mark.parametrize("refresh", [True, False])
def test_a_registered_connection_answers_the_sidecars_own_requests(connection: Connection, refresh: bool) -> None:
    connection.call("registerDelegate", {"methods": [DELEGATE]})
    fetch = connection.request("fetchResource", {"resource": "orders", "path": "status/418"})
    request = asked(connection)
    assert request["method"] == DELEGATE
    assert request["params"]["status"] == 418
    assert connection.works(), "the connection waits for its own answer"
    connection.send({"jsonrpc": "2.0", "id": request["id"], "result": {"refresh": refresh}})
    while True:
        message: Any = connection.receive()
        if message.get("id") == fetch and "result" in message:
            break
        # Asked again about the second attempt's answer, or not: either way the answer is the same.
        assert message["method"] == DELEGATE
        connection.send({"jsonrpc": "2.0", "id": message["id"], "result": {"refresh": refresh}})
    assert message["result"]["attempts"] == (2 if refresh else 1)
    assert message["result"]["tokenRefreshed"] is refresh


@pytest.mark.parametrize("answer", [{"error": {"code": 1, "message": "no"}}, {"result": {}}, {"result": {"refresh": "yes"}}])
def test_a_delegates_error_means_the_default(connection: Connection, answer: Dict[str, Any]) -> None:
    connection.call("registerDelegate", {"methods": [DELEGATE]})
    fetch = connection.request("fetchResource", {"resource": "orders", "path": "status/418"})
    connection.send({"jsonrpc": "2.0", "id": asked(connection)["id"], **answer})
    assert connection.answer_to(fetch)["result"]["attempts"] == 1


def test_answers_nobody_asked_for_are_ignored(connection: Connection) -> None:
    connection.send({"jsonrpc": "2.0", "id": "unasked", "result": {}})
    connection.send({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}})
    assert connection.works()


def test_register_delegate_of_unknown_methods_is_refused(connection: Connection) -> None:
    expect.fault(connection.error("registerDelegate", {"methods": ["delegate.nonsense"]}), -32602, "/methods/0")


def test_subscribe_and_unsubscribe(connection: Connection) -> None:
    events = ["event.configReloaded", "event.healthChanged"]
    assert sorted(connection.call("subscribe", {"events": events})["subscribed"]) == sorted(events)
    assert connection.call("unsubscribe", {"events": ["event.healthChanged"]})["subscribed"] == ["event.configReloaded"]


def test_subscribe_to_unknown_events_is_refused(connection: Connection) -> None:
    expect.fault(connection.error("subscribe", {"events": ["event.nonsense"]}), -32602, "/events/0")


def test_health_tells_of_an_issuer_that_is_down(sidecar: Sidecar, connection: Connection, playground: Playground) -> None:
    playground.faults(discovery={"kind": "serverError"}, token={"kind": "serverError"})
    connection.answer_to(connection.request("fetchResource", {"resource": "orders", "path": "orders"}))
    eventually(lambda: connection.call("health")["status"] != "ok", what="degraded health")
