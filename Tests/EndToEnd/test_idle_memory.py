"""What an idle sidecar keeps in memory of its start, and of a reload."""
from __future__ import annotations

import json
from typing import Any, Callable, Dict

from harness import settings
from harness.connection import Connection
from harness.sidecar import Sidecar
from harness.waiting import eventually

#: As many as fit into a file of 1 MiB, nearly.
PAIRS = 4000


def many(timeout: str) -> Dict[str, Any]:
    resources: Dict[str, Any] = {}
    issuers: Dict[str, Any] = {}
    for number in range(PAIRS):
        base, name = f"https://{number}.test/", f"t-{number}"
        issuers[name] = {"issuer": base, "clientId": "c"}
        resources[name] = {"baseUrl": base, "issuer": name, "timeout": timeout}
    return {"issuers": issuers, "resources": resources}


def test_the_code_of_the_start_does_not_stay_mapped(sidecar: Sidecar) -> None:
    # Twice as much would be with all that the start touched.
    eventually(lambda: sidecar.resident_kilobytes("File") < 22_000)


def test_the_memory_for_reading_a_configuration_goes_back(
    sidecar: Sidecar, connect: Callable[..., Connection], configuration: Any
) -> None:
    connection = connect(sidecar)
    for timeout in ("30s", "31s") * 3:
        sidecar.write(json.dumps(settings.changed(configuration, many(timeout)), separators=(",", ":")))
        assert connection.call("reloadConfig")["changed"]
    # 8 KiB a pair, and what a sidecar without any has.
    eventually(lambda: sidecar.resident_kilobytes() < 8 * PAIRS + 8_000)
    assert connection.call("getInfo")["name"] == "postern"
