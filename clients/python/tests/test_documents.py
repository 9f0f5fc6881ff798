"""The examples of README.md, docs/ and the guide are run, in order, against the real sidecar."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path
from typing import Any, Callable

import pytest
from harness import journeys
from harness.playground import Playground
from harness.sidecar import Sidecar

PACKAGE = Path(__file__).resolve().parents[1]
PAGES = [PACKAGE / "README.md", *sorted((PACKAGE / "docs").glob("*.md"))]
#: Its examples are run with the configuration that it names, and show the addresses in there.
GUIDE = PACKAGE.parents[1] / "proto-docs" / "python.md"
SHOWN = "127.0.0.1:8080"
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_examples(
    page: Path, start: Callable[..., Sidecar], playground: Playground, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = {"baseUrl": playground.base + "/resource/"}
    sidecar = start(
        {
            "resources": {
                "billing": {**resource, "issuer": "play", "auth": "clientCredentials", "scope": "orders"},
                "profile": {**resource, "issuer": "am", "auth": "user", "scope": "orders"},
                "payments": {**resource, "baseUrl": playground.base + "/gateway/", "issuer": "am", "auth": "user"},
            }
        }
    )
    monkeypatch.setenv("POSTERN_SOCKET", sidecar.path)
    known: dict[str, Any] = {
        "sso_token": journeys.sign_on(playground),
        "open_url": playground.base + "/open/",
        "billing_url": playground.base + "/resource/",
        "billing_origin": playground.base,
    }
    run(page.read_text(), page.name, known)


def run(text: str, name: str, known: dict[str, Any]) -> None:
    examples = doctest.DocTestParser().get_doctest(text, known, name, name, 0)
    assert examples.examples, "a page without examples"
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False).run(examples, out=report.append)
    assert result.failed == 0, "".join(report)


def test_examples_of_the_guide(playground: Playground, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = playground.base.split("//")[1]
    file, socket = directory / "postern.yaml", directory / "s"
    configuration = GUIDE.parent / "examples" / "postern.yaml"
    file.write_text(configuration.read_text().replace(SHOWN, address))
    sidecar = Sidecar(directory, None, path=socket, arguments=["--config", str(file), "--socket", str(socket)])
    monkeypatch.setenv("POSTERN_SOCKET", sidecar.path)

    def browser(url: str) -> str:
        """Where alice comes back to."""
        playground.request("POST", "/playground/login", json.dumps({"user": "alice", "times": 1}).encode())
        return playground.request("GET", url.split(address)[1])[1]["location"]

    try:
        known: dict[str, Any] = {"sso_token": journeys.sign_on(playground), "browser": browser}
        run(GUIDE.read_text().replace(SHOWN, address), GUIDE.name, known)
    finally:
        sidecar.stop()


def test_no_example_escapes() -> None:
    for page in [*PAGES, GUIDE]:
        for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.S):
            assert block.lstrip().startswith(">>>"), f"{page.name}: not run:\n{block}"
