"""Classes from schemas."""

from __future__ import annotations

import textwrap
from typing import Any

from naming import BASES, CLASSES, DESCRIPTIONS, TYPES, VERDICTS, is_secret, own_words, snake

Schema = dict[str, Any]
KNOWN = {*CLASSES.values(), "Headers"}

HEADER = '''"""What methods take and answer. Generated from proto-docs/openrpc.json by tools/generate.py: do not edit.

Members that may be missing are None then. Times (`..._at`) are aware datetimes, durations (`..._ms`) milliseconds.
Members that a newer sidecar adds are left out. What is secret is not in any repr. `from_json` sets the members without
`__init__`, which takes more than twice as long for frozen classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Optional, Union

from ._conveniences import (
    DecisionsTruth, DecisionTruth, FetchResultForms, GrantForms, JourneyAnswers, JWEPlaintext, JWSPayload, PartForms,
    PreauthorizationTruth, SessionForms,
)
from ._headers import Headers
from ._wire import items, mapping, optional, optional_time, present, time, wire
'''


def sentence(text: str) -> str:
    text = text.strip().replace("\\", "\\\\").replace('"""', "'''")
    return text if text.endswith((".", "!", "?", ":")) else text + "."


class Types:
    """The classes that were met, in the order in which they can be defined."""

    def __init__(self, names: set[str], methods: set[str]) -> None:
        """`names`, `methods`: the protocol's parameters and members, and its methods."""
        self._names, self._methods = names, methods
        self.classes: dict[str, str] = {}
        self.aliases: dict[str, str] = {}
        self._schemas: dict[str, Schema] = {}

    def sentence(self, text: str) -> str:
        """A description of the protocol, in the names of Python."""
        return sentence(own_words(text, self._names, self._methods))

    def module(self) -> str:
        names = sorted([*self.classes, *self.aliases])
        exported = "__all__ = [" + ", ".join(f'"{name}"' for name in names) + "]\n"
        aliases = "".join(f"{name} = {value}\n" for name, value in sorted(self.aliases.items()))
        return HEADER + "\n" + exported + "\n" + aliases + "\n\n" + "\n\n".join(self.classes.values())

    def name_of(self, schema: Schema, where: str, taken: bool = False) -> str:
        """The type of a value. `taken`: of a parameter, where wider types are welcome."""
        _, _, rest = where.partition(".")
        special = TYPES.get(where) or TYPES.get(f"*.{rest}")
        if special is not None:
            return special
        if "enum" in schema:
            return self._alias(schema["enum"])
        kind = schema.get("type")
        simple = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", None: "Any"}
        if kind in simple:
            return simple[kind]
        if kind == "array":
            item = self.name_of(schema["items"], where + "[]", taken) if schema.get("items") else "Any"
            item = "Mapping[str, Any]" if item == "Any" and taken else item
            return f"{'Sequence' if taken else 'list'}[{item}]"
        if kind == "object" and "properties" in schema:
            name = self._class(schema, where)
            return f"Union[{name}, Mapping[str, Any]]" if taken else name
        if kind == "object":
            inner = schema.get("additionalProperties")
            if isinstance(inner, dict) and "oneOf" in inner:
                return "Mapping[str, Union[str, Sequence[str]]]"
            value = self.name_of(inner, where + ".*", taken) if isinstance(inner, dict) else "Any"
            return f"{'Mapping' if taken else 'dict'}[str, {value}]"
        raise ValueError(f"{where}: no type for {schema}")

    def _alias(self, values: list[str]) -> str:
        literal = "Literal[" + ", ".join(f'"{value}"' for value in values) + "]"
        names = {
            ("ok", "degraded", "down"): "HealthStatus",
            ("user", "implicit", "clientCredentials", "credential", "onBehalfOf", "none"): "Auth",
            ("user", "implicit"): "SessionKind",
        }
        first = str(values[0])
        if first.startswith("event."):
            name = "EventName"
        elif first.startswith("delegate."):
            name = "DelegateName"
        elif tuple(values) in names:
            name = names[tuple(values)]
        else:
            return literal
        self.aliases[name] = literal
        return name

    def _class(self, schema: Schema, where: str) -> str:
        name = CLASSES.get(where)
        if name is None:
            raise ValueError(f"{where}: name this object in tools/naming.py")
        shape = {member: {**value, "description": ""} for member, value in schema["properties"].items()}
        known = self._schemas.get(name)
        if known is not None:
            # A verdict has the members that one of its methods adds, too.
            if name in VERDICTS and known.items() < shape.items():
                pass
            elif known == shape or (name in VERDICTS and shape.items() < known.items()):
                return name
            else:
                raise ValueError(f"{where}: another shape than {name} elsewhere; give it a name of its own")
        self._schemas[name] = shape
        if name in VERDICTS:
            self._verdict(name, schema, where)
        else:
            self.classes[name] = self._definition(name, schema, where)
        return name

    def _verdict(self, name: str, schema: Schema, where: str) -> None:
        """A class for each value of `valid`, with the members of the other one as None, and the union of both."""
        verdict = VERDICTS[name]
        for own, is_valid in ((verdict.valid, True), (verdict.invalid, False)):
            properties: dict[str, Schema] = {}
            for member, inner in schema["properties"].items():
                condition = inner.get("description", "").partition("; only when ")[2]
                is_absent = condition == ("it is not" if is_valid else "valid")
                properties[member] = {**inner, "absent": is_absent, "present": bool(condition) and not is_absent}
            # Of two forms of one member there is one.
            forms = {member for member in properties if member + "Base64" in properties}
            forms |= {member + "Base64" for member in forms}
            required = [member for member, inner in properties.items() if inner["present"] and member not in forms]
            own_schema = {"properties": properties, "required": ["valid", *required]}
            text = self._definition(own, own_schema, where, base=name)
            text = text.replace("    valid: bool\n", f"    valid: Literal[{is_valid}]\n")
            truth = f"    def __bool__(self) -> Literal[{is_valid}]:\n        return {is_valid}\n"
            self.classes[own] = text.rstrip("\n") + "\n\n" + truth
        self.classes[name] = "\n".join([
            f"#: {_class_doc(name)}",
            f"{name} = Union[{verdict.valid}, {verdict.invalid}]",
            "",
            f"def {verdict.reader}(value: dict[str, Any]) -> {name}:",
            '    """Reads it from the protocol\'s members."""',
            '    is_valid = value["valid"] is True',
            f"    return {verdict.valid}.from_json(value) if is_valid else {verdict.invalid}.from_json(value)",
            "",
        ])  # fmt: skip

    def _definition(self, name: str, schema: Schema, where: str, base: str = "") -> str:
        """`base`: what the class is a form of, whose hand-written base it has."""
        required = set(schema.get("required", []))
        members = sorted(schema["properties"].items(), key=lambda entry: entry[0] not in required)
        fields: list[str] = []
        readers: list[str] = []
        for member, inner in members:
            kind, reader = self._member(member, inner, f"{where}.{member}", member in required)
            if inner.get("absent"):
                kind, reader = "None", "None"
            elif member in required and kind.startswith("Optional["):
                kind, reader = kind[len("Optional[") : -1], f'value["{member}"]'
            default = _default(member in required, is_secret(name, member))
            text = DESCRIPTIONS.get(f"{where}.{member}", inner.get("description", ""))
            description = self.sentence(text)
            fields.append(f"    {snake(member)}: {kind}{default}\n    #: {description}")
            readers.append(f'        members["{snake(member)}"] = {reader}')
        fields = [
            _wrapped(f"    #: {line.split('#: ', 1)[1]}\n{line.split(chr(10) + '    #: ', 1)[0]}") for line in fields
        ]
        convenience = BASES.get(base or name)
        bases = f"({convenience})" if convenience else ""
        doc = _class_doc(name)
        pairs = "\n".join(f'            "{member}": wire(self.{snake(member)}),' for member, _ in members)
        return "\n".join([
            "@dataclass(frozen=True)",
            f"class {name}{bases}:",
            f'    """{doc}"""',
            "",
            *fields,
            "",
            "    @classmethod",
            f'    def from_json(cls, value: dict[str, Any]) -> "{name}":',
            '        """Reads it from the protocol\'s members."""',
            *_read(readers),
            "",
            "    def to_json(self) -> dict[str, Any]:",
            '        """The protocol\'s members, without those that are None."""',
            "        return present({",
            pairs,
            "        })",
            "",
        ])  # fmt: skip

    def _member(self, member: str, schema: Schema, where: str, required: bool) -> tuple[str, str]:
        """The annotation and the expression that reads it out of `value`."""
        got = f'value["{member}"]' if required else f'value.get("{member}")'
        if member.endswith("At") and schema.get("type") == "string":
            return ("datetime", f"time({got})") if required else ("Optional[datetime]", f"optional_time({got})")
        kind = self.name_of(schema, where)
        if kind.startswith("Optional["):
            return kind, got
        reader = self._reader(kind, got, required)
        return (kind if required else f"Optional[{kind}]"), reader

    def _reader(self, kind: str, got: str, required: bool) -> str:
        for opening, function in (("list[", "items"), ("dict[str, ", "mapping")):
            inner = kind[len(opening) : -1] if kind.startswith(opening) else ""
            if inner in KNOWN:
                return f"{function}({inner}.from_json, {got})"
        if kind in KNOWN:
            return f"{kind}.from_json({got})" if required else f"optional({kind}.from_json, {got})"
        return got


def _read(readers: list[str]) -> list[str]:
    if not readers:
        return ["        return object.__new__(cls)"]
    made = ["        made = object.__new__(cls)", "        members: dict[str, Any] = made.__dict__"]
    return [*made, *readers, "        return made"]


def _wrapped(text: str) -> str:
    comment, _, definition = text.partition("\n")
    lines = textwrap.wrap(comment.strip(), 116, subsequent_indent="#: ")
    return "\n".join(["    " + line for line in lines] + [definition])


def _default(required: bool, secret: bool) -> str:
    if required:
        return " = field(repr=False)" if secret else ""
    return " = field(default=None, repr=False)" if secret else " = None"


DOCS = {
    "Info": "The running sidecar.",
    "Libraries": "Versions of the libraries it runs with.",
    "Hardening": "How the process protects itself: what is in force.",
    "Landlock": "Limits by Landlock.",
    "LockedMemory": "The memory that secrets are kept in.",
    "Health": "Whether the sidecar can do its work.",
    "HealthCheck": "One check.",
    "Metrics": "Counters and histograms.",
    "ConfigurationReload": "What a reload changed.",
    "Subscription": "What this connection is subscribed to.",
    "EndpointRate": "How often calls may be made.",
    "CreatedEndpoint": "A socket that can do a part of what its maker can.",
    "EndpointHTTP": "Where an endpoint speaks HTTP.",
    "EndpointList": "A page of endpoints, the oldest first.",
    "EndpointDescription": "An endpoint in a list.",
    "EndpointLimits": "The lists and limits that an endpoint was made with; None is what its maker has.",
    "EndpointRevocation": "How many endpoints have ended.",
    "Nothing": "A result without members.",
    "Explanation": "What a call would come to, and why.",
    "ExplanationStep": "One step that a call passes, or at which it would be rejected.",
    "Part": "One part of a multipart body.",
    "OnBehalfOf": "The inbound token on whose user's behalf a call is made.",
    "FetchResult": "A resource's response; any status is one.",
    "Timing": "Where the time of a fetch went.",
    "Task": "A fetch, while it runs and for a minute after.",
    "TaskList": "The caller's tasks.",
    "Preauthorization": "Decisions, or the status with the reason why there are none. It is true if all are permits.",
    "Decision": "The decision about one resource. It is true for a permit.",
    "Status": "Why something is not permitted, or not known.",
    "DecisionInvalidation": "How many decisions were forgotten.",
    "TokenVerdict": "The result of a token's validation, true if it is valid. An invalid token is no exception.",
    "ValidToken": "A token that is genuine and meets every requirement. It is true.",
    "InvalidToken": "A token that is not, with the first reason. It is false.",
    "VerificationKey": "The key that verified a token.",
    "Violation": "The first check that failed; switch on `code`.",
    "Confirmation": "The key whose possession a presenter has shown.",
    "RequestVerdict": "Whether a request may pass an API, true if it may. One that may not is no exception.",
    "AcceptedRequest": "A request that may pass. It is true.",
    "RejectedRequest": "A request that may not, with the response to send. It is false.",
    "RequestViolation": "The first check that failed; switch on `code`.",
    "ReadyResponse": "What the API sends to its client, without a body.",
    "IntrospectionVerdict": "The authorization server's information about a token.",
    "ValidIntrospection": "The token is active and meets every requirement. It is true.",
    "InvalidIntrospection": "The token is not, with the reason. It is false.",
    "JWSVerdict": "Whether a given key made a signature.",
    "ValidJWS": "The given key made the signature. It is true.",
    "InvalidJWS": "It did not, with the reason. It is false.",
    "JWEVerdict": "Whether a given key opens a message.",
    "ValidJWE": "The given key opens the message. It is true.",
    "InvalidJWE": "It does not, with the reason. It is false.",
    "Grant": "From what a session is made. The class methods name the forms.",
    "Session": "A user's login at an issuer; never a token.",
    "SessionList": "The caller's sessions, the oldest first.",
    "SessionEnd": "What became of a session at its issuer.",
    "AuthorizationRequest": "Where to send the user's browser.",
    "DeviceAuthorization": "The code and URL to show to the user.",
    "AccessToken": "A token that has left the sidecar.",
    "TokenRevocation": "That a token was revoked.",
    "ParsedAdvice": "The advice in a response; none is no error.",
    "Advice": "What a user has to do before a request is let through.",
    "ResponseWithAdvice": "A response got elsewhere.",
    "JourneyStep": "The next questions for a user, or the result of a login.",
    "JourneyFailure": "The access manager's rejection.",
    "PassDevice": "The device whose login it is; what is None is the configured device's.",
    "PassPlatform": "The token of a device's platform.",
    "PassPartner": "The state of a partner's framework on the device.",
    "PassRespondingPartner": "The state of a partner's framework, and the SAML response that it made.",
    "PassIdentity": "The identity for a promotional TempPass.",
    "PassConfiguration": "A service provider at Adobe Pass: the MVPDs among which its users choose.",
    "PassDomain": "A domain of the service provider.",
    "Mvpd": "A television provider.",
    "PassSession": "The next step of a login: switch on `action_name`.",
    "PassAuthenticationRequest": "The request that a partner's framework makes a SAML response for.",
    "PassSessionStatus": "A login as a second screen sees it by its code.",
    "PassShownDevice": "The device that shows a code, as a second screen may know it.",
    "PassProfiles": "The state of a device's login, and its profiles: switch on `state`.",
    "PassProfile": "A login at an MVPD.",
    "RememberedMvpd": "The MVPD that the device's user chose before.",
    "PassDecisions": "Decisions about playing resources. It is true if all are permits.",
    "PassDecision": "The decision about playing one resource. It is true for a permit.",
    "MediaToken": "The proof for the service that releases the stream; pass it on unopened.",
    "PassLogout": "The result of a logout at Adobe Pass, and the steps that are left.",
    "PassLogoutStep": "A step that is left to do for one MVPD.",
}


def _class_doc(name: str) -> str:
    doc: str | None = DOCS.get(name)
    if doc is None:
        raise ValueError(f"say in tools/emit_types.py what {name} is")
    return doc
