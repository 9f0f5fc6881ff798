"""deploy/compose: sidecar and playground in containers, and programs beside them, with the commands of proto-docs/mac.md."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, Iterator

import pytest

from machines import engine, roots
from machines.files import DEPLOY, ROOT, foreign_libraries, needs, needs_namespaces, postern

sys.path.append(str(ROOT / "Tests" / "Documents"))
import console  # noqa: E402
from harness import binaries  # noqa: E402

yaml = pytest.importorskip("yaml", reason="make test-deployment installs it")
COMPOSE = DEPLOY / "compose"
PAGE = ROOT / "proto-docs" / "mac.md"

LOGIN = """
import json, urllib.error, urllib.request
import postern_auth
client = postern_auth.Client()
urllib.request.urlopen("http://127.0.0.1:8080/playground/login", b'{"user":"alice","times":1}').close()
begun = client.begin_authorization("corp")
class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_): return None
try:
    urllib.request.build_opener(Stay).open(begun.authorization_url)
except urllib.error.HTTPError as redirect:
    session = client.complete_authorization(redirect.headers["Location"], state=begun.state).session
print(client.fetch_resource("orders", "orders", session=session).status)
"""


def nameless(text: str) -> str:
    """Compose 1 rejects a project's name in the file."""
    return re.sub(r"^name: .*\n", "", text, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def services() -> Dict[str, Any]:
    return yaml.safe_load((COMPOSE / "compose.yaml").read_text())["services"]


def test_compose_accepts_the_files() -> None:
    needs("docker-compose")
    for folder in ("compose", "container"):
        text = nameless((DEPLOY / folder / "compose.yaml").read_text())
        done = subprocess.run(
            ["docker-compose", "--file", "-", "--project-directory", str(DEPLOY / folder), "config", "--quiet"],
            input=text, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr


def test_ports_are_published_on_loopback_only_and_lead_to_what_listens(services: Dict[str, Any]) -> None:
    """Catches a gateway that the network reaches, and a published port behind which nothing listens."""
    assert [name for name, service in services.items() if "ports" in service] == ["ports"]
    assert {service["network_mode"] for name, service in services.items() if name != "ports"} == {"service:ports"}
    forwards = dict(re.findall(r"TCP-LISTEN:(\d+),fork TCP:127\.0\.0\.1:(\d+)", services["ports"]["command"][-1]))
    published = dict(re.findall(r"^127\.0\.0\.1:(\d+):(\d+)$", "\n".join(services["ports"]["ports"]), re.MULTILINE))
    assert len(published) == len(services["ports"]["ports"])
    assert {outside: forwards[inside] for outside, inside in published.items()} == {"7080": "7080", "8080": "8080"}
    configuration = yaml.safe_load((COMPOSE / "postern.yaml").read_text())
    assert configuration["gateway"]["listen"]["address"] == "127.0.0.1:7080"
    assert services["playground"]["command"] == ["playground", "--port", "8080"]


@pytest.mark.parametrize("folder", ["compose", "container"])
def test_an_image_is_built_from_what_its_context_has(folder: str, tmp_path: Path) -> None:
    """Catches a context without a folder that Package.swift names: SwiftPM builds nothing then."""
    needs("swift")
    ignored = [line for line in (DEPLOY / folder / "Dockerfile.dockerignore").read_text().splitlines() if not line.startswith("#")]
    patterns = [pattern.rsplit("/", 1)[-1] for pattern in ignored]
    context = tmp_path / "context"
    shutil.copytree(ROOT, context, symlinks=True, ignore=shutil.ignore_patterns(*patterns, "node_modules", ".venv"))
    text = (DEPLOY / folder / "Dockerfile").read_text().replace("\\\n", "")
    [package] = re.findall(r"^RUN swift build(?: --package-path (\S+))? ", text, re.MULTILINE)
    done = subprocess.run(
        ["swift", "package", "describe", "--package-path", str(context / package)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_both_builds_install_the_same_packages() -> None:
    """Catches a library that one of them has not been told of."""
    first, second = (
        re.search(r"^RUN apt-get.*?[^\\]$", (DEPLOY / folder / "Dockerfile").read_text(), re.MULTILINE | re.DOTALL)
        for folder in ("compose", "container"))
    assert first and second and first.group() == second.group()


@pytest.fixture(scope="module")
def machine(place: Path) -> Iterator[engine.Engine]:
    needs(*engine.needed(), "buildah", "strip", "node")
    needs_namespaces()
    if foreign_libraries(postern()):
        pytest.skip("a debug build: its Swift libraries are not the system's")
    running = engine.Engine(place)
    try:
        running.load(roots.build_image(), "postern")
        shutil.copy("/bin/sh", place / "sh")
        running.assemble("postern-playground", os.path.abspath(binaries.playground()), "/usr/bin/socat", str(place / "sh"))
        yield running
    finally:
        running.stop()


@pytest.fixture
def tree(directory: Path) -> Path:
    """The repository as the commands need it: the key goes into the copy."""
    shutil.copytree(COMPOSE, directory / "deploy" / "compose")
    file = directory / "deploy" / "compose" / "compose.yaml"
    file.write_text(nameless(file.read_text()))
    (directory / "node_modules").mkdir()
    (directory / "node_modules" / "postern-auth").symlink_to(ROOT / "clients" / "node")
    return directory


def test_the_commands_of_the_page(machine: engine.Engine, tree: Path) -> None:
    """Catches ports that do not reach the sidecar, a key that it cannot read, and a command that prints something else."""
    steps = console.steps(PAGE.read_text())
    assert len(steps) >= 7
    owned = console.Step("chown 501:20 deploy/compose/gateway-key && ls -l deploy/compose/gateway-key", ["-rw------- …"])
    login = console.Step(f"python3 - <<'END'\n{LOGIN}END", ["200"])
    steps = [steps[0], owned, *steps[1:-1], login, steps[-1]]
    environment = {**machine.environment, "PYTHONPATH": str(ROOT / "clients" / "python" / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    outputs = console.outputs(steps, tree, environment, 240, machine.launcher(tree))
    logs = machine.run("docker-compose", "-f", str(tree / "deploy/compose/compose.yaml"), "logs", "--no-color").stdout
    assert len(outputs) == len(steps), outputs
    for step, output in zip(steps, outputs):
        assert not (difference := console.difference(step, output)), difference + "\n" + logs
