"""Section 3 and the configuration page: `reloadConfig` and SIGHUP."""
from __future__ import annotations

import signal
import time
from typing import Any, Callable, Dict

import pytest

from harness import expect, settings
from harness.connection import Connection
from harness.sidecar import Sidecar
from harness.waiting import eventually

BAD_FILES = ["{", "listen: [", "unknown: 1\n", "resources: {x: {baseUrl: 'not a url'}}\n"]


def with_another_resource(configuration: Dict[str, Any]) -> Dict[str, Any]:
    return settings.changed(configuration, {"resources": {"another": configuration["resources"]["open"]}})


def knows_another(connection: Connection) -> bool:
    message = connection.answer_to(connection.request("fetchResource", {"resource": "another", "path": "echo"}))
    if "result" in message:
        return message["result"]["status"] == 200
    expect.fault(message["error"], -32602, "/resource")
    return False


def test_reload_config_takes_changes_in(sidecar: Sidecar, connection: Connection, configuration: Any) -> None:
    assert not knows_another(connection)
    sidecar.write(with_another_resource(configuration))
    changed = connection.call("reloadConfig")["changed"]
    assert changed and all(isinstance(name, str) for name in changed)
    assert knows_another(connection)


def test_reload_config_without_changes_changes_nothing(connection: Connection) -> None:
    assert connection.call("reloadConfig") == {"changed": []}


@pytest.mark.parametrize("bad", BAD_FILES, ids=repr)
def test_a_bad_file_changes_nothing_and_is_reported(sidecar: Sidecar, connection: Connection, bad: str) -> None:
    sidecar.write(bad)
    error = connection.error("reloadConfig")
    assert expect.REASON.match(error["data"]["reason"])
    assert connection.call("fetchResource", {"resource": "open", "path": "echo"})["status"] == 200


def test_sighup_takes_changes_in(sidecar: Sidecar, connection: Connection, configuration: Any) -> None:
    sidecar.write(with_another_resource(configuration))
    sidecar.signal(signal.SIGHUP)
    eventually(lambda: knows_another(connection), what="the reload")


def test_sighup_with_a_bad_file_changes_nothing_and_is_logged(sidecar: Sidecar, connection: Connection) -> None:
    before = len(sidecar.log())
    sidecar.write("unknownKey: 1\n")
    sidecar.signal(signal.SIGHUP)
    eventually(lambda: "unknownKey" in sidecar.log()[before:], what="the report")
    assert sidecar.is_running()
    assert connection.call("fetchResource", {"resource": "open", "path": "echo"})["status"] == 200


def test_calls_in_flight_finish_on_the_configuration_they_began_with(
    sidecar: Sidecar, connection: Connection, configuration: Any
) -> None:
    slow = connection.request("fetchResource", {"resource": "open", "path": "slow", "parameters": {"ms": 800}})
    assert connection.works()
    sidecar.write(settings.changed(configuration, {"resources": {"open": None}}))
    assert connection.call("reloadConfig")["changed"]
    expect.fault(connection.error("fetchResource", {"resource": "open", "path": "echo"}), -32602, "/resource")
    assert connection.answer_to(slow)["result"]["status"] == 200


def test_a_reload_is_announced_to_subscribers(
    sidecar: Sidecar, connect: Callable[[Sidecar], Connection], configuration: Any
) -> None:
    watching, acting = connect(sidecar), connect(sidecar)
    watching.call("subscribe", {"events": ["event.configReloaded"]})
    sidecar.write(with_another_resource(configuration))
    acting.call("reloadConfig")
    event: Any = watching.receive()
    assert event["method"] == "event.configReloaded" and "id" not in event
    assert expect.RFC3339_MILLISECONDS.match(event["params"]["at"])
    assert acting.works()
    assert acting.others() == []


def test_reloading_over_and_over_keeps_answering(sidecar: Sidecar, connection: Connection, configuration: Any) -> None:
    one, two = configuration, with_another_resource(configuration)
    deadline = time.monotonic() + 20
    for round_ in range(20):
        sidecar.write(two if round_ % 2 == 0 else one)
        assert connection.call("reloadConfig")["changed"]
        assert connection.works()
        assert time.monotonic() < deadline
