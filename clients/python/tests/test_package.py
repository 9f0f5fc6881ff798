"""The wheel: it can be built and installed, holds what it must, and needs nothing."""

from __future__ import annotations

import subprocess
import sys
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
    assert {"postern/__init__.py", "postern/py.typed", "postern/types.py", "postern/requests.py"} <= set(names)
    assert {name.partition("/")[0] for name in names} == {"postern", "postern_client-0.1.0.dist-info"}
    [metadata] = [name for name in names if name.endswith("/METADATA")]
    text = zipfile.ZipFile(wheel).read(metadata).decode()
    assert "Requires-Python: >=3.9" in text
    assert "Five minutes" in text
    assert not [line for line in text.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line]


def test_the_wheel_installs_and_works(wheel: Path, tmp_path: Path, sidecar: Sidecar) -> None:
    venv.create(tmp_path / "own", with_pip=True)
    python = tmp_path / "own" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", str(wheel)]
    subprocess.run(install, check=True, timeout=300)
    for command in ([str(python), "-m", "postern"], [str(tmp_path / "own" / "bin" / "postern-client")]):
        done = subprocess.run(
            [*command, "version", "--socket", sidecar.path],
            capture_output=True, text=True, timeout=60, check=False, env={"PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        assert done.returncode == 0 and "postern-client 0.1.0" in done.stdout, done.stderr
