"""examples/sandbox: children that reach one resource, in bubblewrap, podman, and with another uid."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Callable, Iterator, List

import pytest

from application import EXAMPLES, PLAYGROUND, ROOT, Application

from harness import binaries
from harness.playground import Playground
from harness.users import BOB, needs_root, open_to_all

FOLDER = EXAMPLES / "sandbox"
LIBRARY = ROOT / "clients/python/src"
ROWS = "A-1001 coffee 2\nA-1002 tea 1\n"
#: What child.py prints.
CHILD = ROWS + "open: No such resource is configured\nsessions: peer_forbidden\n"


@pytest.fixture
def example(directory: Path, start: Callable[..., Application], playground: Playground) -> Application:
    # A socket of the gateway's in the test's own folder.
    return start("sandbox", {PLAYGROUND: playground.base + "/", "http.sock": str(directory / "h")})


def confined(example: Application, *command: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [binaries.postern(), "run", "--resource", "orders", "--for", "10m", "--", *command], cwd=FOLDER, text=True,
        env={**example.environment, **environment}, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)


def test_curl_in_bubblewrap(example: Application, playground: Playground, directory: Path) -> None:
    """Catches a sandbox that its endpoint does not get into, and one in which there is more than that."""
    curl = ["./confine", "curl", "-s", "--unix-socket", "/run/api.sock"]
    assert '"A-1001"' in confined(example, *curl, "http://postern/orders/orders").stdout
    assert '"status":404' in confined(example, *curl, "http://postern/open/text").stdout
    assert confined(example, "./confine", "curl", "-s", playground.base + "/open/text").returncode != 0
    found = confined(example, "./confine", "sh", "-c", "echo /run/* /tmp/*; env", SECRET="mine")
    assert found.stdout.startswith("/run/api.sock /run/postern.sock /tmp/*\n") and "SECRET" not in found.stdout
    assert str(directory) not in found.stdout


def test_the_python_client_in_bubblewrap(example: Application) -> None:
    """Catches a client that needs more than its socket."""
    script = "from postern_auth import Client; print(len(Client().fetch_resource('orders', path='orders').json()['orders']))"
    done = confined(
        example, "./confine", "--ro-bind", str(LIBRARY), "/library", "--setenv", "PYTHONPATH", "/library",
        "/usr/bin/python3", "-c", script)
    assert done.stdout == "2\n", done


def test_only_a_descriptor_in_bubblewrap(example: Application) -> None:
    """Catches a child that needs a path, or that can do more with its descriptor than was given."""
    done = subprocess.run(
        [sys.executable, "maker.py"], cwd=FOLDER, env=example.environment, text=True, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, CHILD), done
    with example.sidecar.connect() as connection:
        assert connection.call("listEndpoints")["endpoints"] == []


@pytest.fixture
def giver(example: Application, directory: Path) -> Iterator[str]:
    """`maker.py --at`, as the container of the application in pod.yaml."""
    path = directory / "agents" / "give.sock"
    path.parent.mkdir()
    process = subprocess.Popen(
        [sys.executable, "maker.py", "--at", str(path)], cwd=FOLDER, env=example.environment, text=True, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    yield str(path)
    process.kill()
    process.communicate()


@needs_root
def test_the_other_container(example: Application, giver: str, directory: Path) -> None:
    """Catches a container with another uid that cannot use its descriptor, and one that can use the sidecar's socket."""
    open_to_all(directory / "agents")
    shutil.copy(FOLDER / "child.py", directory / "agents/child.py")
    shutil.copytree(LIBRARY / "postern_auth", directory / "agents/postern_auth")
    subprocess.run(["chmod", "-R", "a+rX", str(directory / "agents")], check=True)

    def agent(**variables: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["/usr/bin/python3", "child.py", *([giver] if not variables else [])], cwd=directory / "agents", text=True,
            user=BOB, group=BOB, extra_groups=[], env={"PATH": "/usr/bin", "HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1", **variables},
            capture_output=True, timeout=60)

    assert agent().stdout == CHILD
    assert "PermissionError" in (denied := agent(POSTERN_SOCKET=example.sidecar.path)).stderr or "Permission denied" in denied.stderr


FAKE = '#!/bin/sh\nprintf "%s\\n" "$@"\n'


def test_the_options_of_podman(example: Application, directory: Path) -> None:
    """Catches a container with a network, or with a volume besides its socket."""
    (directory / "podman").write_text(FAKE)
    (directory / "podman").chmod(0o755)
    done = confined(example, "./confine-podman", "image", "program", PATH=f"{directory}:{os.environ['PATH']}")
    words = done.stdout.splitlines()
    volumes = [words[index + 1] for index, word in enumerate(words) if word == "--volume"]
    assert words[:2] == ["run", "--rm"] and words[-2:] == ["image", "program"] and "none" == words[words.index("--network") + 1]
    assert len(volumes) == 1 and volumes[0].startswith(example.sidecar.path + ".e-") and volumes[0].endswith(".http:/run/api.sock")


def test_curl_in_podman(example: Application, directory: Path) -> None:
    """Catches a container that cannot open the socket of its user's endpoint."""
    if shutil.which("podman") is None:
        pytest.skip("podman can start no container here: it is not installed")
    root = directory / "root"
    for folder in ["usr", "etc", "tmp", "proc", "dev", "sys", "run"]:
        (root / folder).mkdir(parents=True)
    for folder in ["bin", "lib", "lib64"]:
        (root / folder).symlink_to(f"usr/{folder}")
    (root / "run/api.sock").touch()
    options: List[str] = ["--volume", "/usr:/usr:ro", "--rootfs", str(root)]
    probe = subprocess.run(
        ["podman", "run", "--rm", "--network", "none", *options, "true"], capture_output=True, text=True, timeout=120)
    if probe.returncode != 0:
        pytest.skip(f"podman can start no container here: {probe.stderr.strip()[-200:]}")
    done = confined(
        example, "./confine-podman", *options, "curl", "-s", "--unix-socket", "/run/api.sock", "http://postern/orders/orders")
    assert '"A-1001"' in done.stdout, done
