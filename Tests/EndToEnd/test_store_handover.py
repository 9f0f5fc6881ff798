"""`store.kind: file` at a restart: one process after the other has the store, and nobody's slow call keeps it from the
next one."""
from __future__ import annotations

import resource
import signal
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import expect
from harness.connection import Connection
from harness.issuer import IssuerDouble, document
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all
from harness.waiting import eventually
from harness.witness import Witness
from test_session_store import Renewing, families, fetch_status, login, settings  # noqa: F401

Start = Callable[..., Sidecar]


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Opened at the end: whatever waits for it may end."""
    gate = threading.Event()
    yield gate
    gate.set()


@pytest.fixture
def held(settings: Dict[str, Any], issuer: IssuerDouble, gate: threading.Event) -> Dict[str, Any]:  # noqa: F811
    """The settings, with a resource `slow` whose answers wait for the gate."""
    issuer.answers["/held"] = lambda _: (gate.wait(60), document({}))[1]
    resources = {**settings["resources"], "slow": {"baseUrl": issuer.base + "/", "auth": "none"}}
    return {**settings, **BOTH, "resources": resources}


def hold(connection: Connection, issuer: IssuerDouble) -> Any:
    """A fetch that ends when the gate is opened."""
    before = issuer.count("/held")
    pending = connection.request("fetchResource", {"resource": "slow", "path": "held"})
    eventually(lambda: issuer.count("/held") > before, what="the slow fetch")
    return pending


def succeed(start: Start, settings: Dict[str, Any], sidecar: Sidecar) -> Sidecar:  # noqa: F811
    """Ends `sidecar`, and starts the next one at the same path while it drains."""
    sidecar.signal(signal.SIGTERM)
    eventually(lambda: not Path(sidecar.path).exists(), what="the end of the socket")
    return start(settings)


@needs_root
def test_one_users_slow_call_keeps_no_other_users_sessions_from_the_next_process(
    start: Start, held: Dict[str, Any], playground: Playground, issuer: IssuerDouble, gate: threading.Event,
    directory: Path,
) -> None:
    first = start(held)
    open_to_all(directory)
    with connect_as(BOB, first) as bob:
        session = login(bob, playground)
    with connect_as(ALICE, first, timeout=60) as alice:
        pending = hold(alice, issuer)
        second = succeed(start, held, first)
        began = time.monotonic()
        with connect_as(BOB, second) as bob:
            assert fetch_status(bob, session) == 200
            assert bob.call("refreshSession", {"session": session})["session"] == session
        # Not when the 30 s to drain are over.
        assert time.monotonic() - began < 15
        assert first.is_running()
        gate.set()
        assert alice.answer_to(pending)["result"]["status"] == 200
    assert first.wait() == 0
    assert "session store cannot be opened" not in second.log()


def test_a_call_that_goes_on_without_the_store_renews_nothing(
    start: Start, held: Dict[str, Any], playground: Playground, issuer: IssuerDouble, gate: threading.Event
) -> None:
    issuer.answers["/refused"] = lambda _: (gate.wait(60), document({}, status=401))[1]
    held["resources"]["refusing"] = {"baseUrl": issuer.base + "/", "issuer": "shop", "auth": "user"}
    first = start(held)
    with first.connect(timeout=60) as connection:
        session = login(connection, playground)
        pending = connection.request("fetchResource", {"resource": "refusing", "path": "refused", "session": session})
        eventually(lambda: issuer.count("/refused") == 1, what="the slow fetch")
        second = succeed(start, held, first)
        with second.connect(timeout=30) as other:
            assert other.call("refreshSession", {"session": session})["session"] == session
            asked = playground.statistics()["tokenRequests"]
            gate.set()
            # As the resource said it: with the refresh token that is known here the family would be lost.
            assert connection.answer_to(pending)["result"]["status"] == 401
            assert playground.statistics()["tokenRequests"] == asked
            assert other.call("refreshSession", {"session": session})["session"] == session
    assert first.wait() == 0


def test_a_refresh_in_progress_at_the_end_is_stored_before_the_next_process_has_the_store(
    start: Start, held: Dict[str, Any], playground: Playground, issuer: IssuerDouble, gate: threading.Event
) -> None:
    first = start(held)
    with first.connect(timeout=60) as connection:
        session = login(connection, playground)
        pending = hold(connection, issuer)
        asked = playground.statistics()["tokenRequests"]
        playground.faults(token={"kind": "slowAnswer", "times": 1, "delayMs": 3000})
        renewal = connection.request("refreshSession", {"session": session})
        eventually(lambda: playground.statistics()["tokenRequests"] > asked, what="the renewal at the issuer")
        second = succeed(start, held, first)
        playground.faults(token=None)
        with second.connect(timeout=30) as other:
            assert other.call("refreshSession", {"session": session})["session"] == session
        assert "result" in connection.answer_to(renewal)
        gate.set()
        assert "result" in connection.answer_to(pending)
    assert first.wait() == 0
    assert playground.statistics()["refreshTokenReuseDetected"] == 0


def test_a_renewal_that_nobody_waits_for_is_stored_before_the_end(
    start: Start, settings: Dict[str, Any], playground: Playground  # noqa: F811
) -> None:
    first = start(settings)
    with first.connect() as connection:
        session = login(connection, playground)
        asked = playground.statistics()["tokenRequests"]
        playground.faults(token={"kind": "slowAnswer", "times": 1, "delayMs": 1500})
        connection.request("refreshSession", {"session": session})
        eventually(lambda: playground.statistics()["tokenRequests"] > asked, what="the renewal at the issuer")
    first.signal(signal.SIGTERM)
    assert first.wait() == 0
    playground.faults(token=None)
    with start(settings).connect() as connection:
        assert connection.call("refreshSession", {"session": session})["session"] == session
    assert playground.statistics()["refreshTokenReuseDetected"] == 0


def test_no_session_is_lost_where_processes_follow_each_other_under_renewals(
    start: Start, held: Dict[str, Any], playground: Playground, issuer: IssuerDouble, gate: threading.Event
) -> None:
    sidecar = start(held)
    with sidecar.connect() as connection:
        sessions = [login(connection, playground) for _ in range(3)]
    slow: List[Connection] = []
    for _ in range(3):
        callers = [Renewing(sidecar, session) for session in sessions]
        slow.append(sidecar.connect(timeout=60))
        hold(slow[-1], issuer)
        # In the midst of renewals, however quick the machine is.
        eventually(lambda: all(caller.told > 2 for caller in callers), what="renewals")  # noqa: B023
        sidecar = succeed(start, held, sidecar)
        for caller in callers:
            caller.end()
        with sidecar.connect(timeout=30) as connection:
            for session in sessions:
                assert connection.call("refreshSession", {"session": session})["session"] == session
    for connection in slow:
        connection.close()
    assert playground.statistics()["refreshTokenReuseDetected"] == 0
    assert not any(family["revoked"] for family in families(playground))


@needs_root
def test_a_token_that_the_store_could_not_take_is_written_before_the_next_process_has_the_store(
    start: Start, settings: Dict[str, Any], playground: Playground, directory: Path  # noqa: F811
) -> None:
    """Files that cannot grow, as on a full disk: ALICE's session is written large, so that BOB's refreshed token finds
    no room."""
    first = start({**settings, **BOTH})
    open_to_all(directory)
    with connect_as(ALICE, first) as alice, connect_as(BOB, first) as bob:
        session = login(bob, playground)
        before = resource.prlimit(first.process.pid, resource.RLIMIT_FSIZE)
        # What is in the log can be written over; what makes it longer cannot.
        resource.prlimit(first.process.pid, resource.RLIMIT_FSIZE, (4096, before[1]))
        grant = {"issuer": "shop", "grant": {"type": "tokens", "accessToken": "x" * 16_000}}
        expect.fault(alice.error("createSession", grant), 5008)
        asked = playground.statistics()["tokenRequests"]
        expect.fault(bob.error("refreshSession", {"session": session}), 5008)
        assert playground.statistics()["tokenRequests"] > asked
        resource.prlimit(first.process.pid, resource.RLIMIT_FSIZE, before)
    first.signal(signal.SIGTERM)
    assert first.wait() == 0
    with connect_as(BOB, start({**settings, **BOTH})) as bob:
        assert bob.call("refreshSession", {"session": session})["session"] == session
    assert playground.statistics()["refreshTokenReuseDetected"] == 0


@needs_root
def test_calls_that_find_no_store_write_one_line_to_the_log(
    start: Start, settings: Dict[str, Any], playground: Playground, directory: Path  # noqa: F811
) -> None:
    first = start(settings)
    with first.connect() as connection:
        login(connection, playground)
    second = start({**settings, **BOTH, "listen": {"path": str(directory / "second.sock"), "mode": "0666"}})
    open_to_all(directory)
    grant = {"issuer": "shop", "grant": {"type": "tokens", "accessToken": "a"}}
    for user in (ALICE, BOB):
        with connect_as(user, second, timeout=30) as connection:
            for _ in range(50):
                expect.fault(connection.error("createSession", grant), 5008)
    assert second.log().count("session store cannot be opened") == 1


def test_a_store_that_another_process_keeps_is_a_passing_fault(
    start: Start, settings: Dict[str, Any], playground: Playground, directory: Path  # noqa: F811
) -> None:
    first = start(settings)
    with first.connect() as connection:
        session = login(connection, playground)
    second = start({**settings, "listen": {"path": str(directory / "second.sock")}})
    with second.connect(timeout=30) as connection:
        data = expect.fault(connection.error("getSession", {"session": session}), 5008)
        assert data["retryable"] is True and data["retryAfterMs"] == 1000
        fetch = {"resource": "mine", "path": "orders", "session": session}
        data = expect.fault(connection.error("fetchResource", fetch), 5008)
        assert data["retryable"] is True and data["retryAfterMs"] == 1000 and data["outcome"] == "not_sent"
        first.stop()
        assert fetch_status(connection, session) == 200
