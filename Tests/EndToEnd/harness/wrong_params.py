"""Params that do not fit a method's JSON Schema, one mistake in each, made from the OpenRPC document."""
from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional, Tuple

#: A value of another type than the schema's.
OTHER_TYPE = {"string": 7, "integer": "7", "number": "7", "boolean": "true", "array": {}, "object": []}

#: What is wrong, and the params; None for none at all.
Case = Tuple[str, Optional[Any]]


class WrongParams:
    """Makes the cases of one document's methods."""

    def __init__(self, document: Dict[str, Any]) -> None:
        self._schemas = document["components"]["schemas"]

    def cases(self, method: Dict[str, Any], valid: Optional[Dict[str, Any]] = None) -> Iterator[Case]:
        """`valid` stands for params that are complete; without it they are made from the schema."""
        schema = {
            "type": "object", "properties": {param["name"]: param["schema"] for param in method["params"]},
            "required": [param["name"] for param in method["params"] if param.get("required")], "additionalProperties": False}
        yield "no params", None
        yield "params by position", []
        for what, params in self._mistakes(schema, valid or self._sample(schema), ""):
            yield what, params

    def _mistakes(self, schema: Dict[str, Any], good: Any, at: str) -> Iterator[Case]:
        """Values of `schema` with one mistake each. `good` has none; `at` is its JSON Pointer."""
        for name in schema.get("required", []):
            yield f"{at}/{name} left out", {other: good[other] for other in good if other != name}
        if schema.get("additionalProperties") is False:
            yield f"{at}/unheard: unknown", {**good, "unheard": 1}
        for name, member in schema.get("properties", {}).items():
            for what, value in self._wrong(member, good.get(name), f"{at}/{name}", is_meta=name == "meta"):
                yield what, {**good, name: value}
        if isinstance(schema.get("additionalProperties"), dict):
            yield f"{at}/x: a number", {**good, "x": 7}
            yield f"{at}/x/0: a number", {**good, "x": [7]}

    def _wrong(self, schema: Dict[str, Any], good: Any, at: str, is_meta: bool) -> Iterator[Case]:
        """Wrong values of one member. `good` is a right one, if there is one at hand. Of `meta`, the same everywhere,
        only its type."""
        schema = self._resolved(schema)
        yield f"{at}: null", None
        kind = schema.get("type")
        if kind is None:
            yield f"{at}: a number", 7
            return
        yield f"{at}: a{'n' if OTHER_TYPE[kind] == [] else ''} {self._name(OTHER_TYPE[kind])}", OTHER_TYPE[kind]
        if is_meta:
            return
        if "enum" in schema:
            yield f"{at}: an unknown word", "unheard"
        if kind == "string":
            yield f"{at}: empty", ""
            yield f"{at}: with NUL", "a\0b"
        if kind == "integer":
            yield f"{at}: a fraction", 1.5
            yield f"{at}: negative", -1
            yield f"{at}: too large", 1 << 62
        if kind == "array":
            yield f"{at}: empty", []
            for what, value in self._wrong(schema.get("items", {}), None, f"{at}/0", is_meta=False):
                yield what, [value]
        if kind == "object":
            yield from self._mistakes(schema, good or self._sample(schema), at)

    def _sample(self, schema: Dict[str, Any]) -> Any:
        """A value with the required members only."""
        schema = self._resolved(schema)
        if "enum" in schema:
            return schema["enum"][0]
        if schema.get("type") == "object":
            properties = schema.get("properties", {})
            return {name: self._sample(properties[name]) for name in schema.get("required", [])}
        samples: Dict[Optional[str], Any] = {
            "string": "x", "integer": 1, "number": 1, "boolean": True, "array": [self._sample(schema.get("items", {}))]
            if schema.get("type") == "array" else []}
        return samples.get(schema.get("type"), {})

    def _resolved(self, schema: Dict[str, Any]) -> Dict[str, Any]:
        return self._schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema

    @staticmethod
    def _name(value: Any) -> str:
        return {int: "number", str: "string", dict: "object", list: "array"}[type(value)]


def methods(document: Dict[str, Any]) -> List[Dict[str, Any]]:
    """All of them but the notification that has no answer."""
    return [method for method in document["methods"] if method["name"] != "$/cancelRequest"]
