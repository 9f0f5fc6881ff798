"""An endpoint for certain sessions is theirs alone; a level is given up at once, and costs no neighbour anything."""
from __future__ import annotations

import contextlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, Iterator

import pytest

from harness import expect
from harness.connection import Connection
from harness.decisions import DecisionDouble
from harness.endpoints import Endpoint, Maker
from harness.gateway import Upstream
from harness.issuer import IssuerDouble, document
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all
from harness.waiting import eventually
from test_endpoint_disk import SmallDisk

Start = Callable[..., Sidecar]
REDIRECT = "http://127.0.0.1:9/callback"
MINE = {"resource": "mine", "path": "echo"}


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    made = Upstream()
    yield made
    made.stop()


@pytest.fixture
def decisions() -> Iterator[DecisionDouble]:
    def permit(method: str, path: str, headers: Any, body: Any) -> Any:
        if not isinstance(body, dict):
            return (404, {}, {})
        count = len(body.get("evaluations", []))
        return (200, {"evaluations": [{"decision": True}] * count} if count else {"decision": True}, {})

    made = DecisionDouble(permit)
    yield made
    made.stop()


@pytest.fixture
def sidecar(start: Start, upstream: Upstream, issuer: IssuerDouble, decisions: DecisionDouble) -> Sidecar:
    issuer.metadata["token_endpoint"] = issuer.base + "/token"
    issuer.metadata["authorization_endpoint"] = issuer.base + "/authorize"
    issuer.answers["/token"] = lambda _: document(
        {"access_token": "token-of-the-client", "token_type": "Bearer", "expires_in": 300})
    return start({
        **BOTH, "tokens": {"leaveTheSidecar": True}, "issuers": {"corp": issuer.settings(clientAuth="none")},
        "resources": {
            "mine": {"baseUrl": upstream.base + "/v1/", "issuer": "corp", "auth": "user"},
            "service": {"baseUrl": upstream.base + "/v1/", "issuer": "corp", "auth": "clientCredentials"},
            "open": {"baseUrl": upstream.base + "/v1/", "auth": "none"},
        },
        "preauthorization": {"point": {"kind": "authzen", "baseUrl": decisions.url}},
    })


def log_in(connection: Connection, token: str = "token-of-a") -> str:
    grant = {"type": "tokens", "accessToken": token, "expiresIn": 3600}
    session: str = connection.call("createSession", {"issuer": "corp", "grant": grant})["session"]
    return session


@pytest.mark.parametrize("bound", ["session", "sessions", "none of them"])
def test_an_endpoint_for_sessions_does_not_act_as_the_client(sidecar: Sidecar, upstream: Upstream, bound: str) -> None:
    """Catches a child that asks for the client's token, which is good for more than its user's."""
    with sidecar.connect() as maker:
        own = log_in(maker)
        limits: Dict[str, Any] = {"session": {"session": own}, "sessions": {"sessions": [own]}}.get(bound, {"sessions": []})
        with Endpoint(maker, **limits).connect() as child:
            for method, params in [
                ("fetchResource", {**MINE, "auth": "clientCredentials"}),
                ("getAccessToken", {"issuer": "corp", "auth": "clientCredentials"}),
                ("getAccessToken", {"resource": "mine", "auth": "clientCredentials"}),
                ("getAccessToken", {"resource": "service"}),
            ]:
                expect.fault(child.error(method, params), -32020, "/auth")
            assert upstream.seen == []
            # A resource that the service reaches as itself is reached so: the maker names the resources.
            assert child.call("fetchResource", {"resource": "service", "path": "echo"})["status"] == 200
        assert maker.call("fetchResource", {**MINE, "auth": "clientCredentials"})["status"] == 200


def test_an_endpoint_for_sessions_asks_no_decision_about_others(sidecar: Sidecar, decisions: DecisionDouble) -> None:
    with sidecar.connect() as maker:
        question = {"resources": ["salary"], "context": {"subject": "bob"}}
        assert maker.call("preauthorize", question)["outcome"] == "response"
        count = len(decisions.requests)
        with Endpoint(maker, session=log_in(maker)).connect() as child:
            answer = child.call("preauthorize", question)
            assert (answer["outcome"], answer["status"]["code"]) == ("failure", "authentication_session_missing")
        assert len(decisions.requests) == count


def test_paths_are_whole_segments(sidecar: Sidecar, upstream: Upstream) -> None:
    """Catches an empty segment at the beginning, which an object store takes for a part of the name."""
    with sidecar.connect() as maker, Endpoint(maker, resources=["open"], paths=["inbox/"]).connect() as child:
        assert child.call("fetchResource", {"resource": "open", "path": "inbox/a"})["status"] == 200
        count = len(upstream.seen)
        child.error("fetchResource", {"resource": "open", "path": f"{upstream.base}/v1//inbox/a"})
        child.error("fetchResource", {"resource": "open", "path": "inbox/a", "method": "COPY",
                                      "headers": {"Destination": f"{upstream.base}/v1//inbox/b"}})
        assert len(upstream.seen) == count


def test_a_childs_logins_take_no_place_of_its_makers(sidecar: Sidecar) -> None:
    with sidecar.connect() as main, Endpoint(main).connect() as outer:
        begun = outer.call("beginAuthorization", {"issuer": "corp", "redirectUri": REDIRECT})
        with Endpoint(outer, methods=["beginAuthorization"]).connect() as child:
            for _ in range(10):
                child.send([{"jsonrpc": "2.0", "id": number, "method": "beginAuthorization",
                             "params": {"issuer": "corp", "redirectUri": REDIRECT}} for number in range(64)])
                child.receive()
        state = begun["state"]
        result = outer.answer_to(outer.request(
            "completeAuthorization", {"callbackUrl": f"{REDIRECT}?code=x&state={state}", "state": state}))
        assert "result" in result or result["error"]["code"] != 5004, result


def test_a_full_connection_can_be_narrowed(start: Start, upstream: Upstream) -> None:
    sidecar = start({"limits": {"inFlightPerConnection": 2},
                     "resources": {"open": {"baseUrl": upstream.base + "/v1/", "auth": "none"}}})
    with sidecar.connect() as connection:
        for _ in range(2):
            connection.request("fetchResource", {"resource": "open", "path": "hang"})
        expect.fault(connection.error("listTasks"), -32009)
        assert connection.call("narrow", {"methods": ["getInfo"]}) == {}


def test_a_narrow_that_fails_unheard_ends_the_connection(sidecar: Sidecar, upstream: Upstream) -> None:
    """Catches a program that believes its rights gone, and passes the connection on."""
    with sidecar.connect() as connection:
        connection.notify("narrow", {"resources": ["misspelt"]})
        with contextlib.suppress(OSError):
            connection.request("fetchResource", {"resource": "open", "path": "echo"})
        with pytest.raises((EOFError, OSError)):
            while True:
                answer: Any = connection.receive()
                assert "result" not in answer
    assert upstream.seen == []


def test_a_narrow_that_is_not_allowed_ends_the_connection_as_well(start: Start, upstream: Upstream) -> None:
    """Catches rights that stay because a rule, and not the call itself, rejected what should take them."""
    sidecar = start({
        "peers": [{"uid": os.getuid(), "methods": ["fetchResource"]}],
        "resources": {"open": {"baseUrl": upstream.base + "/v1/", "auth": "none"}},
    })
    with sidecar.connect() as connection:
        expect.fault(connection.error("narrow", {"methods": []}), -32020)
        assert connection.call("fetchResource", {"resource": "open", "path": "echo"})["status"] == 200
        count = len(upstream.seen)
        connection.notify("narrow", {"methods": []})
        with contextlib.suppress(OSError):
            connection.request("fetchResource", {"resource": "open", "path": "echo"})
        with pytest.raises((EOFError, OSError)):
            while True:
                connection.receive()
    assert len(upstream.seen) == count


def test_narrowing_is_bounded_for_each_user(start: Start, directory: Path) -> None:
    """Catches a user whose narrowed connections take the memory or the time of all."""
    sidecar = start({"limits": {"connectionsPerUid": 200}})
    lists = {"sessions": [f"{number:043d}" + "s" * 200 for number in range(256)],
             "paths": [f"{number:03d}" + "p" * 240 + "/" for number in range(256)]}
    with contextlib.ExitStack() as connections:
        answers = []
        for _ in range(100):
            connection = connections.enter_context(sidecar.connect())
            answers.append(connection.answer_to(connection.request("narrow", lists)))
            if "error" in answers[-1]:
                break
        expect.fault(answers[-1]["error"], -32009)
        assert len(answers) > 8
    with sidecar.connect() as connection:
        eventually(lambda: "result" in connection.answer_to(connection.request("narrow", lists)))
        expect.fault(connection.error("narrow", {"paths": [f"{number}" + "/a" * 100 for number in range(256)]}), -32602, "/paths")


def test_as_many_narrows_are_free_as_there_are_levels(start: Start) -> None:
    """Catches a connection that keeps the sidecar busy with calls which no rate counts."""
    sidecar = start({"peers": [{"uid": os.getuid(), "methods": ["*"], "rate": {"perSecond": 0.01, "burst": 2}}]})
    with sidecar.connect() as connection:
        codes = [connection.error("narrow", {"resources": ["none"]})["code"] for _ in range(12)]
        assert codes[:10] == [-32020] * 10 and codes[10:] == [-32009] * 2


@needs_root
def test_a_right_that_ends_during_a_question_is_gone(start: Start, upstream: Upstream) -> None:
    """Catches a call that is carried out by the rule of before the reload."""
    configuration: Dict[str, Any] = {
        "peers": [{"uid": 0, "methods": ["*"]}, {"uid": ALICE, "methods": ["*"]}],
        "resources": {"open": {"baseUrl": upstream.base + "/v1/", "auth": "none"}},
    }
    sidecar = start({**BOTH, **configuration})
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar) as alice:
        maker = Maker(alice, ["once"])

        def take_away() -> None:
            reduced = {**BOTH, **configuration}
            reduced["peers"] = [{"uid": 0, "methods": ["*"]}, {"uid": ALICE, "methods": ["registerDelegate"]}]
            sidecar.write({**json.loads(sidecar.configuration_path.read_text()), "peers": reduced["peers"]})
            with sidecar.connect() as root:
                root.call("reloadConfig")

        maker.before_answer = take_away
        with maker.endpoint().connect() as child:
            call = {"resource": "open", "path": "echo"}
            answer = maker.while_answering(1, lambda: child.answer_to(child.request("fetchResource", call)))
            expect.fault(answer["error"], -32020)
    assert upstream.seen == []


@needs_root
def test_a_user_can_log_out_where_another_has_filled_the_disk(
    start: Start, directory: Path, upstream: Upstream, issuer: IssuerDouble
) -> None:
    """Catches a session that goes on because its end cannot be written."""
    disk = SmallDisk(directory / "disk", 200)
    subprocess.run([*disk.launcher, "mount", "-o", "remount,size=512k", str(disk.path)], check=True)
    key = directory / "key"
    key.write_text("ab" * 31 + "cd")
    key.chmod(0o600)
    sidecar = start({
        **BOTH, "store": {"kind": "file", "path": str(disk.path / "store"), "keyFile": str(key)},
        "issuers": {"corp": issuer.settings(clientAuth="none")},
        "resources": {"mine": {"baseUrl": upstream.base + "/v1/", "issuer": "corp", "auth": "user"}},
    }, launcher=disk.launcher)
    open_to_all(directory)
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        own = log_in(bob)
        large = {"issuer": "corp", "grant": {"type": "tokens", "accessToken": "x" * 15000, "expiresIn": 3600}}
        for _ in range(200):
            if "error" in alice.answer_to(alice.request("createSession", large)):
                break
        assert bob.call("fetchResource", {**MINE, "session": own})["status"] == 200
        ended = bob.answer_to(bob.request("endSession", {"session": own}))
        if "error" in ended:
            expect.fault(ended["error"], 5008)
        count = len(upstream.seen)
        assert "error" in bob.answer_to(bob.request("fetchResource", {**MINE, "session": own}))
        assert len(upstream.seen) == count
        # With space again the end is written, and the session ended for good.
        subprocess.run([*disk.launcher, "mount", "-o", "remount,size=4m", str(disk.path)], check=True)
        if "error" in ended:
            eventually(lambda: "result" in bob.answer_to(bob.request("endSession", {"session": own})))
        expect.fault(bob.error("fetchResource", {**MINE, "session": own}), 5001)
    sidecar.stop()
    disk.stop()
