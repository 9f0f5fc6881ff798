"""What methods take and answer. Generated from proto-docs/openrpc.json by tools/generate.py: do not edit.

Members that may be missing are None then. Times (`..._at`) are aware datetimes, durations (`..._ms`) milliseconds.
Members that a newer sidecar adds are left out. What is secret is not in any repr. `from_json` sets the members without
`__init__`, which takes more than twice as long for frozen classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Union

from ._conveniences import (
    DecisionsTruth,
    DecisionTruth,
    FetchResultForms,
    GrantForms,
    JourneyAnswers,
    JWEPlaintext,
    JWSPayload,
    PartForms,
    PreauthorizationTruth,
    SessionForms,
)
from ._headers import Headers
from ._wire import items, mapping, optional, optional_time, present, time, wire

__all__ = [
    "AcceptedRequest",
    "AccessToken",
    "Advice",
    "Auth",
    "AuthorizationRequest",
    "ConfigurationReload",
    "Confirmation",
    "CreatedEndpoint",
    "Decision",
    "DecisionInvalidation",
    "DelegateName",
    "DeviceAuthorization",
    "EndpointDescription",
    "EndpointHTTP",
    "EndpointLimits",
    "EndpointList",
    "EndpointRate",
    "EndpointRevocation",
    "EventName",
    "Explanation",
    "ExplanationStep",
    "FetchResult",
    "Grant",
    "Hardening",
    "Health",
    "HealthCheck",
    "HealthStatus",
    "Info",
    "IntrospectionVerdict",
    "InvalidIntrospection",
    "InvalidJWE",
    "InvalidJWS",
    "InvalidToken",
    "JWEVerdict",
    "JWSVerdict",
    "JourneyFailure",
    "JourneyStep",
    "Landlock",
    "Libraries",
    "LockedMemory",
    "MediaToken",
    "Metrics",
    "Mvpd",
    "Nothing",
    "OnBehalfOf",
    "ParsedAdvice",
    "Part",
    "PassAuthenticationRequest",
    "PassConfiguration",
    "PassDecision",
    "PassDecisions",
    "PassDevice",
    "PassDomain",
    "PassIdentity",
    "PassLogout",
    "PassLogoutStep",
    "PassPartner",
    "PassPlatform",
    "PassProfile",
    "PassProfiles",
    "PassRespondingPartner",
    "PassSession",
    "PassSessionStatus",
    "PassShownDevice",
    "Preauthorization",
    "ReadyResponse",
    "RejectedRequest",
    "RememberedMvpd",
    "RequestVerdict",
    "RequestViolation",
    "ResponseWithAdvice",
    "Session",
    "SessionEnd",
    "SessionKind",
    "SessionList",
    "Status",
    "Subscription",
    "Task",
    "TaskList",
    "Timing",
    "TokenRevocation",
    "TokenVerdict",
    "ValidIntrospection",
    "ValidJWE",
    "ValidJWS",
    "ValidToken",
    "VerificationKey",
    "Violation",
]

Auth = Literal["user", "implicit", "clientCredentials", "credential", "onBehalfOf", "none"]
DelegateName = Literal[
    "delegate.onPolicyAdviceReceived",
    "delegate.evaluateAuthorizationPolicy",
    "delegate.updateRequest",
    "delegate.evaluateTokenRefresh",
    "delegate.approveCall",
]
EventName = Literal[
    "event.sessionRefreshed",
    "event.sessionEnded",
    "event.sessionExpiring",
    "event.keysRotated",
    "event.configReloaded",
    "event.healthChanged",
]
HealthStatus = Literal["ok", "degraded", "down"]
SessionKind = Literal["user", "implicit"]


@dataclass(frozen=True)
class Libraries:
    """Versions of the libraries it runs with."""

    #: libcurl's version at run time.
    curl: str
    #: OpenSSL's version at run time.
    openssl: str
    #: jansson's version at run time.
    jansson: str
    #: The compiler's version.
    swift: str

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Libraries:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["curl"] = value["curl"]
        members["openssl"] = value["openssl"]
        members["jansson"] = value["jansson"]
        members["swift"] = value["swift"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "curl": wire(self.curl),
                "openssl": wire(self.openssl),
                "jansson": wire(self.jansson),
                "swift": wire(self.swift),
            }
        )


@dataclass(frozen=True)
class Landlock:
    """Limits by Landlock."""

    #: The ABI that is made use of; 0 when there is none.
    abi: int
    #: Whether only the files can be read and written that the configuration needs.
    file_system: bool
    #: Whether only the TCP ports can be connected to and listened on that the configuration needs.
    network: bool
    #: Whether abstract sockets of other processes, and signals to them, are forbidden.
    scope: bool

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Landlock:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["abi"] = value["abi"]
        members["file_system"] = value["fileSystem"]
        members["network"] = value["network"]
        members["scope"] = value["scope"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "abi": wire(self.abi),
                "fileSystem": wire(self.file_system),
                "network": wire(self.network),
                "scope": wire(self.scope),
            }
        )


@dataclass(frozen=True)
class LockedMemory:
    """The memory that secrets are kept in."""

    #: How much of it can never be in the swap space.
    locked_bytes: int
    #: How much of it could be.
    unlocked_bytes: int

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> LockedMemory:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["locked_bytes"] = value["lockedBytes"]
        members["unlocked_bytes"] = value["unlockedBytes"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "lockedBytes": wire(self.locked_bytes),
                "unlockedBytes": wire(self.unlocked_bytes),
            }
        )


@dataclass(frozen=True)
class Hardening:
    """How the process protects itself: what is in force."""

    #: Whether no program that is executed can gain privileges.
    no_new_privileges: bool
    #: Whether its own user may trace the process and read its memory.
    dumpable: bool
    #: Whether the process leaves core dumps.
    core_dumps: bool
    #: Whether memory that was written can become code.
    writable_code: bool
    #: Limits for files, TCP ports and what lies outside of the process.
    landlock: Landlock
    #: Whether system calls that it never needs are forbidden.
    seccomp: bool
    #: The memory that secrets are kept in.
    locked_memory: LockedMemory
    #: Protections that are not in force, with the reason.
    missing: list[str]

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Hardening:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["no_new_privileges"] = value["noNewPrivileges"]
        members["dumpable"] = value["dumpable"]
        members["core_dumps"] = value["coreDumps"]
        members["writable_code"] = value["writableCode"]
        members["landlock"] = Landlock.from_json(value["landlock"])
        members["seccomp"] = value["seccomp"]
        members["locked_memory"] = LockedMemory.from_json(value["lockedMemory"])
        members["missing"] = value["missing"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "noNewPrivileges": wire(self.no_new_privileges),
                "dumpable": wire(self.dumpable),
                "coreDumps": wire(self.core_dumps),
                "writableCode": wire(self.writable_code),
                "landlock": wire(self.landlock),
                "seccomp": wire(self.seccomp),
                "lockedMemory": wire(self.locked_memory),
                "missing": wire(self.missing),
            }
        )


@dataclass(frozen=True)
class Info:
    """The running sidecar."""

    #: Always "postern".
    name: str
    #: The release.
    version: str
    #: The wire contract's version: changes of the first number break callers.
    protocol_version: str
    #: The sidecar's process id, in its own PID namespace.
    pid: int
    #: When it started, RFC 3339 in UTC.
    started_at: datetime
    #: Versions of the libraries it runs with.
    libraries: Libraries
    #: Features of this build and configuration; `development.…` names a development switch that is on.
    features: list[str]
    #: Protections that are in force, as the kernel reports them.
    hardening: Hardening

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Info:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["name"] = value["name"]
        members["version"] = value["version"]
        members["protocol_version"] = value["protocolVersion"]
        members["pid"] = value["pid"]
        members["started_at"] = time(value["startedAt"])
        members["libraries"] = Libraries.from_json(value["libraries"])
        members["features"] = value["features"]
        members["hardening"] = Hardening.from_json(value["hardening"])
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "name": wire(self.name),
                "version": wire(self.version),
                "protocolVersion": wire(self.protocol_version),
                "pid": wire(self.pid),
                "startedAt": wire(self.started_at),
                "libraries": wire(self.libraries),
                "features": wire(self.features),
                "hardening": wire(self.hardening),
            }
        )


@dataclass(frozen=True)
class HealthCheck:
    """One check."""

    #: The check's outcome.
    status: HealthStatus
    #: Why, for people.
    detail: str | None = None
    #: How long ago it was observed, in milliseconds.
    age_ms: int | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> HealthCheck:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["status"] = value["status"]
        members["detail"] = value.get("detail")
        members["age_ms"] = value.get("ageMs")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "status": wire(self.status),
                "detail": wire(self.detail),
                "ageMs": wire(self.age_ms),
            }
        )


@dataclass(frozen=True)
class Health:
    """Whether the sidecar can do its work."""

    #: The worst of the checks.
    status: HealthStatus
    #: Each check by its name, e.g. `configuration` or `issuer.corp`.
    checks: dict[str, HealthCheck]

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Health:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["status"] = value["status"]
        members["checks"] = mapping(HealthCheck.from_json, value["checks"])
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "status": wire(self.status),
                "checks": wire(self.checks),
            }
        )


@dataclass(frozen=True)
class Metrics:
    """Counters and histograms."""

    #: Prometheus text exposition format 0.0.4.
    text: str

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Metrics:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["text"] = value["text"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "text": wire(self.text),
            }
        )


@dataclass(frozen=True)
class ConfigurationReload:
    """What a reload changed."""

    #: The keys that differ from before, e.g. `resources.billing`; may be empty.
    changed: list[str]

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ConfigurationReload:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["changed"] = value["changed"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "changed": wire(self.changed),
            }
        )


@dataclass(frozen=True)
class Subscription:
    """What this connection is subscribed to."""

    #: Every event this connection is subscribed to now.
    subscribed: list[EventName]

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Subscription:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["subscribed"] = value["subscribed"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "subscribed": wire(self.subscribed),
            }
        )


@dataclass(frozen=True)
class EndpointRate:
    """How often calls may be made."""

    #: Calls a second on average, over 0.
    per_second: float
    #: Calls at one time, at least 1.
    burst: int

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> EndpointRate:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["per_second"] = value["perSecond"]
        members["burst"] = value["burst"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "perSecond": wire(self.per_second),
                "burst": wire(self.burst),
            }
        )


@dataclass(frozen=True)
class EndpointHTTP:
    """Where an endpoint speaks HTTP."""

    #: The path of the socket that speaks HTTP: `/NAME/…` is a fetch from the resource NAME.
    path: str

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> EndpointHTTP:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["path"] = value["path"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "path": wire(self.path),
            }
        )


@dataclass(frozen=True)
class CreatedEndpoint:
    """A socket that can do a part of what its maker can."""

    #: The endpoint's handle.
    endpoint: str
    #: The socket's path; left out where the sidecar can make no socket file.
    path: str | None = None
    #: When it ends; left out when it has no end of its own.
    expires_at: datetime | None = None
    #: Where it speaks HTTP; with `http` only.
    http: EndpointHTTP | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> CreatedEndpoint:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["endpoint"] = value["endpoint"]
        members["path"] = value.get("path")
        members["expires_at"] = optional_time(value.get("expiresAt"))
        members["http"] = optional(EndpointHTTP.from_json, value.get("http"))
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "endpoint": wire(self.endpoint),
                "path": wire(self.path),
                "expiresAt": wire(self.expires_at),
                "http": wire(self.http),
            }
        )


@dataclass(frozen=True)
class EndpointLimits:
    """The lists and limits that an endpoint was made with; None is what its maker has."""

    #: The names of resources.
    resources: list[str] | None = None
    #: Methods of this interface, as in `peers`.
    methods: list[str] | None = None
    #: The HTTP methods of fetches.
    http_methods: list[str] | None = None
    #: Paths relative to a resource's baseUrl, in whole segments: `orders/` is what is below, `orders` that path alone.
    paths: list[str] | None = None
    #: The handles of sessions; then no session can be made.
    sessions: list[str] | None = field(default=None, repr=False)
    #: How often calls may be made, over the whole endpoint and all that were made through it.
    rate: EndpointRate | None = None
    #: How many calls may be under way at one time, over the whole endpoint and all that were made through it.
    concurrency: int | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> EndpointLimits:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["resources"] = value.get("resources")
        members["methods"] = value.get("methods")
        members["http_methods"] = value.get("httpMethods")
        members["paths"] = value.get("paths")
        members["sessions"] = value.get("sessions")
        members["rate"] = optional(EndpointRate.from_json, value.get("rate"))
        members["concurrency"] = value.get("concurrency")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "resources": wire(self.resources),
                "methods": wire(self.methods),
                "httpMethods": wire(self.http_methods),
                "paths": wire(self.paths),
                "sessions": wire(self.sessions),
                "rate": wire(self.rate),
                "concurrency": wire(self.concurrency),
            }
        )


@dataclass(frozen=True)
class EndpointDescription:
    """An endpoint in a list."""

    #: The endpoint's handle.
    endpoint: str
    #: The handles of the endpoints that it was made through, the first one first.
    chain: list[str]
    #: The lists and limits that it was made with.
    limits: EndpointLimits
    #: When it was made.
    created_at: datetime
    #: How many connections it has.
    connections: int
    #: How many of its calls are under way, those of endpoints made through it included.
    calls_under_way: int
    #: Its name for people.
    label: str | None = None
    #: The socket's path.
    path: str | None = None
    #: When it ends.
    expires_at: datetime | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> EndpointDescription:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["endpoint"] = value["endpoint"]
        members["chain"] = value["chain"]
        members["limits"] = EndpointLimits.from_json(value["limits"])
        members["created_at"] = time(value["createdAt"])
        members["connections"] = value["connections"]
        members["calls_under_way"] = value["callsUnderWay"]
        members["label"] = value.get("label")
        members["path"] = value.get("path")
        members["expires_at"] = optional_time(value.get("expiresAt"))
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "endpoint": wire(self.endpoint),
                "chain": wire(self.chain),
                "limits": wire(self.limits),
                "createdAt": wire(self.created_at),
                "connections": wire(self.connections),
                "callsUnderWay": wire(self.calls_under_way),
                "label": wire(self.label),
                "path": wire(self.path),
                "expiresAt": wire(self.expires_at),
            }
        )


@dataclass(frozen=True)
class EndpointList:
    """A page of endpoints, the oldest first."""

    #: The endpoints.
    endpoints: list[EndpointDescription]
    #: Where the next page begins; left out when there is none.
    next_cursor: str | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> EndpointList:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["endpoints"] = items(EndpointDescription.from_json, value["endpoints"])
        members["next_cursor"] = value.get("nextCursor")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "endpoints": wire(self.endpoints),
                "nextCursor": wire(self.next_cursor),
            }
        )


@dataclass(frozen=True)
class EndpointRevocation:
    """How many endpoints have ended."""

    #: How many endpoints have ended, the descendants included.
    revoked: int

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> EndpointRevocation:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["revoked"] = value["revoked"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "revoked": wire(self.revoked),
            }
        )


@dataclass(frozen=True)
class Nothing:
    """A result without members."""

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Nothing:
        """Reads it from the protocol's members."""
        return object.__new__(cls)

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present({})


@dataclass(frozen=True)
class ExplanationStep:
    """One step that a call passes, or at which it would be rejected."""

    #: The step's name, such as `peerRule`, `endpoint`, `rate`, `concurrency`, `resource`, `url`, `token`, `outbound`,
    #: `sandbox`.
    step: str
    #: Whether the call passes it.
    verdict: Literal["passes", "rejects", "open"]
    #: Why, for people.
    summary: str
    #: The values that decide it, by name.
    details: dict[str, Any] | None = None
    #: The code of the error that the call would end with; with `rejects` only.
    error_code: int | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ExplanationStep:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["step"] = value["step"]
        members["verdict"] = value["verdict"]
        members["summary"] = value["summary"]
        members["details"] = value.get("details")
        members["error_code"] = value.get("errorCode")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "step": wire(self.step),
                "verdict": wire(self.verdict),
                "summary": wire(self.summary),
                "details": wire(self.details),
                "errorCode": wire(self.error_code),
            }
        )


@dataclass(frozen=True)
class Explanation:
    """What a call would come to, and why."""

    #: Whether the call would be carried out, as far as is known without a request.
    allowed: bool
    #: The steps that decide it, in the order in which a call passes them.
    steps: list[ExplanationStep]

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Explanation:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["allowed"] = value["allowed"]
        members["steps"] = items(ExplanationStep.from_json, value["steps"])
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "allowed": wire(self.allowed),
                "steps": wire(self.steps),
            }
        )


@dataclass(frozen=True)
class OnBehalfOf:
    """The inbound token on whose user's behalf a call is made."""

    #: The access token that the caller received from its own client, at most 64 KiB; validated before it is exchanged.
    token: str
    #: The audience it must be for; default: the first of the resource's exchange.inboundAudience.
    audience: str | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> OnBehalfOf:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["token"] = value["token"]
        members["audience"] = value.get("audience")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "token": wire(self.token),
                "audience": wire(self.audience),
            }
        )


@dataclass(frozen=True)
class Part(PartForms):
    """One part of a multipart body."""

    #: The field's name.
    name: str
    #: The file's name; left out for what is no file.
    file_name: str | None = None
    #: The part's media type; a file's is application/octet-stream by default.
    mime_type: str | None = None
    #: The content as text.
    data: str | None = field(default=None, repr=False)
    #: The content as standard base64 with padding; exactly one of the two.
    data_base64: str | None = field(default=None, repr=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Part:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["name"] = value["name"]
        members["file_name"] = value.get("fileName")
        members["mime_type"] = value.get("mimeType")
        members["data"] = value.get("data")
        members["data_base64"] = value.get("dataBase64")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "name": wire(self.name),
                "fileName": wire(self.file_name),
                "mimeType": wire(self.mime_type),
                "data": wire(self.data),
                "dataBase64": wire(self.data_base64),
            }
        )


@dataclass(frozen=True)
class Timing:
    """Where the time of a fetch went."""

    #: The whole call, tokens and retries included.
    total_ms: int
    #: Total time that the call's requests waited for a slot or a connection.
    queue_ms: int
    #: Total time of name resolution, TCP and TLS; 0 when every connection was reused.
    connect_ms: int
    #: Total time until the first byte of each response.
    first_byte_ms: int

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Timing:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["total_ms"] = value["totalMs"]
        members["queue_ms"] = value["queueMs"]
        members["connect_ms"] = value["connectMs"]
        members["first_byte_ms"] = value["firstByteMs"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "totalMs": wire(self.total_ms),
                "queueMs": wire(self.queue_ms),
                "connectMs": wire(self.connect_ms),
                "firstByteMs": wire(self.first_byte_ms),
            }
        )


@dataclass(frozen=True)
class FetchResult(FetchResultForms):
    """A resource's response; any status is one."""

    #: The task's name.
    task: str
    #: The HTTP status; any is a result.
    status: int
    #: The URL that answered, after redirects; a credential in its query is masked.
    url: str
    #: By name, in any case: `headers["Content-Type"]`; `get_list` has each line.
    headers: Headers = field(repr=False)
    #: How many requests the resource got, redirects not counted.
    attempts: int
    #: Whether a rejected token was refreshed.
    token_refreshed: bool
    #: The policy advices satisfied on the way.
    advices_satisfied: list[Advice]
    #: Where the time went.
    timing: Timing
    #: The reason phrase, where there is one.
    reason: str | None = None
    #: The body when it is textual and UTF-8.
    body: str | None = field(default=None, repr=False)
    #: The body otherwise.
    body_base64: str | None = field(default=None, repr=False)
    #: With body_to: how many bytes were written.
    body_bytes: int | None = None
    #: With 429 and 503: how long the server wants no requests (Retry-After).
    retry_after_ms: int | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> FetchResult:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["task"] = value["task"]
        members["status"] = value["status"]
        members["url"] = value["url"]
        members["headers"] = Headers.from_json(value["headers"])
        members["attempts"] = value["attempts"]
        members["token_refreshed"] = value["tokenRefreshed"]
        members["advices_satisfied"] = items(Advice.from_json, value["advicesSatisfied"])
        members["timing"] = Timing.from_json(value["timing"])
        members["reason"] = value.get("reason")
        members["body"] = value.get("body")
        members["body_base64"] = value.get("bodyBase64")
        members["body_bytes"] = value.get("bodyBytes")
        members["retry_after_ms"] = value.get("retryAfterMs")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "task": wire(self.task),
                "status": wire(self.status),
                "url": wire(self.url),
                "headers": wire(self.headers),
                "attempts": wire(self.attempts),
                "tokenRefreshed": wire(self.token_refreshed),
                "advicesSatisfied": wire(self.advices_satisfied),
                "timing": wire(self.timing),
                "reason": wire(self.reason),
                "body": wire(self.body),
                "bodyBase64": wire(self.body_base64),
                "bodyBytes": wire(self.body_bytes),
                "retryAfterMs": wire(self.retry_after_ms),
            }
        )


@dataclass(frozen=True)
class Task:
    """A fetch, while it runs and for a minute after."""

    #: The task's name.
    task: str
    #: running, suspended, cancelled or completed.
    state: Literal["running", "suspended", "cancelled", "completed"]
    #: The request's method.
    method: str
    #: The URL of the first request.
    url: str
    #: When it began.
    started_at: datetime
    #: Bytes of bodies that have come in, content codings undone.
    received_bytes: int
    #: Bytes of bodies that have gone out.
    sent_bytes: int

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Task:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["task"] = value["task"]
        members["state"] = value["state"]
        members["method"] = value["method"]
        members["url"] = value["url"]
        members["started_at"] = time(value["startedAt"])
        members["received_bytes"] = value["receivedBytes"]
        members["sent_bytes"] = value["sentBytes"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "task": wire(self.task),
                "state": wire(self.state),
                "method": wire(self.method),
                "url": wire(self.url),
                "startedAt": wire(self.started_at),
                "receivedBytes": wire(self.received_bytes),
                "sentBytes": wire(self.sent_bytes),
            }
        )


@dataclass(frozen=True)
class TaskList:
    """The caller's tasks."""

    #: The tasks.
    tasks: list[Task]
    #: Where the next page begins; left out when there is none.
    next_cursor: str | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> TaskList:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["tasks"] = items(Task.from_json, value["tasks"])
        members["next_cursor"] = value.get("nextCursor")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "tasks": wire(self.tasks),
                "nextCursor": wire(self.next_cursor),
            }
        )


@dataclass(frozen=True)
class Status:
    """Why something is not permitted, or not known."""

    #: The HTTP-style status; 0 when the decision point did not say this.
    status: int
    #: Error code; new codes may be added.
    code: str
    #: For people.
    message: str
    #: Suggested action: none, configuration, application-registration, authentication, authorization, degradation,
    #: retry, retry-after; new ones may be added.
    action: str
    #: The decision point's own words.
    details: str | None = None
    #: Where to read more.
    help_url: str | None = None
    #: The decision point's request id, for its support.
    trace: str | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Status:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["status"] = value["status"]
        members["code"] = value["code"]
        members["message"] = value["message"]
        members["action"] = value["action"]
        members["details"] = value.get("details")
        members["help_url"] = value.get("helpUrl")
        members["trace"] = value.get("trace")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "status": wire(self.status),
                "code": wire(self.code),
                "message": wire(self.message),
                "action": wire(self.action),
                "details": wire(self.details),
                "helpUrl": wire(self.help_url),
                "trace": wire(self.trace),
            }
        )


@dataclass(frozen=True)
class Decision(DecisionTruth):
    """The decision about one resource. It is true for a permit."""

    #: The resource as the call named it.
    id: str
    #: true for a permit; for nothing else.
    authorized: bool
    #: local: cached here; backend: the decision point; degradation: an operator's rule.
    source: Literal["local", "backend", "degradation"]
    #: Age of the decision.
    age_ms: int
    #: Why it is no permit; always there then.
    error: Status | None = None
    #: When the cached decision expires; left out when it is not cached.
    expires_at: datetime | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Decision:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["id"] = value["id"]
        members["authorized"] = value["authorized"]
        members["source"] = value["source"]
        members["age_ms"] = value["ageMs"]
        members["error"] = optional(Status.from_json, value.get("error"))
        members["expires_at"] = optional_time(value.get("expiresAt"))
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "id": wire(self.id),
                "authorized": wire(self.authorized),
                "source": wire(self.source),
                "ageMs": wire(self.age_ms),
                "error": wire(self.error),
                "expiresAt": wire(self.expires_at),
            }
        )


@dataclass(frozen=True)
class Preauthorization(PreauthorizationTruth):
    """Decisions, or the status with the reason why there are none. It is true if all are permits."""

    #: response: the decision point answered, if only with an error; failure: it could not be reached.
    outcome: Literal["response", "failure"]
    #: One for each resource, in the order of the request; empty when there is a status.
    decisions: list[Decision]
    #: Features of disable_features that this decision point cannot switch off.
    unhonored_features: list[Literal["LOCAL_CACHE", "REMOTE_CACHE"]]
    #: Why there are no decisions.
    status: Status | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Preauthorization:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["outcome"] = value["outcome"]
        members["decisions"] = items(Decision.from_json, value["decisions"])
        members["unhonored_features"] = value["unhonoredFeatures"]
        members["status"] = optional(Status.from_json, value.get("status"))
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "outcome": wire(self.outcome),
                "decisions": wire(self.decisions),
                "unhonoredFeatures": wire(self.unhonored_features),
                "status": wire(self.status),
            }
        )


@dataclass(frozen=True)
class DecisionInvalidation:
    """How many decisions were forgotten."""

    #: How many were forgotten.
    removed: int

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> DecisionInvalidation:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["removed"] = value["removed"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "removed": wire(self.removed),
            }
        )


@dataclass(frozen=True)
class VerificationKey:
    """The key that verified a token."""

    #: The token's alg.
    alg: str
    #: The key's kid, where it has one.
    kid: str | None = None
    #: RFC 7638 with SHA-256, base64url; none for a client secret.
    thumbprint: str | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> VerificationKey:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["alg"] = value["alg"]
        members["kid"] = value.get("kid")
        members["thumbprint"] = value.get("thumbprint")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "alg": wire(self.alg),
                "kid": wire(self.kid),
                "thumbprint": wire(self.thumbprint),
            }
        )


@dataclass(frozen=True)
class Violation:
    """The first check that failed; switch on `code`."""

    #: The first failing check; callers switch on it.
    code: str
    #: For people and logs.
    message: str
    #: The claim or header parameter concerned.
    claim: str | None = None
    #: The value that would have passed, where it may be shown.
    expected: Any | None = None
    #: The value that was found, where it may be shown.
    actual: Any | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Violation:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["code"] = value["code"]
        members["message"] = value["message"]
        members["claim"] = value.get("claim")
        members["expected"] = value.get("expected")
        members["actual"] = value.get("actual")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "code": wire(self.code),
                "message": wire(self.message),
                "claim": wire(self.claim),
                "expected": wire(self.expected),
                "actual": wire(self.actual),
            }
        )


@dataclass(frozen=True)
class ValidToken:
    """A token that is genuine and meets every requirement. It is true."""

    #: Whether the token is genuine and meets every requirement.
    valid: Literal[True]
    #: The claims; only when valid.
    claims: dict[str, Any] = field(repr=False)
    #: The protected header of the signed token; only when valid.
    header: dict[str, Any]
    #: The key that verified it; only when valid.
    key: VerificationKey
    #: Whether the signature was verified at an earlier call; only when valid.
    cached: bool
    #: Why it is not valid; only when it is not.
    error: None = None
    #: How many sessions a valid token ended; only with end.
    ended: int | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ValidToken:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["valid"] = value["valid"]
        members["claims"] = value["claims"]
        members["header"] = value["header"]
        members["key"] = VerificationKey.from_json(value["key"])
        members["cached"] = value["cached"]
        members["error"] = None
        members["ended"] = value.get("ended")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "valid": wire(self.valid),
                "claims": wire(self.claims),
                "header": wire(self.header),
                "key": wire(self.key),
                "cached": wire(self.cached),
                "error": wire(self.error),
                "ended": wire(self.ended),
            }
        )

    def __bool__(self) -> Literal[True]:
        return True


@dataclass(frozen=True)
class InvalidToken:
    """A token that is not, with the first reason. It is false."""

    #: Whether the token is genuine and meets every requirement.
    valid: Literal[False]
    #: Why it is not valid; only when it is not.
    error: Violation
    #: The claims; only when valid.
    claims: None = field(default=None, repr=False)
    #: The protected header of the signed token; only when valid.
    header: None = None
    #: The key that verified it; only when valid.
    key: None = None
    #: Whether the signature was verified at an earlier call; only when valid.
    cached: None = None
    #: How many sessions a valid token ended; only with end.
    ended: int | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> InvalidToken:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["valid"] = value["valid"]
        members["error"] = Violation.from_json(value["error"])
        members["claims"] = None
        members["header"] = None
        members["key"] = None
        members["cached"] = None
        members["ended"] = value.get("ended")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "valid": wire(self.valid),
                "error": wire(self.error),
                "claims": wire(self.claims),
                "header": wire(self.header),
                "key": wire(self.key),
                "cached": wire(self.cached),
                "ended": wire(self.ended),
            }
        )

    def __bool__(self) -> Literal[False]:
        return False


#: The result of a token's validation, true if it is valid. An invalid token is no exception.
TokenVerdict = Union[ValidToken, InvalidToken]


def token_verdict(value: dict[str, Any]) -> TokenVerdict:
    """Reads it from the protocol's members."""
    is_valid = value["valid"] is True
    return ValidToken.from_json(value) if is_valid else InvalidToken.from_json(value)


@dataclass(frozen=True)
class Confirmation:
    """The key whose possession a presenter has shown."""

    #: Thumbprint of the DPoP proof's key (RFC 9449 section 6.1).
    jkt: str | None = None
    #: SHA-256 thumbprint of the client certificate, base64url (RFC 8705 section 3.1).
    x5t_s256: str | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Confirmation:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["jkt"] = value.get("jkt")
        members["x5t_s256"] = value.get("x5tS256")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "jkt": wire(self.jkt),
                "x5tS256": wire(self.x5t_s256),
            }
        )


@dataclass(frozen=True)
class RequestViolation:
    """The first check that failed; switch on `code`."""

    #: The first failing check; callers switch on it.
    code: str
    #: For people and logs.
    message: str
    #: The claim or header parameter concerned.
    claim: str | None = None
    #: The value that would have passed, where it may be shown.
    expected: Any | None = None
    #: The value that was found, where it may be shown.
    actual: Any | None = None
    #: The part that is wrong, as htm of a proof.
    detail: str | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> RequestViolation:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["code"] = value["code"]
        members["message"] = value["message"]
        members["claim"] = value.get("claim")
        members["expected"] = value.get("expected")
        members["actual"] = value.get("actual")
        members["detail"] = value.get("detail")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "code": wire(self.code),
                "message": wire(self.message),
                "claim": wire(self.claim),
                "expected": wire(self.expected),
                "actual": wire(self.actual),
                "detail": wire(self.detail),
            }
        )


@dataclass(frozen=True)
class ReadyResponse:
    """What the API sends to its client, without a body."""

    #: 400, 401 or 403.
    status: int
    #: WWW-Authenticate and Cache-Control, with use_dpop_nonce DPoP-Nonce, too.
    headers: dict[str, str] = field(repr=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ReadyResponse:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["status"] = value["status"]
        members["headers"] = value["headers"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "status": wire(self.status),
                "headers": wire(self.headers),
            }
        )


@dataclass(frozen=True)
class AcceptedRequest:
    """A request that may pass. It is true."""

    #: Whether the request may pass.
    valid: Literal[True]
    #: The token's claims, or the members of the issuer's answer; only when valid.
    claims: dict[str, Any] = field(repr=False)
    #: How the token was shown; only when valid.
    token_type: Literal["Bearer", "DPoP"]
    #: Whether the signature was verified or the issuer answered at an earlier call; only when valid.
    cached: bool
    #: The keys that a valid token is bound to; only for such a token.
    confirmation: Confirmation | None = None
    #: Why it may not; only when it is not.
    error: None = None
    #: The response for the API to send, without a body; only when it is not.
    response: None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> AcceptedRequest:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["valid"] = value["valid"]
        members["claims"] = value["claims"]
        members["token_type"] = value["tokenType"]
        members["cached"] = value["cached"]
        members["confirmation"] = optional(Confirmation.from_json, value.get("confirmation"))
        members["error"] = None
        members["response"] = None
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "valid": wire(self.valid),
                "claims": wire(self.claims),
                "tokenType": wire(self.token_type),
                "cached": wire(self.cached),
                "confirmation": wire(self.confirmation),
                "error": wire(self.error),
                "response": wire(self.response),
            }
        )

    def __bool__(self) -> Literal[True]:
        return True


@dataclass(frozen=True)
class RejectedRequest:
    """A request that may not, with the response to send. It is false."""

    #: Whether the request may pass.
    valid: Literal[False]
    #: Why it may not; only when it is not.
    error: RequestViolation
    #: The response for the API to send, without a body; only when it is not.
    response: ReadyResponse
    #: The token's claims, or the members of the issuer's answer; only when valid.
    claims: None = field(default=None, repr=False)
    #: How the token was shown; only when valid.
    token_type: None = None
    #: The keys that a valid token is bound to; only for such a token.
    confirmation: Confirmation | None = None
    #: Whether the signature was verified or the issuer answered at an earlier call; only when valid.
    cached: None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> RejectedRequest:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["valid"] = value["valid"]
        members["error"] = RequestViolation.from_json(value["error"])
        members["response"] = ReadyResponse.from_json(value["response"])
        members["claims"] = None
        members["token_type"] = None
        members["confirmation"] = optional(Confirmation.from_json, value.get("confirmation"))
        members["cached"] = None
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "valid": wire(self.valid),
                "error": wire(self.error),
                "response": wire(self.response),
                "claims": wire(self.claims),
                "tokenType": wire(self.token_type),
                "confirmation": wire(self.confirmation),
                "cached": wire(self.cached),
            }
        )

    def __bool__(self) -> Literal[False]:
        return False


#: Whether a request may pass an API, true if it may. One that may not is no exception.
RequestVerdict = Union[AcceptedRequest, RejectedRequest]


def request_verdict(value: dict[str, Any]) -> RequestVerdict:
    """Reads it from the protocol's members."""
    is_valid = value["valid"] is True
    return AcceptedRequest.from_json(value) if is_valid else RejectedRequest.from_json(value)


@dataclass(frozen=True)
class ValidIntrospection:
    """The token is active and meets every requirement. It is true."""

    #: Whether the token is active and meets every requirement.
    valid: Literal[True]
    #: The members of the issuer's answer; only when valid.
    claims: dict[str, Any] = field(repr=False)
    #: Why it is not valid; only when it is not.
    error: None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ValidIntrospection:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["valid"] = value["valid"]
        members["claims"] = value["claims"]
        members["error"] = None
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "valid": wire(self.valid),
                "claims": wire(self.claims),
                "error": wire(self.error),
            }
        )

    def __bool__(self) -> Literal[True]:
        return True


@dataclass(frozen=True)
class InvalidIntrospection:
    """The token is not, with the reason. It is false."""

    #: Whether the token is active and meets every requirement.
    valid: Literal[False]
    #: Why it is not valid; only when it is not.
    error: Violation
    #: The members of the issuer's answer; only when valid.
    claims: None = field(default=None, repr=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> InvalidIntrospection:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["valid"] = value["valid"]
        members["error"] = Violation.from_json(value["error"])
        members["claims"] = None
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "valid": wire(self.valid),
                "error": wire(self.error),
                "claims": wire(self.claims),
            }
        )

    def __bool__(self) -> Literal[False]:
        return False


#: The authorization server's information about a token.
IntrospectionVerdict = Union[ValidIntrospection, InvalidIntrospection]


def introspection_verdict(value: dict[str, Any]) -> IntrospectionVerdict:
    """Reads it from the protocol's members."""
    is_valid = value["valid"] is True
    return ValidIntrospection.from_json(value) if is_valid else InvalidIntrospection.from_json(value)


@dataclass(frozen=True)
class ValidJWS(JWSPayload):
    """The given key made the signature. It is true."""

    #: Whether the signature is one of the key.
    valid: Literal[True]
    #: The protected header, where it can be read; the sender's word unless valid.
    header: dict[str, Any] | None = None
    #: The payload when it is valid UTF-8; only when valid.
    payload: str | None = field(default=None, repr=False)
    #: The payload otherwise; only when valid.
    payload_base64: str | None = field(default=None, repr=False)
    #: Why it is not valid; only when it is not.
    error: None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ValidJWS:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["valid"] = value["valid"]
        members["header"] = value.get("header")
        members["payload"] = value.get("payload")
        members["payload_base64"] = value.get("payloadBase64")
        members["error"] = None
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "valid": wire(self.valid),
                "header": wire(self.header),
                "payload": wire(self.payload),
                "payloadBase64": wire(self.payload_base64),
                "error": wire(self.error),
            }
        )

    def __bool__(self) -> Literal[True]:
        return True


@dataclass(frozen=True)
class InvalidJWS(JWSPayload):
    """It did not, with the reason. It is false."""

    #: Whether the signature is one of the key.
    valid: Literal[False]
    #: Why it is not valid; only when it is not.
    error: Violation
    #: The protected header, where it can be read; the sender's word unless valid.
    header: dict[str, Any] | None = None
    #: The payload when it is valid UTF-8; only when valid.
    payload: None = field(default=None, repr=False)
    #: The payload otherwise; only when valid.
    payload_base64: None = field(default=None, repr=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> InvalidJWS:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["valid"] = value["valid"]
        members["error"] = Violation.from_json(value["error"])
        members["header"] = value.get("header")
        members["payload"] = None
        members["payload_base64"] = None
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "valid": wire(self.valid),
                "error": wire(self.error),
                "header": wire(self.header),
                "payload": wire(self.payload),
                "payloadBase64": wire(self.payload_base64),
            }
        )

    def __bool__(self) -> Literal[False]:
        return False


#: Whether a given key made a signature.
JWSVerdict = Union[ValidJWS, InvalidJWS]


def jws_verdict(value: dict[str, Any]) -> JWSVerdict:
    """Reads it from the protocol's members."""
    is_valid = value["valid"] is True
    return ValidJWS.from_json(value) if is_valid else InvalidJWS.from_json(value)


@dataclass(frozen=True)
class ValidJWE(JWEPlaintext):
    """The given key opens the message. It is true."""

    #: Whether the key opens the message.
    valid: Literal[True]
    #: The protected header, where it can be read; the sender's word unless valid.
    header: dict[str, Any] | None = None
    #: The plaintext when it is valid UTF-8; only when valid.
    plaintext: str | None = field(default=None, repr=False)
    #: The plaintext otherwise; only when valid.
    plaintext_base64: str | None = field(default=None, repr=False)
    #: Why it is not valid; only when it is not.
    error: None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ValidJWE:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["valid"] = value["valid"]
        members["header"] = value.get("header")
        members["plaintext"] = value.get("plaintext")
        members["plaintext_base64"] = value.get("plaintextBase64")
        members["error"] = None
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "valid": wire(self.valid),
                "header": wire(self.header),
                "plaintext": wire(self.plaintext),
                "plaintextBase64": wire(self.plaintext_base64),
                "error": wire(self.error),
            }
        )

    def __bool__(self) -> Literal[True]:
        return True


@dataclass(frozen=True)
class InvalidJWE(JWEPlaintext):
    """It does not, with the reason. It is false."""

    #: Whether the key opens the message.
    valid: Literal[False]
    #: Why it is not valid; only when it is not.
    error: Violation
    #: The protected header, where it can be read; the sender's word unless valid.
    header: dict[str, Any] | None = None
    #: The plaintext when it is valid UTF-8; only when valid.
    plaintext: None = field(default=None, repr=False)
    #: The plaintext otherwise; only when valid.
    plaintext_base64: None = field(default=None, repr=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> InvalidJWE:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["valid"] = value["valid"]
        members["error"] = Violation.from_json(value["error"])
        members["header"] = value.get("header")
        members["plaintext"] = None
        members["plaintext_base64"] = None
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "valid": wire(self.valid),
                "error": wire(self.error),
                "header": wire(self.header),
                "plaintext": wire(self.plaintext),
                "plaintextBase64": wire(self.plaintext_base64),
            }
        )

    def __bool__(self) -> Literal[False]:
        return False


#: Whether a given key opens a message.
JWEVerdict = Union[ValidJWE, InvalidJWE]


def jwe_verdict(value: dict[str, Any]) -> JWEVerdict:
    """Reads it from the protocol's members."""
    is_valid = value["valid"] is True
    return ValidJWE.from_json(value) if is_valid else InvalidJWE.from_json(value)


@dataclass(frozen=True)
class Grant(GrantForms):
    """From what a session is made. The class methods name the forms."""

    #: The grant; the other members belong to some of them.
    type: Literal["tokens", "sso", "implicit", "refresh_token", "token_exchange", "jwt_bearer", "authorization_code"]
    #: tokens: an access token from elsewhere.
    access_token: str | None = field(default=None, repr=False)
    #: tokens, refresh_token: a refresh token.
    refresh_token: str | None = field(default=None, repr=False)
    #: tokens: an ID token, which is validated.
    id_token: str | None = field(default=None, repr=False)
    #: tokens: the access token's life in seconds from now; default 300.
    expires_in: int | None = None
    #: tokens: the scope that was granted.
    scope: str | None = None
    #: tokens, sso: a single sign-on token of the access manager.
    sso_token: str | None = field(default=None, repr=False)
    #: token_exchange: the token to exchange (RFC 8693).
    subject_token: str | None = field(default=None, repr=False)
    #: token_exchange: its type; default an access token.
    subject_token_type: str | None = None
    #: token_exchange: an access token of the acting party.
    actor_token: str | None = field(default=None, repr=False)
    #: jwt_bearer: the assertion (RFC 7523 section 2.1).
    assertion: str | None = field(default=None, repr=False)
    #: authorization_code: the code.
    code: str | None = field(default=None, repr=False)
    #: authorization_code: the verifier of PKCE.
    code_verifier: str | None = field(default=None, repr=False)
    #: authorization_code: where the code was sent.
    redirect_uri: str | None = None
    #: implicit: the subject of an earlier user session of this peer.
    profile: str | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Grant:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["type"] = value["type"]
        members["access_token"] = value.get("accessToken")
        members["refresh_token"] = value.get("refreshToken")
        members["id_token"] = value.get("idToken")
        members["expires_in"] = value.get("expiresIn")
        members["scope"] = value.get("scope")
        members["sso_token"] = value.get("ssoToken")
        members["subject_token"] = value.get("subjectToken")
        members["subject_token_type"] = value.get("subjectTokenType")
        members["actor_token"] = value.get("actorToken")
        members["assertion"] = value.get("assertion")
        members["code"] = value.get("code")
        members["code_verifier"] = value.get("codeVerifier")
        members["redirect_uri"] = value.get("redirectUri")
        members["profile"] = value.get("profile")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "type": wire(self.type),
                "accessToken": wire(self.access_token),
                "refreshToken": wire(self.refresh_token),
                "idToken": wire(self.id_token),
                "expiresIn": wire(self.expires_in),
                "scope": wire(self.scope),
                "ssoToken": wire(self.sso_token),
                "subjectToken": wire(self.subject_token),
                "subjectTokenType": wire(self.subject_token_type),
                "actorToken": wire(self.actor_token),
                "assertion": wire(self.assertion),
                "code": wire(self.code),
                "codeVerifier": wire(self.code_verifier),
                "redirectUri": wire(self.redirect_uri),
                "profile": wire(self.profile),
            }
        )


@dataclass(frozen=True)
class Session(SessionForms):
    """A user's login at an issuer; never a token."""

    #: The handle: keep it, and keep it to yourself.
    session: str = field(repr=False)
    #: The issuer's name in the configuration.
    issuer: str
    #: user, or implicit: a registered profile without its user.
    kind: SessionKind
    #: The scope that was granted; empty when it is not known.
    scope: str
    #: When it began.
    created_at: datetime
    #: The user's identifier at the issuer, where it is known.
    subject: str | None = None
    #: When it ends, where that is known.
    expires_at: datetime | None = None
    #: When the current access token expires.
    access_token_expires_at: datetime | None = None
    #: The claims of the ID token.
    claims: dict[str, Any] | None = field(default=None, repr=False)
    #: The authentication context.
    acr: str | None = None
    #: When the user authenticated, in seconds since the epoch.
    auth_time: int | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Session:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["session"] = value["session"]
        members["issuer"] = value["issuer"]
        members["kind"] = value["kind"]
        members["scope"] = value["scope"]
        members["created_at"] = time(value["createdAt"])
        members["subject"] = value.get("subject")
        members["expires_at"] = optional_time(value.get("expiresAt"))
        members["access_token_expires_at"] = optional_time(value.get("accessTokenExpiresAt"))
        members["claims"] = value.get("claims")
        members["acr"] = value.get("acr")
        members["auth_time"] = value.get("authTime")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "session": wire(self.session),
                "issuer": wire(self.issuer),
                "kind": wire(self.kind),
                "scope": wire(self.scope),
                "createdAt": wire(self.created_at),
                "subject": wire(self.subject),
                "expiresAt": wire(self.expires_at),
                "accessTokenExpiresAt": wire(self.access_token_expires_at),
                "claims": wire(self.claims),
                "acr": wire(self.acr),
                "authTime": wire(self.auth_time),
            }
        )


@dataclass(frozen=True)
class AuthorizationRequest:
    """Where to send the user's browser."""

    #: Where to send the user's browser.
    authorization_url: str = field(repr=False)
    #: The state of the authorization request; the callback contains it. Keep it in a cookie of the browser (HttpOnly,
    #: Secure, SameSite=Lax).
    state: str = field(repr=False)
    #: When the authorization expires.
    expires_at: datetime
    #: A ready Set-Cookie value that does so; left out where redirect_uri is not http or https.
    cookie: str | None = field(default=None, repr=False)
    #: The redirect_uri that was used, when the call left it out.
    redirect_uri: str | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> AuthorizationRequest:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["authorization_url"] = value["authorizationUrl"]
        members["state"] = value["state"]
        members["expires_at"] = time(value["expiresAt"])
        members["cookie"] = value.get("cookie")
        members["redirect_uri"] = value.get("redirectUri")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "authorizationUrl": wire(self.authorization_url),
                "state": wire(self.state),
                "expiresAt": wire(self.expires_at),
                "cookie": wire(self.cookie),
                "redirectUri": wire(self.redirect_uri),
            }
        )


@dataclass(frozen=True)
class DeviceAuthorization:
    """The code and URL to show to the user."""

    #: The handle to pass to complete_device_authorization.
    handle: str = field(repr=False)
    #: The code that the user types.
    user_code: str
    #: The page on which the user types it.
    verification_uri: str
    #: When the code expires.
    expires_at: datetime
    #: How long to wait between two questions.
    interval_ms: int
    #: The same with the code in it, for a link or a QR code.
    verification_uri_complete: str | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> DeviceAuthorization:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["handle"] = value["handle"]
        members["user_code"] = value["userCode"]
        members["verification_uri"] = value["verificationUri"]
        members["expires_at"] = time(value["expiresAt"])
        members["interval_ms"] = value["intervalMs"]
        members["verification_uri_complete"] = value.get("verificationUriComplete")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "handle": wire(self.handle),
                "userCode": wire(self.user_code),
                "verificationUri": wire(self.verification_uri),
                "expiresAt": wire(self.expires_at),
                "intervalMs": wire(self.interval_ms),
                "verificationUriComplete": wire(self.verification_uri_complete),
            }
        )


@dataclass(frozen=True)
class SessionList:
    """The caller's sessions, the oldest first."""

    #: The sessions.
    sessions: list[Session]
    #: Where the next page begins; left out when there is none.
    next_cursor: str | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> SessionList:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["sessions"] = items(Session.from_json, value["sessions"])
        members["next_cursor"] = value.get("nextCursor")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "sessions": wire(self.sessions),
                "nextCursor": wire(self.next_cursor),
            }
        )


@dataclass(frozen=True)
class SessionEnd:
    """What became of a session at its issuer."""

    #: true: it is gone here.
    ended: bool
    #: ended, failed, or none when there was nothing to end at the issuer.
    upstream: Literal["ended", "failed", "none"]

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> SessionEnd:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["ended"] = value["ended"]
        members["upstream"] = value["upstream"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "ended": wire(self.ended),
                "upstream": wire(self.upstream),
            }
        )


@dataclass(frozen=True)
class AccessToken:
    """A token that has left the sidecar."""

    #: The token.
    access_token: str = field(repr=False)
    #: Bearer: nothing else leaves.
    token_type: str
    #: When it expires.
    expires_at: datetime
    #: The granted scope, if the issuer returned it.
    scope: str | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> AccessToken:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["access_token"] = value["accessToken"]
        members["token_type"] = value["tokenType"]
        members["expires_at"] = time(value["expiresAt"])
        members["scope"] = value.get("scope")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "accessToken": wire(self.access_token),
                "tokenType": wire(self.token_type),
                "expiresAt": wire(self.expires_at),
                "scope": wire(self.scope),
            }
        )


@dataclass(frozen=True)
class TokenRevocation:
    """That a token was revoked."""

    #: true.
    revoked: bool

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> TokenRevocation:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["revoked"] = value["revoked"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "revoked": wire(self.revoked),
            }
        )


@dataclass(frozen=True)
class Advice:
    """What a user has to do before a request is let through."""

    #: TransactionConditionAdvice, AuthenticateToServiceConditionAdvice, …; insufficient_user_authentication (RFC 9470);
    #: uma_ticket.
    type: str
    #: The value of the advice; with every type but insufficient_user_authentication.
    value: str | None = None
    #: The transaction it is about; with TransactionConditionAdvice only.
    tx_id: str | None = None
    #: The authIndexType of requests to the access manager: composite_advice.
    auth_index_type: str | None = None
    #: The advice in the access manager's XML, escaped and without white space.
    auth_index_value: str | None = None
    #: The realm its source named.
    realm: str | None = None
    #: The authentication contexts of which one is required (RFC 9470).
    acr_values: list[str] | None = None
    #: How many seconds ago the user may have authenticated at most (RFC 9470).
    max_age: int | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Advice:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["type"] = value["type"]
        members["value"] = value.get("value")
        members["tx_id"] = value.get("txId")
        members["auth_index_type"] = value.get("authIndexType")
        members["auth_index_value"] = value.get("authIndexValue")
        members["realm"] = value.get("realm")
        members["acr_values"] = value.get("acrValues")
        members["max_age"] = value.get("maxAge")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "type": wire(self.type),
                "value": wire(self.value),
                "txId": wire(self.tx_id),
                "authIndexType": wire(self.auth_index_type),
                "authIndexValue": wire(self.auth_index_value),
                "realm": wire(self.realm),
                "acrValues": wire(self.acr_values),
                "maxAge": wire(self.max_age),
            }
        )


@dataclass(frozen=True)
class ParsedAdvice:
    """The advice in a response; none is no error."""

    #: In order, each once; at most 16.
    advices: list[Advice]
    #: The part of the response that contained them; only when there are any.
    source: Literal["header", "redirect", "body"] | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ParsedAdvice:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["advices"] = items(Advice.from_json, value["advices"])
        members["source"] = value.get("source")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "advices": wire(self.advices),
                "source": wire(self.source),
            }
        )


@dataclass(frozen=True)
class JourneyFailure:
    """The access manager's rejection."""

    #: The access manager's code, that of the HTTP status.
    code: int
    #: The access manager's message.
    message: str
    #: Further details from it.
    detail: Any | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> JourneyFailure:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["code"] = value["code"]
        members["message"] = value["message"]
        members["detail"] = value.get("detail")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "code": wire(self.code),
                "message": wire(self.message),
                "detail": wire(self.detail),
            }
        )


@dataclass(frozen=True)
class JourneyStep(JourneyAnswers):
    """The next questions for a user, or the result of a login."""

    #: callbacks: the user has to answer; completed: it is over; failed: the access manager rejected it.
    state: Literal["callbacks", "completed", "failed"]
    #: With callbacks: one-time value for the next call. With completed: the suspended fetch's; pass it to
    #: fetch_resource.
    continuation: str | None = field(default=None, repr=False)
    #: The questions to the user: the access manager's own JSON, unchanged.
    callbacks: list[dict[str, Any]] | None = field(default=None, repr=False)
    #: The name that the tree gives the page.
    stage: str | None = None
    #: The page's heading.
    header: dict[str, Any] | None = None
    #: The page's text.
    description: str | None = None
    #: When the continuation expires.
    expires_at: datetime | None = None
    #: The transaction that the journey was about; only the resource shows whether it was confirmed.
    tx_id: str | None = None
    #: The session's handle, with completed; not with no_session.
    session: str | None = field(default=None, repr=False)
    #: Whether the session has new tokens; with completed.
    session_upgraded: bool | None = None
    #: The rejection, with failed.
    error: JourneyFailure | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> JourneyStep:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["state"] = value["state"]
        members["continuation"] = value.get("continuation")
        members["callbacks"] = value.get("callbacks")
        members["stage"] = value.get("stage")
        members["header"] = value.get("header")
        members["description"] = value.get("description")
        members["expires_at"] = optional_time(value.get("expiresAt"))
        members["tx_id"] = value.get("txId")
        members["session"] = value.get("session")
        members["session_upgraded"] = value.get("sessionUpgraded")
        members["error"] = optional(JourneyFailure.from_json, value.get("error"))
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "state": wire(self.state),
                "continuation": wire(self.continuation),
                "callbacks": wire(self.callbacks),
                "stage": wire(self.stage),
                "header": wire(self.header),
                "description": wire(self.description),
                "expiresAt": wire(self.expires_at),
                "txId": wire(self.tx_id),
                "session": wire(self.session),
                "sessionUpgraded": wire(self.session_upgraded),
                "error": wire(self.error),
            }
        )


@dataclass(frozen=True)
class ResponseWithAdvice:
    """A response got elsewhere."""

    #: The HTTP status, 100 to 599.
    status: int
    #: Name to value, or to an array of values.
    headers: Mapping[str, str | Sequence[str]] = field(repr=False)
    #: The body as text; over 256 KiB it is not looked into.
    body: str | None = field(default=None, repr=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ResponseWithAdvice:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["status"] = value["status"]
        members["headers"] = value["headers"]
        members["body"] = value.get("body")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "status": wire(self.status),
                "headers": wire(self.headers),
                "body": wire(self.body),
            }
        )


@dataclass(frozen=True)
class PassDevice:
    """The device whose login it is; what is None is the configured device's."""

    #: The device's id, 1 to 256 bytes; default: the configured one. Another id is another device, with profiles and
    #: codes of its own.
    id: str | None = field(default=None, repr=False)
    #: Members of X-Device-Info, which replace configured ones of the same name.
    info: dict[str, str] | None = field(default=None, repr=False)
    #: The device's public IP address, by which Adobe Pass limits the rate of requests.
    address: str | None = field(default=None, repr=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PassDevice:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["id"] = value.get("id")
        members["info"] = value.get("info")
        members["address"] = value.get("address")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "id": wire(self.id),
                "info": wire(self.info),
                "address": wire(self.address),
            }
        )


@dataclass(frozen=True)
class PassDomain:
    """A domain of the service provider."""

    #: The name, which calls give as domain_name.
    name: str
    #: Whether logins may start at the MVPD.
    mvpd_initiated: bool

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PassDomain:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["name"] = value["name"]
        members["mvpd_initiated"] = value["mvpdInitiated"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "name": wire(self.name),
                "mvpdInitiated": wire(self.mvpd_initiated),
            }
        )


@dataclass(frozen=True)
class Mvpd:
    """A television provider."""

    #: The id, which calls give as mvpd.
    id: str
    #: It stands for a TempPass.
    is_temp_pass: bool
    #: It is reached through another MVPD.
    is_proxy: bool
    #: Single sign-on of platforms is on.
    enable_platform_services: bool
    #: The platform's own picker shows it.
    display_in_platform_picker: bool
    #: A user who denies the platform's access gets no shared login.
    enforce_platform_permissions: bool
    #: A login is for one service provider: no single sign-on.
    auth_per_aggregator: bool
    #: A login is for one browser session.
    auth_per_browser_session: bool
    #: A login may be prolonged without the user.
    passive_authn_enabled: bool
    #: The name for people.
    display_name: str | None = None
    #: The URL of the logo; the sidecar does not fetch it.
    logo_url: str | None = None
    #: How the platform's partner supports it: SUPPORTED, PICKER; new values may be added.
    boarding_status: str | None = None
    #: The partner's id of it.
    platform_mapping_id: str | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Mvpd:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["id"] = value["id"]
        members["is_temp_pass"] = value["isTempPass"]
        members["is_proxy"] = value["isProxy"]
        members["enable_platform_services"] = value["enablePlatformServices"]
        members["display_in_platform_picker"] = value["displayInPlatformPicker"]
        members["enforce_platform_permissions"] = value["enforcePlatformPermissions"]
        members["auth_per_aggregator"] = value["authPerAggregator"]
        members["auth_per_browser_session"] = value["authPerBrowserSession"]
        members["passive_authn_enabled"] = value["passiveAuthnEnabled"]
        members["display_name"] = value.get("displayName")
        members["logo_url"] = value.get("logoUrl")
        members["boarding_status"] = value.get("boardingStatus")
        members["platform_mapping_id"] = value.get("platformMappingId")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "id": wire(self.id),
                "isTempPass": wire(self.is_temp_pass),
                "isProxy": wire(self.is_proxy),
                "enablePlatformServices": wire(self.enable_platform_services),
                "displayInPlatformPicker": wire(self.display_in_platform_picker),
                "enforcePlatformPermissions": wire(self.enforce_platform_permissions),
                "authPerAggregator": wire(self.auth_per_aggregator),
                "authPerBrowserSession": wire(self.auth_per_browser_session),
                "passiveAuthnEnabled": wire(self.passive_authn_enabled),
                "displayName": wire(self.display_name),
                "logoUrl": wire(self.logo_url),
                "boardingStatus": wire(self.boarding_status),
                "platformMappingId": wire(self.platform_mapping_id),
            }
        )


@dataclass(frozen=True)
class PassConfiguration:
    """A service provider at Adobe Pass: the MVPDs among which its users choose."""

    #: The service provider's id.
    service_provider: str
    #: Its domains.
    domains: list[PassDomain]
    #: Its MVPDs, in Adobe's order.
    mvpds: list[Mvpd]
    #: Whether it came from memory.
    cached: bool
    #: When it is requested again.
    expires_at: datetime
    #: The service provider's name.
    display_name: str | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PassConfiguration:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["service_provider"] = value["serviceProvider"]
        members["domains"] = items(PassDomain.from_json, value["domains"])
        members["mvpds"] = items(Mvpd.from_json, value["mvpds"])
        members["cached"] = value["cached"]
        members["expires_at"] = time(value["expiresAt"])
        members["display_name"] = value.get("displayName")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "serviceProvider": wire(self.service_provider),
                "domains": wire(self.domains),
                "mvpds": wire(self.mvpds),
                "cached": wire(self.cached),
                "expiresAt": wire(self.expires_at),
                "displayName": wire(self.display_name),
            }
        )


@dataclass(frozen=True)
class PassPlatform:
    """The token of a device's platform."""

    #: amazon or roku.
    name: Literal["amazon", "roku"]
    #: The platform's token as it gave it; it is sent on and not inspected.
    token: str = field(repr=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PassPlatform:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["name"] = value["name"]
        members["token"] = value["token"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "name": wire(self.name),
                "token": wire(self.token),
            }
        )


@dataclass(frozen=True)
class PassPartner:
    """The state of a partner's framework on the device."""

    #: The partner's name in Adobe's paths, as in Apple.
    name: str
    #: frameworkPermissionInfo and frameworkProviderInfo, sent in the given order.
    framework_status: dict[str, Any] = field(repr=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PassPartner:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["name"] = value["name"]
        members["framework_status"] = value["frameworkStatus"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "name": wire(self.name),
                "frameworkStatus": wire(self.framework_status),
            }
        )


@dataclass(frozen=True)
class PassAuthenticationRequest:
    """The request that a partner's framework makes a SAML response for."""

    #: The kind: saml.
    type: str
    #: The request in base64.
    request: str = field(repr=False)
    #: The attributes that the response must have.
    attributes_names: list[str]

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PassAuthenticationRequest:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["type"] = value["type"]
        members["request"] = value["request"]
        members["attributes_names"] = value["attributesNames"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "type": wire(self.type),
                "request": wire(self.request),
                "attributesNames": wire(self.attributes_names),
            }
        )


@dataclass(frozen=True)
class PassSession:
    """The next step of a login: switch on `action_name`."""

    #: authenticate: open url, or show the code; resume: show the code, or complete missing_parameters by
    #: adobe_pass.resume_session; retry: complete them and resume again; authorize: the user is logged in;
    #: partner_profile: give authentication_request to the partner's framework.
    action_name: str
    #: interactive, with a browser; direct, without.
    action_type: str
    #: Which of mvpd, domain_name and redirect_url are missing.
    missing_parameters: list[str]
    #: Why: authenticated, authenticatedSSO, temporary, degraded, none; new values may be added.
    reason_type: str | None = None
    #: The service provider's id.
    service_provider: str | None = None
    #: Adobe's id of the session, for tracking.
    session_id: str | None = None
    #: The code of the login, for the user and for the calls that continue.
    code: str | None = field(default=None, repr=False)
    #: The URL that the user's browser opens: absolute, of an origin that the configuration allows.
    url: str | None = field(default=None, repr=False)
    #: The MVPD.
    mvpd: str | None = None
    #: The request for the partner's framework.
    authentication_request: PassAuthenticationRequest | None = field(default=None, repr=False)
    #: When the code's life begins.
    not_before_at: datetime | None = None
    #: When the code's life ends; always there with a code.
    expires_at: datetime | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PassSession:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["action_name"] = value["actionName"]
        members["action_type"] = value["actionType"]
        members["missing_parameters"] = value["missingParameters"]
        members["reason_type"] = value.get("reasonType")
        members["service_provider"] = value.get("serviceProvider")
        members["session_id"] = value.get("sessionId")
        members["code"] = value.get("code")
        members["url"] = value.get("url")
        members["mvpd"] = value.get("mvpd")
        members["authentication_request"] = optional(
            PassAuthenticationRequest.from_json, value.get("authenticationRequest")
        )
        members["not_before_at"] = optional_time(value.get("notBeforeAt"))
        members["expires_at"] = optional_time(value.get("expiresAt"))
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "actionName": wire(self.action_name),
                "actionType": wire(self.action_type),
                "missingParameters": wire(self.missing_parameters),
                "reasonType": wire(self.reason_type),
                "serviceProvider": wire(self.service_provider),
                "sessionId": wire(self.session_id),
                "code": wire(self.code),
                "url": wire(self.url),
                "mvpd": wire(self.mvpd),
                "authenticationRequest": wire(self.authentication_request),
                "notBeforeAt": wire(self.not_before_at),
                "expiresAt": wire(self.expires_at),
            }
        )


@dataclass(frozen=True)
class PassShownDevice:
    """The device that shows a code, as a second screen may know it."""

    #: The kind of hardware.
    type: str | None = None
    #: The model.
    model: str | None = None
    #: The application.
    application_id: str | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PassShownDevice:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["type"] = value.get("type")
        members["model"] = value.get("model")
        members["application_id"] = value.get("applicationId")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "type": wire(self.type),
                "model": wire(self.model),
                "applicationId": wire(self.application_id),
            }
        )


@dataclass(frozen=True)
class PassSessionStatus:
    """A login as a second screen sees it by its code."""

    #: The code.
    code: str = field(repr=False)
    #: Which of mvpd, domain_name and redirect_url are missing.
    missing_parameters: list[str]
    #: The service provider's id.
    service_provider: str | None = None
    #: The MVPD.
    mvpd: str | None = None
    #: The domain.
    domain_name: str | None = None
    #: Where the browser comes back to.
    redirect_url: str | None = None
    #: Where a browser logs in; left out while something is missing.
    authenticate_url: str | None = field(default=None, repr=False)
    #: When the code's life begins.
    not_before_at: datetime | None = None
    #: When the code's life ends.
    expires_at: datetime | None = None
    #: The device that shows the code.
    device: PassShownDevice | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PassSessionStatus:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["code"] = value["code"]
        members["missing_parameters"] = value["missingParameters"]
        members["service_provider"] = value.get("serviceProvider")
        members["mvpd"] = value.get("mvpd")
        members["domain_name"] = value.get("domainName")
        members["redirect_url"] = value.get("redirectUrl")
        members["authenticate_url"] = value.get("authenticateUrl")
        members["not_before_at"] = optional_time(value.get("notBeforeAt"))
        members["expires_at"] = optional_time(value.get("expiresAt"))
        members["device"] = optional(PassShownDevice.from_json, value.get("device"))
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "code": wire(self.code),
                "missingParameters": wire(self.missing_parameters),
                "serviceProvider": wire(self.service_provider),
                "mvpd": wire(self.mvpd),
                "domainName": wire(self.domain_name),
                "redirectUrl": wire(self.redirect_url),
                "authenticateUrl": wire(self.authenticate_url),
                "notBeforeAt": wire(self.not_before_at),
                "expiresAt": wire(self.expires_at),
                "device": wire(self.device),
            }
        )


@dataclass(frozen=True)
class PassRespondingPartner:
    """The state of a partner's framework, and the SAML response that it made."""

    #: The partner's name in Adobe's paths, as in Apple.
    name: str
    #: frameworkPermissionInfo and frameworkProviderInfo, sent in the given order.
    framework_status: dict[str, Any] = field(repr=False)
    #: The framework's SAML response, as XML: a profile is made of it. Only without mvpd, all and code.
    saml_response: str | None = field(default=None, repr=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PassRespondingPartner:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["name"] = value["name"]
        members["framework_status"] = value["frameworkStatus"]
        members["saml_response"] = value.get("samlResponse")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "name": wire(self.name),
                "frameworkStatus": wire(self.framework_status),
                "samlResponse": wire(self.saml_response),
            }
        )


@dataclass(frozen=True)
class PassIdentity:
    """The identity for a promotional TempPass."""

    #: The JSON text of an object, at most 4096 bytes; these bytes are sent.
    identity: str = field(repr=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PassIdentity:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["identity"] = value["identity"]
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "identity": wire(self.identity),
            }
        )


@dataclass(frozen=True)
class PassProfile:
    """A login at an MVPD."""

    #: The MVPD's id.
    mvpd: str
    #: regular, appleSSO, platformSSO, serviceTokenSSO, temporary or degraded; new values may be added.
    type: str
    #: The author: an MVPD's id, Adobe, or a partner.
    issuer: str
    #: When it ends.
    expires_at: datetime
    #: The user's attributes as Adobe wrote them; they may identify a person.
    attributes: Any = field(repr=False)
    #: When it begins.
    not_before_at: datetime | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PassProfile:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["mvpd"] = value["mvpd"]
        members["type"] = value["type"]
        members["issuer"] = value["issuer"]
        members["expires_at"] = time(value["expiresAt"])
        members["attributes"] = value["attributes"]
        members["not_before_at"] = optional_time(value.get("notBeforeAt"))
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "mvpd": wire(self.mvpd),
                "type": wire(self.type),
                "issuer": wire(self.issuer),
                "expiresAt": wire(self.expires_at),
                "attributes": wire(self.attributes),
                "notBeforeAt": wire(self.not_before_at),
            }
        )


@dataclass(frozen=True)
class RememberedMvpd:
    """The MVPD that the device's user chose before."""

    #: The id.
    id: str
    #: The name, if it was known.
    display_name: str | None = None
    #: The URL of the logo, if it was known.
    logo_url: str | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> RememberedMvpd:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["id"] = value["id"]
        members["display_name"] = value.get("displayName")
        members["logo_url"] = value.get("logoUrl")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "id": wire(self.id),
                "displayName": wire(self.display_name),
                "logoUrl": wire(self.logo_url),
            }
        )


@dataclass(frozen=True)
class PassProfiles:
    """The state of a device's login, and its profiles: switch on `state`."""

    #: authenticated: at least one profile; unauthenticated: none; pending: no login with the code yet; expired: its
    #: life is over; superseded: a later session of the device has another code; temporaryAccessUsedUp: the TempPass is
    #: over, error has more.
    state: Literal["authenticated", "unauthenticated", "pending", "expired", "superseded", "temporaryAccessUsedUp"]
    #: The profiles that have not ended.
    profiles: list[PassProfile]
    #: The MVPD of the profile to use: the remembered one, else that which lasts longest.
    selected: str | None = None
    #: The MVPD that the device's user chose before.
    remembered: RememberedMvpd | None = None
    #: With pending: a call before that gets the same answer.
    next_poll_ms: int | None = None
    #: With temporaryAccessUsedUp: Adobe's error.
    error: Status | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PassProfiles:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["state"] = value["state"]
        members["profiles"] = items(PassProfile.from_json, value["profiles"])
        members["selected"] = value.get("selected")
        members["remembered"] = optional(RememberedMvpd.from_json, value.get("remembered"))
        members["next_poll_ms"] = value.get("nextPollMs")
        members["error"] = optional(Status.from_json, value.get("error"))
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "state": wire(self.state),
                "profiles": wire(self.profiles),
                "selected": wire(self.selected),
                "remembered": wire(self.remembered),
                "nextPollMs": wire(self.next_poll_ms),
                "error": wire(self.error),
            }
        )


@dataclass(frozen=True)
class MediaToken:
    """The proof for the service that releases the stream; pass it on unopened."""

    #: The token, to be passed on unopened.
    serialized_token: str = field(repr=False)
    #: When it ends.
    expires_at: datetime
    #: When it begins.
    not_before_at: datetime | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> MediaToken:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["serialized_token"] = value["serializedToken"]
        members["expires_at"] = time(value["expiresAt"])
        members["not_before_at"] = optional_time(value.get("notBeforeAt"))
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "serializedToken": wire(self.serialized_token),
                "expiresAt": wire(self.expires_at),
                "notBeforeAt": wire(self.not_before_at),
            }
        )


@dataclass(frozen=True)
class PassDecision(DecisionTruth):
    """The decision about playing one resource. It is true for a permit."""

    #: The resource as the call named it.
    id: str
    #: true for a permit, which always has a media token; for nothing else.
    authorized: bool
    #: The origin of the decision: mvpd, degradation, temppass; new values may be added.
    source: str | None = None
    #: The media token; with a permit only.
    token: MediaToken | None = field(default=None, repr=False)
    #: When the decision begins to count at Adobe.
    not_before_at: datetime | None = None
    #: When the decision ends at Adobe.
    expires_at: datetime | None = None
    #: Why it is no permit; always there then.
    error: Status | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PassDecision:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["id"] = value["id"]
        members["authorized"] = value["authorized"]
        members["source"] = value.get("source")
        members["token"] = optional(MediaToken.from_json, value.get("token"))
        members["not_before_at"] = optional_time(value.get("notBeforeAt"))
        members["expires_at"] = optional_time(value.get("expiresAt"))
        members["error"] = optional(Status.from_json, value.get("error"))
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "id": wire(self.id),
                "authorized": wire(self.authorized),
                "source": wire(self.source),
                "token": wire(self.token),
                "notBeforeAt": wire(self.not_before_at),
                "expiresAt": wire(self.expires_at),
                "error": wire(self.error),
            }
        )


@dataclass(frozen=True)
class PassDecisions(DecisionsTruth):
    """Decisions about playing resources. It is true if all are permits."""

    #: The MVPD that the decisions are of.
    mvpd: str
    #: One for each resource, in the order of the call.
    decisions: list[PassDecision]

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PassDecisions:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["mvpd"] = value["mvpd"]
        members["decisions"] = items(PassDecision.from_json, value["decisions"])
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "mvpd": wire(self.mvpd),
                "decisions": wire(self.decisions),
            }
        )


@dataclass(frozen=True)
class PassLogoutStep:
    """A step that is left to do for one MVPD."""

    #: The MVPD.
    mvpd: str
    #: logout: open url; partner_logout: guide the user to the system's settings; complete, invalid: nothing.
    action_name: str
    #: interactive, partner_interactive or none.
    action_type: str
    #: The URL that the user's browser opens.
    url: str | None = field(default=None, repr=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PassLogoutStep:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["mvpd"] = value["mvpd"]
        members["action_name"] = value["actionName"]
        members["action_type"] = value["actionType"]
        members["url"] = value.get("url")
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "mvpd": wire(self.mvpd),
                "actionName": wire(self.action_name),
                "actionType": wire(self.action_type),
                "url": wire(self.url),
            }
        )


@dataclass(frozen=True)
class PassLogout:
    """The result of a logout at Adobe Pass, and the steps that are left."""

    #: ended; failed: it can be called again, and here the login has ended; none: no MVPD was known.
    upstream: Literal["ended", "failed", "none"]
    #: The steps that are left, for each MVPD whose login ended.
    logouts: list[PassLogoutStep]
    #: The MVPDs that were remembered here.
    forgotten: list[str]
    #: With failed: why.
    error: Status | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> PassLogout:
        """Reads it from the protocol's members."""
        made = object.__new__(cls)
        members: dict[str, Any] = made.__dict__
        members["upstream"] = value["upstream"]
        members["logouts"] = items(PassLogoutStep.from_json, value["logouts"])
        members["forgotten"] = value["forgotten"]
        members["error"] = optional(Status.from_json, value.get("error"))
        return made

    def to_json(self) -> dict[str, Any]:
        """The protocol's members, without those that are None."""
        return present(
            {
                "upstream": wire(self.upstream),
                "logouts": wire(self.logouts),
                "forgotten": wire(self.forgotten),
                "error": wire(self.error),
            }
        )
