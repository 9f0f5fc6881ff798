"""Answers and requests of Adobe Pass (REST API v2), as JSON schemas of our own.

Written after the pages of Adobe's documentation as of May 2026, the titles of which stand at each schema; Adobe
publishes an OpenAPI document, too, under no licence that allows it to be copied here. The schemas are closed: a member
that the pages do not name is a problem. Where page and sample differ both are allowed, and the comment mentions it.

As a program it reads `{"answers": [{call, status, json}], "requests": [entry of /playground/adobe]}` and writes the
lists of problems, `{"answers": […], "requests": […], "published": […]}`. `published` are the differences of `pairs` (a
request and its answer) from the OpenAPI document at the path `document`, without those that one of the regular
expressions in `known` matches.
"""
from __future__ import annotations

import base64
import json
import re
import sys
from typing import Any, Dict, Iterator, List, Optional
from urllib.parse import unquote

from jsonschema import Draft202012Validator

TEXT, FLAG, OBJECT = {"type": "string", "minLength": 1}, {"type": "boolean"}, {"type": "object"}
TEXTS = {"type": "array", "items": TEXT}
#: Milliseconds since 1970: strings in sessions, numbers in profiles, decisions and tokens (samples of their pages).
TIME, WRITTEN_TIME = {"type": "integer", "minimum": 10**12}, {"type": "string", "pattern": "^[0-9]{13}$"}


def _object(required: Dict[str, Any], optional: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    properties = {**required, **(optional or {})}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _map(values: Dict[str, Any]) -> Dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


def _nullable(schema: Dict[str, Any]) -> Dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


# "Enhanced Error Codes". `details` only where there are any.
ERROR = _object(
    {"action": TEXT, "status": {"type": "integer", "minimum": 400, "maximum": 599}, "code": TEXT, "message": TEXT},
    {"details": TEXT, "helpUrl": {"type": "string", "pattern": "^https://"}, "trace": TEXT})
#: The pages name the wrapping `error`; samples have the object bare; an older edition has a list.
ERROR_ANSWER = {"anyOf": [
    ERROR, _object({"error": ERROR}), _object({"errors": {"type": "array", "items": ERROR, "minItems": 1}})]}

# "Retrieve configuration for specific service provider". Its table has `mvpds` next to `requestor`, its sample inside;
# its table requires `time`, its sample lacks it. Flags that are absent are false.
MVPD = _object({"id": TEXT, "displayName": TEXT, "logoUrl": TEXT}, {
    **{name: FLAG for name in (
        "isTempPass", "isProxy", "enablePlatformServices", "displayInPlatformPicker", "enforcePlatformPermissions",
        "authPerAggregator", "authPerBrowserSession", "passiveAuthnEnabled")},
    "boardingStatus": {"enum": ["SUPPORTED", "PICKER"]}, "platformMappingId": TEXT})
MVPDS = {"type": "array", "items": MVPD, "minItems": 1}
DOMAIN = _object({"name": TEXT, "mvpdInitiated": FLAG})
CONFIGURATION = {
    **_object(
        {"device": TEXT, "requestor": _object(
            {"id": TEXT, "name": TEXT, "domains": {"type": "array", "items": DOMAIN}}, {"mvpds": MVPDS, "channels": TEXT})},
        {"mvpds": MVPDS, "clientType": TEXT, "os": TEXT, "errorReporting": OBJECT, "time": TEXT, "platform": TEXT,
         "platformCategory": TEXT, "sdkType": TEXT}),
    "anyOf": [{"required": ["mvpds"]}, {"properties": {"requestor": {"required": ["mvpds"]}}}]}

# "Create authentication session", "Resume authentication session", "Retrieve partner authentication request": the pairs
# of action and type with the reasons of their tables. With `authorize` there is no code, though a table requires one.
WINDOW = {"code": {"type": "string", "pattern": "^[A-Z0-9]{6,7}$"}, "notBefore": WRITTEN_TIME, "notAfter": WRITTEN_TIME}
COMMON = {"sessionId": TEXT, "serviceProvider": TEXT, "url": TEXT}


def _session(name: str, kind: str, reasons: List[str], required: Dict[str, Any], optional: Dict[str, Any]) -> Dict[str, Any]:
    pair = {"actionName": {"const": name}, "actionType": {"const": kind}, "reasonType": {"enum": reasons}}
    return _object({**pair, **COMMON, **required}, optional)


def _sessions(*which: Dict[str, Any]) -> Dict[str, Any]:
    return {"oneOf": list(which)}


SOME = {**TEXTS, "minItems": 1}
AUTHENTICATED = ["authenticated", "authenticatedSSO", "degraded"]
AUTHENTICATE = _session("authenticate", "interactive", ["none"], {**WINDOW, "mvpd": TEXT}, {})
RESUME = _session("resume", "direct", ["none"], {**WINDOW, "missingParameters": SOME}, {"mvpd": TEXT})
RETRY = _session("retry", "direct", ["none"], {**WINDOW, "missingParameters": SOME}, {"mvpd": TEXT})
AUTHORIZE = _session("authorize", "direct", [*AUTHENTICATED, "temporary"], {"mvpd": TEXT}, {})
PARTNER = _session("partner_profile", "direct", ["none"], {"mvpd": TEXT, "authenticationRequest": _object(
    {"type": {"const": "saml"}, "request": TEXT, "attributesNames": TEXTS})}, {})
FALLBACK = _session(
    "authenticate", "interactive", ["pfs_fallback", "configuration_fallback"], WINDOW, {"mvpd": TEXT})
PARTNER_RESUME = _session(
    "resume", "direct", ["missing_parameters_fallback"], {**WINDOW, "missingParameters": SOME}, {"mvpd": TEXT})
PARTNER_AUTHORIZE = _session("authorize", "direct", AUTHENTICATED, {"mvpd": TEXT}, {})

# "Retrieve authentication session information using code". Its samples have null for what is unknown, `domain` with a
# complete session and `domainName` with an incomplete one. `ipAddress` is a string there, an object in the OpenAPI
# document.
VERSION = _nullable(_object({
    "major": {"type": "integer"}, "minor": {"type": "integer"}, "patch": {"type": "integer"}, "profile": {"type": "string"}}))
PERHAPS, NUMBER = _nullable(TEXT), {"type": "integer"}
BROWSER = _nullable(_object(
    {"name": PERHAPS, "vendor": PERHAPS, "version": VERSION, "userAgent": PERHAPS, "originalUserAgent": PERHAPS}))
DISPLAY = _nullable(_object({
    "width": NUMBER, "height": NUMBER, "ppi": NUMBER, "name": PERHAPS, "vendor": PERHAPS, "version": VERSION,
    "diagonalSize": PERHAPS}))
STATUS = _object(
    {"existingParameters": _object({"serviceProvider": TEXT}, {
        "mvpd": TEXT, "domain": TEXT, "domainName": TEXT, "redirectUrl": TEXT}),
     "notBefore": WRITTEN_TIME, "notAfter": WRITTEN_TIME,
     "device": _object({
         "type": PERHAPS, "model": PERHAPS, "version": VERSION,
         "hardware": _object({"name": PERHAPS, "vendor": PERHAPS, "version": VERSION, "manufacturer": PERHAPS}),
         "operatingSystem": _object({"name": PERHAPS, "family": PERHAPS, "vendor": PERHAPS, "version": VERSION}),
         "browser": BROWSER, "display": DISPLAY, "applicationId": PERHAPS,
         "connection": _object({
             "ipAddress": _nullable({"type": ["string", "object"]}), "port": PERHAPS, "secure": FLAG, "type": PERHAPS})})},
    {"missingParameters": SOME})

# "Retrieve profiles", "… for specific mvpd", "… for specific code", "… using partner authentication response".
ATTRIBUTE = _object({"value": {"type": ["string", "number", "array", "object"]}, "state": {"enum": ["plain", "enc"]}})
PROFILE = _object({
    "notBefore": TIME, "notAfter": TIME, "issuer": TEXT,
    "type": {"enum": ["regular", "appleSSO", "platformSSO", "serviceTokenSSO", "temporary", "degraded"]},
    "attributes": {**_map(ATTRIBUTE), "required": ["userID"]}})


def _profiles(*types: str) -> Dict[str, Any]:
    return _object({"profiles": _map({"allOf": [PROFILE, {"properties": {"type": {"enum": list(types)}}}]})})


# "Retrieve preauthorization decisions using specific mvpd", "Retrieve authorization decisions using specific mvpd".
SOURCE = {"enum": ["mvpd", "degradation", "temppass", "dummy"]}
DECISION = _object(
    {"resource": TEXT, "serviceProvider": TEXT, "mvpd": TEXT, "authorized": FLAG, "source": SOURCE}, {"error": ERROR})
TOKEN = _object({"notBefore": TIME, "notAfter": TIME, "serializedToken": TEXT})
AUTHORIZATION = {
    **_object(
        {"resource": TEXT, "serviceProvider": TEXT, "mvpd": TEXT, "authorized": FLAG, "source": SOURCE},
        {"error": ERROR, "token": TOKEN, "notBefore": TIME, "notAfter": TIME}),
    "if": {"properties": {"authorized": {"const": True}}}, "then": {"required": ["token"]}, "else": {"required": ["error"]}}

# "Initiate logout for specific mvpd".
LOGOUT = {"oneOf": [
    _object({"actionName": {"const": "logout"}, "actionType": {"const": "interactive"}, "mvpd": TEXT, "url": TEXT}),
    _object({"actionName": {"const": "partner_logout"}, "actionType": {"const": "partner_interactive"}, "mvpd": TEXT}),
    _object({"actionName": {"enum": ["complete", "invalid"]}, "actionType": {"const": "none"}, "mvpd": TEXT})]}

# "DCR Overview": the pages of registration and access token.
CREDENTIALS = _object({
    "client_id": TEXT, "client_secret": TEXT, "client_id_issued_at": {"type": "integer"}, "redirect_uris": {"type": "array"},
    "grant_types": TEXTS, "scopes": TEXTS})
ACCESS_TOKEN = _object({
    "id": TEXT, "access_token": TEXT, "created_at": TIME, "expires_in": {"type": "integer", "minimum": 1},
    "token_type": {"const": "bearer"}})
OAUTH_ERROR = _object({"error": TEXT})

#: The answers of each call by status.
ANSWERS: Dict[str, Dict[int, Dict[str, Any]]] = {
    "register": {201: CREDENTIALS, 400: OAUTH_ERROR},
    "token": {201: ACCESS_TOKEN, 400: OAUTH_ERROR},
    "E1": {200: CONFIGURATION},
    "E2": {200: _sessions(AUTHENTICATE, RESUME, AUTHORIZE)},
    "E3": {200: _sessions(AUTHENTICATE, RETRY, AUTHORIZE)},
    "E4": {200: STATUS},
    "E6": {200: _profiles("regular", "appleSSO", "platformSSO", "serviceTokenSSO")},
    "E7": {200: _profiles("regular", "appleSSO", "platformSSO", "serviceTokenSSO", "temporary", "degraded")},
    "E8": {200: _profiles("regular", "temporary", "degraded")},
    "E9": {200: _object({"decisions": {"type": "array", "items": DECISION}})},
    "E10": {200: _object({"decisions": {"type": "array", "items": AUTHORIZATION}})},
    "E11": {200: _object({"logouts": _map(LOGOUT)})},
    "E12": {200: _sessions(FALLBACK, PARTNER_RESUME, PARTNER_AUTHORIZE, PARTNER)},
    # 201 for a new profile; the sample with degraded logins has 200.
    "E13": {201: _profiles("appleSSO"), 200: _profiles("degraded")},
}
#: The statuses of errors that the pages list.
FAILURES = {400, 401, 403, 405, 500}

# What a client has to send: the tables "Headers" of each page, and the pages "Header - …".
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
DEVICE = ["ap-device-identifier", "x-device-info"]
SHARED = ["adobe-subject-token", "x-roku-reserved-roku-connect-token", "ad-service-token"]
PARTNERS, IDENTITY, VISITOR = "ap-partner-framework-status", "ap-temppass-identity", "ap-visitor-identifier"
#: Method, path, required and optional headers, media type, parameters. `x-forwarded-for` and those of the device are
#: allowed everywhere ("REST API V2 Checklist").
REQUESTS: Dict[str, Any] = {
    "register": ("POST", r"/o/client/register", ["x-device-info"], [], JSON, None),
    "token": ("POST", r"/o/client/token", ["x-device-info"], [], FORM, {"client_id", "client_secret", "grant_type"}),
    "E1": ("GET", r"/api/v2/[^/]+/configuration", [], [], None, {"profile"}),
    "E2": ("POST", r"/api/v2/[^/]+/sessions", DEVICE, [*SHARED, VISITOR], FORM, {"mvpd", "domainName", "redirectUrl"}),
    "E3": ("POST", r"/api/v2/[^/]+/sessions/[^/]+", [], [VISITOR], FORM, {"mvpd", "domainName", "redirectUrl"}),
    "E4": ("GET", r"/api/v2/[^/]+/sessions/[^/]+", [], [VISITOR], None, set()),
    "E6": ("GET", r"/api/v2/[^/]+/profiles", DEVICE, [*SHARED, PARTNERS, VISITOR], None, set()),
    "E7": ("GET", r"/api/v2/[^/]+/profiles/[^/]+", DEVICE, [*SHARED, PARTNERS, IDENTITY, VISITOR], None, set()),
    "E8": ("GET", r"/api/v2/[^/]+/profiles/code/[^/]+", [], [IDENTITY, VISITOR], None, set()),
    "E9": (
        "POST", r"/api/v2/[^/]+/decisions/preauthorize/[^/]+", DEVICE, [*SHARED, PARTNERS, VISITOR], JSON, None),
    "E10": (
        "POST", r"/api/v2/[^/]+/decisions/authorize/[^/]+", DEVICE, [*SHARED, PARTNERS, IDENTITY, VISITOR], JSON, None),
    "E11": ("GET", r"/api/v2/[^/]+/logout/[^/]+", DEVICE, [*SHARED, VISITOR], None, {"redirectUrl"}),
    "E12": (
        "POST", r"/api/v2/[^/]+/sessions/sso/[^/]+", [*DEVICE, PARTNERS], [VISITOR], FORM, {"domainName", "redirectUrl"}),
    "E13": ("POST", r"/api/v2/[^/]+/profiles/sso/[^/]+", [*DEVICE, PARTNERS], [VISITOR], FORM, {"SAMLResponse"}),
}
PREFIX = "/adobe"
#: Headers of HTTP itself, which the pages list as optional where they list them.
PLAIN = {"authorization", "accept", "content-type", "user-agent", "x-forwarded-for", *DEVICE}

INFORMATION = {"type": "object", "required": ["model", "version", "osName", "osVersion", "connectionType"]}
FRAMEWORK_STATUS = _object({
    "frameworkPermissionInfo": {**OBJECT, "properties": {
        "accessStatus": {"enum": ["granted", "denied", "restricted", "notDetermined"]}}},
    "frameworkProviderInfo": {**OBJECT, "properties": {"id": TEXT, "expirationDate": {"type": "string", "pattern": "^[0-9]+$"}}}})
ENCODED = {"x-device-info": INFORMATION, PARTNERS: FRAMEWORK_STATUS, IDENTITY: {**OBJECT, "minProperties": 1}}
RESOURCES = _object({"resources": SOME})
STATEMENT = _object({"software_statement": TEXT}, {"redirect_uri": TEXT})


def _complaints(schema: Dict[str, Any], value: Any) -> Iterator[str]:
    for error in Draft202012Validator(schema).iter_errors(value):
        yield f"/{'/'.join(str(step) for step in error.absolute_path)}: {error.message[:300]}"


def answer_problems(answer: Dict[str, Any]) -> Iterator[str]:
    call, status = answer["call"], answer["status"]
    schema = ANSWERS[call].get(status) or (ERROR_ANSWER if status in FAILURES else None)
    if schema is None:
        yield f"{call}: {status} is not among the documented statuses"
        return
    for complaint in _complaints(schema, answer["json"]):
        yield f"{call} {status} {complaint}"


def request_problems(request: Dict[str, Any]) -> Iterator[str]:
    call, headers = request["call"], request["headers"]
    method, path, required, optional, media_type, parameters = REQUESTS[call]
    if request["method"] != method or not re.fullmatch(PREFIX + path, request["path"]):
        yield f"{call}: {request['method']} {request['path']}"
    for name in [*required, *([] if call in ("register", "token") else ["authorization"])]:
        if name not in headers:
            yield f"{call}: {name} is missing"
    for name in set(headers) - PLAIN - set(required) - set(optional):
        yield f"{call}: {name} is not listed"
    given = headers.get("content-type")
    if (given or "").partition(";")[0].strip().lower() != (media_type or ""):
        yield f"{call}: Content-Type {given}"
    if "accept" in headers and not headers["accept"].startswith(JSON):
        yield f"{call}: Accept {headers['accept']}"
    yield from (f"{call}: {problem}" for problem in _header_problems(headers))
    yield from (f"{call}: {problem}" for problem in _content_problems(request, media_type, parameters))


def _header_problems(headers: Dict[str, str]) -> Iterator[str]:
    if "ap-device-identifier" in headers and not re.fullmatch(r"fingerprint [A-Za-z0-9+/]+=*", headers["ap-device-identifier"]):
        yield f"AP-Device-Identifier {headers['ap-device-identifier']}"
    for name, schema in ENCODED.items():
        if name in headers:
            try:
                value = json.loads(base64.b64decode(headers[name], validate=True))
            except ValueError as error:
                yield f"{name} is no base64 of JSON: {error}"
            else:
                yield from (f"{name} {complaint}" for complaint in _complaints(schema, value))


def _content_problems(request: Dict[str, Any], media_type: Optional[str], parameters: Any) -> Iterator[str]:
    if media_type is None:
        names = {unquote(part.partition("=")[0]) for part in (request["query"] or "").split("&") if part}
        if names - parameters or request["body"]:
            yield f"query {request['query']}, body {request['body']!r}"
        return
    if request["query"] is not None:
        yield f"query {request['query']}"
    if media_type == FORM:
        if set(request["form"] or {}) - parameters:
            yield f"form {sorted(request['form'])}"
    else:
        schema = STATEMENT if request["call"] == "register" else RESOURCES
        yield from (f"body {complaint}" for complaint in _complaints(schema, json.loads(request["body"])))


class Published:
    """Adobe's OpenAPI document (3.0), and what differs from it."""

    def __init__(self, document: Dict[str, Any]) -> None:
        self.paths: Dict[str, Any] = document["paths"]
        self.components = {"components": _closed(document["components"])}

    def operation(self, request: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        path = request["path"].removeprefix(PREFIX + "/api/v2")
        # The template with the fewest variables is the one that is meant.
        for template in sorted(self.paths, key=lambda template: template.count("{")):
            if re.fullmatch(re.sub(r"\{[^}]*\}", "[^/]+", template), path):
                operation = self.paths[template].get(request["method"].lower())
                if operation:
                    return operation
        return None

    def problems(self, request: Dict[str, Any], answer: Optional[Dict[str, Any]]) -> Iterator[str]:
        call = request["call"]
        operation = self.operation(request)
        if operation is None:
            yield f"{call}: no such path"
            return
        listed = {p["name"].lower(): p for p in operation.get("parameters", []) if p["in"] == "header"}
        for name in set(request["headers"]) - set(listed) - {"accept", "content-type", "user-agent"}:
            yield f"{call}: the header {name} is not listed"
        for name, parameter in listed.items():
            if parameter.get("required") and name not in request["headers"]:
                yield f"{call}: the header {name} is required"
        if answer is None:
            return
        response = operation["responses"].get(str(answer["status"]))
        if response is None:
            yield f"{call}: the status {answer['status']} is not listed"
            return
        content = response.get("content", {}).get("application/json", {}).get("schema")
        if content:
            for complaint in _complaints({**content, **self.components}, answer["json"]):
                # Names of MVPDs and attributes and numbers of rows do not matter.
                yield f"{call}: " + re.sub(r"/(profiles|logouts|decisions|attributes|mvpds)/[^:/]+", r"/\1/*", complaint)


def _closed(schema: Any) -> Any:
    """`schema` with objects that have the listed members alone, and with `nullable` as JSON Schema has it."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(part) for name, part in schema.items()}
    if isinstance(closed.get("properties"), dict) and closed["properties"] and "additionalProperties" not in closed:
        closed["additionalProperties"] = False
    if closed.pop("nullable", False) is True and isinstance(closed.get("type"), str):
        closed["type"] = [closed["type"], "null"]
    return closed


def main() -> None:
    task = json.load(sys.stdin)
    published: List[str] = []
    if task.get("document"):
        with open(task["document"], encoding="utf-8") as file:
            document = Published(json.load(file))
        for request, answer in task["pairs"]:
            published += document.problems(request, answer)
    json.dump({
        "answers": [problem for answer in task.get("answers", []) for problem in answer_problems(answer)],
        "requests": [problem for request in task.get("requests", []) for problem in request_problems(request)],
        "published": sorted(
            problem for problem in set(published)
            if not any(re.fullmatch(known, problem, re.DOTALL) for known in task.get("known", []))),
    }, sys.stdout)


if __name__ == "__main__":
    main()
