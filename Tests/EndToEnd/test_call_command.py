"""`postern call`: its words become params, results and errors are told apart by stream and exit code."""
from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import pytest

from harness import binaries, settings
from harness.playground import Playground
from harness.sidecar import Sidecar


@pytest.fixture
def sidecar(start: Callable[..., Sidecar], playground: Playground, directory: Path) -> Sidecar:
    return start(settings.standard(directory, playground))


@pytest.fixture
def call(sidecar: Sidecar, directory: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Runs the command in the test's directory."""

    def run(*words: str, given: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [binaries.postern(), "call", "--socket", sidecar.path, *words], input=given, capture_output=True, text=True,
            timeout=30, cwd=directory)

    return run


def echoed(done: "subprocess.CompletedProcess[str]") -> Dict[str, Any]:
    """The request that the resource got, as it describes it."""
    assert done.returncode == 0 and done.stderr == "", done
    result: Dict[str, Any] = json.loads(json.loads(done.stdout)["body"])
    return result


ECHO = ["resource=open", "path=echo", "method=POST"]


@pytest.mark.parametrize("words, given", [
    ([*ECHO, "body=a=b, c:=d"], ""),
    ([*ECHO, "body=@letter.txt"], ""),
    ([*ECHO, "body=@-"], "a=b, c:=d"),
    ([*ECHO, 'body:="a=b, c:=d"'], ""),
    ([*ECHO, "body:=@letter.json"], ""),
    (["@params.json", "method=POST", "body=@letter.txt"], ""),
    (["-", "body=@letter.txt"], '{"resource":"open","path":"echo","method":"POST"}'),
    (['{"resource":"open","path":"echo","method":"POST","body":"a=b, c:=d"}'], ""),
    (["-"], '{"resource":"open","path":"echo","method":"POST","body":"a=b, c:=d"}'),
])
def test_every_kind_of_word_reaches_the_resource(call: Any, directory: Path, words: List[str], given: str) -> None:
    """Catches a word that is read as another kind, and a value that is changed on its way."""
    (directory / "letter.txt").write_text("a=b, c:=d")
    (directory / "letter.json").write_text('"a=b, c:=d"')
    (directory / "params.json").write_text('{"resource":"open","path":"echo"}\n')
    request = echoed(call("fetchResource", *words, given=given))
    assert (request["method"], request["body"]) == ("POST", "a=b, c:=d")


def test_json_values_keep_their_kinds(call: Any) -> None:
    """Catches numbers that become strings: the sidecar would reject them."""
    done = call("fetchResource", "resource=open", "path=echo", 'parameters:={"year":2026}', "followRedirects:=false")
    assert json.loads(done.stdout)["url"].endswith("/open/echo?year=2026"), done
    done = call("listTasks", "limit:=1")
    assert done.returncode == 0 and len(json.loads(done.stdout)["tasks"]) == 1, done
    done = call("listTasks", "limit=1")
    assert done.returncode == 1 and json.loads(done.stderr)["data"]["path"] == "/limit", done


def test_an_error_is_on_standard_error(call: Any) -> None:
    """Catches an error where a script expects a result, and an exit code that does not tell the two apart."""
    done = call("fetchResource", "resource=nowhere", "path=x")
    assert done.returncode == 1 and done.stdout == "", done
    assert json.loads(done.stderr)["data"]["path"] == "/resource"
    done = call("fetchResource", "resource=orders", "path=status/403")
    assert done.returncode == 0 and done.stderr == "" and json.loads(done.stdout)["status"] == 403, done


def on_a_terminal(sidecar: Sidecar, *words: str) -> Tuple[int, str]:
    """The exit code, and what a person sees of standard error."""
    ours, theirs = pty.openpty()
    try:
        status = subprocess.run(
            [binaries.postern(), "call", "--socket", sidecar.path, *words], stdout=subprocess.DEVNULL, stderr=theirs,
            timeout=30).returncode
        os.set_blocking(ours, False)
        return status, os.read(ours, 65536).decode()
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_person_is_shown_how_other_json_is_written(sidecar: Sidecar, call: Any) -> None:
    """Catches a person who reads "must be an array, not string", and a hint in what a program reads as JSON."""
    words = ["createEndpoint", "resources=orders"]
    status, seen = on_a_terminal(sidecar, *words)
    assert status == 1 and "a list or an object is resources:=JSON" in seen, seen
    assert "not string" in json.loads(call(*words).stderr)["message"]
    for others in (["createEndpoint", 'resources:="orders"'], ["fetchResource", "resource=nowhere"]):
        status, seen = on_a_terminal(sidecar, *others)
        assert status == 1 and "invalid_params" in seen and ":=JSON" not in seen, seen


def test_no_sidecar_is_an_error_of_its_own(directory: Path) -> None:
    """Catches a first call whose error does not lead to the socket's path, and an exit code as of a sidecar's error."""
    done = subprocess.run(
        [binaries.postern(), "call", "--socket", str(directory / "nowhere.sock"), "getInfo"], capture_output=True,
        text=True, timeout=30)
    assert done.returncode == 2 and done.stdout == "" and "nowhere.sock" in done.stderr, done
    assert "POSTERN_SOCKET" in done.stderr, "where the path comes from"


@pytest.mark.parametrize("words, reason", [
    (["resource"], "param 1 is neither name=value"),
    (["a=1", "a=2"], "the param a is given twice"),
    (["a:=eyJsecret"], "the param a is not valid JSON"),
    (['{"a":eyJsecret}'], "the params are not valid JSON"),
    (["body=@missing.txt"], "missing.txt: No such file"),
    (["body=@."], ". is not a file"),
    (["@"], "@ needs the name of a file"),
    (["-", "body=@-"], "standard input can be read only once"),
    (["body=@bytes"], "the param body is not UTF-8"),
])
def test_wrong_words_are_not_sent(call: Any, sidecar: Sidecar, directory: Path, words: List[str], reason: str) -> None:
    """Catches a guess, a message without the place of the fault, and one that quotes a value."""
    (directory / "bytes").write_bytes(b"\xff\xd8")
    done = call("fetchResource", *words, given="{}")
    assert done.returncode == 64 and done.stdout == "" and reason in done.stderr, done
    assert "eyJsecret" not in done.stderr
    with sidecar.connect() as connection:
        assert connection.call("listTasks")["tasks"] == []
