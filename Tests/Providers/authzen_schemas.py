"""The messages of AuthZEN's Authorization API 1.0, as its working group's JSON schemas have them.

Written after the files in `api/schemas` of https://github.com/openid/authzen: `access-evaluation-request.json`,
`access-evaluations-request.json`, `access-evaluation-response.json`, `access-evaluations-response.json` and the four
`*-base.json` (JSON Schema 2020-12, of the draft that became 1.0), and compared with the text of the specification,
which takes precedence in two cases:

- Section 7.1 has `context` among the defaults of a batch; the published schema of that request lacks it, and so
  forbids it.
- The `context` of a decision contains anything (section 6.2); the published schema forbids every member, those of its
  own examples included.

`metadata` is section 9.1 in this form; no schema of it is published.
"""
from __future__ import annotations

from typing import Any, Dict, List

from jsonschema import Draft202012Validator

STRING, OBJECT = {"type": "string"}, {"type": "object"}


def _object(properties: Dict[str, Any], required: List[str], closed: bool = False) -> Dict[str, Any]:
    schema: Dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    return {**schema, "additionalProperties": False} if closed else schema


ENTITY = _object({"type": STRING, "id": STRING, "properties": OBJECT}, ["type", "id"])
ACTION = _object({"name": STRING, "properties": OBJECT}, ["name"])
PARTS = {"subject": ENTITY, "resource": ENTITY, "action": ACTION, "context": OBJECT}
DECISION = _object({"decision": {"type": "boolean"}, "context": OBJECT}, ["decision"])
SEMANTICS = ["execute_all", "deny_on_first_deny", "permit_on_first_permit"]
OPTIONS = _object({"evaluations_semantic": {"enum": SEMANTICS}}, [])
BATCH = {"type": "array", "items": _object(PARTS, [], closed=True)}
HTTPS = {"type": "string", "pattern": "^https?://"}

SCHEMAS = {
    "evaluation request": _object(PARTS, ["subject", "resource", "action"], closed=True),
    "evaluations request": _object({**PARTS, "evaluations": BATCH, "options": OPTIONS}, ["evaluations"], closed=True),
    "evaluation response": DECISION,
    "evaluations response": _object({"evaluations": {"type": "array", "items": DECISION}}, [], closed=True),
    "metadata": _object(
        {
            "policy_decision_point": HTTPS,
            "access_evaluation_endpoint": HTTPS,
            "access_evaluations_endpoint": HTTPS,
            "capabilities": {"type": "array", "items": STRING},
        },
        ["policy_decision_point", "access_evaluation_endpoint"],
    ),
}
VALIDATORS = {name: Draft202012Validator(schema) for name, schema in SCHEMAS.items()}


def problems(name: str, message: Any) -> List[str]:
    """What is wrong with `message`, which should be one of `SCHEMAS`."""
    found = [f"{name}: {problem.json_path}: {problem.message}" for problem in VALIDATORS[name].iter_errors(message)]
    if name == "evaluations request" and not found:
        found = _merged(message)
    return found


def _merged(batch: Dict[str, Any]) -> List[str]:
    """Each member of a batch, the defaults put in, is a request of its own (section 7.1)."""
    defaults = {part: batch[part] for part in PARTS if part in batch}
    if not batch["evaluations"]:
        return ["evaluations request: an empty batch is a single request"]
    return [text for item in batch["evaluations"] for text in problems("evaluation request", {**defaults, **item})]
