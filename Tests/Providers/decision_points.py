"""Two real decision engines for the tests, each behind a thin HTTP front of this file's.

Cedar (cedarpy) speaks the AuthZEN Authorization API 1.0, Rego (regopy) the data API of Open Policy Agent. The engines
make the decisions; the protocols between them and the wire are written here, so that a test with them proves round
trips and faults, and not that another vendor's HTTP layer is understood.

    python decision_points.py

Prints `{"authzen": URL, "opa": URL}` when both answer, and exits when its standard input ends. Each records its
requests: GET /log returns them as a JSON array, DELETE /log removes them. `problems` has the violations of AuthZEN's
schemas (authzen_schemas.py) by a request or its response. Below `/one` the AuthZEN front has no batches.

The Cedar policies are those of AuthZEN's certification scenario: alice and bob, record-1 (active) and record-2
(archived). The attributes of a resource come from the engine's own store, whether a deletion is soft from the context.
"""
from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, List, Optional, Tuple

import cedarpy
import regopy

from authzen_schemas import problems

CEDAR_POLICIES = """
permit(principal, action == Action::"read", resource);
permit(principal == User::"alice", action == Action::"write", resource) when { resource.status == "active" };
permit(principal, action == Action::"write", resource)
  when { principal has role && principal.role == "admin" && resource.status == "archived" };
permit(principal == User::"alice", action == Action::"delete", resource) when { context has soft && context.soft };
permit(principal == User::"user-1001", action, resource == Record::"record-1");
"""
CEDAR_RECORDS = [
    {"uid": {"type": "Record", "id": "record-1"}, "attrs": {"status": "active"}, "parents": []},
    {"uid": {"type": "Record", "id": "record-2"}, "attrs": {"status": "archived"}, "parents": []},
]
REGO_MODULE = """
package pass

default decisions := {}

decisions := {r.id: verdict(r) | some r in input.resources; known(r.id)}

known(id) if startswith(id, "channel-")
known(id) if startswith(id, "short-")

verdict(r) := true if permitted(r.id)
verdict(r) := {"allow": false, "code": "preauthorization_denied_by_programmer", "message": "not in the package"} if {
  not permitted(r.id)
  not startswith(r.id, "short-")
}
verdict(r) := {"allow": true, "ttl": 1} if {
  startswith(r.id, "short-")
  not permitted(r.id)
}

permitted(id) if {
  input.subject.id == "user-1001"
  input.action.name == "view"
  endswith(id, "-free")
}
permitted(id) if {
  input.context.plan == "gold"
  endswith(id, "-gold")
}
"""


class Front(ThreadingHTTPServer):
    """A server on loopback that remembers what it was asked."""

    daemon_threads = True

    def __init__(self, handler: Any) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.lock = threading.Lock()
        self.log: List[Dict[str, Any]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Front

    def log_message(self, *_: Any) -> None:
        pass

    def answer(self, status: int, body: Any, headers: Optional[Dict[str, str]] = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        if self.path == "/log":
            with self.server.lock:
                return self.answer(200, self.server.log)
        self.get()

    def do_DELETE(self) -> None:
        with self.server.lock:
            self.server.log.clear()
        self.answer(200, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))))
        self.entry: Dict[str, Any] = {"path": self.path, "headers": dict(self.headers), "body": body, "problems": []}
        with self.server.lock:
            self.server.log.append(self.entry)
        self.post(body)

    def get(self) -> None:
        self.answer(404, {"code": "undefined_path", "message": "no such path"})

    def post(self, body: Any) -> None:
        raise NotImplementedError


class CedarFront(Handler):
    def get(self) -> None:
        place = "/.well-known/authzen-configuration"
        if self.path not in (place, f"{place}/one"):
            return super().get()
        base = self.server.url + self.path[len(place):]
        metadata = {"policy_decision_point": base, "access_evaluation_endpoint": f"{base}/access/v1/evaluation"}
        if self.path == place:
            metadata["access_evaluations_endpoint"] = f"{base}/access/v1/evaluations"
        assert problems("metadata", metadata) == []
        self.answer(200, metadata)

    def post(self, body: Any) -> None:
        headers = {"X-Request-ID": self.headers["X-Request-ID"]} if "X-Request-ID" in self.headers else {}
        if self.path in ("/access/v1/evaluation", "/one/access/v1/evaluation"):
            kind, found = "evaluation", problems("evaluation request", body)
            reply = {} if found else decide(body)
        elif self.path == "/access/v1/evaluations":
            kind, found = "evaluations", problems("evaluations request", body)
            defaults = {name: body[name] for name in ("subject", "action", "resource", "context") if name in body}
            items = [] if found else body["evaluations"]
            reply = {"evaluations": [decide({**defaults, **item}) for item in items]}
        else:
            return self.answer(404, "no such path", headers)
        with self.server.lock:
            self.entry["problems"] += found or problems(f"{kind} response", reply)
        self.answer(400 if found else 200, "; ".join(found) if found else reply, headers)


def decide(question: Dict[str, Any]) -> Dict[str, Any]:
    subject, resource = question["subject"], question["resource"]
    user = {"uid": {"type": "User", "id": subject["id"]}, "attrs": subject.get("properties", {}), "parents": []}
    result = cedarpy.is_authorized(
        {
            "principal": f'User::{json.dumps(subject["id"])}',
            "action": f'Action::{json.dumps(question["action"]["name"])}',
            "resource": f'Record::{json.dumps(resource["id"])}',
            "context": question.get("context", {}),
        }, CEDAR_POLICIES, [user, *CEDAR_RECORDS])
    if result.allowed:
        return {"decision": True}
    return {"decision": False, "context": {"reason": "policy_denied", "reason_user": {"en": "Not with this role."}}}


class RegoFront(Handler):
    def get(self) -> None:
        if self.path.startswith("/health"):
            return self.answer(200, {})
        super().get()

    def post(self, body: Any) -> None:
        if not self.path.startswith("/v1/data/"):
            return super().get()
        # The interpreter keeps its input: one question at a time.
        with self.server.lock:
            interpreter = regopy.Interpreter()
            interpreter.add_module("pass", REGO_MODULE)
            interpreter.set_input(body.get("input"))
            path = self.path[len("/v1/data/"):].replace("/", ".")
            output = str(interpreter.query(f"x := data.{path}"))
        value, found = binding(json.loads(output)) if output.startswith("{") else (None, False)
        self.answer(200, {"result": value, "decision_id": "rego-1"} if found else {})


def binding(output: Any) -> Tuple[Any, bool]:
    """What the query bound to x."""
    results = output.get("result", output) if isinstance(output, dict) else output
    first = results[0] if isinstance(results, list) and results else results
    bindings = first.get("bindings", {}) if isinstance(first, dict) else {}
    return bindings.get("x"), "x" in bindings


def main() -> None:
    fronts = {"authzen": Front(CedarFront), "opa": Front(RegoFront)}
    print(json.dumps({name: front.url for name, front in fronts.items()}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
