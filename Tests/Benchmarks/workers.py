"""Several processes with one user session whose refresh token is replaced by each use."""
from __future__ import annotations

import base64
import json
import pathlib
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable

from oauth import CLIENT, HERE, PATH, Upstream, leeway
from processes import Failed, call, wait_for_socket

PROCESSES = (1, 2, 8)
WAYS = ("memory", "file", "postern")
# Seconds that an access token lives: a refresh in every process, several times a round.
LIFE = 4
LIVES_A_ROUND = 3
REDIRECT = "http://127.0.0.1:8765/callback"
VERIFIER, CHALLENGE = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
# Until all processes have imported what they need; the login's token is still valid then.
SETTLE_SECONDS = 3.0


class _StaysHere(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments):
        return None


def login(upstream: Upstream) -> dict:
    """The token response of a login of alice's."""
    upstream.ask("/playground/login", json.dumps({"user": "alice", "times": 1}).encode())
    query = urllib.parse.urlencode({
        "response_type": "code", "client_id": "shop", "redirect_uri": REDIRECT, "scope": "openid offline_access orders",
        "state": "s", "nonce": "n", "code_challenge": CHALLENGE, "code_challenge_method": "S256"})
    try:
        urllib.request.build_opener(_StaysHere).open(f"{upstream.issuer}/authorize?{query}", timeout=10).close()
    except urllib.error.HTTPError as redirect:
        location = redirect.headers["Location"]
    else:
        raise Failed("the playground shows a page instead of a redirect")
    code = urllib.parse.parse_qs(urllib.parse.urlsplit(location).query)["code"][0]
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT, "code_verifier": VERIFIER}
    client = base64.b64encode(b"shop:shopsecret").decode()
    return json.loads(upstream.ask("/oidc/token", urllib.parse.urlencode(form).encode(), f"Basic {client}"))


class WorkersBench:
    """The part of a run that is about one session in several processes; `bench` starts and measures."""

    def __init__(self, bench) -> None:
        self.bench = bench
        self.directory = bench.directory / "workers"
        self.directory.mkdir(exist_ok=True)
        self.python = pathlib.Path(bench.options.peers) / "bin/python"

    def is_possible(self) -> bool:
        modules = [self.python, "-c", "import authlib, httpx"]
        return self.python.exists() and not subprocess.run(modules, check=False, capture_output=True).returncode

    def configuration(self, upstream: Upstream) -> pathlib.Path:
        secret = self.directory / "secret"
        secret.touch(mode=0o600)
        secret.write_text("shopsecret", encoding="ascii")
        configuration = {
            "issuers": {"play": {"issuer": upstream.issuer, "clientId": "shop", "clientSecretFile": str(secret)}},
            "resources": {"mine": {"baseUrl": f"{upstream.base}/resource/", "issuer": "play", "auth": "user"}},
            "store": {"path": str(self.directory / "store")},
            "log": {"level": self.bench.options.log_level},
            "development": {"plainHTTPOnLoopback": True},
        }
        path = self.directory / "postern.yaml"  # JSON is YAML
        path.write_text(json.dumps(configuration, indent=2), encoding="ascii")
        return path

    def measure_round(self, way: str, count: int, upstream: Upstream, connection, socket_path) -> dict:
        """A login, then `count` processes that fetch with it as fast as they can."""
        tokens = self.directory / "tokens.json"
        response = login(upstream)
        tokens.write_text(json.dumps({**response, "expires_at": int(time.time()) + response["expires_in"]}), encoding="utf-8")
        command = ["env", f"PYTHONPATH={CLIENT}", self.python, HERE / "peers/worker.py", "--through", way, "--path", PATH]
        command += ["--tokens", tokens, "--base", f"{upstream.base}/resource/", "--leeway", leeway(LIFE)]
        command += ["--token-endpoint", f"{upstream.issuer}/token", "--socket", socket_path]
        if way == "postern":
            grant = {"type": "tokens", "accessToken": response["access_token"], "refreshToken": response["refresh_token"]}
            session = call(connection, "createSession", {"issuer": "play", "grant": {**grant, "expiresIn": LIFE}})
            command += ["--session", session["session"]]
        seconds = LIFE * LIVES_A_ROUND
        before = upstream.token_requests()
        command += ["--start", time.monotonic() + SETTLE_SECONDS, "--seconds", seconds]
        children = [self.bench.children.start(command, stdout=subprocess.PIPE, log=self.bench.log) for _ in range(count)]
        lines = []
        for child in children:
            output, _ = child.communicate(timeout=seconds + SETTLE_SECONDS + 60)
            self.bench.children.stop(child)
            if child.returncode != 0:
                raise Failed(f"a worker through {way} ended with {child.returncode}; see {self.bench.log}")
            lines.append(json.loads(output))
        lost = [line["lostAfter"] for line in lines if line["lostAfter"] is not None]
        return {
            "requestsPerSecond": sum(line["requests"] for line in lines) / seconds,
            "tokens": upstream.token_requests() - before,
            "lost": len(lost),
            "firstLostAfter": min(lost, default=None),
            "problem": next((line["problem"] for line in lines if line["problem"]), ""),
        }

    def measure(self, say: Callable[[str], None]) -> dict | None:
        if not self.is_possible():
            say("authlib and httpx are not installed: make bench-deps")
            return None
        upstream = Upstream(self.bench, LIFE)
        server, socket_path = self.bench.start_postern("workers", configuration=self.configuration(upstream))
        points = []
        with wait_for_socket(socket_path, server, self.bench.log) as connection:
            for count in PROCESSES:
                say(f"one session in {count} processes")
                lines: dict[str, list[dict]] = {way: [] for way in WAYS}
                for number in range(self.bench.options.fetch_rounds):
                    for way in WAYS[:: -1 if number % 2 else 1]:
                        lines[way].append(self.measure_round(way, count, upstream, connection, socket_path))
                points.append({"processes": count, "lines": lines})
        self.bench.children.stop(server)
        self.bench.children.stop(upstream.child)
        version = subprocess.run(
            [self.python, "-c", "import authlib; print(authlib.__version__)"], check=True, capture_output=True, text=True)
        return {"rounds": self.bench.options.fetch_rounds, "points": points, "authlib": version.stdout.strip()}
