"""Messages for people: each names what it knows, so that the reader need not guess."""
from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import pytest

from harness import binaries, expect
from harness.connection import Connection
from harness.issuer import IssuerDouble, document
from harness.playground import Playground
from harness.ports import free_port
from harness.sidecar import Sidecar, StartError
from harness.users import ALICE, BOB, connect_as, needs_root, open_to_all

Start = Callable[..., Sidecar]
TOKENS = {"type": "tokens", "accessToken": "users", "expiresIn": 600}


def resource(playground: Playground, issuer: str) -> Dict[str, Any]:
    return {"baseUrl": playground.base + "/resource/", "issuer": issuer, "auth": "clientCredentials"}


@pytest.fixture
def secret(directory: Path) -> str:
    path = directory / "another-secret"
    path.write_text("another")
    path.chmod(0o600)
    return str(path)


# Issuers


@pytest.mark.parametrize("suffix, slash", [("/other", False), ("/", True)])
def test_an_issuer_mismatch_shows_both_values(
    start: Start, playground: Playground, issuer: IssuerDouble, secret: str, suffix: str, slash: bool
) -> None:
    """Catches a message from which nobody sees what to write into the configuration."""
    issuer.metadata["issuer"] = issuer.base + suffix
    sidecar = start({
        "issuers": {"corp": issuer.settings(secret)}, "resources": {"reports": resource(playground, "corp")}})
    with sidecar.connect() as connection:
        error = connection.error("fetchResource", {"resource": "reports", "path": "orders"})
    assert expect.fault(error, 1003)["upstream"]["code"] == "discovery_issuer_mismatch"
    assert f"{issuer.base}{suffix}, the configuration {issuer.base}" in error["message"]
    assert ("they differ in the slash at the end" in error["message"]) is slash


def test_an_issuer_without_connection_is_named_with_its_url_and_the_reason(
    start: Start, playground: Playground, secret: str
) -> None:
    """Catches an error that gives a code where the resource's own gives the cause."""
    port = free_port()
    gone = {"issuer": f"http://127.0.0.1:{port}", "clientId": "shop", "clientSecretFile": secret}
    sidecar = start({"issuers": {"gone": gone}, "resources": {"reports": resource(playground, "gone")}})
    with sidecar.connect() as connection:
        fetch = connection.error("fetchResource", {"resource": "reports", "path": "orders"})
        login = connection.error("beginAuthorization", {"issuer": "gone", "redirectUri": "http://127.0.0.1/callback"})
        token = connection.error("introspectToken", {"issuer": "gone", "token": "x"})
    for error, code in ((fetch, 1009), (login, 5004), (token, 2002)):
        expect.fault(error, code)
        assert f"http://127.0.0.1:{port}/.well-known/openid-configuration" in error["message"]
        assert "Connection refused" in error["message"]


def test_an_issuer_that_answers_is_not_unreachable(start: Start, issuer: IssuerDouble, secret: str) -> None:
    """Catches `token_endpoint_unreachable` for an issuer that answered, which sends people to look at the network."""
    issuer.metadata["token_endpoint"] = issuer.base + "/token"
    issuer.answers["/token"] = lambda _: document({"error": "temporarily_unavailable"}, 503)
    sidecar = start({"issuers": {"corp": issuer.settings(secret)}})
    grant = {"type": "refresh_token", "refreshToken": "r"}
    with sidecar.connect() as connection:
        data = expect.fault(connection.error("createSession", {"issuer": "corp", "grant": grant}), 5003)
    assert (data["error"], data["status"], data["retryable"]) == ("temporarily_unavailable", 503, True)
    issuer.answers["/.well-known/openid-configuration"] = lambda _: document({}, 404)
    sidecar = start({"issuers": {"corp": issuer.settings(secret)}, "listen": {"path": str(sidecar.directory / "s")}})
    with sidecar.connect() as connection:
        data = expect.fault(connection.error("createSession", {"issuer": "corp", "grant": grant}), 5003)
    assert data["upstream"] == {"status": 404, "code": "discovery_failed"}


def test_wrong_client_credentials_are_told_from_other_errors(start: Start, playground: Playground, secret: str) -> None:
    """Catches a wrong client secret that looks like every other 1003."""
    wrong = {"issuer": playground.issuer, "clientId": "svc", "clientSecretFile": secret}
    sidecar = start({
        "issuers": {"wrong": wrong},
        "resources": {
            "reports": resource(playground, "wrong"),
            "scope": {**resource(playground, "play"), "scope": "nothing-of-the-kind"},
        }})
    with sidecar.connect() as connection:
        refused = connection.error("fetchResource", {"resource": "reports", "path": "orders"})
        scope = connection.error("fetchResource", {"resource": "scope", "path": "orders"})
    assert expect.fault(refused, 1003)["upstream"] == {"status": 401, "code": "invalid_client"}
    assert "does not accept the client's id or credentials" in refused["message"]
    assert expect.fault(scope, 1003)["upstream"]["code"] == "invalid_scope"
    assert "credentials" not in scope["message"]


def test_tls_to_a_plain_port_is_named(start: Start, playground: Playground) -> None:
    """Catches OpenSSL's "wrong version number", which few people read as: there is no TLS."""
    plain = {"baseUrl": playground.base.replace("http:", "https:") + "/open/", "auth": "none"}
    sidecar = start({"resources": {"plain": plain}})
    with sidecar.connect() as connection:
        error = connection.error("fetchResource", {"resource": "plain", "path": "echo"})
    expect.fault(error, 1010)
    assert error["message"] == "the TLS connection failed: the port answers without TLS"


# Misspelt names


@pytest.mark.parametrize("method, params, suggestion", [
    ("fetchResource", {"resource": "ordrs", "path": "x"}, "orders"),
    ("introspectToken", {"issuer": "paly", "token": "x"}, "play"),
    ("beginAuthorization", {"issuer": "Play", "redirectUri": "http://127.0.0.1/c"}, "play"),
    ("fetchRessource", {"resource": "orders"}, "fetchResource"),
    ("fetchResource", {"ressource": "orders"}, "resource"),
    ("fetchResource", {"resource": "orders", "auth": "clientcredential"}, "clientCredentials"),
    ("createSession", {"issuer": "play", "grant": {**TOKENS, "accesToken": "x"}}, "accessToken"),
])
def test_a_misspelt_name_gets_the_closest_one(
    connection: Connection, method: str, params: Dict[str, Any], suggestion: str
) -> None:
    """Catches a typing error that takes a look into the documents."""
    assert connection.error(method, params)["message"].endswith(f"; did you mean {suggestion}?")


def test_a_name_like_none_gets_no_suggestion(connection: Connection) -> None:
    """Catches advice that leads astray."""
    for method, params in [
        ("fetchResource", {"resource": "payroll"}), ("introspectToken", {"issuer": "corporate", "token": "x"}),
        ("zzz", {}), ("fetchResource", {"zzz": 1}), ("fetchResource", {"resource": "o" * 100_000}),
    ]:
        assert "did you mean" not in connection.error(method, params)["message"]


@needs_root
def test_a_suggestion_reveals_no_hidden_name(start: Start, playground: Playground, directory: Path) -> None:
    """Catches names that a rule of `peers` hides, guessed letter by letter."""
    issuer = {"issuer": playground.issuer, "clientId": "svc"}
    point = {"kind": "authzen", "baseUrl": "http://127.0.0.1:9"}
    part = {"resources": ["open"], "issuers": ["play"], "preauthorization": ["films"]}
    sidecar = start({
        "listen": {"mode": "0666"},
        "peers": [
            {"uid": ALICE, "methods": ["*"]},
            {"uid": BOB, "methods": ["fetchResource", "preauthorize", "introspectToken", "createSession"], **part},
        ],
        "issuers": {"payrollIdp": issuer}, "resources": {"payroll": resource(playground, "payrollIdp")},
        "preauthorization": {"films": point, "payrollDecisions": point},
    })
    open_to_all(directory)
    guesses: List[Tuple[str, Dict[str, Any]]] = [
        ("fetchResource", {"resource": "payrol", "path": "x"}), ("introspectToken", {"issuer": "payrollIdq", "token": "x"}),
        ("createSession", {"issuer": "payrollIdq", "grant": TOKENS}), ("getInf", {}),
        ("preauthorize", {"provider": "payrollDecision", "resources": ["x"], "context": {"subject": "x"}}),
    ]
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        for method, params in guesses:
            assert "did you mean" in str(alice.answer_to(alice.request(method, params))), method
            assert "did you mean" not in str(bob.answer_to(bob.request(method, params))), method
        # What does exist, and is hidden, reads as what does not.
        for name in ("payroll", "nothing"):
            assert bob.error("fetchResource", {"resource": name})["message"] == "No such resource is configured"


# Peers, sessions, limits


@needs_root
def test_a_peer_learns_which_rule_is_missing(start: Start, directory: Path) -> None:
    """Catches `peer_forbidden` after which an administrator has to find out uid and rule."""
    sidecar = start({"listen": {"mode": "0666"}, "peers": [{"uid": ALICE, "methods": ["getInfo"]}]})
    open_to_all(directory)
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        one, other = alice.error("health"), bob.error("health")
    for error in (one, other):
        expect.fault(error, -32020)
    assert one["message"] == (
        f"uid {ALICE} may not call health: the rule of peers for uid {ALICE} does not list it in methods")
    assert other["message"] == f"uid {BOB} may not call anything: no rule of peers matches it or one of its groups"


def test_several_sessions_are_counted_and_named(connection: Connection) -> None:
    """Catches an error that leaves open how to choose."""
    for _ in range(3):
        connection.call("createSession", {"issuer": "play", "grant": TOKENS})
    fetch = {"resource": "orders", "path": "orders", "auth": "user", "session": "only"}
    error = connection.error("fetchResource", fetch)
    expect.fault(error, -32602, "/session")
    assert error["message"] == (
        "There are 3 sessions at issuer play: pass the handle of one as `session` (listSessions has them)")
    for _ in range(20):
        connection.call("createSession", {"issuer": "play", "grant": TOKENS})
    assert connection.error("fetchResource", fetch)["message"].startswith("There are at least 10 sessions at issuer play")


def test_limits_name_their_key(start: Start) -> None:
    """Catches a limit that is reached, and nothing about where it is set."""
    sidecar = start({
        "limits": {"messageBytes": "64KiB", "jsonValues": 1000, "batch": 2, "depth": 8, "inFlightPerConnection": 1},
        "resources": {"open": {"maxBodyBytes": 1000}},
        "peers": [{"uid": os.getuid(), "methods": ["*"], "rate": {"perSecond": 1, "burst": 5}}],
    })
    texts = {
        "limits.messageBytes": '{"jsonrpc":"2.0","id":1,"method":"getInfo","x":"' + "x" * 70_000 + '"}',
        "limits.jsonValues": "[" + "1," * 1000 + "1]", "limits.batch": "[1,2,3]", "limits.depth": "[" * 9 + "]" * 9,
    }
    with sidecar.connect() as connection:
        for key, text in texts.items():
            connection.send_text(text)
            assert key in connection.receive()["error"]["message"]
        error = connection.error("fetchResource", {"resource": "open", "path": "bytes/1001"})
        assert "resources.open.maxBodyBytes" in expect_message(error, 1012)
        slow = {"resource": "open", "path": "slow", "parameters": {"ms": 300}}
        first = connection.request("fetchResource", slow)
        assert "limits.inFlightPerConnection" in expect_message(connection.error("fetchResource", slow), -32009)
        connection.answer_to(first)
        errors = [connection.answer_to(connection.request("listTasks")) for _ in range(8)]
        limited = [answer["error"]["message"] for answer in errors if "error" in answer]
        assert limited and all("rate of its rule in peers" in message for message in limited)


def expect_message(error: Dict[str, Any], code: int) -> str:
    expect.fault(error, code)
    return str(error["message"])


def test_a_missing_socket_directory_is_a_message_with_the_cure(start: Start, directory: Path) -> None:
    """Catches a first start that fails and leaves the cure to a search."""
    with pytest.raises(StartError) as failure:
        start({"listen": {"path": str(directory / "nowhere" / "s")}})
    for words in ("there is no directory", "listen.directoryMode", "install -d -m 0750", "RuntimeDirectory="):
        assert words in failure.value.log


def test_every_error_can_be_looked_up_on_the_machine() -> None:
    """Catches an error from which there is no way to its cause and cure without the documents."""
    document = json.loads((Path(__file__).resolve().parents[2] / "proto-docs" / "openrpc.json").read_text())
    errors = {error["data"]["reason"]: error["code"] for method in document["methods"] for error in method.get("errors", [])}
    assert len(errors) > 40
    for reason, code in errors.items():
        for name in (reason, str(code)):
            done = subprocess.run([binaries.postern(), "help", name], capture_output=True, text=True, timeout=20, check=True)
            assert f"{reason} ({code})\n" in done.stdout and "Cause: " in done.stdout and "Cure: " in done.stdout
            assert all(len(line) <= 80 for line in done.stdout.splitlines() if " " in line)
