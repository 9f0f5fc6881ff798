"""proto-docs/openrpc.json is the one source of truth: what the sidecar has the client has, and nothing else."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from postern_auth import AsyncClient, Client, delegates, errors, events, reasons, types
from postern_auth._async_methods import AsyncAdobePass
from postern_auth._methods import AdobePass

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parents[1]
sys.path.insert(0, str(PACKAGE / "tools"))

from naming import BASES, CLASSES, VERDICTS, method_name, snake

DOCUMENT = json.loads((ROOT / "proto-docs" / "openrpc.json").read_text())
METHODS: dict[str, dict[str, Any]] = {method["name"]: method for method in DOCUMENT["methods"]}

#: Parameters that are something else here, and what stands for them.
STANDS_FOR = {
    ("fetchResource", "bodyBase64"): "body",  # bytes instead of text
    ("fetchResource", "stream"): None,
    ("fetchResource", "streamHead"): None,  # stream_resource
    ("fetchResource", "bodyAs"): None,  # streams use frames by themselves
    ("fetchResource", "bodyFrom"): "body",  # a file
    ("fetchResource", "contentLength"): None,
    ("fetchResource", "timeoutMs"): None,  # timeout
    ("preauthorize", "timeoutMs"): "decision_timeout",
    ("createEndpoint", "descriptor"): None,  # endpoint
    ("registerDelegate", "methods"): None,  # a callable each
    ("$/cancelRequest", "id"): "identifier",
}
#: Methods of the clients that are none of the protocol.
#: Parameters in the manner of HTTP libraries.
ADDED = {"fetch_resource": {"params", "json", "data"}}
OWN = {
    "endpoint",
    "from_descriptor",
    "call",
    "start",
    "close",
    "aclose",
    "events",
    "stream_resource",
    "iter_sessions",
    "iter_tasks",
}


def offered(client: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(client, inspect.isfunction) if not name.startswith("_")}


#: The classes of the methods of Adobe Pass, which a property leads to.
GROUPS: dict[type, type] = {Client: AdobePass, AsyncClient: AsyncAdobePass}


def method_of(client: type, name: str) -> Any:
    """The function of a client behind a method's name in Python, which may have a point."""
    group, _, own = name.rpartition(".")
    return getattr(GROUPS[client] if group else client, own)


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_no_method_is_missing_and_none_is_invented(client: type) -> None:
    grouped = {f"adobe_pass.{name}" for name in offered(GROUPS[client])}
    assert offered(client) - OWN | grouped == {method_name(name) for name in METHODS}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_no_parameter_is_missing_and_none_is_invented(client: type, name: str) -> None:
    method = METHODS[name]
    expected = {STANDS_FOR.get((name, p["name"]), snake(p["name"])) for p in method["params"]} - {None, "meta"}
    parameters = inspect.signature(method_of(client, method_name(name))).parameters
    actual = set(parameters) - {"self", "timeout", "traceparent"} - ADDED.get(method_name(name), set())
    if name == "registerDelegate":
        actual -= {snake(one.partition(".")[2]) for one in get_args(types.DelegateName)}
    assert actual == expected
    if any(parameter["name"] == "meta" for parameter in method["params"]):
        assert "timeout" in parameters, "meta.timeoutMs"
    for parameter in method["params"]:
        own = snake(parameter["name"])
        if parameter.get("required") and own in parameters:
            assert parameters[own].default is inspect.Parameter.empty, f"{own} is required"


def objects(schema: Any, where: str) -> list[tuple[str, dict[str, Any]]]:
    """Every object with members in a schema, with where it stands."""
    if not isinstance(schema, dict):
        return []
    found = [(where, schema)] if "properties" in schema else []
    for member, inner in schema.get("properties", {}).items():
        found += objects(inner, f"{where}.{member}")
    found += objects(schema.get("items"), where + "[]")
    return found + objects(schema.get("additionalProperties"), where + ".*")


OBJECTS = [
    entry
    for method in DOCUMENT["methods"]
    for schema, where in [
        *((p["schema"], f"{method['name']}.{p['name']}") for p in method["params"] if p["name"] != "meta"),
        *([(method["result"]["schema"], f"{method['name']}.result")] if method.get("result") else []),
    ]
    for entry in objects(schema, where)
]


@pytest.mark.parametrize(("where", "schema"), OBJECTS, ids=[where for where, _ in OBJECTS])
def test_no_member_is_missing_and_none_is_invented(where: str, schema: dict[str, Any]) -> None:
    if where == "registerDelegate.result":
        return  # a plain list of the names
    if CLASSES[where] in VERDICTS:
        for one in get_args(getattr(types, CLASSES[where])):
            members = {snake(name) for name in schema["properties"]}
            if one in (types.ValidToken, types.InvalidToken):
                members.add("ended")  # of logout tokens alone; None with the tokens of the two other methods
            assert {field.name for field in dataclasses.fields(one)} == members
        return
    own = getattr(types, CLASSES[where])
    fields = {field.name: field for field in dataclasses.fields(own)}
    assert set(fields) == {snake(member) for member in schema["properties"]}
    required = {name for name, field in fields.items() if field.default is dataclasses.MISSING}
    assert required == {snake(member) for member in schema.get("required", [])}


def test_no_class_is_left_over() -> None:
    classes = {name for name in types.__all__ if dataclasses.is_dataclass(getattr(types, name))}
    forms = {name for verdict in VERDICTS.values() for name in (verdict.valid, verdict.invalid)}
    assert classes - forms == set(CLASSES.values()) - set(VERDICTS)
    assert forms <= classes and set(BASES) <= set(CLASSES.values())


def documented_errors() -> dict[int, str]:
    """The codes of proto-docs/errors.md: those of the envelope, which no method lists, too.

    Those of the gateway's listener are answers to HTTP requests, and never come over the socket.
    """
    text = (ROOT / "proto-docs" / "errors.md").read_text()
    text = re.sub(r"^## The gateway's listener$.*?(?=^## )", "", text, flags=re.M | re.S)
    rows = re.findall(r"^\| (-?\d+) \| `(\w+)` \|", text, re.M)
    return {int(code): reason for code, reason in rows}


def test_no_reason_is_missing_and_none_is_invented() -> None:
    listed = {e["code"]: e["data"]["reason"] for method in METHODS.values() for e in method.get("errors", [])}
    assert listed.items() <= reasons.REASONS.items()
    assert documented_errors() == reasons.REASONS
    assert set(get_args(reasons.Reason)) == set(reasons.REASONS.values())
    assert set(reasons.MEANINGS) == set(reasons.REASONS)


def test_every_code_has_a_class_of_its_family() -> None:
    for code, reason in reasons.REASONS.items():
        error = errors.from_answer({"code": code, "message": "m", "data": {"reason": reason}})
        assert type(error) is not errors.PosternError, f"{code} {reason} has no family"
        assert (error.code, error.reason) == (code, reason)


def test_delegates_and_events_are_those_of_the_protocol() -> None:
    def names(method: str) -> set[str]:
        [parameter] = [p for p in METHODS[method]["params"] if p["name"] != "meta"]
        return set(parameter["schema"]["items"]["enum"])

    assert set(get_args(types.DelegateName)) == delegates.NAMES == names("registerDelegate")
    assert set(get_args(types.EventName)) == events.NAMES == names("subscribe")
    parameters = set(inspect.signature(Client.register_delegate).parameters) - {"self", "timeout"}
    assert parameters == {snake(name.partition(".")[2]) for name in delegates.NAMES}


def test_generated_modules_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(PACKAGE / "tools" / "generate.py"), "--check"],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_members_go_out_as_they_came_in() -> None:
    samples = {"string": "text", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}, None: {}}

    def sample(schema: dict[str, Any], member: str = "") -> Any:
        if member.endswith("At"):
            return "2026-11-22T05:50:50.051Z"
        if "enum" in schema:
            return schema["enum"][0]
        if "properties" in schema:
            return {name: sample(inner, name) for name, inner in schema["properties"].items()}
        return samples[schema.get("type")]

    for where, schema in OBJECTS:
        if where != "registerDelegate.result":
            value, read_as = sample(schema), getattr(types, CLASSES[where])
            if CLASSES[where] in VERDICTS:
                del value["error"]
                value.pop("response", None)  # of a rejected request
                value["valid"], read_as = True, get_args(read_as)[0]
            read = read_as.from_json({**value, "ofANewerSidecar": 1})
            assert read.to_json() == value, where
            assert dataclasses.replace(read) == read, where
