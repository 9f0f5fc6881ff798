"""A browser of a program with many users, who share its uid, keeps nobody else from stepping up or logging in."""
from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

from harness import expect, journeys
from harness.browser import announce_login, authorize
from harness.connection import Connection
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all
from test_session_store import redis, redis_store  # noqa: F401 (a fixture)

Start = Callable[..., Sidecar]
REDIRECT = "http://127.0.0.1:8765/callback"
PASSWORD = {"PasswordCallback": "alice-password", "ConfirmationCallback": "Yes"}
#: More than one uid could have of either kind, with which one user once kept all others out.
MANY = 300


@pytest.fixture
def settings(playground: Playground, directory: Path) -> Dict[str, Any]:
    made = {**BOTH, **journeys.settings(playground, directory)}
    made["resources"]["gate"] = {
        "baseUrl": playground.base + "/gateway/", "issuer": "am", "auth": "user", "scope": "orders"}
    return made


def stopped(connection: Connection, session: str) -> Any:
    """The continuation of a fetch that needs a step-up."""
    fault = connection.error("fetchResource", {"resource": "gate", "path": "service/pay", "session": session})
    return expect.fault(fault, 1017).get("continuation")


def begun(connection: Connection, continuation: str) -> str:
    """The continuation of the step-up's journey."""
    step = connection.call("authenticateWithAdvice", {"continuation": continuation})
    assert step["state"] == "callbacks"
    return str(step["continuation"])


def goes_on(connection: Connection, fetch: str, journey: str) -> None:
    """The step-up and the fetch that waits for it succeed."""
    result = connection.call("authenticateWithAdvice", {"continuation": journey, "answers": PASSWORD})
    assert result["state"] == "completed", result
    assert connection.call("fetchResource", {"continuation": fetch})["status"] == 200


@needs_root
def test_one_users_steps_up_keep_no_other_user_from_theirs(
    start: Start, settings: Dict[str, Any], directory: Path, playground: Playground
) -> None:
    sidecar = start(settings)
    open_to_all(directory)
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar) as program, connect_as(BOB, sidecar) as other:
        mallory, bob, carol = (journeys.session(program, playground) for _ in range(3))
        early = stopped(program, bob)
        early_journey = begun(program, early)
        others = stopped(other, journeys.session(other, playground))
        others_journey = begun(other, others)
        flood: List[str] = []
        flood_journeys: List[str] = []
        for _ in range(MANY):
            flood.append(stopped(program, mallory))
            flood_journeys.append(begun(program, flood[-1]))
        assert all(flood), "each page load has what it needs, as long as it is among the newest"
        late = stopped(program, carol)
        goes_on(program, late, begun(program, late))
        goes_on(program, early, early_journey)
        goes_on(other, others, others_journey)
        expect.fault(program.error("fetchResource", {"continuation": flood[0]}), 3002, "/continuation")
        expect.fault(
            program.error("authenticateWithAdvice", {"continuation": flood_journeys[0], "answers": PASSWORD}), 3002,
            "/continuation")
        goes_on(program, flood[-1], flood_journeys[-1])


def test_logins_by_journeys_of_a_narrowed_program_are_no_ones_share(
    start: Start, settings: Dict[str, Any], playground: Playground
) -> None:
    """Catches a bound of one session for those who have none yet: all users who log in at that moment."""
    with start(settings).connect() as program:
        program.call("narrow", {"methods": ["authenticate", "fetchResource"]})
        steps = [journeys.begin(program) for _ in range(40)]
        for step in (steps[0], steps[-1]):
            result = journeys.go_on(program, step, "alice", "alice-password")
            assert result["state"] == "completed" and result["session"], result


def begin(connection: Connection) -> Dict[str, Any]:
    answer: Dict[str, Any] = connection.call("beginAuthorization", {"issuer": "am", "redirectUri": REDIRECT})
    return answer


def complete(connection: Connection, login: Dict[str, Any], callback: str) -> Dict[str, Any]:
    """The answer to the callback of a login."""
    return connection.answer_to(
        connection.request("completeAuthorization", {"callbackUrl": callback, "state": login["state"]}))


def come_back(login: Dict[str, Any], playground: Playground) -> str:
    announce_login(playground)
    return authorize(login["authorizationUrl"])


def begin_many(connection: Connection, count: int) -> None:
    """Begins `count` logins, 50 at a time."""
    for _ in range(count // 50):
        pending = [
            connection.request("beginAuthorization", {"issuer": "am", "redirectUri": REDIRECT}) for _ in range(50)]
        for identifier in pending:
            answer = connection.answer_to(identifier)
            assert "result" in answer, answer


@pytest.mark.slow
@needs_root
@pytest.mark.parametrize("kind", ["memory", "file", "redis"])
def test_logins_that_nobody_completes_keep_nobody_from_logging_in(
    start: Start, settings: Dict[str, Any], directory: Path, playground: Playground, kind: str,
    request: pytest.FixtureRequest,
) -> None:
    # Not pushed: the playground would have to keep them all.
    settings["issuers"]["am"]["endpoints"] = {
        "authorization": playground.issuer + "/authorize", "token": playground.issuer + "/token"}
    (directory / "store-key").write_text("ab" * 31 + "cd")
    (directory / "store-key").chmod(0o600)
    settings["store"] = {
        "memory": {"kind": "memory"},
        "file": {"kind": "file", "path": str(directory / "store"), "keyFile": str(directory / "store-key")},
        "redis": {"keyFile": str(directory / "store-key")},
    }[kind]
    if kind == "redis":
        settings["store"] = redis_store(settings, request.getfixturevalue("redis"), directory)
    sidecar = start(settings)
    open_to_all(directory)
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar, timeout=60) as program, connect_as(BOB, sidecar) as other:
        session = journeys.session(program, playground)
        first, others = begin(program), begin(other)
        begin_many(program, 5000)
        middle = begin(program)
        begin_many(program, 5500)
        last = begin(program)
        begin_many(program, 100)
        replaced = complete(program, first, come_back(first, playground))["error"]
        expect.fault(replaced, 5006)
        assert "replaced by newer logins" in replaced["message"]
        for connection, login in ((program, middle), (program, last), (other, others)):
            answer = complete(connection, login, come_back(login, playground))
            assert answer.get("result", {}).get("session"), answer
        assert {known["session"] for known in program.call("listSessions")["sessions"]} >= {session}
        assert len(program.call("listSessions")["sessions"]) == 3
    sidecar.awaits_log("logins in progress are replaced by newer ones")


def test_logins_that_fill_their_users_bytes_make_room_for_sessions(
    start: Start, settings: Dict[str, Any], playground: Playground
) -> None:
    """Catches a login that cannot be completed, since those in progress have what its session would need."""
    settings["issuers"]["am"]["endpoints"] = {
        "authorization": playground.issuer + "/authorize", "token": playground.issuer + "/token"}
    settings["limits"] = {"sessionBytesPerUid": "96KiB"}
    sidecar = start(settings)
    with sidecar.connect() as program:
        begin_many(program, 400)
        login = begin(program)
        begin_many(program, 50)
        answer = complete(program, login, come_back(login, playground))
        assert answer.get("result", {}).get("session"), answer
