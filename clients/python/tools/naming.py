"""How names of the protocol read in Python."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass

#: Methods whose names are no identifiers.
METHOD_NAMES = {"rpc.discover": "discover", "$/cancelRequest": "cancel_request"}
#: Methods that are written by hand: what they do belongs to the connection.
BY_HAND = {"$/cancelRequest", "registerDelegate"}
#: Methods of this prefix are those of a class of their own, which a property of the client leads to.
GROUP, GROUP_PROPERTY, GROUP_CLASS = "pass.", "adobe_pass", "AdobePass"

#: Schema objects by their position, and the classes that they become. Equal schemas share a class.
CLASSES = {
    "getInfo.result": "Info",
    "getInfo.result.libraries": "Libraries",
    "getInfo.result.hardening": "Hardening",
    "getInfo.result.hardening.landlock": "Landlock",
    "getInfo.result.hardening.lockedMemory": "LockedMemory",
    "health.result": "Health",
    "health.result.checks.*": "HealthCheck",
    "metrics.result": "Metrics",
    "reloadConfig.result": "ConfigurationReload",
    "subscribe.result": "Subscription",
    "unsubscribe.result": "Subscription",
    "createEndpoint.rate": "EndpointRate",
    "createEndpoint.result": "CreatedEndpoint",
    "createEndpoint.result.http": "EndpointHTTP",
    "listEndpoints.result": "EndpointList",
    "listEndpoints.result.endpoints[]": "EndpointDescription",
    "listEndpoints.result.endpoints[].limits": "EndpointLimits",
    "listEndpoints.result.endpoints[].limits.rate": "EndpointRate",
    "revokeEndpoint.result": "EndpointRevocation",
    "narrow.rate": "EndpointRate",
    "narrow.result": "Nothing",
    "explainCall.result": "Explanation",
    "explainCall.result.steps[]": "ExplanationStep",
    "fetchResource.multipart[]": "Part",
    "fetchResource.onBehalfOf": "OnBehalfOf",
    "getAccessToken.onBehalfOf": "OnBehalfOf",
    "fetchResource.result": "FetchResult",
    "fetchResource.result.timing": "Timing",
    "getTask.result": "Task",
    "suspendTask.result": "Task",
    "resumeTask.result": "Task",
    "cancelTask.result": "Task",
    "listTasks.result": "TaskList",
    "listTasks.result.tasks[]": "Task",
    "preauthorize.result": "Preauthorization",
    "preauthorize.result.decisions[]": "Decision",
    "preauthorize.result.decisions[].error": "Status",
    "preauthorize.result.status": "Status",
    "invalidateDecisions.result": "DecisionInvalidation",
    "validateIdToken.result": "TokenVerdict",
    "validateIdToken.result.key": "VerificationKey",
    "validateIdToken.result.error": "Violation",
    "validateAccessToken.confirmation": "Confirmation",
    "validateAccessToken.result": "TokenVerdict",
    "validateAccessToken.result.key": "VerificationKey",
    "validateAccessToken.result.error": "Violation",
    "validateRequest.result": "RequestVerdict",
    "validateRequest.result.confirmation": "Confirmation",
    "validateRequest.result.error": "RequestViolation",
    "validateRequest.result.response": "ReadyResponse",
    "validateLogoutToken.result": "TokenVerdict",
    "validateLogoutToken.result.key": "VerificationKey",
    "validateLogoutToken.result.error": "Violation",
    "introspectToken.result": "IntrospectionVerdict",
    "introspectToken.result.error": "Violation",
    "verifyJws.result": "JWSVerdict",
    "verifyJws.result.error": "Violation",
    "decryptJwe.result": "JWEVerdict",
    "decryptJwe.result.error": "Violation",
    "createSession.grant": "Grant",
    "createSession.result": "Session",
    "beginAuthorization.result": "AuthorizationRequest",
    "completeAuthorization.result": "Session",
    "beginDeviceAuthorization.result": "DeviceAuthorization",
    "completeDeviceAuthorization.result": "Session",
    "getSession.result": "Session",
    "listSessions.result": "SessionList",
    "listSessions.result.sessions[]": "Session",
    "refreshSession.result": "Session",
    "endSession.result": "SessionEnd",
    "getAccessToken.result": "AccessToken",
    "revokeToken.result": "TokenRevocation",
    "parseAdvice.result": "ParsedAdvice",
    "parseAdvice.result.advices[]": "Advice",
    "authenticate.result": "JourneyStep",
    "authenticate.result.error": "JourneyFailure",
    "authenticateWithAdvice.advice": "Advice",
    "authenticateWithAdvice.advices[]": "Advice",
    "authenticateWithAdvice.response": "ResponseWithAdvice",
    "authenticateWithAdvice.result": "JourneyStep",
    "authenticateWithAdvice.result.error": "JourneyFailure",
    "pass.getConfiguration.device": "PassDevice",
    "pass.getConfiguration.result": "PassConfiguration",
    "pass.getConfiguration.result.domains[]": "PassDomain",
    "pass.getConfiguration.result.mvpds[]": "Mvpd",
    "pass.createSession.device": "PassDevice",
    "pass.createSession.platform": "PassPlatform",
    "pass.createSession.partner": "PassPartner",
    "pass.createSession.result": "PassSession",
    "pass.createSession.result.authenticationRequest": "PassAuthenticationRequest",
    "pass.resumeSession.device": "PassDevice",
    "pass.resumeSession.result": "PassSession",
    "pass.resumeSession.result.authenticationRequest": "PassAuthenticationRequest",
    "pass.getSession.device": "PassDevice",
    "pass.getSession.result": "PassSessionStatus",
    "pass.getSession.result.device": "PassShownDevice",
    "pass.listProfiles.device": "PassDevice",
    "pass.listProfiles.platform": "PassPlatform",
    "pass.listProfiles.partner": "PassRespondingPartner",
    "pass.listProfiles.tempPass": "PassIdentity",
    "pass.listProfiles.result": "PassProfiles",
    "pass.listProfiles.result.profiles[]": "PassProfile",
    "pass.listProfiles.result.remembered": "RememberedMvpd",
    "pass.listProfiles.result.error": "Status",
    "pass.authorize.device": "PassDevice",
    "pass.authorize.platform": "PassPlatform",
    "pass.authorize.partner": "PassPartner",
    "pass.authorize.tempPass": "PassIdentity",
    "pass.authorize.result": "PassDecisions",
    "pass.authorize.result.decisions[]": "PassDecision",
    "pass.authorize.result.decisions[].token": "MediaToken",
    "pass.authorize.result.decisions[].error": "Status",
    "pass.logout.device": "PassDevice",
    "pass.logout.platform": "PassPlatform",
    "pass.logout.result": "PassLogout",
    "pass.logout.result.logouts[]": "PassLogoutStep",
    "pass.logout.result.error": "Status",
}


@dataclass(frozen=True)
class Verdict:
    """A result with `valid` that is one of two classes, so that type checkers know which members it has."""

    valid: str
    invalid: str
    #: The function that reads it.
    reader: str


VERDICTS = {
    "TokenVerdict": Verdict("ValidToken", "InvalidToken", "token_verdict"),
    "RequestVerdict": Verdict("AcceptedRequest", "RejectedRequest", "request_verdict"),
    "IntrospectionVerdict": Verdict("ValidIntrospection", "InvalidIntrospection", "introspection_verdict"),
    "JWSVerdict": Verdict("ValidJWS", "InvalidJWS", "jws_verdict"),
    "JWEVerdict": Verdict("ValidJWE", "InvalidJWE", "jwe_verdict"),
}

#: Hand-written bases that add conveniences.
BASES = {
    "FetchResult": "FetchResultForms",
    "Session": "SessionForms",
    "JWSVerdict": "JWSPayload",
    "JWEVerdict": "JWEPlaintext",
    "JourneyStep": "JourneyAnswers",
    "Decision": "DecisionTruth",
    "PassDecision": "DecisionTruth",
    "Preauthorization": "PreauthorizationTruth",
    "PassDecisions": "DecisionsTruth",
    "Grant": "GrantForms",
    "Part": "PartForms",
}

#: Members whose schema is less precise than the protocol.
TYPES = {
    "createEndpoint.bindTo": 'Union[Literal["connection"], Mapping[str, int]]',
    "fetchResource.result.headers": "Headers",
    "fetchResource.result.advicesSatisfied": "list[Advice]",
    "rpc.discover.result": "dict[str, Any]",
    "*.result.claims": "Optional[dict[str, Any]]",
    "*.result.header": "Optional[dict[str, Any]]",
    "*.result.callbacks": "Optional[list[dict[str, Any]]]",
    "*.jwks": "Mapping[str, Any]",
    "*.jwk": "Mapping[str, Any]",
    "*.answers": "Mapping[str, Any]",
    "*.callbacks": "Sequence[Mapping[str, Any]]",
}

#: Descriptions that do not fit to what a member is here.
DESCRIPTIONS = {
    "suspendTask": "No bytes move while it is suspended, and the fetch's own timeout is paused. Only a running task is "
    "suspended; any other stays as it is.",
    "narrow": "It holds for all connections of this client, also for those that come later. The lists are those of "
    "createEndpoint.",
    "fetchResource.result.headers": 'By name, in any case: `headers["Content-Type"]`; `get_list` has each line',
}

#: Words of descriptions that are names of something else than a parameter, a member or a method.
FOREIGN_WORDS = {"authIndexType"}
#: Words that have another name here than `snake` makes.
OWN_WORDS = {"retryAfterMs": "retry_after", "timeoutMs": "timeout"}

#: Members that no repr shows.
SECRETS = {
    "accessToken", "refreshToken", "idToken", "ssoToken", "subjectToken", "actorToken", "assertion",
    "codeVerifier", "session", "handle", "continuation", "body", "bodyBase64", "data", "dataBase64",
    "callbacks", "payload", "payloadBase64", "plaintext", "plaintextBase64", "claims", "headers",
}  # fmt: skip


#: Those of Adobe Pass. The URLs contain the code.
PASS_SECRETS = {
    "code", "url", "authenticateUrl", "authenticationRequest", "request", "attributes", "info", "address", "token",
    "frameworkStatus", "samlResponse", "identity",
}  # fmt: skip


def snake(name: str) -> str:
    """accessTokenExpiresAt → access_token_expires_at."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return words + "_" if keyword.iskeyword(words) else words


def method_name(name: str) -> str:
    """As it is written after `client.`."""
    if name.startswith(GROUP):
        return f"{GROUP_PROPERTY}.{snake(name[len(GROUP) :])}"
    return METHOD_NAMES.get(name) or snake(name)


def own_words(text: str, names: set[str], methods: set[str]) -> str:
    """A description with the names of Python in place of the protocol's; keys of the configuration stay."""

    def own(match: re.Match[str]) -> str:
        word = match[0]
        if word in FOREIGN_WORDS:
            return word
        if word in methods:
            return method_name(word)
        return OWN_WORDS.get(word) or (snake(word) if word in names else word)

    text = re.sub(r"\bpass\.[a-z]+[A-Z]\w*", lambda match: method_name(match[0]), text)
    return re.sub(r"(?<![\w.])(?<!configured )[a-z]+[A-Z]\w*(?!\.\w)\b", own, text)


def is_secret(class_name: str, member: str) -> bool:
    if class_name == "Grant" and member == "code":
        return True
    if class_name.startswith("Pass") and member in PASS_SECRETS:
        return True
    if (class_name, member) in {
        ("PassDevice", "id"),
        ("MediaToken", "serializedToken"),
        ("EndpointLimits", "sessions"),
    }:
        return True
    if class_name == "AuthorizationRequest" and member in ("state", "cookie", "authorizationUrl"):
        return True
    return member in SECRETS
