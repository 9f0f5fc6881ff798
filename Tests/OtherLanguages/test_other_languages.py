"""The examples of proto-docs/other-languages.md run as they stand, and print what the page says."""
from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, Tuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests" / "EndToEnd"))

from harness import settings  # noqa: E402
from harness.playground import Playground  # noqa: E402
from harness.ports import free_port  # noqa: E402
from harness.sidecar import Sidecar  # noqa: E402

PAGE = (ROOT / "proto-docs" / "other-languages.md").read_text(encoding="utf-8")
BLOCKS: List[Tuple[str, str]] = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SECONDS = 60


@pytest.fixture(scope="module")
def environment() -> Iterator[Dict[str, str]]:
    """A sidecar, as a program sees it."""
    directory = Path(tempfile.mkdtemp(prefix="postern-", dir="/tmp"))
    directory.chmod(0o700)
    playground = Playground()
    try:
        key = directory / "key"
        key.write_text(secrets.token_hex(32) + "\n")
        key.chmod(0o600)
        address = f"127.0.0.1:{free_port()}"
        gateway = {"listen": {"path": str(directory / "http.sock"), "address": address, "keyFile": str(key)}}
        sidecar = Sidecar(directory, {**settings.standard(directory, playground), "gateway": gateway})
        try:
            yield {
                **{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
                "POSTERN_SOCKET": sidecar.path, "POSTERN_KEY_FILE": str(key), "POSTERN_TEST_ADDRESS": f"http://{address}",
                "PYTHONDONTWRITEBYTECODE": "1",
            }
        finally:
            sidecar.stop()
    finally:
        playground.stop()
        shutil.rmtree(directory, ignore_errors=True)


def blocks(language: str) -> List[str]:
    return [text for kind, text in BLOCKS if kind == language]


def expected_after(program: str) -> str:
    """The block of text right behind a program."""
    position = [text for _, text in BLOCKS].index(program)
    kind, text = BLOCKS[position + 1]
    assert kind == "text"
    return text


def run(command: List[str], environment: Dict[str, str], directory: Path) -> str:
    done = subprocess.run(
        command, env=environment, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, timeout=SECONDS, text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def commands(console: str) -> List[Tuple[str, str]]:
    """Each command behind a `$`, lines that go on included, with the output that follows it."""
    found = []
    for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        count = 1
        while lines[count - 1].endswith("|"):
            count += 1
        found.append(("\n".join(lines[:count]), "\n".join(lines[count:])))
    return found


def matches(shown: str, printed: str) -> bool:
    """An ellipsis on the page stands for anything within a line."""
    pattern = ".*".join(re.escape(piece) for piece in shown.strip().split("…"))
    return re.fullmatch(pattern, printed.strip()) is not None


def test_the_page_has_the_examples_this_file_knows() -> None:
    over_http = [kind for language in ("go", "ruby", "php", "java") for kind in (language, "text")] + ["csharp"]
    assert [kind for kind, _ in BLOCKS] == [
        "console", "console", "python", "text", "cpp", "console", *over_http, "perl", "text"]
    assert matches("a…c\nd", "abc\nd") and not matches("a…c", "ab") and not matches("a…d", "a\nd")
    assert commands("$ a |\n  b\nx\ny\n$ c\n") == [("a |\n  b", "x\ny"), ("c", "")]


@pytest.mark.parametrize("console", blocks("console")[:2])
def test_nc_gets_its_answers_and_ends(console: str, environment: Dict[str, str], tmp_path: Path) -> None:
    for command, shown in commands(console):
        printed = run(["bash", "-eu", "-o", "pipefail", "-c", command], environment, tmp_path)
        assert matches(shown, printed), f"{command}\n{printed}"


def test_a_library_for_lsp_works_unchanged(environment: Dict[str, str], tmp_path: Path) -> None:
    [program] = blocks("python")
    (tmp_path / "client.py").write_text(program, encoding="utf-8")
    assert run([sys.executable, "-W", "error", "client.py"], environment, tmp_path) == expected_after(program)


def test_libjson_rpc_cpp_works_unchanged(environment: Dict[str, str], tmp_path: Path) -> None:
    [program] = blocks("cpp")
    (tmp_path / "client.cpp").write_text(program, encoding="utf-8")
    for command, shown in commands(blocks("console")[2]):
        assert matches(shown, run(["bash", "-eu", "-c", command], environment, tmp_path))


@pytest.mark.parametrize(("language", "file", "command"), [
    ("go", "main.go", ["go", "run", "main.go"]),
    ("ruby", "client.rb", ["ruby", "-W", "client.rb"]),
    ("php", "client.php", ["php", "client.php"]),
])
def test_an_http_client_calls_over_the_socket(
    language: str, file: str, command: List[str], environment: Dict[str, str], tmp_path: Path
) -> None:
    [program] = blocks(language)
    (tmp_path / file).write_text(program, encoding="utf-8")
    assert run(command, {**environment, "GOCACHE": str(tmp_path / "cache")}, tmp_path) == expected_after(program)


def test_java_calls_over_the_address_with_its_key(environment: Dict[str, str], tmp_path: Path) -> None:
    [program] = blocks("java")
    (tmp_path / "Client.java").write_text(program, encoding="utf-8")
    address = {**environment, "POSTERN_SOCKET": environment["POSTERN_TEST_ADDRESS"]}
    assert run(["java", "Client.java"], address, tmp_path) == expected_after(program)


def test_ten_lines_are_enough(environment: Dict[str, str], tmp_path: Path) -> None:
    [program] = blocks("perl")
    (tmp_path / "client.pl").write_text(program, encoding="utf-8")
    assert run(["perl", "client.pl"], environment, tmp_path) == expected_after(program)
