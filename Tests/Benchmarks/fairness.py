"""What a flood by one user costs another: a caller with few requests, alone and next to one that sends all it can."""

import json
import os
import pathlib
import shutil
import subprocess
import time

from processes import Failed, wait_for_socket
from tokens import CLIENT, ISSUER, TokenBench

QUIET, NOISY = 20001, 20002
CONNECTIONS, NICE, RATE_FACTOR = 50, 10, 50
# name, requests a second of the quiet caller, requests in flight on each connection of the flood
CALLS = [("getInfo", 200, 16), ("validateIdToken", 60, 16), ("fetchResource", 30, 8)]


class FairnessBench:
    """The part of a run that is about neighbours; `bench` starts and measures."""

    def __init__(self, bench):
        self.bench = bench
        self.options = bench.options
        self.directory = bench.directory / "fairness"
        self.directory.mkdir(exist_ok=True)
        self.tokens = TokenBench(bench)

    def write_configuration(self, keys, playground):
        everything = {"methods": ["*"]}
        configuration = {
            "listen": {"mode": "0666"},
            "peers": [{"uid": uid, **everything} for uid in (QUIET, NOISY, os.getuid())],
            "issuers": {
                "tokens": {
                    "issuer": ISSUER,
                    "clientId": CLIENT,
                    "idToken": {"algorithms": ["ES256"]},
                    "endpoints": {"jwks": f"{keys}/jwks"},
                }
            },
            "resources": {
                "open": {"baseUrl": f"{playground}/open/", "auth": "none", "limits": self.limits()},
            },
            "store": {"kind": "memory"},
            "log": {"level": self.options.log_level, "format": "json"},
            "development": {"plainHTTPOnLoopback": True},
        }
        path = self.directory / "postern.yaml"
        path.write_text(json.dumps({k: v for k, v in configuration.items()}, indent=2), encoding="ascii")
        return path

    def limits(self):
        concurrency = self.options.upstream_concurrency
        return {"concurrency": concurrency, "queue": 65536} if concurrency else None

    def write_requests(self):
        """A file of requests for each call."""
        files = {"validateIdToken": self.tokens.write_requests("ES256", "cold", self.options.tokens)}
        for name, request in {
            "getInfo": {"method": "getInfo"},
            "fetchResource": {"method": "fetchResource", "params": {"resource": "open", "path": "echo"}},
        }.items():
            files[name] = self.directory / f"{name}.requests"
            files[name].write_text(json.dumps(request) + "\n", encoding="ascii")
        for path in files.values():
            path.chmod(0o644)
        return files

    def as_user(self, uid, command):
        return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--", *command]

    def quiet(self, path, requests, rate, seconds, uid=QUIET):
        command = [self.bench.programs / "steady", "--socket", path, "--requests-from", requests, "--rate", rate]
        command += ["--seconds", seconds, "--warm-up", self.options.warm_up]
        line = self.bench.children.measure(self.as_user(uid, command), seconds + 60)
        if line["unexpected"]:
            raise Failed(f"wrong answers, the first: {line.get('firstBadAnswer', '')}")
        return line

    def next_to_fixed_rate(self, path, requests, rate, uid):
        """The quiet caller as `uid`, next to one that sends fifty times as much."""
        seconds = self.options.seconds
        flood = [self.bench.programs / "steady", "--socket", path, "--requests-from", requests, "--warm-up", 0.2]
        flood += ["--connections", CONNECTIONS, "--rate", rate * RATE_FACTOR, "--seconds", seconds + self.options.warm_up + 0.3]
        return self.next_to(flood, path, requests, rate, uid)

    def next_to_flood(self, path, requests, rate, pipeline, uid):
        """The quiet caller as `uid`, next to one that sends as much as is answered."""
        seconds = self.options.seconds
        flood = [self.bench.programs / "load", "--socket", path, "--requests-from", requests, "--warm-up", 0.2]
        flood += ["--connections", CONNECTIONS, "--pipeline", pipeline, "--seconds", seconds + self.options.warm_up + 0.3]
        return self.next_to(flood, path, requests, rate, uid)

    def next_to(self, flood, path, requests, rate, uid):
        seconds = self.options.seconds
        child = self.bench.children.start(
            ["nice", "-n", NICE, *self.as_user(NOISY, flood)], stdout=subprocess.PIPE, log=self.bench.children.error_log
        )
        time.sleep(0.4)
        line = self.quiet(path, requests, rate, seconds, uid)
        try:
            output, _ = child.communicate(timeout=seconds + 60)
        except subprocess.TimeoutExpired as problem:
            raise Failed("the flood does not end") from problem
        finally:
            self.bench.children.stop(child)
        if child.returncode != 0:
            raise Failed("the flood failed")
        answered = json.loads(output)
        line["flood"] = {"requestsPerSecond": answered.get("requestsPerSecond", answered["requests"] / (seconds + self.options.warm_up + 0.3))}
        return line

    def start_playground(self):
        child = self.bench.children.start([self.options.playground], stdout=subprocess.PIPE)
        line = child.stdout.readline()
        if not line:
            raise Failed(f"{self.options.playground} did not start")
        return child, json.loads(line)["baseUrl"]

    def measure(self, say):
        if os.getuid() != 0 or not shutil.which("setpriv"):
            say("fairness: left out, for it takes root and setpriv to be two users")
            return None
        if not os.access(self.options.playground, os.X_OK):
            raise Failed(f"{self.options.playground}: not there; make release builds it")
        # Other users have to reach the socket and the programs' files.
        for directory in (self.bench.directory, self.directory, self.tokens.directory):
            directory.chmod(0o755)
        self.tokens.make_tokens()
        keys, upstream = self.tokens.start_keys()
        playground, base = self.start_playground()
        configuration, files = self.write_configuration(upstream, base), self.write_requests()
        rows = []
        for name, rate, pipeline in CALLS:
            say(f"fairness, {name}")
            server, path = self.bench.start_postern(f"fairness-{name}", configuration=configuration)
            wait_for_socket(path, server, self.bench.log).close()
            requests = files[name]
            self.quiet(path, requests, rate, self.options.warm_up)
            lines = self.bench.interleave(
                {
                    "quiet": lambda: self.quiet(path, requests, rate, self.options.seconds),
                    "fixedRate": lambda: self.next_to_fixed_rate(path, requests, rate, QUIET),
                    "other": lambda: self.next_to_flood(path, requests, rate, pipeline, QUIET),
                    "same": lambda: self.next_to_flood(path, requests, rate, pipeline, NOISY),
                }
            )
            rows.append({"name": name, "rate": rate, "pipeline": pipeline, **lines})
            self.bench.children.stop(server)
            pathlib.Path(path).unlink(missing_ok=True)
        for child in (keys, playground):
            self.bench.children.stop(child)
        return {
            "rows": rows, "connections": CONNECTIONS, "nice": NICE, "rounds": self.options.rounds,
            "seconds": self.options.seconds, "concurrency": self.options.upstream_concurrency,
        }
