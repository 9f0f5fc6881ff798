"""The command line in Swift, which has no sidecar: built, and run against the playground and glewlwyd.

At the playground the user logs in and steps up in Chromium, or in the terminal; at glewlwyd with an HTTP client.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Callable, Dict, Iterator

import pytest

from application import EXAMPLES, PLAYGROUND, ROOT

from harness import binaries
from harness.chromium import Page
from harness.glewlwyd import Browser, Provider, Resource
from harness.playground import Playground
from harness.ports import free_port

FOLDER = EXAMPLES / "swift"
LOCAL = "http://127.0.0.1:8765/callback"
RESOURCE = "resource/\n"  # the end of the resource's baseUrl
ACCESS_MANAGER = "alice\nalice-password\n"


@pytest.fixture(scope="session")
def binary(request: pytest.FixtureRequest) -> Path:
    """The program, in the build that the playground is of: what both have is compiled once."""
    kind = Path(binaries.playground()).resolve().parent.name
    resolved = ROOT / "Package.resolved"
    if resolved.exists() and not (FOLDER / "Package.resolved").exists():
        shutil.copy(resolved, FOLDER)
    command = ["swift", "build", "--package-path", str(FOLDER), "--scratch-path", str(ROOT / ".build"),
               "--disable-build-manifest-caching", "--product", "bank"]
    if kind == "release":
        command = [str(EXAMPLES / "run"), "swift", "--help"]  # what its user runs
    begun = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\nthe example in Swift was built in {time.monotonic() - begun:.0f} s")
    return ROOT / ".build" / kind / "bank"


class Bank:
    """The program with a postern.yaml of its own."""

    def __init__(self, binary: Path, directory: Path, addresses: Dict[str, str]) -> None:
        text = (FOLDER / "postern.yaml").read_text(encoding="utf-8")
        for shown, real in addresses.items():
            assert shown in text, f"{shown!r} is not in swift/postern.yaml"
            text = text.replace(shown, real)
        self.file = directory / "postern.yaml"
        self.file.write_text(text)
        self.file.chmod(0o600)
        self.command = [str(binary), "--config", str(self.file)]

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        # Without a terminal of its own the program reads passwords from its input.
        return subprocess.Popen(
            [*self.command, *arguments], text=True, start_new_session=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *arguments: str, entered: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*self.command, *arguments], text=True, start_new_session=True, input=entered, capture_output=True,
            timeout=60)

    def in_browser(self, *arguments: str, visit: Callable[[str], object]) -> "subprocess.CompletedProcess[str]":
        """Runs a command, and has `visit` do what a user does at the address that it shows."""
        process = self.start(*arguments)
        try:
            assert process.stderr is not None
            shown = ""
            while not (found := re.search(r"open (http\S+)", shown)):
                line = process.stderr.readline()
                assert line, f"no address is shown: {shown}"
                shown += line
            visit(found[1])
            output, errors = process.communicate(timeout=30)
            return subprocess.CompletedProcess(process.args, process.returncode, output, shown + errors)
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()


@pytest.fixture
def make(binary: Path, directory: Path) -> Callable[[Dict[str, str]], Bank]:
    return lambda addresses: Bank(binary, directory, addresses)


@pytest.fixture
def bank(make: Callable[[Dict[str, str]], Bank], playground: Playground) -> Bank:
    return make({PLAYGROUND: playground.base + "/", LOCAL: f"http://127.0.0.1:{free_port()}/callback"})


@pytest.fixture
def gateway(make: Callable[[Dict[str, str]], Bank], playground: Playground) -> Iterator[Bank]:
    """Behind the access manager's gateway, which requires the password once more, and consent to each request."""
    playground.request("DELETE", "/playground/accessManager")
    yield make({
        RESOURCE: "gateway/both/\n", PLAYGROUND: playground.base + "/",
        LOCAL: f"http://127.0.0.1:{free_port()}/callback"})
    playground.request("DELETE", "/playground/ssoTokens")


def log_in(page: Page, user: str = "alice") -> Callable[[str], None]:
    def visit(url: str) -> None:
        page.open(url)
        page.type("#username", user)
        page.type("#password", "alice-password")
        page.press("Sign in")

    return visit


def test_usage_and_mistakes(bank: Bank, binary: Path) -> None:
    """Catches a program that does something for a command that it does not know, or ends without a reason."""
    done = subprocess.run([str(binary), "--help"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and "transfer TO AMOUNT" in done.stdout and done.stderr == ""
    for wrong in ([], ["pay"], ["get"], ["login", "--quick"], ["transfer", "bob"]):
        done = bank.run(*wrong)
        assert done.returncode == 64 and "Usage: bank" in done.stderr and done.stdout == "", wrong
    bank.file.write_text("resources: { bank: { baseUrl: 'ftp://bank.test/', auth: sometimes } }")
    done = bank.run("whoami")
    assert done.returncode == 78 and "resources.bank.auth" in done.stderr, done.stderr


def test_a_user_in_the_browser(bank: Bank, page: Page, playground: Playground) -> None:
    """Catches a session that ends with its process, a step-up without its transfer, a logout that leaves a session."""
    assert bank.run("whoami").returncode == 2
    done = bank.in_browser("login", visit=log_in(page))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    page.reads("You are signed in")
    assert bank.run("whoami").stdout == "user-1001\n"
    done = bank.run("get", "orders")
    assert done.returncode == 0 and json.loads(done.stdout)["orders"][0]["item"] == "coffee", done.stderr
    done = bank.in_browser("transfer", "bob", "10", visit=log_in(page))
    assert done.returncode == 0, done.stderr
    sent = json.loads(done.stdout)
    assert (sent["method"], json.loads(sent["body"])) == ("POST", {"to": "bob", "amount": "10"})
    # The session has the stronger login now.
    assert bank.run("transfer", "bob", "11").returncode == 0
    assert bank.run("logout").returncode == 0
    for command in (["get", "orders"], ["whoami"], ["logout"]):
        done = bank.run(*command)
        assert (done.returncode, done.stdout) == (2, "") and "Not logged in" in done.stderr, command
    assert playground.statistics()["refreshTokenReuseDetected"] == 0


def follow(url: str) -> None:
    """Follows an address and its redirects, as a browser would, to the page at the end."""
    try:
        urllib.request.urlopen(url, timeout=20).close()
    except urllib.error.HTTPError as page:
        page.close()


def test_a_step_up_that_is_denied(bank: Bank, playground: Playground) -> None:
    """Catches a transfer that is sent, or a success that is reported, although the user has not confirmed it."""
    playground.request("POST", "/playground/login", json.dumps({"user": "alice", "times": 1}).encode())
    assert bank.in_browser("login", visit=follow).returncode == 0
    playground.faults(authorization={"kind": "denyAccess"})
    done = bank.in_browser("transfer", "bob", "10", visit=follow)
    assert (done.returncode, done.stdout) == (1, "") and "advice_failed" in done.stderr, done.stderr


def test_a_user_in_the_terminal(gateway: Bank) -> None:
    """Catches callbacks whose answers do not reach the access manager, and a password on the standard output."""
    done = gateway.run("login", "--terminal", entered=ACCESS_MANAGER)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    done = gateway.run("transfer", "bob", "10", entered="alice-password\nYes\n")
    assert done.returncode == 0, done.stderr
    assert json.loads(json.loads(done.stdout)["body"]) == {"to": "bob", "amount": "10"}
    assert "Do you agree?" in done.stderr and "alice-password" not in done.stdout + done.stderr
    done = gateway.run("transfer", "bob", "10", entered="No\n")
    assert (done.returncode, done.stdout) == (1, ""), "the user has not agreed"


def test_an_unknown_user(gateway: Bank) -> None:
    """Catches a session for a user whom the access manager does not know."""
    done = gateway.run("login", "--terminal", entered="mallory\nwrong\n")
    assert (done.returncode, done.stdout) == (1, "") and done.stderr.count("\n") >= 2, done.stderr
    assert gateway.run("whoami").returncode == 2


def test_an_issuer_that_is_down(make: Callable[[Dict[str, str]], Bank]) -> None:
    """Catches a program that waits for an issuer that does not respond, or reports that as the user's mistake."""
    down = make({PLAYGROUND: f"http://127.0.0.1:{free_port()}/", LOCAL: f"http://127.0.0.1:{free_port()}/callback"})
    done = down.run("login")
    assert (done.returncode, done.stdout) == (75, "") and "Not logged in" not in done.stderr, done.stderr


def test_another_process_has_the_store(bank: Bank) -> None:
    """Catches two processes with one file store, and a lock that looks like a damaged store."""
    def visit(_: str) -> None:
        done = bank.run("whoami")
        assert done.returncode == 75 and "lock" in done.stderr, done.stderr

    process = bank.start("login")
    try:
        assert process.stderr is not None and "open http" in process.stderr.readline()
        visit("")
    finally:
        process.kill()
        process.communicate()


def test_a_user_at_a_real_provider(make: Callable[[Dict[str, str]], Bank], directory: Path) -> None:
    """Catches a login that only the playground takes, and a token that is still valid after the logout."""
    callback = f"http://127.0.0.1:{free_port()}/callback"
    provider = Provider(directory / "glewlwyd", "--redirect-uri", callback, token_seconds=60)
    resource = Resource(provider)
    try:
        text = (FOLDER / "postern.yaml").read_text(encoding="utf-8")
        [manager] = re.findall(r" +accessManager:.*\n(?:      .*\n)+", text)
        bank = make({
            manager: "", PLAYGROUND + "oidc": provider.issuer, PLAYGROUND + "resource/": resource.base, LOCAL: callback,
            "clientId: cli": "clientId: svc", "clientAuth: none": "clientSecret: svcsecret"})
        browser = Browser(provider)
        done = bank.in_browser("login", visit=lambda url: follow(browser.authorize(url)))
        assert done.returncode == 0, done.stderr
        done = bank.run("get", "orders")
        assert (done.returncode, json.loads(done.stdout)) == (0, {"orders": [1, 2]}), done.stderr
        assert bank.run("logout").returncode == 0
        assert provider.introspect(resource.tokens[0]) == {"active": False}
    finally:
        resource.stop()
        provider.stop()
