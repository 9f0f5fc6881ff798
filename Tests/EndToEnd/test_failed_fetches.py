"""A fetch that fails leaves nothing behind that touches another. One name that did not resolve ended all fetching until a restart."""
from __future__ import annotations

import random
from typing import Any, Callable, Dict

import pytest

from harness.connection import Connection
from harness.playground import Playground
from harness.ports import free_port
from harness.sidecar import Sidecar

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]

#: A resource that fails, and how its fetches do.
WAYS = {
    "resolution": {"path": "x"},
    "refusal": {"path": "x"},
    "tlsToPlain": {"path": "x"},
    "half": {"path": "closeBody"},
    "garbage": {"path": "garbage"},
    "timeout": {"path": "stall", "timeoutMs": 20},
}


@pytest.fixture
def failing(start: Start, connect: Connect, playground: Playground) -> Connection:
    # One that the kernel gives to nobody else meanwhile.
    port = free_port()
    misbehaving = playground.misbehaving + "/"
    bases = {
        "resolution": "https://no-such-host.invalid/", "refusal": f"http://127.0.0.1:{port}/",
        "tlsToPlain": playground.base.replace("http:", "https:") + "/", "half": misbehaving, "garbage": misbehaving,
        "timeout": misbehaving,
    }
    return connect(start({"resources": {name: {"baseUrl": base, "auth": "none"} for name, base in bases.items()}}))


def expect_all_works(connection: Connection) -> None:
    for method in ("GET", "POST", "PUT", "HEAD", "DELETE"):
        params: Dict[str, Any] = {"resource": "open", "path": "echo", "method": method}
        if method in ("POST", "PUT"):
            params["body"] = "text"
        assert connection.call("fetchResource", params)["status"] == 200
    assert connection.call("fetchResource", {"resource": "orders", "path": "echo"})["status"] == 200


@pytest.mark.parametrize("way", WAYS)
def test_after_each_way_to_fail_fetches_and_tokens_work(failing: Connection, way: str) -> None:
    for _ in range(3):
        pending = [failing.request("fetchResource", {"resource": way, **WAYS[way]}) for _ in range(8)]
        for identifier in pending:
            error = failing.answer_to(identifier)["error"]
            # Never the caller's own fault, and never the sidecar's.
            assert error["code"] not in (1006, -32603), error
        expect_all_works(failing)
    assert "transport" not in failing.call("health")["checks"]


@pytest.mark.slow
def test_after_ten_thousand_failures_everything_works(failing: Connection) -> None:
    chance = random.Random(18)
    for _ in range(200):
        ways = [chance.choice(list(WAYS)) for _ in range(50)]
        pending = [failing.request("fetchResource", {"resource": way, **WAYS[way]}) for way in ways]
        for identifier in pending:
            assert failing.answer_to(identifier)["error"]["code"] not in (1006, -32603)
    expect_all_works(failing)
