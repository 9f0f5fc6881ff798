"""Section 4.1: what becomes of a fetch when network or server go wrong: the code, the outcome, whether it may be
repeated, and that nobody but this fetch suffers."""
from __future__ import annotations

import base64
import json
import socket
import subprocess
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional
from urllib.parse import urlsplit

import pytest

from harness import expect
from harness.connection import Connection
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]

NOT_SENT, NO_REPLY, REPLIED = "not_sent", "sent_no_reply", "replied"


@pytest.fixture
def configuration(configuration: Dict[str, Any], playground: Playground) -> Dict[str, Any]:
    broken = {"baseUrl": playground.misbehaving + "/", "auth": "none", "timeout": "20s", "maxBodyBytes": "1MiB"}
    return {**configuration, "resources": {**configuration["resources"], "broken": broken}}


def broken(connection: Connection, path: str, **params: Any) -> Dict[str, Any]:
    return connection.call("fetchResource", {"resource": "broken", "path": path, **params})


def failure(connection: Connection, path: str, **params: Any) -> Dict[str, Any]:
    return connection.error("fetchResource", {"resource": "broken", "path": path, **params})


class Fault(NamedTuple):
    path: str
    code: int
    outcome: str
    #: What `retryable` says of a GET; a POST may be repeated only when nothing was sent.
    retryable: bool = False
    timeout: Optional[int] = None


# One of each code and outcome; all of them are in FaultTests, HostileServerTests and CodingTests, over the transport
# itself.
FAULTS = [
    # Lost before there was an answer.
    Fault("close", 1009, NO_REPLY, True),
    Fault("closeHead", 1013, NO_REPLY),
    # Time ran out, wherever.
    Fault("stall", -32022, NO_REPLY, True, timeout=300),
    Fault("stallBody", -32022, REPLIED, True, timeout=300),
    # Lost in the body, and no HTTP.
    Fault("resetBody", 1013, REPLIED),
    Fault("badLength", 1013, NO_REPLY),
    # Too much.
    Fault("fieldFlood", 1012, NO_REPLY),
    Fault("bomb?layers=2", 1012, REPLIED),
    Fault("bomb?layers=6", 1013, NO_REPLY),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.path)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_each_fault_has_its_code_and_outcome(
    connection: Connection, playground: Playground, fault: Fault, method: str
) -> None:
    # Where the machine stands still the time may be over before the fault is reached: then once more, with more of it.
    times: List[Optional[int]] = [fault.timeout, 10 * fault.timeout] if fault.timeout else [None]
    for attempts, timeout in enumerate(times, 1):
        error = failure(connection, fault.path, method=method, **({"timeoutMs": timeout} if timeout else {}))
        data = expect.fault(error, fault.code)
        if data["outcome"] == fault.outcome:
            break
    assert data["outcome"] == fault.outcome, error
    assert data.get("retryable", False) is (fault.retryable and method == "GET"), error
    # Sent once: a fresh connection that fails is no reason to ask again.
    assert eventually(lambda: playground.statistics()["misbehavingRequests"]) <= attempts
    # And the next one is well.
    assert broken(connection, "ok", method=method)["body"] == "ok"


def ends_streams(fault: Fault) -> bool:
    """A stream has no bound: what only is too large does not fail there."""
    is_too_large = fault.code == 1012 and fault.outcome == REPLIED and fault.path != "trailerFlood"
    return fault.timeout is None and not is_too_large


@pytest.mark.parametrize("fault", filter(ends_streams, FAULTS), ids=lambda fault: fault.path)
def test_each_fault_ends_a_stream_the_same_way(connection: Connection, fault: Fault) -> None:
    data = expect.fault(failure(connection, fault.path, stream=True), fault.code)
    assert data["outcome"] == fault.outcome
    assert connection.works()


def test_floods_and_bombs_leave_memory_flat(start: Start, connect: Connect) -> None:
    sidecar = start()
    connection = connect(sidecar, 60)
    floods = ["bomb", "bomb?layers=5", "lineFlood", "fieldFlood", "interimFlood", "trailerFlood"]
    for path in floods:
        failure(connection, path)
    before = sidecar.resident_kilobytes()
    for _ in range(4):
        identifiers = [
            connection.request("fetchResource", {"resource": "broken", "path": path, "timeoutMs": 60000})
            for path in floods for _ in range(3)
        ]
        for identifier in identifiers:
            assert connection.answer_to(identifier)["error"]["code"] in (1012, 1013)
    # 1 MiB of each bomb is kept at most, and not for long.
    assert sidecar.resident_kilobytes() - before < 40_000


def test_a_kept_connection_that_dies_costs_an_idempotent_request_nothing(
    connection: Connection, playground: Playground
) -> None:
    for method in ["GET", "PUT", "DELETE", "HEAD"]:
        for path in ["closeKept", "resetKept"]:
            # The connection on which nothing has been asked of that path yet.
            broken(connection, "ok", method=method)
            before = playground.statistics()["misbehavingRequests"]
            result = broken(connection, path, method=method)
            assert result["status"] == 200 and result["attempts"] == 1
            assert playground.statistics()["misbehavingRequests"] == before + 2


@pytest.mark.parametrize("method", ["POST", "PATCH"])
@pytest.mark.parametrize("path", ["closeKept", "resetKept"])
def test_what_is_not_idempotent_is_never_sent_twice(
    connection: Connection, playground: Playground, method: str, path: str
) -> None:
    broken(connection, "ok")
    data = expect.fault(failure(connection, path, method=method, body="once"), 1009)
    assert data["outcome"] == NO_REPLY and data["retryable"] is False
    assert playground.statistics()["misbehavingRequests"] == 2


def is_connected(port: int) -> bool:
    """Whether somebody has a connection to that port of this machine which the other side has not closed."""
    connections = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(fields[2] == f"0100007F:{port:04X}" and fields[3] == "01" for fields in connections)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_connection_that_was_closed_while_idle_is_not_used(
    connection: Connection, playground: Playground, method: str
) -> None:
    port = urlsplit(playground.misbehaving).port
    assert port is not None
    for _ in range(3):
        assert broken(connection, "closeLater?ms=1", method=method)["status"] == 200
        eventually(lambda: not is_connected(port), what="the end of the connection")
    assert playground.statistics()["misbehavingRequests"] == 3


class Answer(NamedTuple):
    path: str
    body: str = "hello"
    status: int = 200


@pytest.mark.parametrize(
    "answer",
    [
        Answer("trailers"), Answer("noLength"), Answer("http10"), Answer("shortLength", "ok"), Answer("excess", "ok"),
        Answer("interim?n=1", "ok"), Answer("interim?n=32", "ok"), Answer("body204", "", 204), Answer("body304", "", 304),
        Answer("fields?n=900&size=10", ""), Answer("fields?n=5&size=30000", ""),
    ],
    ids=lambda answer: answer.path,
)
def test_odd_answers_are_read_as_http_says(connection: Connection, answer: Answer) -> None:
    for _ in range(3):
        result = broken(connection, answer.path)
        assert (result["status"], result["body"]) == (answer.status, answer.body)
        # Neither trailers nor hints are headers, and what was left over is not the next answer.
        assert "x-trailer" not in result["headers"] and "x-hint" not in result["headers"]
        assert broken(connection, "ok")["body"] == "ok"


@pytest.mark.parametrize("path", ["ok", "trailers", "body204", "body304", "noLength", "closeBody", "shortLength"])
def test_a_head_request_has_no_body_whatever_the_server_sends(connection: Connection, path: str) -> None:
    assert broken(connection, path, method="HEAD")["body"] == ""
    assert broken(connection, "ok")["body"] == "ok"


def test_a_server_that_refuses_tls(start: Start, connect: Connect, playground: Playground) -> None:
    secure = {"baseUrl": playground.misbehaving.replace("http:", "https:") + "/", "auth": "none"}
    connection = connect(start({"resources": {"secure": secure}}))
    data = expect.fault(connection.error("fetchResource", {"resource": "secure", "path": "ok", "method": "POST"}), 1010)
    assert data["outcome"] == NOT_SENT
    assert playground.statistics()["misbehavingRequests"] == 0


def test_nobody_listens(start: Start, connect: Connect) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nobody = {"baseUrl": f"http://127.0.0.1:{unused.getsockname()[1]}/", "auth": "none"}
        connection = connect(start({"resources": {"nobody": nobody}}))
        for method in ["GET", "POST"]:
            data = expect.fault(connection.error("fetchResource", {"resource": "nobody", "path": "x", "method": method}), 1009)
            assert data["outcome"] == NOT_SENT and data["retryable"] is True


def test_a_listener_that_does_not_accept_is_the_deadlines(start: Start, connect: Connect) -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        # The backlog is full once these stand in it.
        fillers = [socket.socket() for _ in range(8)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        resource = {"baseUrl": f"http://127.0.0.1:{full.getsockname()[1]}/", "auth": "none"}
        connection = connect(start({"resources": {"full": resource}}))
        params = {"resource": "full", "path": "x", "method": "POST", "timeoutMs": 300}
        assert expect.fault(connection.error("fetchResource", params), -32022)["outcome"] == NOT_SENT
        for filler in fillers:
            filler.close()


def test_a_name_that_does_not_exist(start: Start, connect: Connect) -> None:
    # One question of one second: a name server that is silent would take longer than the test waits.
    environment = {"RES_OPTIONS": "attempts:1 timeout:1"}
    resources = {"gone": {"baseUrl": "https://does-not-exist.invalid/", "auth": "none"}}
    connection = connect(start({"resources": resources}, environment=environment))
    data = expect.fault(connection.error("fetchResource", {"resource": "gone", "path": "x", "method": "POST"}), 1009)
    assert data["outcome"] == NOT_SENT and data["retryable"] is True


def test_no_route_is_network_unreachable(start: Start, connect: Connect) -> None:
    # A network of its own, without any device that is up.
    launcher = ["unshare", "-rn"]
    if subprocess.run([*launcher, "true"], capture_output=True).returncode != 0:
        pytest.skip("no namespaces here")
    sidecar = start(
        {"issuers": None, "resources": {"orders": None, "away": {"baseUrl": "https://192.0.2.1/", "auth": "none"}}},
        launcher=launcher,
    )
    data = expect.fault(connect(sidecar).error("fetchResource", {"resource": "away", "path": "x"}), 1008)
    assert data["outcome"] == NOT_SENT and data["retryable"] is True


# MARK: Retry-After


class Advice(NamedTuple):
    query: str
    milliseconds: Optional[int]


@pytest.mark.parametrize(
    "advice",
    [
        # Its forms are in RetryAfterTests, the statuses in FetchResultTests.
        Advice("status=503&retryAfter=7", 7000), Advice("status=429&retryAfter=soon", None),
        Advice("status=503&retryAfter=Sun,+06+Nov+1994+08:49:37+GMT&date=Sun,+06+Nov+1994+08:49:07+GMT", 30_000),
    ],
    ids=lambda advice: advice.query,
)
def test_retry_after_is_told_and_not_obeyed(connection: Connection, playground: Playground, advice: Advice) -> None:
    for _ in range(2):
        result = broken(connection, "status?" + advice.query)
        assert result.get("retryAfterMs") == advice.milliseconds
    assert playground.statistics()["misbehavingRequests"] == 2


# MARK: Text


class Text(NamedTuple):
    type: str
    content: bytes
    is_text: bool


@pytest.mark.parametrize(
    "text",
    [
        # Types and bytes are in FetchResultTests, charsets in EncodingTests.
        Text("text/plain; charset=UTF8", "Grüße".encode(), True), Text("text/plain; charset=iso-8859-1", b"plain", True),
        # These bytes are valid UTF-8, and as such another text than the one the server means.
        Text("text/plain; charset=iso-8859-1", "ü".encode(), False), Text("text/plain", b"\xff\xfe", False),
    ],
    ids=lambda text: f"{text.type} {text.content!r}",
)
def test_a_body_is_text_only_where_utf_8_is_what_was_meant(
    start: Start, connect: Connect, issuer: Any, text: Text
) -> None:
    issuer.answers["/text"] = lambda _: (200, {"Content-Type": text.type}, text.content)
    connection = connect(start({"resources": {"own": {"baseUrl": issuer.base + "/", "auth": "none"}}}))
    result = connection.call("fetchResource", {"resource": "own", "path": "text"})
    assert ("body" in result) is text.is_text and ("bodyBase64" in result) is not text.is_text
    if text.is_text:
        assert result["body"].encode() == text.content
    else:
        assert base64.b64decode(result["bodyBase64"], validate=True) == text.content


# MARK: Addresses


# Every form of such an address is in IPAddressTests.
METADATA = ["169.254.169.254", "[fe80::1]", "[64:ff9b::169.254.169.254]"]


@pytest.mark.parametrize("address", METADATA)
def test_a_name_never_leads_to_a_metadata_service(
    start: Start, connect: Connect, directory: Path, address: str
) -> None:
    hosts = directory / "hosts"
    hosts.write_text(f"127.0.0.1 localhost\n{address.strip('[]')} innocent.test\n")
    script = f'mount --bind {hosts} /etc/hosts && exec "$@"'
    launcher = ["unshare", "-rm", "sh", "-c", script, "sh"]
    if subprocess.run([*launcher, "true"], capture_output=True).returncode != 0:
        pytest.skip("no namespaces here")
    sidecar = start({"resources": {"innocent": {"baseUrl": "https://innocent.test/", "auth": "none"}}}, launcher=launcher)
    connection = connect(sidecar)
    error = connection.error("fetchResource", {"resource": "innocent", "path": "latest/meta-data/", "timeoutMs": 9000})
    data = expect.fault(error, 1007)
    assert data["outcome"] == NOT_SENT and data["retryable"] is False
    assert connection.call("fetchResource", {"resource": "open", "path": "echo"})["status"] == 200


@pytest.mark.parametrize("address", METADATA)
def test_a_metadata_address_is_used_only_where_the_configuration_names_it(
    start: Start, connect: Connect, address: str
) -> None:
    named = {"baseUrl": f"https://{address}/", "auth": "none"}
    connection = connect(start({"resources": {"named": named, "open": {"additionalOrigins": ["https://api.example"]}}}))
    # Not named there: no matter of addresses even.
    expect.fault(connection.error("fetchResource", {"resource": "open", "path": f"https://{address}/"}), 1007)
    # Named: tried, and in all likelihood nobody is there.
    error = connection.answer_to(
        connection.request("fetchResource", {"resource": "named", "path": "x", "timeoutMs": 300})
    ).get("error")
    assert error is None or error["code"] in (1008, 1009, 1010, -32022), error


def test_an_issuers_metadata_leads_to_no_metadata_service(start: Start, connect: Connect, issuer: Any) -> None:
    issuer.metadata["token_endpoint"] = "https://169.254.169.254/token"
    resources = {"orders": {"issuer": "double", "baseUrl": issuer.base + "/"}}
    secret = {"clientAuth": "client_secret_basic", "clientSecret": "s" * 16}
    sidecar = start({"issuers": {"double": issuer.settings(**secret)}, "resources": resources})
    data = expect.fault(connect(sidecar).error("fetchResource", {"resource": "orders", "path": "x"}), 1007)
    assert data["outcome"] == NOT_SENT


# MARK: Trace and time


PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_the_trace_goes_with_every_request_a_fetch_causes(start: Start, connect: Connect, issuer: Any) -> None:
    issued = []

    def token(_: Any) -> Any:
        issued.append(1)
        answer = {"access_token": f"t{len(issued)}", "token_type": "Bearer", "expires_in": 300}
        return 200, {"Content-Type": "application/json"}, json.dumps(answer).encode()

    def there(asked: Any) -> Any:
        if asked.headers["authorization"] == "Bearer t1":
            return 401, {"WWW-Authenticate": 'Bearer error="invalid_token"'}, b""
        return 200, {}, b""

    issuer.metadata["token_endpoint"] = issuer.base + "/token"
    issuer.answers.update({"/token": token, "/here": lambda _: (302, {"Location": "/there"}, b""), "/there": there})
    changes = {
        "issuers": {"double": issuer.settings(clientAuth="client_secret_basic", clientSecret="s" * 16)},
        "resources": {"orders": {"issuer": "double", "baseUrl": issuer.base + "/", "audience": None}},
    }
    connection = connect(start(changes))
    params = {"resource": "orders", "path": "here", "meta": {"traceparent": PARENT}}
    result = connection.call("fetchResource", params)
    assert result["status"] == 200 and result["attempts"] == 2
    paths = [asked.path for asked in issuer.asked]
    assert paths == ["/.well-known/openid-configuration", "/token", "/here", "/there", "/token", "/there"]
    # The same trace; each hop may be a span of its own.
    assert all(asked.headers["traceparent"].split("-")[1] == PARENT.split("-")[1] for asked in issuer.asked)


@pytest.mark.parametrize("where", ["token", "resource", "redirect", "renewal"])
def test_the_callers_deadline_bounds_whatever_takes_long(
    start: Start, connect: Connect, playground: Playground, where: str
) -> None:
    connection = connect(start())
    path = "slow?ms=20000" if where == "resource" else "redirect?to=/resource/slow?ms%3D20000" if where == "redirect" else "echo"
    if where == "renewal":
        connection.call("fetchResource", {"resource": "orders", "path": "echo"})
        playground.faults(revokeTokens=True)
    if where in ("token", "renewal"):
        playground.faults(token={"kind": "slow", "delayMs": 20000})
    expected = {"token": NOT_SENT, "resource": NO_REPLY, "redirect": REPLIED, "renewal": REPLIED}
    # Where the machine stands still the time may be over before the slow part is reached, or before the call itself can
    # say how far it got: then once more, with more of it.
    for milliseconds in 400, 4000:
        began = time.monotonic()
        params = {"resource": "orders", "path": path, "timeoutMs": 30000, "meta": {"timeoutMs": milliseconds}}
        data = expect.fault(connection.error("fetchResource", params), -32022)
        assert milliseconds - 100 < (time.monotonic() - began) * 1000 < milliseconds + 5000
        if data.get("outcome") == expected[where]:
            break
    assert data.get("outcome") == expected[where], data
