"""`telemetry.otlp`: the spans of a call as a collector gets them, and that no call suffers from the collector."""
from __future__ import annotations

import os
import re
import signal
import socket
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import expect
from harness.collector import Collector, Span
from harness.decisions import DecisionDouble
from harness.playground import Playground
from harness.sidecar import Sidecar, StartError
from harness.waiting import eventually

Start = Callable[..., Sidecar]
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER = "00f067aa0ba902b7"


@pytest.fixture
def collector() -> Iterator[Collector]:
    started = Collector()
    yield started
    started.stop()


@pytest.fixture
def resource() -> Iterator[DecisionDouble]:
    """A resource server that keeps what it was sent."""
    started = DecisionDouble(lambda *_: (200, {}, {}))
    yield started
    started.stop()


@pytest.fixture
def traced(start: Start, collector: Collector, resource: DecisionDouble) -> Sidecar:
    return start(settings(collector.url, resource))


def settings(endpoint: str, resource: DecisionDouble, **otlp: Any) -> Dict[str, Any]:
    mine = {"baseUrl": resource.url + "/", "issuer": "play", "auth": "clientCredentials", "scope": "orders"}
    return {
        "telemetry": {"serviceName": "shop-sidecar", "otlp": {"endpoint": endpoint, **otlp}},
        "resources": {"mine": mine},
    }


def sampled(flags: str = "01") -> Dict[str, str]:
    return {"traceparent": f"00-{TRACE}-{CALLER}-{flags}"}


def tree(spans: List[Span]) -> Any:
    """Spans as (name, children), children by their beginning."""

    def below(parent: Any) -> Any:
        children = [span for span in spans if span.get("parentSpanId") == parent]
        children.sort(key=lambda span: int(span["startTimeUnixNano"]))
        return [(span["name"], below(span["spanId"])) for span in children]

    return below(CALLER)


def wait_for(collector: Collector, count: int) -> List[Span]:
    eventually(lambda: len(collector.spans) >= count, what=f"{count} spans")
    assert len(collector.spans) == count, collector.spans
    return collector.spans


def test_a_fetch_is_a_tree_of_call_token_and_exchanges(
    traced: Sidecar, collector: Collector, resource: DecisionDouble
) -> None:
    with traced.connect() as connection:
        connection.call("fetchResource", {
            "resource": "mine", "path": "items?secret=query-1", "headers": {"X-Key": "header-1"}, "meta": sampled()})
    spans = wait_for(collector, 5)
    assert tree(spans) == [("fetchResource", [("token", [("GET", []), ("POST", [])]), ("GET", [])])]
    for span in spans:
        assert span["traceId"] == TRACE and re.fullmatch(r"[0-9a-f]{16}", span["spanId"])
        assert "status" not in span and int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
        assert abs(int(span["startTimeUnixNano"]) / 1e9 - time.time()) < 60
        assert span["resource"]["service.name"] == "shop-sidecar" and span["resource"]["service.instance.id"]
    call, = [span for span in spans if span["kind"] == 2]
    token, = [span for span in spans if span["kind"] == 1]
    discovery, post, fetch = sorted(
        (span for span in spans if span["kind"] == 3), key=lambda span: int(span["startTimeUnixNano"]))
    for child in (token, fetch):
        assert int(call["startTimeUnixNano"]) <= int(child["startTimeUnixNano"])
        assert int(child["endTimeUnixNano"]) <= int(call["endTimeUnixNano"])
    assert call["attributes"] == {
        "rpc.system": "jsonrpc", "rpc.jsonrpc.version": "2.0", "rpc.service": "postern",
        "rpc.method": "fetchResource", "network.transport": "unix", "postern.peer.uid": os.getuid()}
    assert token["attributes"] == {"postern.issuer": "play"}
    port = int(resource.url.rsplit(":", 1)[1])
    assert fetch["attributes"] == {
        "http.request.method": "GET", "url.scheme": "http", "server.address": "127.0.0.1", "server.port": port,
        "postern.upstream.kind": "resource", "postern.upstream.name": "mine", "http.response.status_code": 200}
    assert (discovery["attributes"]["postern.upstream.kind"], post["attributes"]["postern.upstream.kind"]) == (
        "discovery", "token")
    # What the resource is sent names the exchange's own span as its parent.
    (_, _, headers, _), = resource.requests
    assert headers["traceparent"] == f"00-{TRACE}-{fetch['spanId']}-01"
    written = str(collector.requests)
    for secret in ("query-1", "header-1", "svcsecret", headers["authorization"].split()[1], "items"):
        assert secret not in written
    path, fields, _ = collector.requests[0]
    assert path == "/v1/traces" and fields["content-type"] == "application/json"


def test_a_token_at_hand_costs_no_span(traced: Sidecar, collector: Collector) -> None:
    with traced.connect() as connection:
        connection.call("fetchResource", {"resource": "mine", "path": "a", "meta": sampled("00")})
        connection.call("fetchResource", {"resource": "mine", "path": "b", "meta": sampled()})
    assert tree(wait_for(collector, 2)) == [("fetchResource", [("GET", [])])]


def test_a_repeated_request_has_a_span_each_time(
    traced: Sidecar, collector: Collector, resource: DecisionDouble
) -> None:
    answers = iter([401, 200])
    resource.script = lambda *_: (next(answers), {}, {"WWW-Authenticate": 'Bearer error="invalid_token"'})
    with traced.connect() as connection:
        result = connection.call("fetchResource", {"resource": "mine", "path": "a", "meta": sampled()})
    assert result["attempts"] == 2
    spans = wait_for(collector, 8)
    call, = tree(spans)
    assert [name for name, _ in call[1]] == ["token", "GET", "token", "GET"]
    refused, taken = [span for span in spans if span["attributes"].get("postern.upstream.kind") == "resource"]
    if int(refused["startTimeUnixNano"]) > int(taken["startTimeUnixNano"]):
        refused, taken = taken, refused
    assert refused["status"] == {"code": 2, "message": "401"} and refused["attributes"]["error.type"] == "401"
    assert "status" not in taken
    sent = [headers["traceparent"].split("-")[2] for _, _, headers, _ in resource.requests]
    assert sent == [refused["spanId"], taken["spanId"]]


def test_what_fails_is_marked(start: Start, collector: Collector, resource: DecisionDouble) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        changes = settings(collector.url, resource)
        changes["resources"]["gone"] = {"baseUrl": f"http://127.0.0.1:{closed.getsockname()[1]}/", "auth": "none"}
        with start(changes).connect() as connection:
            data = expect.fault(
                connection.error("fetchResource", {"resource": "gone", "path": "x", "meta": sampled()}), 1009)
            expect.fault(connection.error("getSession", {"session": "nope", "meta": sampled()}), 5001)
        named = {span["name"]: span for span in wait_for(collector, 3)}
    call, exchange, other = named["fetchResource"], named["GET"], named["getSession"]
    assert data["traceId"] == TRACE
    for span in (call, exchange):
        assert span["status"] == {"code": 2, "message": "server_unreachable"}
        assert span["attributes"]["error.type"] == "server_unreachable"
    assert call["attributes"]["rpc.jsonrpc.error_code"] == 1009
    assert "http.response.status_code" not in exchange["attributes"]
    assert other["name"] == "getSession" and other["status"]["message"] == "session_not_found"


@pytest.mark.parametrize("flags", ["00", "fe"])
def test_what_the_caller_does_not_sample_is_not_exported(
    traced: Sidecar, collector: Collector, resource: DecisionDouble, flags: str
) -> None:
    with traced.connect() as connection:
        connection.call("fetchResource", {"resource": "mine", "path": "a", "meta": sampled(flags)})
        # A trace that begins here is sampled, and ends after the other: when it is there, that one would be.
        connection.call("fetchResource", {"resource": "mine", "path": "b"})
    spans = wait_for(collector, 2)
    assert all(span["traceId"] != TRACE for span in spans)
    assert resource.requests[0][2]["traceparent"].startswith(f"00-{TRACE}-")
    assert resource.requests[0][2]["traceparent"].endswith(f"-{flags}")
    root, = [span for span in spans if span["name"] == "fetchResource"]
    assert "parentSpanId" not in root


def test_the_ratio_decides_where_nobody_else_does(start: Start, collector: Collector, resource: DecisionDouble) -> None:
    sidecar = start(settings(collector.url, resource, sampleRatio=0.0001))
    with sidecar.connect() as connection:
        for _ in range(20):
            connection.call("fetchResource", {"resource": "mine", "path": "a"})
        connection.call("fetchResource", {"resource": "mine", "path": "b", "meta": sampled()})
    sidecar.stop()
    # One in ten thousand: two of twenty would be one in five million.
    assert len({span["traceId"] for span in collector.spans}) <= 2 and tree(collector.spans)


def test_a_callers_own_field_goes_through_untouched(
    traced: Sidecar, collector: Collector, resource: DecisionDouble
) -> None:
    own = "00-" + "1" * 32 + "-" + "2" * 16 + "-01"
    with traced.connect() as connection:
        request = {"resource": "mine", "path": "a", "headers": {"traceparent": own}, "meta": sampled()}
        connection.call("fetchResource", request)
    assert resource.requests[0][2]["traceparent"] == own
    wait_for(collector, 5)


def test_a_collector_that_says_later_is_asked_later(
    start: Start, collector: Collector, resource: DecisionDouble, directory: Path
) -> None:
    collector.answers = [(503, {}), (429, {"Retry-After": "2"})]
    headers = directory / "headers"
    headers.write_text("Authorization: Basic c2hvcDpz\nX-Tenant: a b\n")
    headers.chmod(0o600)
    sidecar = start(settings(collector.url, resource, headersFile=str(headers)))
    with sidecar.connect() as connection:
        begun = time.monotonic()
        connection.call("fetchResource", {"resource": "mine", "path": "a", "meta": sampled()})
        wait_for(collector, 5)
    # Asked too early it would have taken them too early. More than three: they need not have been in one batch.
    assert time.monotonic() - begun >= 3 and len(collector.requests) >= 3
    _, fields, _ = collector.requests[-1]
    assert (fields["authorization"], fields["x-tenant"]) == ("Basic c2hvcDpz", "a b")
    log = sidecar.awaits_log("takes spans again")
    assert log.count("the collector takes no spans") == 1 and "c2hvcDpz" not in log


def test_what_waits_at_the_end_is_sent(traced: Sidecar, collector: Collector) -> None:
    with traced.connect() as connection:
        connection.call("fetchResource", {"resource": "mine", "path": "a", "meta": sampled()})
    traced.stop()
    assert tree(collector.spans)


def test_a_dead_collector_costs_spans_and_nothing_else(start: Start, resource: DecisionDouble) -> None:
    with socket.socket() as deaf:
        # Takes connections and never answers.
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(1)
        sidecar = start(settings(f"http://127.0.0.1:{deaf.getsockname()[1]}/v1/traces", resource, timeout="1s"))
        with sidecar.connect() as connection:
            connection.call("fetchResource", {"resource": "mine", "path": "a", "meta": sampled()})
            params = {"status": 200, "headers": {}, "meta": sampled()}
            batch = [{"jsonrpc": "2.0", "id": n, "method": "parseAdvice", "params": params} for n in range(50)]
            for _ in range(100):
                connection.send(batch)
                assert all("result" in answer for answer in connection.receive())
            text = connection.call("metrics")["text"]
        dropped = int(re.search(r'postern_telemetry_spans_total\{outcome="dropped"\} (\d+)', text).group(1))
        sidecar.signal(signal.SIGTERM)
        assert sidecar.wait(15) == 0
    # 5,000 calls: 4,096 spans wait, a batch of 512 is on its way.
    assert dropped > 0


@pytest.mark.parametrize("endpoint, problem", [
    ("http://collector.example.com/v1/traces", "must begin with https://, or with http:// on a loopback address"),
    ("https://u:p@collector.example.com/v1/traces", "no user name"),
])
def test_an_endpoint_that_cannot_be_is_a_problem(
    start: Start, resource: DecisionDouble, endpoint: str, problem: str
) -> None:
    with pytest.raises(StartError) as failure:
        start(settings(endpoint, resource))
    assert problem in failure.value.log
