"""What the command makes of its arguments, and of none."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Callable, List

import pytest

from harness import binaries
from harness.sidecar import Sidecar


def run(*arguments: str, launcher: List[str] = []) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*launcher, binaries.postern(), *arguments], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)


WITHOUT_PROC = ["unshare", "--mount", "sh", "-c", "umount -l /proc && exec \"$@\"", "sh"]


@pytest.mark.parametrize("arguments", [[], ["jose"], ["audit"]])
def test_no_command_is_a_wrong_use(arguments: List[str]) -> None:
    """A success would be taken for one by whoever started it for something."""
    done = run(*arguments)
    assert done.returncode == 64 and "Usage: postern" in done.stderr and done.stdout == "", done


def test_help_is_none() -> None:
    done = run("--help")
    assert done.returncode == 0 and "SUBCOMMANDS" in done.stdout


@pytest.mark.skipif(os.getuid() != 0, reason="takes /proc away in a mount namespace of its own")
def test_arguments_are_read_without_proc(start: Callable[..., Sidecar], directory: Path) -> None:
    """Swift reads them from /proc: a probe without it asked nobody, and succeeded."""
    nowhere = str(directory / "nowhere.sock")
    done = run("probe", "--socket", nowhere, launcher=WITHOUT_PROC)
    assert done.returncode == 1 and nowhere in done.stderr, done
    sidecar = start({})
    assert run("probe", "--socket", sidecar.path, launcher=WITHOUT_PROC).returncode == 0
    sidecar.stop()
    assert run("probe", "--socket", sidecar.path, launcher=WITHOUT_PROC).returncode == 1
    assert run(launcher=WITHOUT_PROC).returncode == 64


def test_check_config_knows_the_methods(directory: Path) -> None:
    """A misspelt method lets nobody call what was meant, and is found when somebody tries."""
    path = directory / "rules.yaml"
    path.write_text("peers: [{ uid: 1, methods: [fetchResorce, getInfo, $/cancelRequest, rpc.discover] }]\n")
    done = run("check-config", "--config", str(path))
    assert done.returncode == 1, done
    assert "peers[0].methods[0]: there is no method fetchResorce; did you mean fetchResource?" in done.stderr
    assert "getInfo" not in done.stderr and "cancelRequest" not in done.stderr
    done = run("serve", "--config", str(path), "--socket", str(directory / "never.sock"))
    assert done.returncode == 78 and "did you mean fetchResource?" in done.stderr, done
