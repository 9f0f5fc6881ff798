"""Section 4.5, `pass.*`, against the playground's double of Adobe Pass: the flows on one and two screens, what is kept,
what hostile answers and wrong params give, and how waiting calls end."""
from __future__ import annotations

import base64
import json
import os
import signal
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import expect
from harness.adobe_application import jws
from harness.connection import Connection
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all
from harness.waiting import eventually
from test_adobe_pass import point, switch
from test_preauthorize import permits

REDIRECT, DOMAIN, MVPD = "https://example.com/done?a=1", "example.com", "Cablevision"
LOGIN = {"mvpd": MVPD, "domainName": DOMAIN, "redirectUrl": REDIRECT}
ALLOWED = {"redirectUrls": [REDIRECT], "domainNames": [DOMAIN], "pollInterval": "3s"}


@pytest.fixture
def adobe(playground: Playground) -> Iterator[Playground]:
    playground.request("DELETE", "/playground/adobe")
    switch(playground, throttle=False)
    yield playground
    playground.request("DELETE", "/playground/adobe")


@pytest.fixture
def begin(start: Callable[..., Sidecar], adobe: Playground, directory: Path) -> Callable[..., Sidecar]:
    """A sidecar of a device: its store and its id last; without an MVPD in its configuration."""

    def begin(device: str = "tv", changes: Dict[str, Any] = {}, **settings: Any) -> Sidecar:
        own = directory / device
        own.mkdir(exist_ok=True)
        provider = {**point(own, adobe, **ALLOWED), **settings}
        del provider["mvpd"]
        return start({
            "listen": {"path": str(own / "postern.sock")}, "store": {"kind": "file", "path": str(own / "sessions")}, "preauthorization": {"tv": provider},
            **changes})

    return begin


def call(connection: Connection, name: str, **params: Any) -> Any:
    return connection.call(f"pass.{name}", {"provider": "tv", **params})


def error(connection: Connection, name: str, **params: Any) -> Dict[str, Any]:
    return connection.error(f"pass.{name}", {"provider": "tv", **params})


def seen(adobe: Playground) -> Dict[str, Any]:
    return json.loads(adobe.request("GET", "/playground/adobe")[2])


def counts(adobe: Playground) -> Dict[str, int]:
    """The requests by number, without those that there were none of."""
    return {number: count for number, count in seen(adobe)["counts"].items() if count}


def count(adobe: Playground, number: str) -> int:
    return counts(adobe).get(number, 0)


def log_in(connection: Connection, adobe: Playground, **params: Any) -> str:
    code: str = call(connection, "createSession", **LOGIN, **params)["code"]
    switch(adobe, login={"code": code})
    assert call(connection, "listProfiles", code=code, **params)["state"] == "authenticated"
    return code


def test_a_television_and_a_phone(begin: Callable[..., Sidecar], adobe: Playground) -> None:
    """The flow of two screens: a second screen that leaves a trace on its device, or a code that does not continue."""
    tv, phone = begin("tv").connect(), begin("phone").connect()
    begun = call(tv, "createSession")
    assert (begun["actionName"], begun["actionType"]) == ("resume", "direct")
    assert begun["missingParameters"] == ["mvpd", "domainName", "redirectUrl"] and begun["expiresAt"]
    waiting = tv.request("pass.listProfiles", {"provider": "tv", "code": begun["code"], "waitMs": 60_000})
    eventually(lambda: count(adobe, "E8") == 1, what="the first poll")
    other = {"code": begun["code"], "secondScreen": True}
    shown = call(phone, "getSession", **other)
    assert shown["missingParameters"] == begun["missingParameters"] and "authenticateUrl" not in shown
    assert set(shown["device"]) <= {"type", "model", "applicationId"}
    assert [mvpd["id"] for mvpd in call(phone, "getConfiguration")["mvpds"]][:1] == [MVPD]
    resumed = call(phone, "resumeSession", **other, **LOGIN)
    assert (resumed["actionName"], resumed["actionType"]) == ("authenticate", "interactive")
    assert resumed["url"].startswith(f"{adobe.base}/adobe/api/v2/authenticate/REF30/")
    assert call(phone, "getSession", **other)["authenticateUrl"].endswith(begun["code"])
    switch(adobe, login={"code": begun["code"]})
    done = tv.answer_to(waiting)["result"]
    assert (done["state"], done["selected"], done["remembered"]["id"]) == ("authenticated", MVPD, MVPD)
    (profile,) = done["profiles"]
    assert (profile["mvpd"], profile["type"], profile["issuer"]) == (MVPD, "regular", MVPD)
    assert profile["attributes"]["userID"]
    # The phone is no device of that login.
    assert call(phone, "listProfiles")["state"] == "unauthenticated"
    phones = [request for request in seen(adobe)["requests"] if request["call"] in ("E3", "E4")]
    assert phones and not any("ap-device-identifier" in request["headers"] for request in phones)


def test_return_playback_and_logout(begin: Callable[..., Sidecar], adobe: Playground) -> None:
    """A login that is not stored, a permit without a token, an E10 that is spared, a logout that ends nothing."""
    tv = begin().connect()
    log_in(tv, adobe)
    assert call(tv, "listProfiles")["selected"] == MVPD and count(adobe, "E7") == 1
    assert permits(tv.call("preauthorize", {"provider": "tv", "resources": ["news", "deny"]})) == [True, False]
    decided = call(tv, "authorize", resources=["news", "deny"])
    news, deny = decided["decisions"]
    assert decided["mvpd"] == MVPD and news["authorized"] and news["source"] == "mvpd"
    assert news["token"]["serializedToken"] and news["token"]["expiresAt"]
    assert not deny["authorized"] and "token" not in deny and deny["error"]["status"] == 403
    call(tv, "authorize", resources=["news"])
    assert count(adobe, "E10") == 2
    ended = call(tv, "logout", redirectUrl=REDIRECT)
    assert (ended["upstream"], ended["forgotten"]) == ("ended", [MVPD])
    (step,) = ended["logouts"]
    assert (step["mvpd"], step["actionName"]) == (MVPD, "logout") and step["url"].startswith(adobe.base)
    assert call(tv, "listProfiles") == {"state": "unauthenticated", "profiles": []}
    assert call(tv, "logout") == {"upstream": "none", "logouts": [], "forgotten": []}
    # A permit that outlived the login would be a permit for everybody.
    after = tv.call("preauthorize", {"provider": "tv", "resources": ["news"]})
    assert after["outcome"] == "failure" and after["status"]["code"] == "authentication_session_missing"
    assert after["status"]["message"] == (
        "The authentication session associated with this request could not be retrieved. The user must re-authenticate with a supported "
        "MVPD in order to continue.")


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_makes_nothing_anew(begin: Callable[..., Sidecar], adobe: Playground, ending: int) -> None:
    """A registration, a token or a login that was only in memory."""
    sidecar = begin()
    log_in(sidecar.connect(), adobe)
    sidecar.signal(ending)
    sidecar.wait()
    tv = begin().connect()
    result = call(tv, "listProfiles")
    assert result["state"] == "authenticated" and result["remembered"]["id"] == MVPD
    assert (count(adobe, "register"), count(adobe, "token"), count(adobe, "E7"), count(adobe, "E6")) == (1, 1, 1, 0)


def test_the_configuration_is_requested_once(begin: Callable[..., Sidecar], adobe: Playground) -> None:
    """A picker that costs a request for each caller; an MVPD of a trial in it."""
    tv = begin().connect()
    waiting = [tv.request("pass.getConfiguration", {"provider": "tv"}) for _ in range(8)]
    results = [tv.answer_to(identifier)["result"] for identifier in waiting]
    assert count(adobe, "E1") == 1 and not any(mvpd["isTempPass"] for mvpd in results[0]["mvpds"])
    everything = call(tv, "getConfiguration", includeTempPass=True)
    assert everything["cached"] and any(mvpd["isTempPass"] for mvpd in everything["mvpds"])
    assert count(adobe, "E1") == 1


def test_a_new_code_ends_the_wait_for_the_old_one(begin: Callable[..., Sidecar], adobe: Playground) -> None:
    tv = begin().connect()
    former = call(tv, "createSession")["code"]
    waiting = tv.request("pass.listProfiles", {"provider": "tv", "code": former, "waitMs": 60_000})
    eventually(lambda: count(adobe, "E8") == 1, what="the first poll")
    began = time.monotonic()
    call(tv, "createSession")
    assert tv.answer_to(waiting)["result"]["state"] == "superseded" and time.monotonic() - began < 30
    assert call(tv, "listProfiles", code=former)["state"] == "superseded" and count(adobe, "E8") == 1


def test_how_waiting_calls_end(begin: Callable[..., Sidecar], adobe: Playground) -> None:
    """A wait that ignores its bound, the cancellation, or a reload; a poll for each of several callers."""
    sidecar = begin()
    tv = sidecar.connect()
    code = call(tv, "createSession", **LOGIN)["code"]
    result = call(tv, "listProfiles", code=code)
    assert result["state"] == "pending" and 0 < result["nextPollMs"] <= 3000
    assert call(tv, "listProfiles", code=code)["state"] == "pending" and count(adobe, "E8") == 1
    params = {"provider": "tv", "code": code, "waitMs": 60_000}
    bounded = tv.request("pass.listProfiles", {**params, "meta": {"timeoutMs": 300}})
    cancelled, waiting = (tv.request("pass.listProfiles", params) for _ in range(2))
    failure = tv.answer_to(bounded)["error"]
    assert (failure["code"], failure["data"]["reason"]) == (-32022, "deadline_exceeded")
    tv.notify("$/cancelRequest", {"id": cancelled})
    assert tv.answer_to(cancelled)["error"]["code"] == -32800
    tv.call("reloadConfig")
    switch(adobe, login={"code": code})
    assert tv.answer_to(waiting)["result"]["state"] == "authenticated"
    assert count(adobe, "E8") <= 3


def test_waiting_calls_take_no_slot(begin: Callable[..., Sidecar], adobe: Playground) -> None:
    """Devices that wait for their users, and with them every other call."""
    peers = [{"uid": os.getuid(), "methods": ["*"], "concurrency": 2}]
    tv = begin(changes={"peers": peers, "limits": {"inFlight": 4}}).connect()
    devices = [{"device": {"id": f"device-{number}"}} for number in range(8)]
    codes = [call(tv, "createSession", **LOGIN, **device)["code"] for device in devices]
    waiting = [
        tv.request("pass.listProfiles", {"provider": "tv", "code": code, "waitMs": 60_000, **device})
        for code, device in zip(codes, devices)]
    eventually(lambda: count(adobe, "E8") == 8, what="the first polls")
    assert call(tv, "listProfiles", all=True)["state"] == "unauthenticated"
    for code in codes:
        switch(adobe, login={"code": code})
    assert [tv.answer_to(identifier)["result"]["state"] for identifier in waiting] == ["authenticated"] * 8


@pytest.mark.parametrize("name, params, path", [
    ("getConfiguration", {"device": {"info": {"model": 1}}}, "/device/info/model"),
    ("getConfiguration", {"device": {"address": "here"}}, "/device/address"),
    ("getConfiguration", {"device": {"model": "m"}}, "/device/model"),
    ("getConfiguration", {"visitorId": "v"}, "/visitorId"),
    ("createSession", {"redirectUrl": "https://example.net/"}, "/redirectUrl"),
    ("createSession", {"domainName": "example.net"}, "/domainName"),
    ("createSession", {"mvpd": MVPD, "partner": {"name": "Apple", "frameworkStatus": {}}}, "/mvpd"),
    ("createSession", {"platform": {"name": "xbox", "token": "t"}}, "/platform/name"),
    ("createSession", {"serviceToken": "no-jws"}, "/serviceToken"),
    ("createSession", {"tempPass": {"identity": "{}"}}, "/tempPass"),
    ("resumeSession", {}, "/code"),
    ("resumeSession", {"code": "x" * 65}, "/code"),
    ("resumeSession", {"code": "C", "secondScreen": True, "device": {"id": "d"}}, "/device"),
    ("listProfiles", {"all": True, "mvpd": MVPD}, "/all"),
    ("listProfiles", {"code": "C", "mvpd": MVPD}, "/code"),
    ("listProfiles", {"code": "C", "all": True}, "/code"),
    ("listProfiles", {"waitMs": 5}, "/waitMs"),
    ("listProfiles", {"code": "C", "waitMs": 1_800_001}, "/waitMs"),
    ("listProfiles", {"code": "C", "waitMs": -1}, "/waitMs"),
    ("listProfiles", {"all": True, "secondScreen": True}, "/secondScreen"),
    ("authorize", {"resources": []}, "/resources"),
    ("authorize", {"resources": ["a", ""], "mvpd": MVPD}, "/resources/1"),
    ("authorize", {"resources": ["a"]}, "/mvpd"),
    ("authorize", {"resources": ["a"], "mvpd": "TempPass_Promo", "tempPass": {"identity": "[]"}}, "/tempPass/identity"),
    ("logout", {"mvpd": ".."}, "/mvpd"),
])
def test_params_that_cannot_be_sent(
    begin: Callable[..., Sidecar], adobe: Playground, name: str, params: Dict[str, Any], path: str
) -> None:
    """A request that is sent although its call is wrong; an error that names another member."""
    failure = error(begin().connect(), name, **params)
    assert (failure["code"], failure["data"]["path"]) == (-32602, path)
    assert counts(adobe) == {}


def test_other_providers(begin: Callable[..., Sidecar]) -> None:
    """An error that reveals to a peer which providers its rule hides."""
    peers = [{"uid": os.getuid(), "methods": ["*"], "preauthorization": []}]
    blind = begin(changes={"peers": peers}).connect()
    errors = [blind.error("pass.getConfiguration", {"provider": name}) for name in ("tv", "nothing")]
    for failure in errors:
        assert (failure["code"], failure["data"]["reason"]) == (6003, "pass_not_configured")
        del failure["data"]["traceId"]
    assert errors[0] == errors[1]


@needs_root
def test_users_share_the_device(
    begin: Callable[..., Sidecar], adobe: Playground, directory: Path
) -> None:
    """The login of a device is that of every peer whose rule shows the provider: one registration, one token."""
    sidecar = begin(changes=BOTH)
    open_to_all(directory / "tv")
    open_to_all(sidecar.directory)
    alice, bob = connect_as(ALICE, sidecar), connect_as(BOB, sidecar)
    log_in(alice, adobe)
    assert call(bob, "listProfiles")["selected"] == MVPD
    assert call(bob, "listProfiles", device={"id": "of-bob"})["state"] == "unauthenticated"
    assert (count(adobe, "register"), count(adobe, "token")) == (1, 1)


@pytest.mark.parametrize("number, answer, name, params", [
    ("E2", {"kind": "change", "set": {"/url": "https://evil.test/"}}, "createSession", LOGIN),
    ("E2", {"kind": "change", "set": {"/actionName": "obey"}}, "createSession", LOGIN),
    ("E1", {"kind": "truncated"}, "getConfiguration", {}),
    ("E1", {"kind": "doubled"}, "getConfiguration", {}),
    ("E1", {"kind": "deep"}, "getConfiguration", {}),
    ("E1", {"kind": "tooLarge"}, "getConfiguration", {}),
    ("E6", {"kind": "html", "status": 200}, "listProfiles", {}),
    ("E6", {"kind": "redirect"}, "listProfiles", {}),
    ("E10", {"kind": "html", "status": 200}, "authorize", {"resources": ["a"], "mvpd": MVPD}),
])
def test_hostile_answers_are_errors(
    begin: Callable[..., Sidecar], adobe: Playground, number: str, answer: Dict[str, Any], name: str, params: Dict[str, Any]
) -> None:
    """A result that is made of an answer which is none; a fault that looks like one of the caller's."""
    switch(adobe, answers=[{"to": number, "times": 9, **answer}])
    tv = begin().connect()
    failure = error(tv, name, **params)
    assert (failure["code"], failure["data"]["reason"]) == (6001, "pass_error")
    assert failure["data"]["error"]["code"] == "server_response_format_unknown" and failure["data"]["error"]["status"] == 0
    assert (failure["data"]["next"], failure["data"]["retryable"]) == ("none", False)
    assert "evil" not in json.dumps(failure)


def test_errors_tell_what_helps(begin: Callable[..., Sidecar], adobe: Playground) -> None:
    tv = begin().connect()
    wrong = error(tv, "listProfiles", code="UNKNOWN")
    assert wrong["data"]["error"]["code"] == "invalid_parameter_code" and wrong["data"]["next"] == "newCode"
    assert wrong["data"]["upstream"]["code"] == "invalid_parameter_code" and wrong["data"]["outcome"] == "replied"
    error(tv, "listProfiles", code="UNKNOWN")
    assert count(adobe, "E8") == 1
    switch(adobe, answers=[{"to": "E2", "kind": "throttled", "times": 9}], retryAfterSeconds=60)
    limited = error(tv, "createSession")
    assert limited["data"]["error"]["code"] == "too_many_requests" and limited["data"]["next"] == "later"
    assert limited["data"]["retryable"] and 50_000 < limited["data"]["retryAfterMs"] <= 60_000
    adobe.request("DELETE", "/playground/adobe")


def test_no_answer_is_an_error_of_its_own(begin: Callable[..., Sidecar], adobe: Playground) -> None:
    """A session that is begun twice because its answer was lost."""
    switch(adobe, answers=[{"to": "E2", "kind": "lost"}, {"to": "E6", "kind": "hangUp", "times": 2}])
    tv = begin().connect()
    lost = error(tv, "createSession", **LOGIN)
    assert (lost["code"], lost["data"]["reason"]) == (6002, "pass_unreachable")
    assert lost["data"]["retryable"] and lost["data"]["outcome"] == "sent_no_reply" and count(adobe, "E2") == 1
    assert call(tv, "listProfiles", all=True)["state"] == "unauthenticated" and count(adobe, "E6") == 3


def test_nothing_secret_is_logged(begin: Callable[..., Sidecar], adobe: Playground, directory: Path) -> None:
    """A code, a token, an attribute or a device id in the log or in the audit log."""
    audit = directory / "audit.log"
    sidecar = begin(changes={"audit": {"path": str(audit)}, "log": {"level": "debug"}})
    tv = sidecar.connect()
    service = jws("subject-of-service")
    device = {"id": "secret-device", "info": {"model": "secret-model"}}
    code = log_in(tv, adobe, device=device)
    secrets: List[str] = [code, "secret-device", "secret-model", base64.b64encode(b"secret-device").decode()]
    for decision in call(tv, "authorize", resources=["news"], device=device)["decisions"]:
        secrets.append(decision["token"]["serializedToken"])
    profiles = call(tv, "listProfiles", device=device)["profiles"]
    secrets.append(str(profiles[0]["attributes"]["userID"]["value"]))
    error(tv, "listProfiles", device=device, serviceToken=service)
    call(tv, "logout", device=device)
    sidecar.stop()
    recorded = [json.loads(line) for line in audit.read_text().splitlines()]
    outcomes = [(record["method"], record["outcome"]) for record in recorded if record.get("method", "").startswith("pass.")]
    assert outcomes == [
        ("pass.createSession", "continued"), ("pass.listProfiles", "authenticated"), ("pass.authorize", "decided"),
        ("pass.listProfiles", "authenticated"), ("pass.listProfiles", "fault"), ("pass.logout", "ended")]
    assert all(record["provider"] == "tv" for record in recorded if record.get("method", "").startswith("pass."))
    written = sidecar.log() + audit.read_text()
    assert [secret for secret in [*secrets, service] if secret in written] == []
