"""examples/run in a copy of the tree: what it starts, where, and what is left after the tree was moved."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Iterator, Tuple

import pytest

import walk
from application import follow

from harness.connection import Connection
from harness.playground import Playground
from harness.ports import free_port
from harness.waiting import eventually

ROWS = "A-1001 coffee 2\nA-1002 tea 1\n"


@pytest.fixture
def provider() -> int:
    return free_port()


@pytest.fixture
def tree(directory: Path, provider: int) -> Path:
    made = directory / "tree"
    walk.copy_of_the_tree(made, {
        "127.0.0.1:8080": f"127.0.0.1:{provider}", r"127\.0\.0\.1:8080": rf"127\.0\.0\.1:{provider}", "--port 8080": f"--port {provider}"})
    return made


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: object) -> None:  # type: ignore[override]
        return None


def login_at(port: int) -> str:
    """Where the application sends a browser that logs in."""
    try:
        urllib.request.build_opener(NoRedirects).open(f"http://127.0.0.1:{port}/login", timeout=30)
    except urllib.error.HTTPError as answer:
        assert answer.code == 303
        return answer.headers["Location"]
    raise AssertionError("no redirect")


@pytest.fixture
def express(tree: Path) -> Iterator[Tuple["subprocess.Popen[bytes]", int]]:
    port = free_port()
    environment = {**os.environ, "PORT": str(port)}
    environment.pop("POSTERN_SOCKET", None)
    file = tree / "log"
    with open(file, "wb") as log:
        process = subprocess.Popen(
            [str(tree / "examples" / "run"), "express"], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True)
    try:
        eventually(lambda: walk.listens(port) or process.poll() is not None, 120, "the application")
        assert process.poll() is None, file.read_text()
        yield process, port
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait(10)


def test_express_starts_as_the_others(express: "Tuple[subprocess.Popen[bytes], int]", provider: int) -> None:
    """Catches an example with ports, a sidecar or a provider of its own, and one that leaves a process behind."""
    process, port = express
    location = login_at(port)
    assert location.startswith(f"http://127.0.0.1:{provider}/oidc/authorize")
    process.terminate()
    assert process.wait(30) == 143
    assert not walk.listens(port) and not walk.listens(provider)


def test_the_commands_of_the_readme_of_express(
    express: "Tuple[subprocess.Popen[bytes], int]", provider: int, directory: Path
) -> None:
    """Catches a command about the API that does not work as it stands; other callers are in the Node client's tests."""
    addresses = {"127.0.0.1:8080": f"127.0.0.1:{provider}", "127.0.0.1:8000": f"127.0.0.1:{express[1]}"}
    follow("express", addresses, directory)


@pytest.fixture
def yours(tree: Path, playground: Playground) -> Playground:
    """Your own provider in the example's configuration: not the playground that the script starts."""
    file = tree / "examples" / "express" / "postern.yaml"
    file.write_text(re.sub(r"http://127\.0\.0\.1:\d+/(oidc|resource)", rf"{playground.base}/\1", file.read_text()))
    return playground


def test_express_with_your_own_provider(
    yours: Playground, express: "Tuple[subprocess.Popen[bytes], int]", provider: int
) -> None:
    """Catches a configuration that the example does not read, and a playground that nothing names."""
    _, port = express
    assert login_at(port).startswith(yours.issuer)
    assert not walk.listens(provider)


def test_the_television_starts_its_page(tree: Path, provider: int) -> None:
    """Catches a page with the wrong port, a second television that needs another page, a process left behind."""
    port = free_port()
    environment = {**os.environ, "PORT": str(port)}
    environment.pop("POSTERN_SOCKET", None)
    started = []

    def start(*arguments: str, **more: str) -> Tuple["subprocess.Popen[str]", str, str]:
        """With its code, and the lines before it."""
        process = subprocess.Popen(
            [str(tree / "examples" / "run"), "television", *arguments], env={**environment, **more}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        started.append(process)
        assert process.stdout is not None and process.stderr is not None
        shown = process.stdout.readline()
        found = re.search(rf"open http://127\.0\.0\.1:{port} on a phone and type (\S+)", shown)
        assert found, shown + process.stderr.read()
        os.set_blocking(process.stderr.fileno(), False)
        return process, found[1], process.stderr.read()

    try:
        first, code, lines = start()
        [path] = re.findall(r"its socket: (\S+)", lines)
        second, other, lines = start("--device", "bedroom", POSTERN_SOCKET=path)
        assert code != other and "socket" not in lines
        with Connection(path) as connection:
            session = connection.call("pass.resumeSession", {
                "provider": "tv", "code": code, "secondScreen": True, "mvpd": "Cablevision", "domainName": "example.com",
                "redirectUrl": f"http://127.0.0.1:{port}/callback"})
        assert session["actionName"] == "authenticate", "the configuration has the page's address with that port"
        second.terminate()
        assert second.wait(30) == 143 and walk.listens(port)
        first.terminate()
        assert first.wait(30) == 143 and not walk.listens(port) and not walk.listens(provider)
        assert not Path(path).parent.exists()
    finally:
        for process in started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.communicate(timeout=10)


def test_a_tree_that_was_moved(tree: Path) -> None:
    """Catches a virtual environment whose client is still that of the former place."""
    environment = dict(os.environ)
    environment.pop("POSTERN_SOCKET", None)

    def once() -> str:
        done = subprocess.run(
            [str(tree / "examples" / "run"), "worker", "--once"], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=240)
        assert (done.returncode, done.stdout) == (0, ROWS), done.stderr
        return done.stderr

    assert "installing" in once()
    assert "installing" not in once()
    tree = tree.rename(tree.with_name("moved"))
    assert "installing" in once()
