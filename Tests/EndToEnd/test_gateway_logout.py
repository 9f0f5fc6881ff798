"""`POST /.postern/backchannel-logout/ISSUER`: back-channel logout without a receiver of one's own."""
from __future__ import annotations

import json
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict
from urllib.parse import urlencode

import pytest

from harness import glewlwyd
from harness.fronts import Answer, Relay, await_socket, direct
from harness.issuer import IssuerDouble
from harness.logout import corp_issuer, log_out_at, login, logout_token, sessions, shop_settings
from harness.playground import Playground
from harness.ports import free_port
from harness.sidecar import Sidecar
from harness.signing import SigningKey
from harness.users import ALICE, BOB, acting_as, connect_as, needs_root, open_to_all

Start = Callable[..., Sidecar]
EVENT = "http://schemas.openid.net/event/backchannel-logout"
FORM = ("Content-Type", "application/x-www-form-urlencoded")


@pytest.fixture
def settings(playground: Playground, directory: Path) -> Dict[str, Any]:
    return shop_settings(playground, directory)


@pytest.fixture
def http(directory: Path) -> str:
    return str(directory / "http.sock")


@pytest.fixture
def sidecar(start: Start, settings: Dict[str, Any], http: str) -> Sidecar:
    made = start({**settings, "gateway": {"listen": {"path": http}}})
    await_socket(http)
    return made


def send(http: str, body: bytes, issuer: str = "shop", kind: str = FORM[1], method: str = "POST") -> Answer:
    return direct(http, f"/.postern/backchannel-logout/{issuer}", method, fields=[("Content-Type", kind)], body=body)


def form(token: str) -> bytes:
    return urlencode({"logout_token": token}).encode()


def test_a_logout_token_ends_sessions(sidecar: Sidecar, http: str, playground: Playground) -> None:
    with sidecar.connect() as connection:
        connection.call("subscribe", {"events": ["event.sessionEnded"]})
        first, second = [login(connection, playground) for _ in range(2)]
        answer = send(http, form(logout_token(playground, user="alice", sid=first["claims"]["sid"])))
        assert answer.status == 200 and answer.body == b"" and answer.values("cache-control") == ["no-store"]
        assert connection.receive()["params"]["session"] == first["session"]
        assert sessions(connection) == [second["session"]]
        token = logout_token(playground, user="alice")
        assert send(http, form(token)).status == 200
        assert sessions(connection) == []
        assert send(http, form(token)).status == 400
        # A user without sessions is logged out as well.
        assert send(http, form(logout_token(playground, user="alice")), kind=FORM[1] + "; charset=utf-8").status == 200


def test_what_is_no_logout_token_ends_nothing(sidecar: Sidecar, http: str, playground: Playground) -> None:
    with sidecar.connect() as connection:
        session = login(connection, playground)["session"]
        token = logout_token(playground, user="alice")
        wrong = logout_token(playground, user="alice", type="at+jwt")
        for body, kind in [
            (b"", FORM[1]), (form(token) + b"&" + form(token), FORM[1]), (b"logout_token=", FORM[1]), (b"logout_token=%zz", FORM[1]),
            (b"token=x", FORM[1]), (b"x" * (64 << 10), FORM[1]), (form("x" * (1 << 20)), FORM[1]), (form(wrong), FORM[1]),
            (json.dumps({"logout_token": token}).encode(), "application/json"), (form(token), "text/plain"), (form(token), ""),
        ]:
            answer = send(http, body, kind=kind)
            assert answer.status == 400 and answer.values("cache-control") == ["no-store"], (body[:40], kind, answer)
            said = json.loads(answer.body)
            assert said["error"] == "invalid_request" and isinstance(said["error_description"], str)
            assert token not in answer.body.decode()
        assert send(http, form(token), issuer="other").status == 404
        assert send(http, form(token), issuer="shop/more").status == 404
        for method in ("GET", "PUT", "DELETE"):
            answer = send(http, form(token), method=method)
            assert answer.status == 405 and answer.values("allow") == ["POST"]
        assert sessions(connection) == [session]
        assert send(http, form(token)).status == 200
    sidecar.stop()
    assert token not in sidecar.log()


def test_a_field_that_nothing_reads_decides_nothing(sidecar: Sidecar, http: str, playground: Playground) -> None:
    for more in (b"&x=%zz", b"&x=%ff&x=1", b"&state=a&state=b", b"&"):
        assert send(http, form(logout_token(playground, user="alice")) + more).status == 200, more


def test_a_logout_is_the_issuers_own(
    start: Start, settings: Dict[str, Any], http: str, playground: Playground, issuer: IssuerDouble, rsa: SigningKey
) -> None:
    """Another issuer's token, or one for another client, ends nothing, and a user of the same name at another issuer stays."""
    issuer.serve_keys(rsa.jwks())
    other = {"issuer": issuer.base, "clientId": "other", "clientSecret": "secret"}
    sidecar = start({**settings, "issuers": {**settings["issuers"], "other": other}, "gateway": {"listen": {"path": http}}})
    await_socket(http)
    with sidecar.connect() as connection:
        here = login(connection, playground)
        subject, now = here["subject"], int(time.time())

        def there() -> str:
            token = rsa.sign({"iss": issuer.base, "aud": "other", "sub": subject, "sid": here["claims"]["sid"], "iat": now, "exp": now + 300})
            grant = {"type": "tokens", "accessToken": "a", "expiresIn": 600, "idToken": token}
            return connection.call("createSession", {"issuer": "other", "grant": grant})["session"]

        def forged(jti: str, **changes: Any) -> bytes:
            claims = {"iss": issuer.base, "aud": "other", "sub": subject, "iat": now, "exp": now + 60, "jti": jti, "events": {EVENT: {}}}
            given = {name: value for name, value in {**claims, **changes}.items() if value is not None}
            return form(rsa.sign(given, typ="logout+jwt"))

        stays = there()
        both = sorted([here["session"], stays])
        for jti, target, changes in [
            ("a", "shop", {}), ("b", "shop", {"iss": playground.issuer}), ("c", "shop", {"iss": playground.issuer, "aud": "shop"}),
            ("d", "other", {"aud": "shop"}), ("e", "other", {"iss": playground.issuer}), ("f", "other", {"aud": ["shop", "x"]}),
            ("g", "other", {"sub": None}), ("h", "other", {"events": {}}), ("i", "other", {"exp": now - 600, "iat": now - 700}),
        ]:
            assert send(http, forged(jti, **changes), issuer=target).status == 400, jti
            assert sorted(sessions(connection)) == both, jti
        assert send(http, form(logout_token(playground, user="alice")), issuer="other").status == 400
        assert sorted(sessions(connection)) == both
        assert send(http, form(logout_token(playground, user="alice"))).status == 200
        assert sessions(connection) == [stays]
        # The same jti at another issuer is another token's.
        assert send(http, forged("j", sub=None, sid=here["claims"]["sid"]), issuer="other").status == 200
        assert sessions(connection) == []
        assert send(http, forged("j", sub=None, sid=here["claims"]["sid"]), issuer="other").status == 400


def test_of_many_posts_of_one_token_one_counts(sidecar: Sidecar, http: str, playground: Playground) -> None:
    body = form(logout_token(playground, user="alice"))
    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(lambda _: send(http, body).status, range(32)))
    assert sorted(statuses) == [200] + [400] * 31


def test_a_form_without_an_end_is_rejected_and_delays_nobody(sidecar: Sidecar, http: str, playground: Playground) -> None:
    endless = socket.socket(socket.AF_UNIX)
    with endless:
        endless.settimeout(20)
        endless.connect(http)
        head = "POST /.postern/backchannel-logout/shop HTTP/1.1\r\nHost: postern\r\n" + ": ".join(FORM) + "\r\nTransfer-Encoding: chunked\r\n\r\n"
        endless.sendall(head.encode())
        assert send(http, form(logout_token(playground, user="alice"))).status == 200
        for _ in range(70):
            endless.sendall(b"400\r\n" + b"x" * 1024 + b"\r\n")
        assert endless.recv(64).startswith(b"HTTP/1.1 400 ")


@needs_root
def test_a_logout_ends_the_sessions_of_all_uids_and_no_other_users(
    start: Start, settings: Dict[str, Any], http: str, playground: Playground, directory: Path
) -> None:
    open_to_all(directory)
    sidecar = start({
        **settings, "listen": {"mode": "0666"}, "gateway": {"listen": {"path": http, "mode": "0666"}},
        "peers": [{"uid": ALICE, "methods": ["*"]}, {"uid": BOB, "methods": ["*"]},
                  {"uid": 0, "methods": ["validateLogoutToken"], "issuers": ["shop"]}]})
    await_socket(http)
    with connect_as(ALICE, sidecar) as one, connect_as(BOB, sidecar) as two:
        first, second = login(one, playground), login(two, playground)
        stays = [login(two, playground, "bob")["session"], login(two, playground, issuer="twin")["session"]]
        sid = logout_token(playground, user="alice", sid=first["claims"]["sid"])
        assert send(http, form(sid)).status == 200
        assert sessions(one) == [] and sorted(sessions(two)) == sorted([second["session"], *stays])
        assert send(http, form(logout_token(playground, user="alice"))).status == 200
        assert sorted(sessions(two)) == sorted(stays)


@needs_root
def test_a_peer_needs_the_method_and_the_issuer(
    start: Start, settings: Dict[str, Any], http: str, playground: Playground, directory: Path
) -> None:
    open_to_all(directory)
    sidecar = start({
        **settings, "listen": {"mode": "0666"}, "gateway": {"listen": {"path": http, "mode": "0666"}},
        "peers": [
            {"uid": ALICE, "methods": ["*"]}, {"uid": BOB, "methods": ["validateLogoutToken"], "issuers": ["twin"]},
            {"uid": 0, "methods": ["health"]}]})
    await_socket(http)
    with connect_as(ALICE, sidecar) as connection:
        login(connection, playground)
        token = logout_token(playground, user="alice")
        assert send(http, form(token)).status == 403
        with acting_as(BOB):
            assert send(http, form(token)).status == 404
            assert send(http, form(token), issuer="no").status == 404
        assert len(sessions(connection)) == 1
        with acting_as(ALICE):
            assert send(http, form(token)).status == 200
        assert sessions(connection) == []


def test_the_logout_of_a_real_provider(start: Start, directory: Path) -> None:
    """glewlwyd posts its logout token to the loopback listener; a front adds the key in practice."""
    port = free_port()
    relay = Relay(port, str(directory / "http.sock"))
    provider = glewlwyd.Provider(
        directory / "glewlwyd", "--logout-uri", f"http://127.0.0.1:{port}/.postern/backchannel-logout/corp", token_seconds=60)
    try:
        sidecar = start({
            "issuers": corp_issuer(provider), "gateway": {"listen": {"path": str(directory / "http.sock")}}})
        await_socket(str(directory / "http.sock"))
        with sidecar.connect() as connection:
            log_out_at(provider, connection)
        sidecar.signal(signal.SIGTERM)
        sidecar.wait()
    finally:
        provider.stop()
        relay.stop()
