"""The path of a newcomer, and the check of its script."""

from __future__ import annotations

import subprocess
import sys

import pytest

import walk


def test_the_path_of_a_newcomer() -> None:
    """Catches a command of the documents that does not lead to a user's data in the FastAPI example."""
    done = subprocess.run([sys.executable, walk.__file__], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "at the playground" in done.stdout and "at your provider" in done.stdout


def test_the_script_sees_a_path_that_has_changed() -> None:
    """Guards the guard: commands that the documents lost, or have more of, must not pass."""
    block = "```console\n$ echo a\na\n$ examples/run fastapi\n```\n"
    readme = f"<!-- {walk.MARK} -->\n{block}"
    first, second = walk.stages(readme, f"<!-- not run: no -->\n{block}{block}")
    assert [step.command for step in first.before] == ["echo a"] and second.before == first.before
    for readme, page in [(block, block), (readme, ""), (readme, block + block), (readme, block + "```console\n$ more\n```\n")]:
        with pytest.raises(AssertionError):
            walk.stages(readme, page)
