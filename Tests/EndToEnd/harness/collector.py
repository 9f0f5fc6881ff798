"""An OpenTelemetry collector, as small as one can be: OTLP over HTTP in JSON, spans kept as they come."""
from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, List, Tuple

Span = Dict[str, Any]


class Collector:
    """Takes spans at `url`; `answers` are the statuses and fields of the next requests, then 200."""

    def __init__(self) -> None:
        self.requests: List[Tuple[str, Dict[str, str], Any]] = []
        self.answers: List[Tuple[int, Dict[str, str]]] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                headers = {name.lower(): value for name, value in self.headers.items()}
                status, fields = collector.answers.pop(0) if collector.answers else (200, {})
                collector.requests.append((self.path, headers, body if status == 200 else None))
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", "Content-Length": "2", **fields}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(b"{}")

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1/traces"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def spans(self) -> List[Span]:
        """Every span that was taken, its attributes as a dictionary, and the resource's as `resource`."""
        spans: List[Span] = []
        for _, _, body in list(self.requests):
            for resource in (body or {}).get("resourceSpans", []):
                shared = attributes(resource["resource"]["attributes"])
                for scope in resource["scopeSpans"]:
                    for span in scope["spans"]:
                        spans.append({**span, "attributes": attributes(span["attributes"]), "resource": shared})
        return spans

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def attributes(given: List[Dict[str, Any]]) -> Dict[str, Any]:
    result: Dict[str, Any] = {}
    for attribute in given:
        (kind, value), = attribute["value"].items()
        assert attribute["key"] not in result, attribute
        result[attribute["key"]] = int(value) if kind == "intValue" else value
    return result
