"""The wheel: it can be built and installed, holds what it must, and needs nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from harness.sidecar import Sidecar

PACKAGE = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(PACKAGE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(target.glob("*.tar.gz"))
    [built] = target.glob("*.whl")
    return built


def test_the_wheel_holds_the_package(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    modules = {"__init__.py", "py.typed", "types.py", "requests.py", "testing.py", "_openrpc.json"}
    assert {f"postern_auth/{name}" for name in modules} <= set(names)
    assert {name.partition("/")[0] for name in names} == {"postern_auth", "postern_auth-0.1.0.dist-info"}


def test_the_metadata_is_complete(wheel: Path) -> None:
    """A page on the index without a way to the source, a page with dead links, a dependency by mistake."""
    archive = zipfile.ZipFile(wheel)
    [metadata] = [name for name in archive.namelist() if name.endswith("/METADATA")]
    fields, _, text = archive.read(metadata).decode().partition("\n\n")
    lines = fields.splitlines()
    assert {"Name: postern-auth", "Requires-Python: >=3.9", "License-Expression: Apache-2.0"} <= set(lines)
    for label in ("Homepage", "Documentation", "Source", "Issues", "Changelog"):
        assert [line for line in lines if line.startswith(f"Project-URL: {label}, https://")], label
    assert f"Classifier: Programming Language :: Python :: 3.{sys.version_info.minor}" in lines
    assert not [line for line in lines if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert "Five minutes" in text
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert len(links) > 5
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    pages = [link.partition("/blob/main/")[2] for link in links if "/blob/main/" in link]
    assert [page for page in pages if not (PACKAGE.parents[1] / page.partition("#")[0]).is_file()] == []


def test_the_license_is_in_both_archives(wheel: Path) -> None:
    """A copy that differs from the license of the repository, or that one of the archives lacks."""
    license_text = (PACKAGE.parents[1] / "LICENSE").read_bytes()
    assert zipfile.ZipFile(wheel).read("postern_auth-0.1.0.dist-info/licenses/LICENSE") == license_text
    [source] = wheel.parent.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        member = archive.extractfile("postern_auth-0.1.0/LICENSE")
        assert member is not None and member.read() == license_text


def test_pytest_finds_the_fixtures(wheel: Path, tmp_path: Path) -> None:
    """An entry point that is missing, or names another module."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "packages")
    (tmp_path / "test_it.py").write_text("def test_it(postern, async_postern):\n    assert postern.calls == []\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "packages")},
    )  # fmt: skip
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_wheel_installs_and_works(wheel: Path, tmp_path: Path, sidecar: Sidecar) -> None:
    venv.create(tmp_path / "own", with_pip=True)
    python = tmp_path / "own" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", str(wheel)]
    subprocess.run(install, check=True, timeout=300)
    for command in ([str(python), "-m", "postern_auth"], [str(tmp_path / "own" / "bin" / "postern-auth")]):
        done = subprocess.run(
            [*command, "version", "--socket", sidecar.path],
            capture_output=True, text=True, timeout=60, check=False, env={"PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        assert done.returncode == 0 and "postern-auth 0.1.0" in done.stdout, done.stderr
