"""`validateLogoutToken` with `end`: the effect of a logout at the issuer, for all users and all sidecars of a store."""
from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List
from urllib.parse import urlencode

import pytest

from harness import expect, glewlwyd
from harness.connection import Connection
from harness.decisions import DecisionDouble
from harness.issuer import IssuerDouble, document
from harness.logout import REDIRECT, corp_issuer, log_out_at, login, logout_token, sessions, shop_settings
from harness.playground import Playground
from harness.ports import free_port
from harness.sidecar import Sidecar
from harness.signing import SigningKey
from harness.users import ALICE, BOB, BOTH, acting_as, connect_as, needs_root, open_to_all
from harness.waiting import eventually
from test_preauthorize import authzen
from test_session_store import redis, redis_store  # noqa: F401 (a fixture)

Start = Callable[..., Sidecar]
ROOT = Path(__file__).resolve().parents[2]
EVENT = "http://schemas.openid.net/event/backchannel-logout"


@pytest.fixture
def settings(playground: Playground, directory: Path) -> Dict[str, Any]:
    return shop_settings(playground, directory)


@pytest.fixture
def sidecar(start: Start, settings: Dict[str, Any]) -> Sidecar:
    return start(settings)


def end(connection: Connection, token: str, **params: Any) -> Dict[str, Any]:
    return connection.call("validateLogoutToken", {"logoutToken": token, "issuer": "shop", "end": True, **params})


def test_without_end_a_logout_token_is_judged_and_ends_nothing(connection: Connection, playground: Playground) -> None:
    session = login(connection, playground)
    verdict = connection.call("validateLogoutToken", {
        "logoutToken": logout_token(playground, user="alice"), "issuer": "shop"})
    assert verdict["valid"] is True and "ended" not in verdict
    assert sessions(connection) == [session["session"]]


def test_a_sid_ends_one_login_of_its_user(connection: Connection, playground: Playground) -> None:
    first, second, third = [login(connection, playground) for _ in range(3)]
    sid = first["claims"]["sid"]
    assert len({session["claims"]["sid"] for session in (first, second, third)}) == 3
    assert end(connection, logout_token(playground, user="bob", sid=sid))["ended"] == 0
    verdict = end(connection, logout_token(playground, user="alice", sid=sid))
    assert verdict["valid"] is True and verdict["claims"]["sid"] == sid and verdict["ended"] == 1
    assert sessions(connection) == [second["session"], third["session"]]
    assert end(connection, logout_token(playground, sid=second["claims"]["sid"]))["ended"] == 1
    assert connection.error("fetchResource", {"resource": "mine", "path": "orders", "session": first["session"]})[
        "data"]["reason"] == "session_not_found"
    token = logout_token(playground, user="alice")
    assert end(connection, token)["ended"] == 1
    expect.refusal(end(connection, token), "jti_replayed", "jti")
    assert end(connection, logout_token(playground, user="alice"))["ended"] == 0


def test_tokens_of_what_was_ended_are_revoked_and_the_issuer_gets_no_logout(
    connection: Connection, playground: Playground
) -> None:
    session = login(connection, playground)
    end(connection, logout_token(playground, sid=session["claims"]["sid"]))

    def revoked() -> bool:
        found = json.loads(playground.request("GET", "/playground/families")[2])["families"]
        return all(family["revoked"] for family in found) and len(found) == 1

    eventually(revoked, what="the revocation of the refresh token")


def test_an_invalid_token_ends_nothing(connection: Connection, playground: Playground) -> None:
    session = login(connection, playground)
    body = {"user": "alice", "sid": session["claims"]["sid"]}
    for changes, code in [
        ({"claims": {"nonce": "n"}}, "nonce_forbidden"), ({"claims": {"events": None}}, "events_missing"),
        ({"claims": {"jti": None}}, "missing_claim"), ({"claims": {"exp": 1}}, "token_expired"),
        ({"claims": {"exp": None}}, "missing_claim"),
        ({"claims": {"iat": int(time.time()) + 600}}, "iat_invalid"), ({"claims": {"iss": "x"}}, "iss_mismatch"),
        ({"claims": {"aud": "other"}}, "aud_mismatch"), ({"type": "at+jwt"}, "wrong_token_type"),
    ]:
        verdict = end(connection, logout_token(playground, **body, **changes))
        expect.refusal(verdict, code)
        assert "ended" not in verdict
    assert sessions(connection) == [session["session"]]


def test_a_callers_own_keys_client_or_time_end_nothing(
    connection: Connection, playground: Playground, rsa: SigningKey
) -> None:
    session = login(connection, playground)
    now = int(time.time())
    claims = {"iss": playground.issuer, "aud": "shop", "iat": now, "exp": now + 60, "jti": "forged",
              "sub": session["subject"], "events": {EVENT: {}}}
    forged = {"logoutToken": rsa.sign(claims), "end": True, "clientId": "shop"}
    pieces = {"expectedIssuer": playground.issuer, "jwks": rsa.jwks()}
    for params, path in [
        ({**forged, **pieces}, "/end"), ({**forged, "expectedIssuer": playground.issuer}, "/end"),
        ({**forged, **pieces, "issuer": "shop"}, "/expectedIssuer"), ({**forged, "issuer": "shop", "now": 1}, "/now"),
        ({**forged, "issuer": "shop", "clientId": "other"}, "/clientId"),
    ]:
        error = connection.error("validateLogoutToken", params)
        assert error["code"] == -32602 and error["data"]["path"] == path, error
    expect.refusal(end(connection, forged["logoutToken"]), "key_not_found")
    assert sessions(connection) == [session["session"]]


def test_sessions_of_the_same_client_under_another_name_stay(connection: Connection, playground: Playground) -> None:
    """A rule may hide that name."""
    mine, other = login(connection, playground), login(connection, playground, issuer="twin")
    assert end(connection, logout_token(playground, user="alice"))["ended"] == 1
    assert sessions(connection) == [other["session"]] != [mine["session"]]


@needs_root
class TestTwoUsers:
    @pytest.fixture
    def shared(self, start: Start, settings: Dict[str, Any]) -> Sidecar:
        """Alice's and Bob's processes may use everything, a receiver of logout tokens no more than that."""
        receiver = {"uid": 0, "gid": 0, "methods": ["validateLogoutToken"], "issuers": ["shop"]}
        blind = {"uid": 0, "gid": 20, "methods": ["validateLogoutToken"], "issuers": ["twin"]}
        sidecar = start({**settings, **BOTH, "peers": [blind, receiver, *BOTH["peers"]]})
        open_to_all(sidecar.directory)
        return sidecar

    def test_a_receiver_ends_the_sessions_of_every_users_processes(
        self, shared: Sidecar, playground: Playground
    ) -> None:
        with connect_as(ALICE, shared) as alice, connect_as(BOB, shared) as bob, shared.connect() as receiver:
            one, two = login(alice, playground), login(bob, playground)
            stays = login(bob, playground, "bob")
            for connection in (alice, bob):
                connection.call("subscribe", {"events": ["event.sessionEnded"]})
            assert end(receiver, logout_token(playground, user="alice"))["ended"] == 2
            for connection, ended in ((alice, one), (bob, two)):
                event = connection.receive()
                assert event["method"] == "event.sessionEnded" and event["params"]["session"] == ended["session"]
                assert connection.error("getSession", {"session": ended["session"]})["code"] == 5001
            assert sessions(alice) == [] and sessions(bob) == [stays["session"]]
            assert receiver.error("listSessions")["code"] == -32020

    def test_the_decisions_of_what_was_ended_are_forgotten_and_no_others(
        self, start: Start, settings: Dict[str, Any], playground: Playground
    ) -> None:
        """It would catch a permit that is kept without its session, and another user's that is removed with it."""
        double = DecisionDouble(lambda *_: (404, {}, {}))
        try:
            authzen(double, lambda identifier: {"decision": True})
            point = {"kind": "authzen", "baseUrl": double.url, "issuer": "shop", "cache": {"permit": "60s"}}
            sidecar = start({**settings, **BOTH, "preauthorization": {"films": point}})
            open_to_all(sidecar.directory)
            with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
                one, two = login(alice, playground), login(bob, playground, "bob")
                for connection, session in ((alice, one), (bob, two)):
                    for source in ("backend", "local"):
                        params = {"resources": ["film"], "session": session["session"]}
                        decision = connection.call("preauthorize", params)["decisions"][0]
                        assert decision["authorized"] and decision["source"] == source
                assert end(bob, logout_token(playground, user="alice"))["ended"] == 1
                assert alice.call("invalidateDecisions") == {"removed": 0}
                assert bob.call("invalidateDecisions") == {"removed": 1}
        finally:
            double.stop()

    def test_a_rule_that_hides_the_issuer_ends_nothing_there(self, shared: Sidecar, playground: Playground) -> None:
        with connect_as(ALICE, shared) as alice:
            session = login(alice, playground)
            with acting_as(0, gid=20):
                blind = shared.connect()
            with blind:
                token = logout_token(playground, user="alice")
                errors = [
                    blind.error("validateLogoutToken", {"logoutToken": token, "issuer": name, "end": True})
                    for name in ("shop", "nowhere")
                ]
                for error in errors:
                    error["data"].pop("traceId")
                assert errors[0] == errors[1] and errors[0]["code"] == 2005
                assert end(blind, token, issuer="twin")["ended"] == 0
            assert sessions(alice) == [session["session"]]


class TestOneStore:
    @pytest.fixture
    def replicas(self, start: Start, settings: Any, redis: str, directory: Path) -> List[Sidecar]:  # noqa: F811
        store = redis_store(settings, redis, directory)
        return [
            start({**settings, "store": store, "listen": {"path": str(directory / f"replica-{number}.sock")}})
            for number in range(2)
        ]

    def test_a_session_is_over_in_the_other_sidecar_within_a_second(
        self, replicas: List[Sidecar], playground: Playground
    ) -> None:
        first, second = [replica.connect() for replica in replicas]
        for _ in range(3):
            gone, stays = login(first, playground)["session"], login(second, playground, "bob")["session"]
            fetch = {"resource": "mine", "path": "orders", "session": gone}
            # The second one has it in its cache.
            assert second.call("fetchResource", fetch)["status"] == 200
            assert end(first, logout_token(playground, user="alice"))["ended"] == 1
            ended = time.monotonic()
            used = asked = ended
            while "result" in second.answer_to(second.request("fetchResource", fetch)):
                # When it was sent: how long its answer takes is another matter.
                used, asked = asked, time.monotonic()
            assert used - ended < 1.0
            assert second.call("getSession", {"session": stays})["session"] == stays

    def test_a_store_that_cannot_be_used_is_an_error_and_a_retry_has_the_effect(
        self, replicas: List[Sidecar], playground: Playground, redis: str  # noqa: F811
    ) -> None:
        port = int(redis.rpartition(":")[2].partition("/")[0])
        server = _listener(port)
        with replicas[0].connect(timeout=30) as connection:
            session = login(connection, playground)
            token = logout_token(playground, user="alice")
            os.kill(server, signal.SIGSTOP)
            try:
                error = connection.error("validateLogoutToken", {"logoutToken": token, "issuer": "shop", "end": True})
                assert error["code"] == 5008 and error["data"]["retryable"] is True, error
            finally:
                os.kill(server, signal.SIGCONT)

            def ended() -> bool:
                answer = connection.answer_to(connection.request(
                    "validateLogoutToken", {"logoutToken": token, "issuer": "shop", "end": True}))
                assert "error" not in answer or answer["error"]["code"] == 5008, answer
                return answer.get("result", {}).get("ended") == 1

            eventually(ended, what="the effect of the retry")
            assert connection.error("getSession", {"session": session["session"]})["code"] == 5001


def _listener(port: int) -> int:
    """The process that listens on a port of loopback."""
    text = subprocess.run(["ss", "-Hltnp", f"sport = :{port}"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"pid=(\d+)", text)
    assert found, text
    return int(found.group(1))


def test_a_logout_outlives_the_process_and_can_be_repeated_after_a_kill(
    start: Start, settings: Dict[str, Any], playground: Playground
) -> None:
    first = start(settings)
    token = logout_token(playground, user="alice")
    with first.connect() as connection:
        for _ in range(5):
            login(connection, playground)
        # Killed somewhere between receipt and answer.
        connection.request("validateLogoutToken", {"logoutToken": token, "issuer": "shop", "end": True})
        time.sleep(0.005)
    first.signal(signal.SIGKILL)
    first.wait()
    second = start(settings)
    with second.connect() as connection:
        left = len(sessions(connection))
        assert end(connection, token)["ended"] == left
        assert sessions(connection) == []
    second.signal(signal.SIGKILL)
    second.wait()
    with start(settings).connect() as connection:
        assert sessions(connection) == []


class TestLoginUnderWay:
    """At an issuer that gives what a test wants: the playground's `sid` is not known before the login."""

    @pytest.fixture
    def sidecar(self, start: Start, issuer: IssuerDouble, rsa: SigningKey) -> Sidecar:
        issuer.serve_keys(rsa.jwks())
        issuer.metadata.update(
            authorization_endpoint=f"{issuer.base}/authorize", token_endpoint=f"{issuer.base}/token",
            revocation_endpoint=f"{issuer.base}/revoke")
        issuer.answers["/revoke"] = lambda _: document({})
        return start({"issuers": {"corp": {"issuer": issuer.base, "clientId": "shop", "clientSecret": "secret"}}})

    @staticmethod
    def claims(issuer: IssuerDouble, **members: Any) -> Dict[str, Any]:
        now = int(time.time())
        return {"iss": issuer.base, "aud": "shop", "iat": now, "exp": now + 120, **members}

    def test_a_login_that_completes_after_its_logout_is_rejected(
        self, connection: Connection, issuer: IssuerDouble, rsa: SigningKey
    ) -> None:
        id_token = rsa.sign(self.claims(issuer, sub="alice", sid="s-1"))
        issuer.answers["/token"] = lambda _: document({
            "access_token": "a-1", "token_type": "Bearer", "expires_in": 300, "refresh_token": "r-1",
            "id_token": id_token})
        grant = {"type": "authorization_code", "code": "c", "redirectUri": REDIRECT}
        logout = rsa.sign(self.claims(issuer, sub="alice", sid="s-1", jti="l-1", events={EVENT: {}}))
        assert end(connection, logout, issuer="corp")["ended"] == 0
        for given in [grant, {"type": "tokens", "accessToken": "a", "idToken": id_token}]:
            error = connection.error("createSession", {"issuer": "corp", "grant": given})
            assert error["data"]["reason"] == "authorization_failed", error
            assert error["data"]["upstream"]["code"] == "logged_out"
        assert sessions(connection) == []
        eventually(lambda: any(b"r-1" in asked.body for asked in issuer.asked if asked.path == "/revoke"))
        # Another login of the same user.
        issuer.answers["/token"] = lambda _: document({
            "access_token": "a-2", "token_type": "Bearer", "expires_in": 300,
            "id_token": rsa.sign(self.claims(issuer, sub="alice", sid="s-2"))})
        assert connection.call("createSession", {"issuer": "corp", "grant": grant})["subject"] == "alice"

    def test_of_thousands_of_sessions_those_of_one_user_end(
        self, sidecar: Sidecar, connect: Callable[..., Connection], issuer: IssuerDouble, rsa: SigningKey
    ) -> None:
        connection = connect(sidecar, timeout=60)
        tokens = [rsa.sign(self.claims(issuer, sub=user)) for user in ("alice", "bob")]
        for _ in range(20):
            pending = [
                connection.request("createSession", {
                    "issuer": "corp", "grant": {"type": "tokens", "accessToken": "a", "idToken": tokens[number % 2]}})
                for number in range(100)
            ]
            for identifier in pending:
                assert "result" in connection.answer_to(identifier)
        logout = rsa.sign(self.claims(issuer, sub="alice", jti="l-2", events={EVENT: {}}))
        assert end(connection, logout, issuer="corp")["ended"] == 1000
        page = connection.call("listSessions", {"limit": 1000})
        assert [session["subject"] for session in page["sessions"]] == ["bob"] * 1000 and "nextCursor" not in page
        assert "access_token" not in sidecar.log() and "eyJ" not in sidecar.log()


def receiver_of_the_page() -> str:
    """The program that the page about sessions shows."""
    page = (ROOT / "proto-docs" / "sessions.md").read_text(encoding="utf-8")
    [program] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    return program


@pytest.fixture
def receiver(directory: Path) -> Iterator[Callable[[Sidecar], str]]:
    """Starts the page's receiver of logout tokens for a sidecar; its URL."""
    started: List["subprocess.Popen[bytes]"] = []
    program = directory / "receiver.py"
    program.write_text(receiver_of_the_page())
    port = free_port()

    def start(sidecar: Sidecar) -> str:
        started.append(subprocess.Popen(
            [sys.executable, str(program), str(port)],
            env={**os.environ, "POSTERN_SOCKET": sidecar.path, "PYTHONPATH": str(ROOT / "clients" / "python" / "src")}))

        def listens() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        eventually(listens, what="the receiver")
        return f"http://127.0.0.1:{port}/backchannel-logout/corp"

    start.url = f"http://127.0.0.1:{port}/backchannel-logout/corp"  # type: ignore[attr-defined]
    yield start
    for process in started:
        process.terminate()
        process.wait(10)


def post(url: str, body: bytes, kind: str = "application/x-www-form-urlencoded") -> int:
    request = urllib.request.Request(url, body, {"Content-Type": kind})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert answer.headers["Cache-Control"] == "no-store" and answer.read() == b""
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_the_pages_receiver_takes_logout_tokens_and_nothing_else(
    start: Start, settings: Dict[str, Any], playground: Playground, receiver: Any
) -> None:
    sidecar = start({**settings, "issuers": {**settings["issuers"], "corp": settings["issuers"]["shop"]}})
    url = receiver(sidecar)
    with sidecar.connect() as connection:
        session = login(connection, playground, issuer="corp")["session"]
        token = logout_token(playground, user="alice")
        form = urlencode({"logout_token": token}).encode()
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(url, timeout=20)
        assert post(url, json.dumps({"logout_token": token}).encode(), "application/json") == 400
        assert post(url, form + b"&" + form) == 400
        assert post(url, b"") == 400
        assert post(url, b"x" * (1 << 20)) == 400
        assert post(url.replace("/corp", "/other"), form) == 404
        assert post(url, urlencode({"logout_token": logout_token(playground, user="alice", type="at+jwt")}).encode()) == 400
        assert sessions(connection) == [session]
        assert post(url, form) == 200
        assert sessions(connection) == []
        assert post(url, form) == 400
    sidecar.signal(signal.SIGTERM)
    sidecar.wait()
    assert post(url, urlencode({"logout_token": logout_token(playground, user="alice")}).encode()) == 503


def test_the_logout_of_a_real_provider(start: Start, directory: Path, receiver: Any) -> None:
    """glewlwyd posts its logout token by itself when its user logs out; the token has no `exp`."""
    provider = glewlwyd.Provider(directory / "glewlwyd", "--logout-uri", receiver.url, token_seconds=60)
    try:
        sidecar = start({"issuers": corp_issuer(provider)})
        receiver(sidecar)
        with sidecar.connect() as connection:
            log_out_at(provider, connection)
    finally:
        provider.stop()
