"""The plugin that counts skips."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from skips import is_expected

HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize("reason, is_root, expected", [
    ("this kernel's Landlock knows no ports", True, True),
    ("redis-server is not installed: make deps", True, False),
    ("redis-server is not installed: make deps", False, False),
    ("needs another gid", False, True),
    ("needs another gid", True, False),
    ("no namespaces here", True, False),
])
def test_only_listed_reasons_are_expected(reason: str, is_root: bool, expected: bool) -> None:
    assert is_expected(reason, is_root) == expected


@pytest.mark.parametrize("strict, body, status", [
    ("1", 'pytest.skip("a program is not installed")', 1),
    ("1", 'pytest.skip("this kernel has no Landlock")', 0),
    ("1", 'pytest.xfail("known")', 0),
    ("", 'pytest.skip("a program is not installed")', 0),
])
def test_a_run_with_an_unexpected_skip_fails_where_it_is_strict(
    tmp_path: Path, strict: str, body: str, status: int
) -> None:
    (tmp_path / "test_it.py").write_text(f"import pytest\n\ndef test_it():\n    {body}\n")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "skips", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(HERE), "STRICT_SKIPS": strict, "PYTEST_ADDOPTS": ""},
        capture_output=True, text=True, timeout=60)
    assert run.returncode == status, run.stdout
    if "skip" in body:
        assert "SKIPPED [1]" in run.stdout
    assert ("may not be skipped here: a program is not installed" in run.stdout) == (status != 0)


def test_a_module_that_skips_itself_counts(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text('import pytest\npytest.importorskip("nothing_like_it", reason="nothing")\n')
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "skips", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(HERE), "STRICT_SKIPS": "1"}, capture_output=True, text=True, timeout=60)
    assert run.returncode != 0 and "may not be skipped here: nothing" in run.stdout
