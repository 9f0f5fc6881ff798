"""The table of errors."""

from __future__ import annotations

from typing import Any

#: Errors of the envelope, which any message may meet, so that no method lists them (proto-docs/errors.md).
ENVELOPE = {
    -32700: ("parse_error", "Not JSON, or not one of the framings"),
    -32600: ("invalid_request", "JSON, but not a request"),
    -32601: ("method_not_found", "No such method"),
    -32007: ("message_too_large", "A message over the size limit"),
    -32010: ("batch_too_large", "A batch of too many members"),
    -32025: ("message_too_complex", "A message of too many JSON values"),
}

HEADER = '''"""Codes and reasons of errors. Generated from proto-docs/openrpc.json by tools/generate.py: do not edit."""

from __future__ import annotations

from typing import Literal

__all__ = ["MEANINGS", "REASONS", "Reason"]

'''


def reasons_module(methods: list[dict[str, Any]]) -> str:
    errors: dict[int, tuple[str, str]] = dict(ENVELOPE)
    for method in methods:
        for error in method.get("errors", []):
            errors[error["code"]] = (error["data"]["reason"], error["message"])
    ordered = sorted(errors.items())
    reasons = list(dict.fromkeys(reason for _, (reason, _) in ordered))
    return "".join([
        HEADER,
        "#: What `PosternError.reason` may be; a newer sidecar may know more.\n",
        "Reason = Literal[" + ", ".join(f'"{reason}"' for reason in reasons) + ",]\n\n",
        "#: The reason of each code.\nREASONS: dict[int, Reason] = {\n",
        *[f'    {code}: "{reason}",\n' for code, (reason, _) in ordered],
        "}\n\n#: What each code means, for people.\nMEANINGS: dict[int, str] = {\n",
        *[f'    {code}: "{meaning}",\n' for code, (_, meaning) in ordered],
        "}\n",
    ])  # fmt: skip
