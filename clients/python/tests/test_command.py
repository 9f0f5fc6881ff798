"""`python -m postern_auth`: what it prints and its exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from double import Double
from harness.sidecar import Sidecar
from test_connection import silent


def run(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "postern_auth", *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=False)


def test_a_result_is_printed(sidecar: Sidecar) -> None:
    done = run("call", "getInfo", "--socket", sidecar.path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["name"] == "postern"
    done = run(
        "call", "fetchResource", "-", "--socket", sidecar.path, "--compact", given='{"resource":"open","path":"echo"}'
    )
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert json.loads(done.stdout)["status"] == 200


def test_conveniences(sidecar: Sidecar) -> None:
    done = run("health", "--socket", sidecar.path)
    assert done.returncode == 0
    assert done.stdout.startswith("ok\n")
    assert "configuration" in done.stdout
    done = run("version", "--socket", sidecar.path)
    assert done.returncode == 0
    assert "postern-auth" in done.stdout
    assert "protocol" in done.stdout
    done = run("get", "open", "text?charset=utf-8", "--socket", sidecar.path)
    assert done.returncode == 0
    assert done.stdout
    done = run("get", "open", "status/404", "--socket", sidecar.path)
    assert done.returncode == 1
    assert "404" in done.stderr


def test_an_error_is_told(sidecar: Sidecar) -> None:
    done = run("call", "fetchResource", '{"resource":"nowhere"}', "--socket", sidecar.path)
    assert done.returncode == 1
    assert not done.stdout
    assert "invalid_params at /resource" in done.stderr
    assert '"code": -32602' in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["call"],
        ["call", "getInfo", "{"],
        ["call", "getInfo", "[]"],
        ["call", "getInfo", "--timeout", "0"],
        ["call", "getInfo", "--timeout", "x"],
    ],
)
def test_wrong_usage(arguments: list[str], sidecar: Sidecar) -> None:
    done = run(*arguments, *(["--socket", sidecar.path] if len(arguments) > 1 else []))
    assert done.returncode == 64
    assert "Traceback" not in done.stderr


def test_no_answer(directory: Path, double: Double) -> None:
    done = run("health", "--socket", str(directory / "none.sock"))
    assert done.returncode == 2
    assert "none.sock" in done.stderr
    assert "Traceback" not in done.stderr
    double.scripts = [silent]
    assert run("health", "--socket", double.path, "--timeout", "0.2").returncode == 2
