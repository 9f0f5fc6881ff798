"""The worker and the command-line program of examples/, against the playground; the login in Chromium.

And what holds for all examples: each postern.yaml, their sizes, the script that starts them.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Callable, Iterator

import pytest

from application import EXAMPLES, PLAYGROUND, ROOT, Application

from harness import binaries
from harness.chromium import Page
from harness.playground import Playground
from harness.ports import free_port

ROWS = "A-1001 coffee 2\nA-1002 tea 1\n"
LOCAL = "http://127.0.0.1:8765/callback"


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*/postern.yaml")), ids=lambda file: file.parent.name)
def test_a_configuration_is_accepted(file: Path) -> None:
    """Catches a configuration with a problem, or with a warning that its comments do not explain."""
    done = subprocess.run(
        [binaries.postern(), "check-config", "--config", str(file)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    explained = (
        "development switch", "clientSecretFile", "softwareStatementFile", "keyFile is left out", "registers a new client")
    unexplained = [line for line in done.stderr.splitlines() if not any(text in line for text in explained)]
    assert [line for line in unexplained if "warning" in line] == []


def test_the_examples_are_short_and_listed() -> None:
    """Catches an example that grows past what is read in one go, or that proto-docs/examples.md does not list."""
    page = (ROOT / "proto-docs" / "examples.md").read_text(encoding="utf-8")
    folders = [folder for folder in EXAMPLES.iterdir() if folder.is_dir()]
    assert len(folders) >= 4
    for folder in folders:
        assert f"(../examples/{folder.name}/README.md)" in page and (folder / "README.md").is_file()
        for program in (*folder.glob("*.py"), *folder.glob("Sources/*/*.swift")):
            assert len(program.read_text(encoding="utf-8").splitlines()) <= 175, program


def test_run_needs_the_name_of_an_example() -> None:
    """Catches a script that starts something else than an example."""
    for name in ("", "no", "../Tests", "."):
        done = subprocess.run([str(EXAMPLES / "run"), name], capture_output=True, text=True, timeout=60)
        assert done.returncode == 64 and "examples/run NAME" in done.stderr


# MARK: the worker


@pytest.fixture
def worker(start: Callable[..., Application], playground: Playground) -> Application:
    return start("worker", {PLAYGROUND: playground.base + "/"})


def test_the_worker_fetches_as_itself(worker: Application) -> None:
    """Catches a worker that needs a user, or that does not stop."""
    done = worker.run("--once")
    assert (done.returncode, done.stdout) == (0, ROWS), done.stderr
    process = worker.start(PERIOD="600")
    assert process.stdout is not None
    assert process.stdout.readline() + process.stdout.readline() == ROWS
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    process.communicate()


def test_the_worker_survives_an_outage(worker: Application, playground: Playground) -> None:
    """Catches a worker that exits because its issuer was away for a moment."""
    playground.faults(token={"kind": "unavailable", "retryAfterSeconds": 1})
    process = worker.start("--once")
    assert process.stderr is not None
    assert "next attempt in" in process.stderr.readline()
    playground.faults(token=None)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (0, ROWS), errors


def test_the_worker_ends_when_its_configuration_is_wrong(start: Callable[..., Application], playground: Playground) -> None:
    """Catches a worker that retries for ever what cannot succeed."""
    wrong = start("worker", {PLAYGROUND: playground.base + "/", "clientSecret: svcsecret": "clientSecret: wrong"})
    done = wrong.run()
    assert done.returncode == 1 and "ERROR" in done.stderr and not done.stdout


# MARK: the command line


@pytest.fixture
def cli(start: Callable[..., Application], playground: Playground) -> Application:
    return start("cli", {PLAYGROUND: playground.base + "/", LOCAL: f"http://127.0.0.1:{free_port()}/callback"})


@pytest.fixture
def login(cli: Application) -> Iterator["subprocess.Popen[str]"]:
    process = cli.start("login")
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()


def test_a_user_logs_in_with_a_browser(cli: Application, login: "subprocess.Popen[str]", page: Page) -> None:
    """Catches a login whose redirect goes nowhere, and a program that loses its session with its process."""
    assert cli.run("list").returncode == 2
    assert login.stderr is not None
    [url] = re.findall(r"open (http\S+)", login.stderr.readline())
    page.open(url)
    page.type("#username", "alice")
    page.type("#password", "alice-password")
    page.press("Sign in")
    page.reads("You can close this window.")
    _, errors = login.communicate(timeout=30)
    assert (login.returncode, errors) == (0, "Logged in: user-1001\n")
    done = cli.run()
    assert (done.returncode, done.stdout) == (0, ROWS), done.stderr
    assert cli.run("logout").returncode == 0 and cli.sessions() == []
    done = cli.run("list")
    assert done.returncode == 2 and "Not logged in" in done.stderr


def test_another_callback_does_not_end_the_wait(cli: Application, login: "subprocess.Popen[str]", page: Page) -> None:
    """Catches a page in the user's browser that logs the user in as an attacker, or ends the login."""
    assert login.stderr is not None
    assert "open http" in login.stderr.readline()
    [redirect] = re.findall(r"redirectUri: (\S+)", (cli.directory / "postern.yaml").read_text())
    page.open(f"{redirect}?code=stolen&state={'A' * 43}")
    page.reads("This is not the login that is waiting.")
    assert login.poll() is None and cli.sessions() == []


def test_a_user_logs_in_on_another_device(cli: Application, playground: Playground) -> None:
    """Catches a program that gives up while the user is still typing the code."""
    process = cli.start("login", "--device")
    assert process.stderr is not None
    [code] = re.findall(r"type (\S+)", process.stderr.readline())
    decision = json.dumps({"userCode": code, "user": "alice"}).encode()
    status, _, body = playground.request("POST", "/playground/device", decision)
    assert status in (200, 204), body
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "Logged in: user-1001\n")
    assert cli.run("list").stdout == ROWS


def test_a_terminal_is_led_to_the_login(cli: Application, playground: Playground, page: Page) -> None:
    """Catches a first use that ends with an error where a user is there to log in."""
    terminal, its_end = os.openpty()
    process = subprocess.Popen(
        cli.command, cwd=cli.folder, env=cli.environment, text=True, stdin=its_end, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        [url] = re.findall(r"open (http\S+)", process.stderr.readline())
        page.open(url)
        page.type("#username", "alice")
        page.type("#password", "alice-password")
        page.press("Sign in")
        output, errors = process.communicate(timeout=30)
        assert (process.returncode, output) == (0, ROWS), errors
    finally:
        process.kill()
        os.close(terminal)
        os.close(its_end)


def test_a_new_login_replaces_the_session(cli: Application, playground: Playground) -> None:
    """Catches a second login after which the sidecar cannot choose between two sessions."""
    for _ in range(2):
        playground.request("POST", "/playground/login", json.dumps({"user": "alice", "times": 1}).encode())
        process = cli.start("login")
        assert process.stderr is not None
        [url] = re.findall(r"open (http\S+)", process.stderr.readline())
        status, headers, _ = playground.request("GET", url.replace(playground.base, ""))
        assert status in (302, 303)
        subprocess.run(["curl", "-s", headers["location"]], check=True, stdout=subprocess.DEVNULL, timeout=30)
        process.communicate(timeout=30)
        assert process.returncode == 0
    assert len(cli.sessions()) == 1 and cli.run("list").stdout == ROWS
