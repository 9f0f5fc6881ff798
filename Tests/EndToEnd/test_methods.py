"""Every method answers, and both framings bring the same answer."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

import pytest

from harness import expect
from harness.sidecar import Sidecar

DOCUMENT = Path(__file__).resolve().parents[2] / "proto-docs" / "openrpc.json"
METHODS: List[str] = [
    method["name"] for method in json.loads(DOCUMENT.read_text())["methods"] if not method["name"].startswith("$/")
]


def outcome(answer: Dict[str, Any]) -> Any:
    """What the answers to one request have in common: the error, or the names in the result."""
    if "error" in answer:
        return answer["error"]["code"], answer["error"]["message"]
    result = answer["result"]
    return sorted(result) if isinstance(result, dict) else [type(result).__name__]


def test_the_methods_are_read_from_the_document() -> None:
    assert len(METHODS) > 30 and "fetchResource" in METHODS


@pytest.mark.parametrize("method", METHODS)
def test_a_method_answers_the_same_in_both_framings(sidecar: Sidecar, method: str) -> None:
    outcomes = []
    for framing in ("stream", "headers"):
        with sidecar.connect(framing) as connection:
            answer = connection.answer_to(connection.request(method, {}))
            unknown = connection.error(method, {"unheard": 1})
            expect.fault(unknown, -32602)
            outcomes.append((outcome(answer), unknown["data"]["path"]))
    assert outcomes[0] == outcomes[1] and -32601 not in outcomes[0][0]
