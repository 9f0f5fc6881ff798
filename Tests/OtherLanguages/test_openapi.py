"""proto-docs/openapi.json: a validator accepts it, two generators make clients of it, and what they make works."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict

import pytest

from test_other_languages import environment  # noqa: F401: a fixture

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "proto-docs" / "openapi.json"
BIN = Path(sys.executable).parent


def run(*command: str) -> None:
    done = subprocess.run([str(BIN / command[0]), *command[1:]], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def document() -> Dict[str, Any]:
    return json.loads(DOCUMENT.read_text(encoding="utf-8"))


def test_a_validator_accepts_the_document() -> None:
    run("openapi-spec-validator", str(DOCUMENT))


def test_every_method_of_use_over_http_is_in_it(document: Dict[str, Any]) -> None:
    methods = json.loads((ROOT / "proto-docs" / "openrpc.json").read_text(encoding="utf-8"))["methods"]
    named = set(document["components"]["schemas"]["Call"]["discriminator"]["mapping"])
    left_out = {method["name"] for method in methods} - named
    assert left_out == {"subscribe", "unsubscribe", "registerDelegate", "narrow"} | {
        method["name"] for method in methods if "result" not in method}


def test_models_are_made_of_it_and_take_what_calls_have(tmp_path: Path) -> None:
    run(
        "datamodel-codegen", "--input", str(DOCUMENT), "--input-file-type", "openapi", "--formatters", "builtin",
        "--output", str(tmp_path / "models.py"), "--output-model-type", "pydantic_v2.BaseModel")
    program = """
import models
call = models.FetchResourceCall.model_validate(
    {"jsonrpc": "2.0", "id": 1, "method": "fetchResource", "params": {"resource": "orders", "path": "a", "headers": {"X-A": "b"}}})
assert call.params.resource == "orders" and call.model_dump(exclude_none=True)["method"] == "fetchResource"
try:
    models.FetchResourceCall.model_validate({"jsonrpc": "2.0", "method": "fetchResource", "params": {"resorce": "orders"}})
except ValueError:
    print("rejected")
"""
    assert python(program, tmp_path) == "rejected\n"


def test_a_client_is_made_of_it_and_speaks_to_the_socket(tmp_path: Path, environment: Dict[str, str]) -> None:  # noqa: F811
    run("openapi-python-client", "generate", "--path", str(DOCUMENT), "--output-path", str(tmp_path / "generated"), "--meta", "none")
    program = """
import os, httpx
from generated import Client
from generated.api.json_rpc import call, read_health
from generated.models import GetInfoCall
client = Client("http://postern", httpx_args={"transport": httpx.HTTPTransport(uds=os.environ["POSTERN_SOCKET"])})
answer = call.sync(client=client, body=GetInfoCall(jsonrpc="2.0", method="getInfo", id=1))
print(answer.id, answer.result["name"], read_health.sync(client=client).status)
"""
    assert python(program, tmp_path, POSTERN_SOCKET=environment["POSTERN_SOCKET"]) == "1 postern ok\n"


def python(program: str, folder: Path, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, cwd=folder, env={**os.environ, **variables})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
