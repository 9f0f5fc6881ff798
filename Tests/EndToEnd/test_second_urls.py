"""Headers that name another resource (`Destination`, `If`, `x-amz-copy-source`, …): bound as the request's own URL at every entry."""
from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest

from harness.endpoints import Endpoint
from harness.gateway import Upstream, ask
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


def test_the_operator_may_know_better(start: Start, upstream: Upstream) -> None:
    """`allowedHeaders` lets a value through as it is, but not through an endpoint with `paths`."""
    sidecar = start({"resources": {"files": {
        "baseUrl": f"{upstream.base}/tenant-a/", "auth": "none", "allowedHeaders": ["X-Copy-From", "x-oss-symlink-target"]}}})
    params = {"resource": "files", "path": "inbox/a", "method": "PUT", "headers": {"X-Copy-From": "/tenant-b/x"}}
    with sidecar.connect() as main:
        assert main.call("fetchResource", params)["status"] == 200
        with Endpoint(main, paths=["inbox/"]).connect() as child:
            assert child.error("fetchResource", params)["code"] == 1005
