"""Checks values against the schemas of the OpenRPC document: the part of JSON Schema that it uses."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, cast

from ._wire import members

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Violation:
    """The first fault that was found."""

    #: JSON Pointer of the value.
    path: str
    #: For people; without the value, which may be secret.
    message: str


@functools.cache
def document() -> dict[str, Any]:
    """The OpenRPC document of this release, which is shipped with the client."""
    text = resources.files("postern_auth").joinpath("_openrpc.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@functools.cache
def methods() -> dict[str, dict[str, Any]]:
    """The methods of the document by their names."""
    return {method["name"]: method for method in document()["methods"]}


def params_violation(method: str, params: Mapping[str, Any]) -> Violation | None:
    """Why the sidecar would reject these params as `invalid_params`; None: the schema does not decide that."""
    described: list[dict[str, Any]] = methods()[method]["params"]
    schema = {
        "type": "object",
        "properties": {one["name"]: one["schema"] for one in described},
        "required": [one["name"] for one in described if one.get("required")],
        "additionalProperties": False,
    }
    return violation(schema, params, "")


def result_violation(method: str, result: Any) -> Violation | None:
    """Why the sidecar would not return this as the result of that method."""
    return violation(methods()[method]["result"]["schema"], result, "")


def violation(schema: Schema, value: Any, path: str) -> Violation | None:
    """The first fault of a value."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return violation(document()["components"]["schemas"][name], value, path)
    if "oneOf" in schema:
        found = [violation(one, value, path) for one in schema["oneOf"]]
        if None in found:
            return None
        deeper = [one for one in found if one is not None and one.path != path]
        return deeper[0] if deeper else Violation(path, "is of none of the types that are possible here")
    kind = schema.get("type")
    if kind is not None and not _is_of(kind, value):
        return Violation(path, f"is {_name(value)}, not {_ARTICLES[kind]}")
    if "enum" in schema and value not in schema["enum"]:
        return Violation(path, f"is not one of {', '.join(str(one) for one in schema['enum'])}")
    if kind == "object":
        return _object_violation(schema, value, path)
    if kind == "array" and schema.get("items"):
        for index, one in enumerate(value):
            if (fault := violation(schema["items"], one, f"{path}/{index}")) is not None:
                return fault
    return None


def _object_violation(schema: Schema, value: Mapping[str, Any], path: str) -> Violation | None:
    known: Mapping[str, Any] = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    for name, inner in known.items():
        if name not in value:
            if name in schema.get("required", ()):
                return Violation(f"{path}/{name}", "is missing")
        elif (fault := violation(inner, value[name], f"{path}/{name}")) is not None:
            return fault
    if others is False:
        for name in value:
            if name not in known:
                return Violation(f"{path}/{_escaped(name)}", "is unknown here")
    if isinstance(others, Mapping):
        for name, one in value.items():
            if name not in known:
                fault = violation(cast("Schema", others), one, f"{path}/{_escaped(name)}")
                if fault is not None:
                    return fault
    return None


_ARTICLES = {
    "object": "an object",
    "array": "an array",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
}


def _is_of(kind: str, value: Any) -> bool:
    if kind == "object":
        return members(value) is not None
    if kind == "array":
        return isinstance(value, (list, tuple))
    if kind == "string":
        return isinstance(value, str)
    if kind == "boolean":
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return isinstance(value, (int, float))


def _name(value: Any) -> str:
    for kind in ("boolean", "integer", "number", "string", "array", "object"):
        if _is_of(kind, value):
            return _ARTICLES[kind]
    return "null"


def _escaped(name: str) -> str:
    return str(name).replace("~", "~0").replace("/", "~1")
