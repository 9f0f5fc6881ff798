"""A decision point that supports AuthZEN 1.0, for the demo: it permits alice to view news, and denies everything else.

Prints its URL and ends with its standard input.
"""
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class DecisionPoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/access/v1/evaluations":
            return self.send_error(404)
        answers = [self.decide(request["subject"]["id"], one["resource"]["id"]) for one in request["evaluations"]]
        body = json.dumps({"evaluations": answers}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @staticmethod
    def decide(subject, resource):
        if (subject, resource) == ("alice", "news"):
            return {"decision": True}
        return {"decision": False, "context": {"reason_user": {"en": f"{resource} is not in your package"}}}

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), DecisionPoint)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"http://127.0.0.1:{server.server_port}", flush=True)
sys.stdin.read()
