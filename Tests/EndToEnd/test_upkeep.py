"""What the sidecar does about sessions while nobody asks, and what it notices about an issuer's clock."""
from __future__ import annotations

import email.utils
import itertools
import threading
import time
from typing import Any, Callable, Dict, Iterator

import pytest

from harness import expect
from harness.connection import Connection
from harness.issuer import IssuerDouble, document
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]


@pytest.fixture
def issuer() -> Iterator[IssuerDouble]:
    double = IssuerDouble()
    double.metadata["token_endpoint"] = f"{double.base}/token"
    numbers = itertools.count(1)

    def token(_: Any) -> Any:
        number = next(numbers)
        return document(
            {"access_token": f"a-{number}", "token_type": "Bearer", "expires_in": 10, "refresh_token": f"r-{number}"})

    double.answers["/token"] = token
    yield double
    double.stop()


@pytest.fixture
def settings(issuer: IssuerDouble) -> Dict[str, Any]:
    return {"issuers": {"double": issuer.settings()}, "tokens": {"leaveTheSidecar": True}}


def test_a_used_token_is_renewed_and_an_end_announced_without_being_asked(
    start: Start, connect: Connect, settings: Dict[str, Any], issuer: IssuerDouble
) -> None:
    """Catches an upkeep that never runs in the built binary, and one that keeps unused sessions alive."""
    connection = connect(start(settings), timeout=30)
    connection.call("subscribe", {"events": ["event.sessionRefreshed", "event.sessionExpiring"]})
    make = lambda grant: connection.call("createSession", {"issuer": "double", "grant": grant})["session"]
    used = make({"type": "refresh_token", "refreshToken": "r-0"})
    make({"type": "refresh_token", "refreshToken": "r-0"})
    # Several: where the machine stands still for the second before an end, that is over before it could be announced.
    ending = [make({"type": "tokens", "accessToken": "opaque", "expiresIn": life}) for life in (10, 13, 16)]
    first = connection.call("getAccessToken", {"issuer": "double", "session": used})["accessToken"]
    told: Dict[str, Any] = {}
    events = connection.others()
    while len(told) < 2:
        event: Any = events.pop(0) if events else connection.receive()
        told.setdefault(event["method"], event["params"])
    assert told["event.sessionRefreshed"]["session"] == used
    assert told["event.sessionExpiring"]["session"] in ending
    assert expect.RFC3339_MILLISECONDS.match(told["event.sessionExpiring"]["expiresAt"])
    assert issuer.count("/token") == 3, "two at the beginning, one renewal: of the session that was used"
    assert connection.call("getAccessToken", {"issuer": "double", "session": used})["accessToken"] != first
    assert 'postern_session_renewals_total{outcome="renewed"} 1' in connection.call("metrics")["text"]


@needs_root
def test_one_users_sessions_at_a_slow_issuer_delay_no_other_users(
    start: Start, settings: Dict[str, Any], issuer: IssuerDouble
) -> None:
    """Catches an upkeep whose places one user's sessions can fill: others' tokens are renewed, and ends announced,
    half a minute late."""
    slow = threading.Event()
    answer = issuer.answers["/token"]

    def token(asked: Any) -> Any:
        if b"r-alice" in asked.body:
            slow.wait(60)
        return answer(asked)

    issuer.answers["/token"] = token
    sidecar = start({**settings, **BOTH})
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar, timeout=25) as bob:
        bob.call("subscribe", {"events": ["event.sessionRefreshed", "event.sessionExpiring"]})

        def make(connection: Connection, life: int, **more: str) -> str:
            grant = {"type": "tokens", "accessToken": "opaque", "expiresIn": life, **more}
            return connection.call("createSession", {"issuer": "double", "grant": grant})["session"]

        def use(connection: Connection, session: str) -> None:
            connection.call("getAccessToken", {"issuer": "double", "session": session})

        for _ in range(40):
            use(alice, make(alice, 10, refreshToken="r-alice"))
        began = time.monotonic()
        renewed = make(bob, 15, refreshToken="r-bob")
        use(bob, renewed)
        ending = make(bob, 15)
        told = {message["method"]: message["params"]["session"] for message in (bob.receive(), bob.receive())}
        assert told == {"event.sessionRefreshed": renewed, "event.sessionExpiring": ending}
        assert time.monotonic() - began < 25
        slow.set()


@pytest.mark.parametrize("offset, sense", [(120, "ahead of"), (-120, "behind")])
def test_an_issuers_clock_that_differs_is_measured_and_told(
    start: Start, connect: Connect, settings: Dict[str, Any], issuer: IssuerDouble, offset: int, sense: str
) -> None:
    issuer.answers["/.well-known/openid-configuration"] = lambda _: document(
        issuer.metadata, Date=email.utils.formatdate(time.time() + offset, usegmt=True))
    issuer.answers["/token"] = lambda _: document(
        {"access_token": "a", "token_type": "Bearer", "expires_in": 300},
        Date=email.utils.formatdate(time.time() + offset, usegmt=True))
    sidecar = start(settings)
    connection = connect(sidecar)
    connection.call("getAccessToken", {"issuer": "double"})
    health = connection.call("health")
    check = health["checks"]["issuer.double.clock"]
    assert health["status"] == check["status"] == "degraded" and sense in check["detail"]
    line = next(
        line for line in connection.call("metrics")["text"].splitlines()
        if line.startswith("postern_issuer_clock_skew_seconds{"))
    assert abs(float(line.split()[-1]) - offset) < 30
    sidecar.awaits_log("clock differs")


def test_clocks_that_agree_are_no_news(
    start: Start, connect: Connect, settings: Dict[str, Any], issuer: IssuerDouble
) -> None:
    connection = connect(start(settings))
    connection.call("getAccessToken", {"issuer": "double"})
    health = connection.call("health")
    assert health["status"] == "ok" and "issuer.double.clock" not in health["checks"]
    assert 'postern_issuer_clock_skew_seconds{issuer="double"} 0.0' in connection.call("metrics")["text"]
