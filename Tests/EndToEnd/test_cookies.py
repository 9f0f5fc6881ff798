"""`cookies` of a resource (RFC 6265): none kept unless it says so, and never one caller's for another."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Dict, List
from urllib.parse import urlencode

import pytest

from harness import expect
from harness.browser import announce_login, callback_of
from harness.connection import Connection
from harness.playground import Playground
from harness.sidecar import Sidecar

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]


def keeping(playground: Playground, **cookies: Any) -> Dict[str, Any]:
    settings = {"baseUrl": playground.base + "/open/", "auth": "none", "cookies": {"store": True, **cookies}}
    return {"resources": {"jar": settings}}


def cookies(connection: Connection, *lines: str, path: str = "cookies", **params: Any) -> List[str]:
    """The `Cookie` fields that the server saw; it sets `lines` in its answer."""
    query = urlencode([("set", line) for line in lines])
    result = connection.call(
        "fetchResource", {"resource": "jar", "path": path + (f"?{query}" if query else ""), **params})
    return json.loads(result["body"])["cookies"]


def test_none_is_kept_unless_the_resource_says_so(start: Start, connect: Connect, playground: Playground) -> None:
    for off in {}, {"cookies": {"store": False}}, {"cookies": {}}:
        sidecar = start({"resources": {"jar": {"baseUrl": playground.base + "/open/", "auth": "none", **off}}})
        connection = connect(sidecar)
        cookies(connection, "a=1")
        assert cookies(connection) == []
        sidecar.stop()


def test_kept_cookies_go_along_and_the_callers_win(start: Start, connect: Connect, playground: Playground) -> None:
    sidecar = start(keeping(playground))
    connection = connect(sidecar)
    assert cookies(connection, "a=1", "b=2; Max-Age=60; HttpOnly; SameSite=Strict", "gone=1; Max-Age=0") == []
    assert cookies(connection) == ["a=1; b=2"]
    assert cookies(connection, headers={"Cookie": "b=mine; c=3"}) == ["b=mine; c=3; a=1"]
    assert cookies(connect(sidecar), "a=; Max-Age=-1") == ["a=1; b=2"], "another connection of the same user"
    assert cookies(connection) == ["b=2"]


@pytest.mark.parametrize("line", [
    "a=1; Domain=evil.test", "a=1; Domain=0.0.1", "a=1; Domain=1", "a=1; Secure", "__Host-a=1; Path=/", "__Secure-a=1",
    "a=1; Path=/open/other", "=1", "a", "a=" + "x" * 4096, "a=\u00fc",
])
def test_what_must_not_be_kept_or_sent_is_not(
    start: Start, connect: Connect, playground: Playground, line: str
) -> None:
    connection = connect(start(keeping(playground)))
    cookies(connection, line)
    assert cookies(connection) == []


def test_paths_choose_and_longer_ones_come_first(start: Start, connect: Connect, playground: Playground) -> None:
    connection = connect(start(keeping(playground)))
    cookies(connection, "a=1; Path=/", "b=2; Path=/open/cookies/in", "c=3; Path=/open/cookies/inner")
    assert cookies(connection) == ["a=1"]
    assert cookies(connection, path="cookies/in/x") == ["b=2; a=1"]


def test_the_jar_is_bounded(start: Start, connect: Connect, playground: Playground) -> None:
    connection = connect(start(keeping(playground, maxCookies=3, maxBytes=1024)))
    cookies(connection, *[f"n{number}=1" for number in range(10)])
    assert cookies(connection) == ["n7=1; n8=1; n9=1"]
    cookies(connection, "big=" + "x" * 1000)
    assert cookies(connection) == ["big=" + "x" * 1000]


def test_a_redirect_to_another_origin_takes_none_along(
    start: Start, connect: Connect, playground: Playground, start_playground: Callable[..., Playground]
) -> None:
    other = start_playground()
    changes = keeping(playground)
    changes["resources"]["jar"]["additionalOrigins"] = [other.base + "/open/"]
    connection = connect(start(changes))
    cookies(connection, "a=1; Path=/")
    assert cookies(connection, path="redirect?" + urlencode({"to": "/open/cookies"})) == ["a=1"]
    assert cookies(connection, path="redirect?" + urlencode({"to": other.base + "/open/cookies?set=b=2"})) == []
    assert cookies(connection) == ["a=1"], "nothing kept from there"


def test_a_reload_that_changes_the_resource_forgets_its_cookies(
    start: Start, connect: Connect, playground: Playground, configuration: Dict[str, Any]
) -> None:
    sidecar = start(keeping(playground))
    connection = connect(sidecar)
    cookies(connection, "a=1")
    kept = {**configuration, "resources": keeping(playground)["resources"]}
    kept["listen"] = {"path": sidecar.path}
    sidecar.write({**kept, "log": {"level": "debug"}})
    connection.call("reloadConfig")
    assert cookies(connection) == ["a=1"], "another part changed"
    sidecar.write({**kept, "resources": keeping(playground, maxCookies=7)["resources"]})
    connection.call("reloadConfig")
    assert cookies(connection) == []


@pytest.fixture
def user_settings(playground: Playground, directory: Path) -> Dict[str, Any]:
    secret = directory / "shop-secret"
    secret.write_text("shopsecret")
    secret.chmod(0o600)
    return {
        "issuers": {"shop": {
            "issuer": playground.issuer, "clientId": "shop", "clientAuth": "client_secret_basic",
            "clientSecretFile": str(secret), "scope": "openid offline_access orders"}},
        "resources": {"jar": {
            "baseUrl": playground.base + "/resource/", "issuer": "shop", "auth": "user", "cookies": {"store": True}}},
    }


def test_each_session_has_its_own_and_they_end_with_it(
    start: Start, connect: Connect, playground: Playground, user_settings: Dict[str, Any]
) -> None:
    connection = connect(start(user_settings))
    sessions = []
    for user in "alice", "bob":
        announce_login(playground, user)
        begun = connection.call("beginAuthorization", {"issuer": "shop", "redirectUri": "http://127.0.0.1:8765/callback"})
        done = connection.call("completeAuthorization", callback_of(begun))
        sessions.append(done["session"])
    alice, bob = sessions
    cookies(connection, "who=alice", session=alice)
    assert cookies(connection, session=bob) == []
    assert cookies(connection, session=alice) == ["who=alice"]
    connection.call("endSession", {"session": alice})
    expect.fault(connection.error("fetchResource", {"resource": "jar", "path": "cookies", "session": alice}), 5001)
    assert cookies(connection, session=bob) == []


def test_no_cookie_is_in_the_log(start: Start, connect: Connect, playground: Playground) -> None:
    sidecar = start({**keeping(playground), "log": {"level": "trace"}})
    connection = connect(sidecar)
    cookies(connection, "name=very-secret-cookie")
    assert cookies(connection) == ["name=very-secret-cookie"]
    assert "very-secret-cookie" not in sidecar.log()
