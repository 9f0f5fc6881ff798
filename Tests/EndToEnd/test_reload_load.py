"""SIGHUP again and again while callers work: nothing fails, nothing is lost, nothing grows."""
from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import settings
from harness.connection import Connection
from harness.decisions import DecisionDouble
from harness.sidecar import Sidecar
from harness.signing import SigningKey
from harness.waiting import eventually

Start = Callable[..., Sidecar]
CALLERS = 4


@pytest.fixture
def double() -> Iterator[DecisionDouble]:
    def script(method: str, path: str, headers: Dict[str, str], body: Any) -> Any:
        if method != "POST":
            return 404, {}, {}
        return 200, {"evaluations": [{"decision": True} for _ in body["evaluations"]]}, {}

    point = DecisionDouble(script)
    yield point
    point.stop()


class Load:
    """Callers that each keep a few requests of several kinds under way, and what went wrong for them."""

    def __init__(self, sidecar: Sidecar, token: Dict[str, Any]) -> None:
        self.problems: List[Any] = []
        self.answered = 0
        self._ends = threading.Event()
        self._calls = [
            ("getInfo", {}),
            ("fetchResource", {"resource": "orders", "path": "orders"}),
            ("validateIdToken", token),
            ("preauthorize", {"provider": "pdp", "context": {"subject": "alice"}, "resources": ["a", "b"]}),
            ("fetchResource", {"resource": "open", "path": "slow", "parameters": {"ms": 30}}),
        ]
        self._threads = [threading.Thread(target=self._work, args=(sidecar,)) for _ in range(CALLERS)]
        for thread in self._threads:
            thread.start()

    def _work(self, sidecar: Sidecar) -> None:
        try:
            with sidecar.connect(timeout=30) as connection:
                while not self._ends.is_set():
                    pending = [connection.request(*call) for call in self._calls]
                    for identifier in pending:
                        answer = connection.answer_to(identifier)
                        if not self._is_good(answer):
                            self.problems.append(answer)
                        self.answered += 1
        except BaseException as error:  # noqa: B902
            self.problems.append(repr(error))

    @staticmethod
    def _is_good(answer: Dict[str, Any]) -> bool:
        result = answer.get("result")
        return result is not None and result.get("status", 200) == 200 and result.get("valid", True)

    def end(self) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join(30)


OK = 'postern_config_reloads_total{outcome="ok"}'


def outcomes(sidecar: Sidecar) -> Dict[str, float]:
    """How many reloads ended how."""
    with sidecar.connect() as connection:
        text = connection.call("metrics")["text"]
    return {line.split()[0]: float(line.split()[1]) for line in text.splitlines() if "config_reloads_total{" in line}


class Size:
    """What a process holds."""

    def __init__(self, sidecar: Sidecar) -> None:
        self.kilobytes = sidecar.resident_kilobytes()
        self.descriptors = len(os.listdir(f"/proc/{sidecar.process.pid}/fd"))
        self.threads = len(os.listdir(f"/proc/{sidecar.process.pid}/task"))

    def __repr__(self) -> str:
        return f"{self.kilobytes} KiB, {self.descriptors} descriptors, {self.threads} threads"


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_reloads_under_load_cost_no_answer_and_nothing_grows(
    start: Start, double: DecisionDouble, rsa: SigningKey, configuration: Any, count: int
) -> None:
    changes = {
        "preauthorization": {"pdp": {"kind": "authzen", "baseUrl": double.url}},
        # So that a process of the same user may look at what it holds.
        "hardening": {"coreDumps": True},
    }
    now = int(time.time())
    claims = {"iss": "https://idp.example.com", "sub": "a", "aud": "shop", "exp": now + 3600, "iat": now}
    token = {
        "idToken": rsa.sign(claims), "expectedIssuer": "https://idp.example.com", "clientId": "shop", "jwks": rsa.jwks()}
    sidecar = start(changes)
    one = settings.changed(configuration, changes)
    two = settings.changed(one, {"resources": {"another": one["resources"]["open"]}, "issuers": {"play": {"scope": "x"}}})
    load = Load(sidecar, token)
    try:
        def reloads(number: int) -> None:
            for round_ in range(number):
                # Most of them find nothing changed, as when a secret's directory is synchronised.
                if round_ % 5 == 0:
                    sidecar.write(two if round_ % 10 == 0 else one)
                sidecar.signal(signal.SIGHUP)
                time.sleep(0.01)

        def carried_out() -> bool:
            """A process that stands still takes many signals for one: then there are more of them."""
            if load.problems or outcomes(sidecar).get(OK, 0) >= count / 10:
                return True
            reloads(10)
            return False

        # What the callers need is there before it is measured.
        eventually(lambda: load.problems or load.answered >= 20 * CALLERS, 30, "the callers' answers")
        reloads(count // 2)
        before = Size(sidecar)
        reloads(count // 2)
        eventually(carried_out, 30, "the reloads")
        eventually(lambda: load.problems or load.answered > count, 30, "the callers' answers")
        after = Size(sidecar)
    finally:
        load.end()
    assert load.problems == [], load.problems[:3]
    assert after.kilobytes < before.kilobytes * 1.1 + 4096, (before, after)
    # Kept connections to other servers come and go.
    assert after.descriptors <= before.descriptors + 2 * CALLERS + 2, (before, after)
    assert after.threads <= before.threads + 1 + (os.cpu_count() or 1), (before, after)
    with sidecar.connect() as connection:
        # The last one counts, however many came at once.
        sidecar.write(two)
        for _ in range(50):
            sidecar.signal(signal.SIGHUP)
        eventually(lambda: "result" in connection.answer_to(
            connection.request("fetchResource", {"resource": "another", "path": "echo"})), 10, "the last reload")
    counted = outcomes(sidecar)
    assert counted.get('postern_config_reloads_total{outcome="failed"}', 0) == 0
    assert counted[OK] >= count / 10
    print(f"\n{count} signals, {counted}, {load.answered} answers; {before}; {after}")


def test_a_reload_without_changes_forgets_nothing(start: Start, double: DecisionDouble, playground: Any) -> None:
    sidecar = start({"preauthorization": {"pdp": {"kind": "authzen", "baseUrl": double.url}}})
    with sidecar.connect() as connection:
        def decided() -> str:
            about = {"provider": "pdp", "context": {"subject": "alice"}, "resources": ["a"]}
            return connection.call("preauthorize", about)["decisions"][0]["source"]

        assert connection.call("fetchResource", {"resource": "orders", "path": "orders"})["status"] == 200
        assert [decided(), decided()] == ["backend", "local"]
        tokens = playground.statistics()["tokenRequests"]
        for _ in range(3):
            assert connection.call("reloadConfig") == {"changed": []}
            assert decided() == "local"
            assert connection.call("fetchResource", {"resource": "orders", "path": "orders"})["status"] == 200
        assert playground.statistics()["tokenRequests"] == tokens


def test_a_reload_that_is_at_work_is_followed_by_one_more(sidecar: Sidecar, configuration: Any) -> None:
    """Catches a SIGHUP that is dropped because `reloadConfig` is at work."""
    with sidecar.connect() as connection:
        for round_ in range(20):
            pending = connection.request("reloadConfig")
            name = f"r{round_}"
            sidecar.write(settings.changed(configuration, {"resources": {name: configuration["resources"]["open"]}}))
            sidecar.signal(signal.SIGHUP)
            connection.answer_to(pending)
            eventually(lambda: "result" in connection.answer_to(
                connection.request("fetchResource", {"resource": name, "path": "echo"})), what="the reload")
