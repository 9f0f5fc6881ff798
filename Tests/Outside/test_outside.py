"""Builds a program of another package, with swift-crypto next to PosternKit, and runs it against the playground.

The program has the first calls of proto-docs/swift.md. This test is its user: the browser, the issuer of an ID token,
and the reader of its output. `make test-outside` runs it.
"""

import json
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
sys.path.insert(0, str(ROOT / "Tests" / "EndToEnd"))

from harness.browser import authorize  # noqa: E402
from harness.playground import Playground  # noqa: E402

# The scratch directory of the root package, with the flags of its debug build: the engine is compiled once.
BUILD = [
    "swift", "build", "--package-path", str(FOLDER), "--scratch-path", str(ROOT / ".build"),
    "--disable-build-manifest-caching", "--explicit-target-dependency-import-check", "error",
]
NONCE = "n-0S6"
#: The first words of the program's lines, in their order. A text of the playground may have lines of its own.
WORDS = ["time", "orders", "token", "decision", "decision", "payment", "session", "session", "names"]


@pytest.fixture(scope="module")
def program(pytestconfig):
    began = time.monotonic()
    built = subprocess.run([*BUILD, "--quiet"], capture_output=True, text=True, timeout=1200)
    assert built.returncode == 0, built.stdout[-4000:] + built.stderr[-4000:]
    found = subprocess.run([*BUILD, "--show-bin-path"], capture_output=True, text=True, timeout=60, check=True)
    with pytestconfig.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"built in {time.monotonic() - began:.0f} s")
    return Path(found.stdout.strip()) / "outside"


@pytest.fixture
def playground():
    started = Playground()
    started.request("POST", "/playground/login", json.dumps({"user": "alice"}).encode())
    yield started
    started.stop()


def configuration(playground):
    """The configuration of the guide, with the playground's addresses and its well-known secrets."""
    base = playground.base

    def resource(path, **more):
        return {"baseUrl": f"{base}/{path}/", **more}

    user = {"issuer": "corp", "auth": "user", "scope": "orders"}
    return {
        "issuers": {"corp": {
            "issuer": playground.issuer, "clientId": "shop", "clientSecret": "shopsecret",
            "scope": "openid profile orders", "redirectUri": "http://127.0.0.1/callback",
            "accessManager": {"baseUrl": base + "/am", "realm": "alpha"}}},
        "resources": {
            "time": resource("open", auth="none"), "orders": resource("resource", **user),
            "bank": resource("gateway", **user)},
        "preauthorization": {"policies": {
            "kind": "access-manager", "baseUrl": base + "/am", "issuer": "corp", "action": "GET",
            "cookieName": "playgroundSSO", "attempts": 1,
            "credentials": {"username": "warden", "password": "warden-password"}}},
        "store": {"kind": "file", "path": "sessions"},
        "development": {"plainHTTPOnLoopback": True},
    }


def id_token(playground):
    """An ID token of the playground, out of the fragment of an authorization response."""
    query = urllib.parse.urlencode({
        "response_type": "code id_token", "client_id": "shop", "redirect_uri": "http://127.0.0.1/callback",
        "scope": "openid", "state": "s", "nonce": NONCE})
    callback = authorize(f"{playground.issuer}/authorize?{query}")
    return urllib.parse.parse_qs(urllib.parse.urlsplit(callback).fragment)["id_token"][0]


def run(program, directory, playground):
    """The lines of the program, whose login is completed in a browser meanwhile."""
    # Line by line: the program's output is a pipe.
    command = ["stdbuf", "-oL", str(program), id_token(playground), NONCE]
    process = subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    timer = threading.Timer(60, process.kill)
    timer.start()
    try:
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if line.startswith("open "):
                with urllib.request.urlopen(line.split()[1], timeout=10) as page:
                    assert page.status == 200
        assert process.wait() == 0, "\n".join(lines) + process.stderr.read()
    finally:
        timer.cancel()
        process.kill()
        process.communicate()
    return [line for line in lines if line.split(" ")[0] in WORDS]


def test_a_program_outside_makes_the_calls_of_the_guide(program, playground, tmp_path):
    """Catches a product that does not build next to swift-crypto, a name that clashes with one of its, and a call of
    the guide that does not work in a package of its own."""
    (tmp_path / "postern.yaml").write_text(json.dumps(configuration(playground)), encoding="utf-8")
    (tmp_path / "postern.yaml").chmod(0o600)
    lines = run(program, tmp_path, playground)
    assert [line.split(" ")[0] for line in lines] == WORDS, lines
    assert lines[0].startswith("time 200 ") and len(lines[0]) > len("time 200 ")
    assert lines[1] == "orders 200 object with 1 member: orders"
    assert lines[2] == "token user-1001"
    assert lines[3:5] == ["decision https://shop.test/open/news true", "decision https://shop.test/denied false"]
    assert lines[5] == 'payment 200 ["AuthenticateToServiceConditionAdvice"]'
    assert lines[6:8] == ["session user-1001"] * 2
    names = lines[8].split()
    assert names[1] == "true" and names[-3:] == ["https://api.example.com/", "32", "true"]
    assert not any(len(word) > 60 for word in names), "a secret is printed"
