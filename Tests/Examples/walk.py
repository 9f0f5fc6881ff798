"""The path of a newcomer, with the documents' own commands: from the README to a user's data in the FastAPI example.

    python3 Tests/Examples/walk.py          after `make release`; pip, glewlwyd and Chromium are needed

It takes the commands from README.md and proto-docs/examples.md, and runs them in a copy of the tree. After each
`examples/run` it does in a browser what the pages describe: with the playground, and then with "your own provider",
which is glewlwyd here. Only addresses, the client's name and its secret are replaced, and plain HTTP is permitted.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "Tests" / "EndToEnd"), str(ROOT / "Tests" / "Documents")]

import console  # noqa: E402
from harness import binaries  # noqa: E402
from harness.chromium import Chromium, Page  # noqa: E402
from harness.glewlwyd import Provider, Resource  # noqa: E402
from harness.ports import free_port  # noqa: E402
from harness.waiting import eventually  # noqa: E402

MARK = "not run: Tests/Examples/walk.py runs it"
START = "examples/run "
#: The limit of the whole path without the build: a person reads and types, and registers a client.
MINUTES = 5


class Stage(NamedTuple):
    """The commands up to a start of the example, the start, and what to do in the browser then."""

    before: List[console.Step]
    start: str
    visit: Callable[[Page, str], None]


def commands(page: str, marked: bool) -> List[console.Step]:
    """The commands of a page: those of blocks below MARK, or those of blocks without a mark."""
    found = [block for skipped, block in console.BLOCK.findall(page) if skipped == (MARK if marked else "")]
    return [step for block in found for step in console.steps(f"```console\n{block}```\n")]


def at_the_playground(page: Page, base: str) -> None:
    page.open(base)
    page.press("Log in")
    sign_in(page, "alice", "alice-password", "Sign in")
    page.reads("Hello")
    page.press("My orders")
    page.reads("coffee")
    page.press("Back")
    page.press("The vault")
    sign_in(page, "alice", "alice-password", "Sign in")
    page.reads("200")
    page.press("Back")
    page.press("Log out")
    page.reads("Not logged in")


def at_your_provider(page: Page, base: str) -> None:
    page.open(base)
    page.press("Log in")
    sign_in(page, "alice", "alicepw", "OK")
    page.reads("svc requires access to the following scopes")
    page.click("#grant-orders")
    page.press("Grant access")
    page.reads("Connection to svc")
    page.press("Continue")
    page.reads("Hello")
    page.press("My orders")
    page.reads("orders")
    page.reads("200")


def sign_in(page: Page, name: str, password: str, button: str) -> None:
    eventually(lambda: page.evaluate("!!document.querySelector('#username')"), 20, "the login page")
    page.type("#username", name)
    page.type("#password", password)
    page.press(button)


def stages(readme: str, page: str) -> List[Stage]:
    visits = [at_the_playground, at_your_provider]
    found: List[Stage] = []
    before: List[console.Step] = []
    for step in commands(readme, marked=True) + commands(page, marked=False):
        if step.command.startswith(START):
            assert len(found) < len(visits), "the documents start the example more often than this script knows"
            found.append(Stage(before, step.command, visits[len(found)]))
            before = []
        else:
            before.append(step)
    assert len(found) == len(visits) and not before, "the documents start the example with two providers, as last commands"
    return found


def copy_of_the_tree(directory: Path, replaced: Dict[str, str]) -> None:
    """What the path needs; the playground has another port than the one that may be in use."""
    ignored = shutil.ignore_patterns(".venv", "node_modules", "__pycache__", "*.secret", "device-id")
    shutil.copytree(ROOT / "examples", directory / "examples", ignore=ignored)
    for client in ("python", "node"):
        shutil.copytree(ROOT / "clients" / client, directory / "clients" / client, ignore=ignored)
    for file in (directory / "examples" / "run", *(directory / "examples").glob("*/postern.yaml")):
        file.write_text(exchanged(file.read_text(encoding="utf-8"), replaced), encoding="utf-8")
    built = directory / ".build" / "release"
    built.mkdir(parents=True)
    (built / "postern").symlink_to(Path(binaries.postern()).resolve())
    (built / "playground").symlink_to(Path(binaries.playground()).resolve())


def exchanged(text: str, by: Dict[str, str]) -> str:
    for old, new in by.items():
        text = text.replace(old, new)
    return text


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def run(stage: Stage, directory: Path, port: int, addresses: Dict[str, str], page: Page) -> None:
    environment = {**os.environ, "PORT": str(port)}
    environment.pop("POSTERN_SOCKET", None)
    real = [step._replace(command=exchanged(step.command, addresses)) for step in stage.before]
    for step, output in zip(stage.before, console.outputs(real, directory, environment)):
        print(f"$ {step.command}\n{output.rstrip()}".rstrip(), flush=True)
        shown = re.sub(r"^postern: warning: .*development switch is on\n", "", output, flags=re.MULTILINE)
        assert not (difference := console.difference(step, shown)), difference
    print(f"$ {stage.start}", flush=True)
    # A file, not a pipe: its reader must not wait for what the script leaves behind, if it does.
    with open(directory / "log", "w+", encoding="utf-8") as log:
        program = subprocess.Popen(
            ["bash", "-c", stage.start], cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True)
        try:
            eventually(lambda: listens(port) or program.poll() is not None, 240, "the application")
            assert program.poll() is None, (directory / "log").read_text(encoding="utf-8")
            stage.visit(page, f"http://127.0.0.1:{port}/")
            print(f"  in the browser: {stage.visit.__name__.replace('_', ' ')}", flush=True)
            os.killpg(program.pid, signal.SIGINT)  # as Ctrl-C does
            assert program.wait(30) == 130
            assert not listens(port), "the application still runs"
        except BaseException:
            print((directory / "log").read_text(encoding="utf-8"), file=sys.stderr)
            raise
        finally:
            try:
                os.killpg(program.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            program.wait(10)


def main() -> int:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    path = stages(readme, (ROOT / "proto-docs" / "examples.md").read_text(encoding="utf-8"))
    directory = Path(tempfile.mkdtemp(prefix="postern-walk-", dir="/tmp"))
    port, begun = free_port(), time.monotonic()
    provider = Provider(directory / "glewlwyd", "--redirect-uri", f"http://127.0.0.1:{port}/callback", token_seconds=60)
    resource, chromium = Resource(provider), Chromium(directory)
    addresses = {
        "https://idp.example.com": provider.issuer, "https://api.example.com/": resource.base, "clientId: shop": "clientId: svc",
        "'your-secret\\n'": "'svcsecret\\n'", "127.0.0.1:8000": f"127.0.0.1:{port}",
        "store: { kind: memory }": "store: { kind: memory }\ndevelopment: { plainHTTPOnLoopback: true }",
    }
    for shown in addresses:
        assert any(shown in step.command for stage in path for step in stage.before), f"{shown} is in no command"
    try:
        tree = directory / "postern"
        ours = str(free_port())
        copy_of_the_tree(tree, {"127.0.0.1:8080": f"127.0.0.1:{ours}", r"127\.0\.0\.1:8080": rf"127\.0\.0\.1:{ours}",
                                "--port 8080": f"--port {ours}"})
        for stage in path:
            run(stage, tree, port, addresses, chromium.page(height=900))
    finally:
        chromium.stop()
        resource.stop()
        provider.stop()
        shutil.rmtree(directory, ignore_errors=True)
    seconds = time.monotonic() - begun
    print(f"{seconds:.0f} s without the build")
    assert seconds < MINUTES * 60, "the path takes too long"
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
