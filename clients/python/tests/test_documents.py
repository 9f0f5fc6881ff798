"""The examples of README.md and docs/ are run, in order, against the real sidecar."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any, Callable

import pytest
from harness import journeys
from harness.playground import Playground
from harness.sidecar import Sidecar

PACKAGE = Path(__file__).resolve().parents[1]
PAGES = [PACKAGE / "README.md", *sorted((PACKAGE / "docs").glob("*.md"))]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_examples(
    page: Path, start: Callable[..., Sidecar], playground: Playground, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = {"baseUrl": playground.base + "/resource/"}
    sidecar = start(
        {
            "resources": {
                "billing": {**resource, "issuer": "play", "auth": "device", "scope": "orders"},
                "profile": {**resource, "issuer": "am", "auth": "user", "scope": "orders"},
                "payments": {**resource, "baseUrl": playground.base + "/gateway/", "issuer": "am", "auth": "user"},
            }
        }
    )
    monkeypatch.setenv("POSTERN_SOCKET", sidecar.path)
    known: dict[str, Any] = {
        "sso_token": journeys.sign_on(playground),
        "open_url": playground.base + "/open/",
    }
    text = page.read_text()
    examples = doctest.DocTestParser().get_doctest(text, known, page.name, str(page), 0)
    assert examples.examples, "a page without examples"
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False).run(examples, out=report.append)
    assert result.failed == 0, "".join(report)


def test_no_example_escapes() -> None:
    for page in PAGES:
        for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.S):
            assert block.lstrip().startswith(">>>"), f"{page.name}: not run:\n{block}"
