"""A login belongs to the browser that began it: `state` from the browser's own cookie."""
from __future__ import annotations

from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any, Callable, Dict
from urllib.parse import parse_qs, urlsplit

import pytest

from harness import expect
from harness.browser import announce_login, authorize
from harness.issuer import IssuerDouble
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all

Start = Callable[..., Sidecar]
REDIRECT = "http://127.0.0.1:8765/callback"


@pytest.fixture
def sidecar(start: Start, directory: Path, playground: Playground) -> Sidecar:
    secret = directory / "shop-secret"
    secret.write_text("shopsecret")
    secret.chmod(0o600)
    shop = {
        "issuer": playground.issuer, "clientId": "shop", "clientAuth": "client_secret_basic",
        "clientSecretFile": str(secret), "scope": "openid profile offline_access orders"}
    # Not asked before a browser is there: it would know no other redirect URI than its own.
    unasked = {**shop, "endpoints": {"authorization": playground.issuer + "/authorize", "token": playground.issuer + "/token"}}
    made = start({**BOTH, "issuers": {"shop": shop, "unasked": unasked}})
    open_to_all(directory)
    open_to_all(made.directory)
    return made


def begin(connection: Any, **params: Any) -> Dict[str, Any]:
    begun: Dict[str, Any] = connection.call("beginAuthorization", {"issuer": "shop", "redirectUri": REDIRECT, **params})
    return begun


def come_back(begun: Dict[str, Any], playground: Playground) -> str:
    announce_login(playground)
    return authorize(begun["authorizationUrl"])


def test_a_foreign_callback_logs_nobody_in_and_leaves_both_logins_as_they_were(
    sidecar: Sidecar, playground: Playground
) -> None:
    """An attacker sends the victim the callback of a login of their own: two browsers of one program."""
    with sidecar.connect() as program:
        attacker, victim = begin(program), begin(program)
        foreign = come_back(attacker, playground)
        codes = playground.statistics()["tokenRequests"]
        for kept in (victim["state"], "x", victim["state"] + "x", attacker["state"][:-1], attacker["state"].swapcase()):
            fault = program.error("completeAuthorization", {"callbackUrl": foreign, "state": kept})
            expect.fault(fault, 5005)
            assert fault["data"]["detail"] == "state_mismatch" and fault["data"]["retryable"] is False
            assert attacker["state"] not in str(fault) and victim["state"] not in str(fault)
        # No oracle for the states that are under way.
        unknown = program.error(
            "completeAuthorization", {"callbackUrl": REDIRECT + "?code=c&state=unknown", "state": victim["state"]})
        assert (unknown["code"], unknown["data"]["detail"]) == (5005, "state_mismatch")
        assert playground.statistics()["tokenRequests"] == codes, "no code is redeemed"
        assert program.call("listSessions") == {"sessions": []}
        own = program.call("completeAuthorization", {"callbackUrl": foreign, "state": attacker["state"]})
        theirs = program.call(
            "completeAuthorization", {"callbackUrl": come_back(victim, playground), "state": victim["state"]})
        assert own["session"] != theirs["session"]
        for text in ("", None):
            fault = program.error("completeAuthorization", {"callbackUrl": foreign, "state": text})
            expect.fault(fault, -32602, "/state")
        fault = program.error("completeAuthorization", {"callbackUrl": foreign})
        expect.fault(fault, -32602, "/state")
        assert "cookie" in fault["message"]


@needs_root
def test_the_state_of_another_uid_is_unknown_although_its_browser_brings_it(
    sidecar: Sidecar, playground: Playground
) -> None:
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        begun = begin(alice)
        callback = come_back(begun, playground)
        expect.fault(bob.error("completeAuthorization", {"callbackUrl": callback, "state": begun["state"]}), 5006)
        assert alice.call("completeAuthorization", {"callbackUrl": callback, "state": begun["state"]})["session"]


@pytest.mark.parametrize("redirect, name, is_secure", [
    ("https://app.example/cb", "__Host-postern-login", True), ("HTTPS://app.example/cb", "__Host-postern-login", True),
    (REDIRECT, "postern-login", False), ("com.example.app:/cb", None, None),
])
def test_the_cookie_of_a_login_is_ready_to_be_set(
    sidecar: Sidecar, redirect: str, name: Any, is_secure: Any
) -> None:
    with sidecar.connect() as program:
        begun = begin(program, issuer="unasked", redirectUri=redirect)
    if name is None:
        assert "cookie" not in begun
        return
    cookie = SimpleCookie(begun["cookie"])
    morsel = cookie[name]
    assert list(cookie) == [name] and morsel.value == begun["state"]
    assert parse_qs(urlsplit(begun["authorizationUrl"]).query).get("state", [begun["state"]]) == [begun["state"]]
    assert morsel["path"] == "/" and morsel["max-age"] == "600" and morsel["domain"] == ""
    assert bool(morsel["httponly"]) and bool(morsel["secure"]) == is_secure and morsel["samesite"] == "Lax"
