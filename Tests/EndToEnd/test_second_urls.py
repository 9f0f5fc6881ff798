"""Headers that name another resource (`Destination`, `If`, `x-amz-copy-source`, …): bound as the request's own URL at every entry."""
from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest

from harness import expect
from harness.endpoints import Endpoint, Maker
from harness.gateway import Answer, Upstream, ask
from harness.sidecar import Sidecar

Start = Callable[..., Sidecar]


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    made = Upstream()
    yield made
    made.stop()


@pytest.fixture
def http(directory: Path) -> str:
    return str(directory / "http.sock")


@pytest.fixture
def sidecar(start: Start, upstream: Upstream, http: str) -> Sidecar:
    """Two resources of one server, of which the first has a part of it."""
    made = start({
        "gateway": {"listen": {"path": http, "mode": "0666"}},
        "resources": {
            "files": {"baseUrl": f"{upstream.base}/tenant-a/", "auth": "none"},
            "other": {"baseUrl": f"{upstream.base}/tenant-b/", "auth": "none"},
        },
    })
    made.awaits_log("gateway listening")
    return made


def sent(answer: Dict[str, Any], name: str) -> Optional[str]:
    values = [value for field, value in answer["headers"] if field == name.lower()]
    assert len(values) <= 1
    return values[0] if values else None


#: Field, value as the program has it (`GW`: the gateway's URL of the resource, `UP`: the server), and what goes up; None: nothing does.
BOUND: List[Tuple[str, str, Optional[str]]] = [
    ("Destination", "GW/inbox/b", "UP/tenant-a/inbox/b"),
    ("Destination", "GW/inbox/%62?v=1", "UP/tenant-a/inbox/b?v=1"),
    ("Destination", "/files/inbox/b", "/tenant-a/inbox/b"),
    ("Destination", "UP/tenant-a/inbox/b", "UP/tenant-a/inbox/b"),
    ("Destination", "/tenant-a/inbox/b", "/tenant-a/inbox/b"),
    ("Destination", " /tenant-a/inbox/b ", "/tenant-a/inbox/b"),
    ("If", "<GW/inbox/b> (<urn:uuid:1> [\"e\"]) (Not <DAV:no-lock>)", "<UP/tenant-a/inbox/b> (<urn:uuid:1> [\"e\"]) (Not <DAV:no-lock>)"),
    ("If", "(<urn:uuid:1>)", "(<urn:uuid:1>)"),
    ("x-amz-copy-source", "/tenant-a/inbox/b?versionId=1", "/tenant-a/inbox/b?versionId=1"),
    ("x-amz-copy-source", "tenant-a%2Finbox%2Fb", "tenant-a/inbox/b"),
    ("x-ms-copy-source", "GW/inbox/b?sig=%2B", "UP/tenant-a/inbox/b?sig=%2B"),
    ("Destination", "GW/../other/b", None),
    ("Destination", "http://postern/other/b", None),
    ("Destination", "http://elsewhere/files/inbox/b", None),
    ("Destination", "UP/tenant-b/b", None),
    ("Destination", "/tenant-b/b", None),
    ("Destination", "GW/..%2f..%2ftenant-b/b", None),
    ("Destination", "GW/..%3f/b", None),
    ("Destination", "//postern/files/b", None),
    ("If", "<GW/inbox/b> (<urn:uuid:1>) <UP/tenant-b/b> (<urn:uuid:2>)", None),
    ("x-amz-copy-source", "/tenant-b/secret", None),
    ("x-goog-copy-source", "tenant-b/secret", None),
    ("x-ms-copy-source", "UP/tenant-b/secret", None),
    ("X-Copy-From", "/tenant-b/secret", None),
    ("x-oss-symlink-target", "secret", None),
]
#: Below the base URL, and outside of `paths`.
OUTSIDE = ["GW/admin/b", "UP/tenant-a/admin/b", "/tenant-a/admin/b", "/files/admin/b", "../admin/b", "GW/inbox", "GW/inbox-old/b"]


@pytest.mark.parametrize("narrowed", [False, True])
def test_a_second_url_is_bound_as_the_first(sidecar: Sidecar, upstream: Upstream, http: str, narrowed: bool) -> None:
    def real(text: str) -> str:
        return text.replace("GW", "http://postern/files").replace("UP", upstream.base)

    rows = BOUND + [("Destination", value, None) for value in OUTSIDE if narrowed]
    with sidecar.connect() as maker:
        path = http
        if narrowed:
            path = maker.call("createEndpoint", {"http": True, "resources": ["files"], "paths": ["inbox/"]})["http"]["path"]
        for name, value, expected in rows:
            before = len(upstream.seen)
            answer = ask(path, "PUT", "/files/inbox/a", b"x", {name: real(value), "Host": "postern"})
            if expected is None:
                assert answer.status in (400, 404), (name, value, answer.body)
                assert answer.json["outcome"] == "not_sent" and len(upstream.seen) == before
                if not narrowed:
                    assert answer.json["code"] in (1005, 1006) and answer.json["path"] == f"/headers/{name}"
                    assert "tenant-b" not in answer.json["detail"]
            else:
                assert answer.status == 200, (name, value, answer.body)
                assert sent(answer.json, name) == real(expected), (name, value)


def test_the_same_over_json_rpc(sidecar: Sidecar, upstream: Upstream) -> None:
    """`fetchResource` on the main socket, on one that was narrowed and through an endpoint; `explainCall` agrees."""
    def outcome(connection: Any, headers: Dict[str, Any]) -> Any:
        params = {"resource": "files", "path": "inbox/a", "method": "PUT", "body": "x", "headers": headers}
        explained = connection.call("explainCall", {"method": "fetchResource", "params": params})
        result = connection.answer_to(connection.request("fetchResource", params))
        assert explained["allowed"] == ("result" in result)
        if "error" in result:
            return result["error"]["code"]
        return json.loads(result["result"]["body"] if "body" in result["result"] else base64.b64decode(result["result"]["bodyBase64"]))

    with sidecar.connect() as main, sidecar.connect() as narrowed:
        narrowed.call("narrow", {"resources": ["files"], "paths": ["inbox/"]})
        with Endpoint(main, resources=["files"], paths=["inbox/"]).connect() as child:
            for connection in (main, narrowed, child):
                inside = outcome(connection, {"Destination": f"{upstream.base}/tenant-a/inbox/../inbox/b"})
                assert sent(inside, "Destination") == f"{upstream.base}/tenant-a/inbox/b"
                assert outcome(connection, {"Destination": "https://evil.test/x"}) == 1006
                assert outcome(connection, {"Destination": "/tenant-b/x"}) == 1006
                assert outcome(connection, {"Destination": ["/tenant-a/inbox/a", "/tenant-a/inbox/b"]}) == 1005
                # The gateway's URL means nothing here.
                assert outcome(connection, {"Destination": "http://postern/files/inbox/b"}) == 1006
            for connection in (narrowed, child):
                assert outcome(connection, {"Destination": "/tenant-a/admin/b"}) == -32602
                assert outcome(connection, {"Destination": "b"})["headers"]
                assert outcome(connection, {"Destination": "../admin/b"}) == -32602
            assert sent(outcome(main, {"Destination": "../admin/b"}), "Destination") == "/tenant-a/admin/b"


@pytest.mark.parametrize("name, inside, outside", [
    ("Destination", "http://postern/files/inbox/b", "http://postern/files/admin/b"),
    ("x-amz-copy-source", "/tenant-a/inbox/b", "/tenant-a/admin/b"),
    ("x-ms-rename-source", "/tenant-a/inbox/b", "/tenant-a/admin/b"),
])
def test_a_field_that_is_not_sent_leaves_no_other_unjudged(
    sidecar: Sidecar, upstream: Upstream, name: str, inside: str, outside: str
) -> None:
    """`X-Forwarded-*` is left out by the gateway, though its name may say that it names a resource."""
    unsent = {"X-Forwarded-Copy-Source": "x", "X-Forwarded-Move-To": "x"}
    unclear = {"x-acme-copy-source": "x"}
    with sidecar.connect() as maker:
        bounds = {"http": True, "resources": ["files"], "paths": ["inbox/"]}
        path = maker.call("createEndpoint", bounds)["http"]["path"]

        def put(value: str, beside: Dict[str, str], first: bool = False) -> Answer:
            fields = {**beside, name: value} if first else {name: value, **beside}
            return ask(path, "PUT", "/files/inbox/a", b"x", {**fields, "Host": "postern"})

        for first in (False, True):
            for value, beside in ((outside, unsent), (outside, unclear), (inside, unclear)):
                answer = put(value, beside, first)
                assert answer.status in (400, 403, 404), (value, beside, answer.body)
                assert answer.json["outcome"] == "not_sent" and upstream.seen == []
        answer = put(inside, unsent)
        assert answer.status == 200, answer.body
        assert sent(answer.json, name) is not None and all(sent(answer.json, field) is None for field in unsent)


def test_a_maker_is_asked_about_the_fields_that_are_sent(sidecar: Sidecar, upstream: Upstream) -> None:
    """With `approval`: a field that the gateway leaves out neither rejects a call nor hides where it leads."""
    with sidecar.connect() as connection:
        maker = Maker(connection, ["once"])
        endpoint = maker.endpoint(http=True, resources=["files"], paths=["inbox/"])
        path = endpoint.answer["http"]["path"]

        def put(destination: str) -> Answer:
            fields = {"X-Forwarded-Copy-Source": "x", "Destination": destination}
            return ask(path, "PUT", "/files/inbox/a", b"x", fields)

        assert put("/tenant-a/admin/b").status in (400, 403, 404) and upstream.seen == []
        answer = maker.while_answering(1, lambda: put("/tenant-a/inbox/b"))
        assert answer.status == 200 and sent(answer.json, "Destination") == "/tenant-a/inbox/b"
        others = [{"header": "Destination", "url": f"{upstream.base}/tenant-a/inbox/b"}]
        assert [question["otherUrls"] for question in maker.questions] == [others]


#: An address of 4 KB: what a request names may have 64 KiB together, with the address for each of it.
LONG = "inbox/" + "a" * 4090
TOO_MANY = [
    # 12 KB of tags with that address: 8 MB to resolve.
    {"If": "<../b>" * 2000},
    {"If": "<b>" * 17},
    # Each of them is within the bound.
    {"If": "<b>" * 14, "Destination": "/tenant-a/inbox/b", "x-amz-copy-source": "/tenant-a/inbox/c"},
]


@pytest.mark.parametrize("headers", TOO_MANY, ids=["very many tags", "many tags", "many with other fields"])
def test_a_request_that_names_too_many_resources_is_rejected_before_they_are_resolved(
    sidecar: Sidecar, upstream: Upstream, http: str, headers: Dict[str, str]
) -> None:
    params = {"resource": "files", "path": LONG, "method": "PUT", "body": "x", "headers": headers}
    with sidecar.connect() as main, Endpoint(main, resources=["files"], paths=["inbox/"]).connect() as child:
        for connection in (main, child):
            error = connection.error("fetchResource", params)
            assert expect.fault(error, 1005)["path"].rpartition("/")[2] in headers
            assert "names too many resources" in error["message"]
    answer = ask(http, "PUT", f"/files/{LONG}", b"x", {**headers, "Host": "postern"})
    assert answer.status == 400 and answer.json["code"] == 1005, answer.body
    assert answer.json["path"].rpartition("/")[2] in headers and "names too many resources" in answer.json["detail"]
    assert upstream.seen == []


@pytest.mark.parametrize(
    "path, tags", [("/".join(["%20" * 40] * 480), "<../a>" * 10_900), ("x?" + "q" * 60_000, "<>" * 30_000)],
    ids=["a path", "a query"])
def test_an_endless_if_to_an_endless_path_is_rejected_at_once(
    sidecar: Sidecar, upstream: Upstream, path: str, tags: str
) -> None:
    """A message of 120 KB. It once kept a thread busy for 44 s, in which no caller was served."""
    params = {"resource": "files", "path": path, "method": "PUT", "headers": {"If": tags}}
    with sidecar.connect() as connection:
        error = connection.error("fetchResource", params)
        expect.fault(error, 1005, "/headers/If")
        assert "names too many resources" in error["message"]
        assert connection.works() and upstream.seen == []


def test_an_if_with_many_resources_is_sent(sidecar: Sidecar, upstream: Upstream, http: str) -> None:
    """What programs send, and as many with a long address as may be."""
    with sidecar.connect() as connection:
        for path, count in (("inbox/a", 20), (LONG, 15)):
            base = f"{upstream.base}/tenant-a/inbox"
            value = " ".join(f"<{base}/{number}> (<urn:uuid:{number}>)" for number in range(count))
            params = {"resource": "files", "path": path, "method": "PUT", "headers": {"If": value}}
            result = connection.call("fetchResource", params)
            assert result["status"] == 200 and sent(json.loads(result["body"]), "If") == value
            answer = ask(http, "PUT", f"/files/{path}", b"x", {"If": value, "Host": "postern"})
            assert answer.status == 200 and sent(answer.json, "If") == value


def test_the_operator_may_know_better(start: Start, upstream: Upstream) -> None:
    """`allowedHeaders` lets a value through as it is, but not through an endpoint with `paths`."""
    sidecar = start({"resources": {"files": {
        "baseUrl": f"{upstream.base}/tenant-a/", "auth": "none", "allowedHeaders": ["X-Copy-From", "x-oss-symlink-target"]}}})
    params = {"resource": "files", "path": "inbox/a", "method": "PUT", "headers": {"X-Copy-From": "/tenant-b/x"}}
    with sidecar.connect() as main:
        assert main.call("fetchResource", params)["status"] == 200
        with Endpoint(main, paths=["inbox/"]).connect() as child:
            assert child.error("fetchResource", params)["code"] == 1005
