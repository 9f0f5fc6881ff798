"""The methods of `AsyncClient`. Generated from proto-docs/openrpc.json by tools/generate.py: do not edit."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Callable, Literal, Protocol, TypeVar

from ._arguments import AsyncData, Query, compose, milliseconds
from ._async_streams import AsyncResourceStream
from ._bodies import AsyncBody, Target
from ._endpoints import Endpoint
from ._opening import Opening
from ._wire import as_object, present, wire, wires
from .types import (
    AccessToken,
    Advice,
    Auth,
    AuthorizationRequest,
    ConfigurationReload,
    Confirmation,
    CreatedEndpoint,
    DecisionInvalidation,
    DeviceAuthorization,
    EndpointList,
    EndpointRate,
    EndpointRevocation,
    EventName,
    Explanation,
    FetchResult,
    Grant,
    Health,
    Info,
    IntrospectionVerdict,
    JourneyStep,
    JWEVerdict,
    JWSVerdict,
    Metrics,
    Nothing,
    OnBehalfOf,
    ParsedAdvice,
    Part,
    PassConfiguration,
    PassDecisions,
    PassDevice,
    PassIdentity,
    PassLogout,
    PassPartner,
    PassPlatform,
    PassProfiles,
    PassRespondingPartner,
    PassSession,
    PassSessionStatus,
    Preauthorization,
    RequestVerdict,
    ResponseWithAdvice,
    Session,
    SessionEnd,
    SessionList,
    Subscription,
    Task,
    TaskList,
    TokenRevocation,
    TokenVerdict,
    introspection_verdict,
    jwe_verdict,
    jws_verdict,
    request_verdict,
    token_verdict,
)

_Result = TypeVar("_Result")


class AsyncMethods:
    """Every method of the protocol, typed.

    Params of every call: `timeout` in seconds bounds it, in the sidecar and here (None: the default of the client,
    `math.inf`: no limit); `traceparent` is a W3C trace context that upstream requests continue.
    """

    async def _invoke(
        self,
        method: str,
        params: dict[str, Any],
        decode: Callable[[Any], _Result],
        timeout: float | None,
        traceparent: str | None,
    ) -> _Result:
        raise NotImplementedError

    async def _fetch(
        self,
        params: dict[str, Any],
        body: AsyncBody | None,
        body_to: Target | None,
        timeout: float | None,
        traceparent: str | None,
    ) -> FetchResult:
        raise NotImplementedError

    async def _stream(
        self, params: dict[str, Any], body: AsyncBody | None, timeout: float | None, traceparent: str | None
    ) -> AsyncResourceStream:
        raise NotImplementedError

    def _endpoint(
        self, params: dict[str, Any], timeout: float | None, traceparent: str | None
    ) -> contextlib.AbstractAsyncContextManager[Endpoint]:
        raise NotImplementedError

    @property
    def adobe_pass(self) -> AsyncAdobePass:
        """The methods of Adobe Pass."""
        return AsyncAdobePass(self._invoke)

    async def discover(
        self,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> dict[str, Any]:
        """The OpenRPC document of this sidecar."""
        params: dict[str, Any] = {}
        return await self._invoke("rpc.discover", params, as_object, timeout, traceparent)

    async def get_info(
        self,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Info:
        """Name, version and build of the running sidecar."""
        params: dict[str, Any] = {}
        return await self._invoke("getInfo", params, Info.from_json, timeout, traceparent)

    async def health(
        self,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Health:
        """Whether the sidecar can do its work, by check.

        Never calls an identity provider: it reports what the last real use showed. `degraded` means that some calls
        will fail, `down` that all will.
        """
        params: dict[str, Any] = {}
        return await self._invoke("health", params, Health.from_json, timeout, traceparent)

    async def metrics(
        self,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Metrics:
        """Counters and histograms in Prometheus' text format."""
        params: dict[str, Any] = {}
        return await self._invoke("metrics", params, Metrics.from_json, timeout, traceparent)

    async def reload_config(
        self,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> ConfigurationReload:
        """Reads the configuration again.

        Read and checked whole before anything changes: with any problem the running configuration stays. Calls in
        flight finish on the configuration they began with.
        """
        params: dict[str, Any] = {}
        return await self._invoke("reloadConfig", params, ConfigurationReload.from_json, timeout, traceparent)

    async def subscribe(
        self,
        events: Sequence[EventName],
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Subscription:
        """Sends the named events to this connection from now on.

        Events arrive as notifications whose method is the event's name. No connection gets any without asking.

        :param events: The events' names.
        """
        params: dict[str, Any] = present({"events": events})
        return await self._invoke("subscribe", params, Subscription.from_json, timeout, traceparent)

    async def unsubscribe(
        self,
        events: Sequence[EventName],
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Subscription:
        """Stops the named events on this connection.

        :param events: The events' names.
        """
        params: dict[str, Any] = present({"events": events})
        return await self._invoke("unsubscribe", params, Subscription.from_json, timeout, traceparent)

    async def create_endpoint(
        self,
        *,
        resources: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        http_methods: Sequence[str] | None = None,
        paths: Sequence[str] | None = None,
        sessions: Sequence[str] | None = None,
        rate: EndpointRate | Mapping[str, Any] | None = None,
        concurrency: int | None = None,
        expires_in_ms: int | None = None,
        bind_to: Literal["connection"] | Mapping[str, int] | None = None,
        label: str | None = None,
        session: str | None = None,
        approval: Literal["ask"] | None = None,
        http: bool | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> CreatedEndpoint:
        """Makes a socket that can do a part of what this connection can.

        A list that is left out is the maker's, an empty one is nothing; more than the maker has is -32020. What is
        outside of the lists is answered as what does not exist, methods as -32020. The endpoint ends when it is
        revoked, expires, or what it is bound to ends, and takes with it the endpoints that were made through it.

        :param resources: The names of resources.
        :param methods: Methods of this interface, as in `peers`.
        :param http_methods: The HTTP methods of fetches.
        :param paths: Paths relative to a resource's baseUrl, in whole segments: `orders/` is what is below,
            `orders` that path alone.
        :param sessions: The handles of sessions; then no session can be made.
        :param rate: How often calls may be made, over the whole endpoint and all that were made through it.
        :param concurrency: How many calls may be under way at one time, over the whole endpoint and all that were
            made through it.
        :param expires_in_ms: How long it lives, in milliseconds, at least 1; no longer than its maker's endpoint.
        :param bind_to: `connection`: it ends with the connection that made it; `{pid}`: only that process may
            connect, and it ends with it.
        :param label: A name for people, in lists, questions and the audit log: 1 to 64 printable characters.
        :param session: The session of its calls, which then need not name one: a handle, or `only`, the creator's
            only live one now. Excludes sessions.
        :param approval: `ask`: each call that acts for the user is put to the maker's connection first
            (`delegate.approveCall`).
        :param http: Whether it has a second socket that speaks HTTP as the gateway does.
        """
        params: dict[str, Any] = present(
            {
                "resources": resources,
                "methods": methods,
                "httpMethods": http_methods,
                "paths": paths,
                "sessions": sessions,
                "rate": wire(rate),
                "concurrency": concurrency,
                "expiresInMs": expires_in_ms,
                "bindTo": wire(bind_to),
                "label": label,
                "session": session,
                "approval": approval,
                "http": http,
            }
        )
        return await self._invoke("createEndpoint", params, CreatedEndpoint.from_json, timeout, traceparent)

    @contextlib.asynccontextmanager
    async def endpoint(
        self,
        *,
        resources: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        http_methods: Sequence[str] | None = None,
        paths: Sequence[str] | None = None,
        sessions: Sequence[str] | None = None,
        rate: EndpointRate | Mapping[str, Any] | None = None,
        concurrency: int | None = None,
        expires_in_ms: int | None = None,
        bind_to: Literal["connection"] | Mapping[str, int] | None = "connection",
        label: str | None = None,
        session: str | None = None,
        approval: Literal["ask"] | None = None,
        http: bool | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> AsyncGenerator[Endpoint, None]:
        """A socket for one child, which can do a part of what this client can; revoked at the end of the block.

        The lists are those of `create_endpoint`. It also ends with this connection, also when this process is killed,
        unless `bind_to` is another.

        For one with a descriptor use `Client`.

        :param session: The session of its calls, which need not name one then: a handle, or `only`, this user id's only
            live one now.
        """
        params: dict[str, Any] = present(
            {
                "resources": resources,
                "methods": methods,
                "httpMethods": http_methods,
                "paths": paths,
                "sessions": sessions,
                "rate": wire(rate),
                "concurrency": concurrency,
                "expiresInMs": expires_in_ms,
                "bindTo": wire(bind_to),
                "label": label,
                "session": session,
                "approval": approval,
                "http": http,
            }
        )
        async with self._endpoint(params, timeout, traceparent) as made:
            yield made

    async def list_endpoints(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> EndpointList:
        """Lists endpoints: on the main socket those of the caller's uid, on an endpoint those made through it.

        :param limit: How many entries at most, from 1 to 1,000; default 100. There may be fewer where they are
            large.
        :param cursor: The next_cursor of the page before; good for the same user id, until the sidecar restarts.
        """
        params: dict[str, Any] = present({"limit": limit, "cursor": cursor})
        return await self._invoke("listEndpoints", params, EndpointList.from_json, timeout, traceparent)

    async def revoke_endpoint(
        self,
        endpoint: str,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> EndpointRevocation:
        """Ends an endpoint and all that were made through it, with their calls in flight.

        :param endpoint: The endpoint's handle.
        """
        params: dict[str, Any] = present({"endpoint": endpoint})
        return await self._invoke("revokeEndpoint", params, EndpointRevocation.from_json, timeout, traceparent)

    async def narrow(
        self,
        *,
        resources: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        http_methods: Sequence[str] | None = None,
        paths: Sequence[str] | None = None,
        sessions: Sequence[str] | None = None,
        rate: EndpointRate | Mapping[str, Any] | None = None,
        concurrency: int | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Nothing:
        """Gives up a part of what this connection can do, for good.

        It holds for all connections of this client, also for those that come later. The lists are those of
        create_endpoint.

        :param resources: The names of resources.
        :param methods: Methods of this interface, as in `peers`.
        :param http_methods: The HTTP methods of fetches.
        :param paths: Paths relative to a resource's baseUrl, in whole segments: `orders/` is what is below,
            `orders` that path alone.
        :param sessions: The handles of sessions; then no session can be made.
        :param rate: How often calls may be made, over the whole endpoint and all that were made through it.
        :param concurrency: How many calls may be under way at one time, over the whole endpoint and all that were
            made through it.
        """
        params: dict[str, Any] = present(
            {
                "resources": resources,
                "methods": methods,
                "httpMethods": http_methods,
                "paths": paths,
                "sessions": sessions,
                "rate": wire(rate),
                "concurrency": concurrency,
            }
        )
        return await self._invoke("narrow", params, Nothing.from_json, timeout, traceparent)

    async def explain_call(
        self,
        method: str,
        *,
        params: Any | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Explanation:
        """Shows what a call would come to, and why, without carrying it out.

        Nothing is sent, counted or recorded, and no secret is shown. Only what this connection may see is named.

        :param method: The method of the call.
        :param params: The params of the call; an object.
        """
        members: dict[str, Any] = present({"method": method, "params": params})
        return await self._invoke("explainCall", members, Explanation.from_json, timeout, traceparent)

    async def fetch_resource(
        self,
        resource: str | None = None,
        path: str | None = None,
        *,
        method: str | None = None,
        auth: Auth | None = None,
        session: str | None = None,
        on_behalf_of: OnBehalfOf | Mapping[str, Any] | None = None,
        parameters: Mapping[str, Any] | None = None,
        parameters_encoding: Literal["json", "formUrl"] | None = None,
        body: AsyncBody | None = None,
        params: Query | None = None,
        json: Any = None,
        data: AsyncData | None = None,
        body_to: Target | None = None,
        multipart: Sequence[Part | Mapping[str, Any]] | None = None,
        headers: Mapping[str, str | Sequence[str]] | None = None,
        follow_redirects: bool | None = None,
        task: str | None = None,
        continuation: str | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> FetchResult:
        """Fetches a protected resource with the token it needs.

        The token comes from the cache or from the issuer, is refreshed once when the resource rejects it, and is
        never shown. Any HTTP status is a result.

        :param resource: A configured resource server; may be left out when only one is configured.
        :param path: Appended to the resource's base URL; or an absolute URL whose origin the resource allows.
        :param method: GET (default), or another HTTP method but CONNECT and TRACE, in any case.
        :param auth: user, implicit, clientCredentials, credential (the resource's own), on_behalf_of or none;
            default: as configured.
        :param session: With user and implicit: the session's handle, or `only`, the caller's only live one.
            Without: not_authenticated, nothing is sent.
        :param on_behalf_of: The inbound token that is exchanged for the resource's token, with auth on_behalf_of.
        :param parameters: With GET, HEAD and DELETE the query string, otherwise the body in parameters_encoding.
        :param parameters_encoding: json (default) or formUrl.
        :param body: Text or bytes; or a path, a file in binary mode, a socket or a (possibly asynchronous) iterable
            of bytes, read to its end; overrides parameters.
        :param params: The query, with any method: a mapping, pairs, or text; added to that of `path`.
        :param json: The body, as JSON, with its `Content-Type`.
        :param data: The body: a mapping or pairs as a form with its `Content-Type`, or what `body` takes.
        :param body_to: A path, a file in binary mode or a socket: the response's body goes there, and not into the
            result.
        :param multipart: Parts of a multipart/form-data body, with POST only; parameters become plain fields before
            them.
        :param headers: Name to value, or to an array of values; reserved names are rejected.
        :param follow_redirects: Whether redirects are followed (default true); credentials never cross origins.
        :param task: The caller's name for the task; default: generated.
        :param continuation: Continues a fetch that ended in advice_required. Valid once; only timeout and body_to
            may be combined with it.
        :param timeout: Seconds for the whole call, the user's step-up included, in place of the resource's own
            timeout, at most 600 there.
        """
        members: dict[str, Any] = present(
            {
                "resource": resource,
                "path": path,
                "method": method,
                "auth": auth,
                "session": session,
                "onBehalfOf": wire(on_behalf_of),
                "parameters": parameters,
                "parametersEncoding": parameters_encoding,
                "multipart": wires(multipart),
                "headers": headers,
                "followRedirects": follow_redirects,
                "task": task,
                "continuation": continuation,
                "timeoutMs": milliseconds(timeout, "timeout"),
            }
        )
        return await self._fetch(
            members, compose(members, body, params=params, json=json, data=data), body_to, timeout, traceparent
        )

    def stream_resource(
        self,
        resource: str | None = None,
        path: str | None = None,
        *,
        method: str | None = None,
        auth: Auth | None = None,
        session: str | None = None,
        on_behalf_of: OnBehalfOf | Mapping[str, Any] | None = None,
        parameters: Mapping[str, Any] | None = None,
        parameters_encoding: Literal["json", "formUrl"] | None = None,
        body: AsyncBody | None = None,
        params: Query | None = None,
        json: Any = None,
        data: AsyncData | None = None,
        multipart: Sequence[Part | Mapping[str, Any]] | None = None,
        headers: Mapping[str, str | Sequence[str]] | None = None,
        follow_redirects: bool | None = None,
        task: str | None = None,
        total_timeout: float | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Opening[AsyncResourceStream]:
        """Fetches a protected resource whose body comes in pieces.

        Read the body from what this returns; status and headers are in its `result` when the body has ended.
        `timeout` bounds each wait for a piece, `total_timeout` the whole. Use it in `async with`, or await it and
        close the stream yourself.

        :param resource: A configured resource server; may be left out when only one is configured.
        :param path: Appended to the resource's base URL; or an absolute URL whose origin the resource allows.
        :param method: GET (default), or another HTTP method but CONNECT and TRACE, in any case.
        :param auth: user, implicit, clientCredentials, credential (the resource's own), on_behalf_of or none;
            default: as configured.
        :param session: With user and implicit: the session's handle, or `only`, the caller's only live one.
            Without: not_authenticated, nothing is sent.
        :param on_behalf_of: The inbound token that is exchanged for the resource's token, with auth on_behalf_of.
        :param parameters: With GET, HEAD and DELETE the query string, otherwise the body in parameters_encoding.
        :param parameters_encoding: json (default) or formUrl.
        :param body: Text or bytes; or a path, a file in binary mode, a socket or a (possibly asynchronous) iterable
            of bytes, read to its end; overrides parameters.
        :param params: The query, with any method: a mapping, pairs, or text; added to that of `path`.
        :param json: The body, as JSON, with its `Content-Type`.
        :param data: The body: a mapping or pairs as a form with its `Content-Type`, or what `body` takes.
        :param multipart: Parts of a multipart/form-data body, with POST only; parameters become plain fields before
            them.
        :param headers: Name to value, or to an array of values; reserved names are rejected.
        :param follow_redirects: Whether redirects are followed (default true); credentials never cross origins.
        :param task: The caller's name for the task; default: generated.
        :param total_timeout: Seconds for the whole fetch, at most 600; default: no limit after the head.
        """
        members: dict[str, Any] = present(
            {
                "resource": resource,
                "path": path,
                "method": method,
                "auth": auth,
                "session": session,
                "onBehalfOf": wire(on_behalf_of),
                "parameters": parameters,
                "parametersEncoding": parameters_encoding,
                "multipart": wires(multipart),
                "headers": headers,
                "followRedirects": follow_redirects,
                "task": task,
                "timeoutMs": milliseconds(total_timeout, "total_timeout"),
            }
        )
        return Opening(
            self._stream(members, compose(members, body, params=params, json=json, data=data), timeout, traceparent)
        )

    async def get_task(
        self,
        task: str,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Task:
        """Shows a task.

        A task belongs to its caller's uid, on whatever connection, and to the endpoint that it was begun through:
        each has names of its own. One of an endpoint below is found where there is none of that name here. A task
        that has ended is known for a minute.

        :param task: The task's name.
        """
        params: dict[str, Any] = present({"task": task})
        return await self._invoke("getTask", params, Task.from_json, timeout, traceparent)

    async def list_tasks(
        self,
        *,
        state: Literal["running", "suspended", "cancelled", "completed"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> TaskList:
        """Lists the caller's tasks.

        A page of those of the caller's uid, of any state or one, on whatever connection: first those that run, then
        those that have ended, the newest first; and where the next page begins. Through an endpoint: those that
        were begun through it, or below.

        :param state: Only tasks that are in this state when the page is made; default: in any state.
        :param limit: How many entries at most, from 1 to 1,000; default 100. There may be fewer where they are
            large.
        :param cursor: The next_cursor of the page before; good for the same user id, until the sidecar restarts.
        """
        params: dict[str, Any] = present({"state": state, "limit": limit, "cursor": cursor})
        return await self._invoke("listTasks", params, TaskList.from_json, timeout, traceparent)

    async def suspend_task(
        self,
        task: str,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Task:
        """Suspends a running task.

        No bytes move while it is suspended, and the fetch's own timeout is paused. Only a running task is
        suspended; any other stays as it is.

        :param task: The task's name.
        """
        params: dict[str, Any] = present({"task": task})
        return await self._invoke("suspendTask", params, Task.from_json, timeout, traceparent)

    async def resume_task(
        self,
        task: str,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Task:
        """Resumes a suspended task.

        Only a suspended task is resumed; any other stays as it is.

        :param task: The task's name.
        """
        params: dict[str, Any] = present({"task": task})
        return await self._invoke("resumeTask", params, Task.from_json, timeout, traceparent)

    async def cancel_task(
        self,
        task: str,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Task:
        """Ends a task.

        The call that began it ends with request_cancelled, exactly once; a task that has ended before stays as it
        is.

        :param task: The task's name.
        """
        params: dict[str, Any] = present({"task": task})
        return await self._invoke("cancelTask", params, Task.from_json, timeout, traceparent)

    async def preauthorize(
        self,
        resources: Sequence[str],
        *,
        disable_features: Sequence[Literal["LOCAL_CACHE", "REMOTE_CACHE"]] | None = None,
        provider: str | None = None,
        session: str | None = None,
        context: Mapping[str, Any] | None = None,
        decision_timeout: float | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Preauthorization:
        """Returns a decision point's decisions about resources.

        A hint for what to show, never a gate in front of the resource. Decisions come in the order of the
        resources. A deny and a fault differ: both are authorized false with an error, and action retry or status 0
        marks the fault. A missing session and an unreachable decision point are results, too: outcome failure.
        Large lists are split, a batch that one resource spoils is taken apart, and permits are cached for a while.

        :param resources: Ids or MRSS fragments, 1 to 10000; one decision for each, duplicates included.
        :param disable_features: LOCAL_CACHE: request decisions, whatever is cached here. REMOTE_CACHE: the decision
            point is not to answer from its cache, either.
        :param provider: A configured decision point; may be left out when only one is configured.
        :param session: The session whose user it is about, or `only`, the caller's only live one at the provider's
            issuer; without, the result is the failure authentication_session_missing.
        :param context: Passed on to the decision point. With a provider that has no issuer, context.subject names
            the subject: an id, or an object with id, type and properties. With adobe-pass context.ip is the end
            user's IP address, and context.pass has mvpd, device, visitor_id, platform, service_token and partner,
            as in adobe_pass.list_profiles: the MVPD is that one, else the remembered one, else the configured one.
        :param decision_timeout: Seconds, at most 600; the resources left then are network_error.
        """
        params: dict[str, Any] = present(
            {
                "resources": resources,
                "disableFeatures": disable_features,
                "provider": provider,
                "session": session,
                "context": context,
                "timeoutMs": milliseconds(decision_timeout, "decision_timeout"),
            }
        )
        return await self._invoke("preauthorize", params, Preauthorization.from_json, timeout, traceparent)

    async def invalidate_decisions(
        self,
        *,
        provider: str | None = None,
        session: str | None = None,
        resources: Sequence[str] | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> DecisionInvalidation:
        """Removes decisions from the cache, after a purchase for example.

        Only the calling user's own are removed. Decisions that are being requested at this moment are not cached
        either.

        :param provider: Only those of this decision point.
        :param session: Only those about this session's user.
        :param resources: Only those about these resources.
        """
        params: dict[str, Any] = present({"provider": provider, "session": session, "resources": resources})
        return await self._invoke("invalidateDecisions", params, DecisionInvalidation.from_json, timeout, traceparent)

    async def validate_id_token(
        self,
        id_token: str,
        *,
        issuer: str | None = None,
        expected_issuer: str | None = None,
        client_id: str | None = None,
        jwks: Mapping[str, Any] | None = None,
        jwks_url: str | None = None,
        nonce: str | None = None,
        authorization_code: str | None = None,
        access_token: str | None = None,
        state: str | None = None,
        max_age: int | None = None,
        acr_values: Sequence[str] | None = None,
        trusted_audiences: Sequence[str] | None = None,
        algorithms: Sequence[str] | None = None,
        clock_skew_seconds: int | None = None,
        now: float | None = None,
        require_azp: bool | None = None,
        reject_unexpected_nonce: bool | None = None,
        flow: Literal["code", "implicit", "hybrid", "refresh"] | None = None,
        previous_id_token: str | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> TokenVerdict:
        """Validates an ID token.

        Checks encoding, header and algorithm, choice of key, signature and claims, in this order. A token that is
        not valid is a result with the first failing check; an error means that it could not be decided.

        :param id_token: The token.
        :param issuer: A configured issuer's name; excludes expected_issuer, jwks and jwks_url.
        :param expected_issuer: Instead of issuer: the expected iss, with jwks or jwks_url.
        :param client_id: The client that the token must be for; default: the configured issuer's client.
        :param jwks: Instead of issuer: the key set, where the configuration allows it (validation.inlineJwks).
        :param jwks_url: Instead of issuer: where the key set is; its origin must be in validation.jwksOrigins.
        :param nonce: The nonce of the authorization request; then it must be there and equal.
        :param authorization_code: Compared with c_hash.
        :param access_token: Compared with at_hash.
        :param state: Compared with s_hash.
        :param max_age: How many seconds ago the user may have authenticated at most; requires auth_time.
        :param acr_values: Authentication contexts of which acr must be one.
        :param trusted_audiences: Audiences that the token may have in addition to the client; default: the
            issuer's.
        :param algorithms: Signature algorithms; may only narrow what is allowed anyway.
        :param clock_skew_seconds: How far clocks may differ, at most 300; default: the issuer's, else 30.
        :param now: Seconds since the epoch to judge by; only where development.callerClock is on.
        :param require_azp: Whether a token with several audiences must have azp; default: the issuer's.
        :param reject_unexpected_nonce: Whether a nonce makes the token invalid where the call has none; default:
            the issuer's.
        :param flow: How the token was obtained; default code.
        :param previous_id_token: With flow refresh, and only there: the ID token before it.
        """
        params: dict[str, Any] = present(
            {
                "idToken": id_token,
                "issuer": issuer,
                "expectedIssuer": expected_issuer,
                "clientId": client_id,
                "jwks": jwks,
                "jwksUrl": jwks_url,
                "nonce": nonce,
                "authorizationCode": authorization_code,
                "accessToken": access_token,
                "state": state,
                "maxAge": max_age,
                "acrValues": acr_values,
                "trustedAudiences": trusted_audiences,
                "algorithms": algorithms,
                "clockSkewSeconds": clock_skew_seconds,
                "now": now,
                "requireAzp": require_azp,
                "rejectUnexpectedNonce": reject_unexpected_nonce,
                "flow": flow,
                "previousIdToken": previous_id_token,
            }
        )
        return await self._invoke("validateIdToken", params, token_verdict, timeout, traceparent)

    async def validate_access_token(
        self,
        access_token: str,
        audience: str,
        *,
        issuer: str | None = None,
        expected_issuer: str | None = None,
        client_id: str | None = None,
        jwks: Mapping[str, Any] | None = None,
        jwks_url: str | None = None,
        required_scopes: Sequence[str] | None = None,
        confirmation: Confirmation | Mapping[str, Any] | None = None,
        clock_skew_seconds: int | None = None,
        now: float | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> TokenVerdict:
        """Validates a JWT access token (RFC 9068).

        The token's typ must be at+jwt, so that no ID token passes. A token that is bound to a key (cnf) is not
        valid unless confirmation names the key whose possession was shown.

        :param access_token: The token.
        :param audience: The resource the token must be for.
        :param issuer: A configured issuer's name; excludes expected_issuer, jwks and jwks_url.
        :param expected_issuer: Instead of issuer: the expected iss, with jwks or jwks_url.
        :param client_id: The client that presents the token, where it is known.
        :param jwks: Instead of issuer: the key set, where the configuration allows it (validation.inlineJwks).
        :param jwks_url: Instead of issuer: where the key set is; its origin must be in validation.jwksOrigins.
        :param required_scopes: Scopes that must all be granted; insufficient_scope otherwise.
        :param confirmation: The key whose possession the presenter has shown.
        :param clock_skew_seconds: How far clocks may differ, at most 300; default: the issuer's, else 30.
        :param now: Seconds since the epoch to judge by; only where development.callerClock is on.
        """
        params: dict[str, Any] = present(
            {
                "accessToken": access_token,
                "audience": audience,
                "issuer": issuer,
                "expectedIssuer": expected_issuer,
                "clientId": client_id,
                "jwks": jwks,
                "jwksUrl": jwks_url,
                "requiredScopes": required_scopes,
                "confirmation": wire(confirmation),
                "clockSkewSeconds": clock_skew_seconds,
                "now": now,
            }
        )
        return await self._invoke("validateAccessToken", params, token_verdict, timeout, traceparent)

    async def validate_request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str | Sequence[str]],
        *,
        issuer: str | None = None,
        expected_issuer: str | None = None,
        jwks: Mapping[str, Any] | None = None,
        jwks_url: str | None = None,
        client_certificate: str | None = None,
        audience: str | None = None,
        required_scopes: Sequence[str] | None = None,
        dpop: Literal["optional", "required", "forbidden"] | None = None,
        max_age: int | None = None,
        acr_values: Sequence[str] | None = None,
        resource_metadata: str | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> RequestVerdict:
        """Decides whether a request may pass an API, and how the API answers if not.

        Finds the token (RFC 6750), checks the proof of possession (DPoP, RFC 9449) or the client certificate (RFC
        8705) and validates the token, a JWT by the issuer's keys, an opaque one by introspection. A proof is good
        for one request, in all processes that share the store. A request that may not pass is a result, with the
        response to send; an error means that it could not be decided: the API answers 503.

        :param method: The request's method, as the client sent it.
        :param url: The request's absolute URL, as the client used it: behind a proxy, the proxy's.
        :param headers: The request's headers, every line of them; Authorization and DPoP decide.
        :param issuer: A configured issuer's name; excludes expected_issuer, jwks and jwks_url.
        :param expected_issuer: Instead of issuer: the expected iss, with jwks or jwks_url.
        :param jwks: Instead of issuer: the key set, where the configuration allows it (validation.inlineJwks).
        :param jwks_url: Instead of issuer: where the key set is; its origin must be in validation.jwksOrigins.
        :param client_certificate: The certificate of the client's TLS connection, PEM.
        :param audience: The audience that the token must be for; default: the origin of url, or a URL at it.
        :param required_scopes: Scopes that must all be granted; insufficient_scope otherwise.
        :param dpop: Whether a proof may, must or must not come with the token; default optional.
        :param max_age: How many seconds ago the user may have authenticated at most; requires auth_time.
        :param acr_values: Authentication contexts of which acr must be one, the preferred one first.
        :param resource_metadata: Where the API's metadata is (RFC 9728), for the challenges.
        """
        params: dict[str, Any] = present(
            {
                "method": method,
                "url": url,
                "headers": headers,
                "issuer": issuer,
                "expectedIssuer": expected_issuer,
                "jwks": jwks,
                "jwksUrl": jwks_url,
                "clientCertificate": client_certificate,
                "audience": audience,
                "requiredScopes": required_scopes,
                "dpop": dpop,
                "maxAge": max_age,
                "acrValues": acr_values,
                "resourceMetadata": resource_metadata,
            }
        )
        return await self._invoke("validateRequest", params, request_verdict, timeout, traceparent)

    async def validate_logout_token(
        self,
        logout_token: str,
        *,
        issuer: str | None = None,
        expected_issuer: str | None = None,
        client_id: str | None = None,
        jwks: Mapping[str, Any] | None = None,
        jwks_url: str | None = None,
        now: float | None = None,
        end: bool | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> TokenVerdict:
        """Validates a logout token (OpenID Connect Back-Channel Logout 1.0).

        A logout token is good for one use: the second time it is jti_replayed. With `end`, a valid one ends the
        sessions of its login, of all users: by `sid` that login alone, else all of `sub`.

        :param logout_token: The token.
        :param issuer: A configured issuer's name; excludes expected_issuer, jwks and jwks_url.
        :param expected_issuer: Instead of issuer: the expected iss, with jwks or jwks_url.
        :param client_id: The client that the token must be for; default: the configured issuer's client.
        :param jwks: Instead of issuer: the key set, where the configuration allows it (validation.inlineJwks).
        :param jwks_url: Instead of issuer: where the key set is; its origin must be in validation.jwksOrigins.
        :param now: Seconds since the epoch to judge by; only where development.callerClock is on.
        :param end: Ends the sessions of the token's login, too; only with issuer, without now, for the issuer's
            client.
        """
        params: dict[str, Any] = present(
            {
                "logoutToken": logout_token,
                "issuer": issuer,
                "expectedIssuer": expected_issuer,
                "clientId": client_id,
                "jwks": jwks,
                "jwksUrl": jwks_url,
                "now": now,
                "end": end,
            }
        )
        return await self._invoke("validateLogoutToken", params, token_verdict, timeout, traceparent)

    async def introspect_token(
        self,
        token: str,
        issuer: str,
        *,
        token_type_hint: str | None = None,
        audience: str | None = None,
        required_scopes: Sequence[str] | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> IntrospectionVerdict:
        """Checks at the issuer whether a token is active (RFC 7662).

        The answer may be signed (RFC 9701). It is requested again each time, so that a revocation is seen at once;
        calls at the same time share one request.

        :param token: The token.
        :param issuer: A configured issuer's name.
        :param token_type_hint: access_token or refresh_token, passed on.
        :param audience: The expected audience.
        :param required_scopes: Scopes that must all be granted; insufficient_scope otherwise.
        """
        params: dict[str, Any] = present(
            {
                "token": token,
                "issuer": issuer,
                "tokenTypeHint": token_type_hint,
                "audience": audience,
                "requiredScopes": required_scopes,
            }
        )
        return await self._invoke("introspectToken", params, introspection_verdict, timeout, traceparent)

    async def verify_jws(
        self,
        jws: str,
        *,
        jwks: Mapping[str, Any] | None = None,
        jwk: Mapping[str, Any] | None = None,
        algorithms: Sequence[str] | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> JWSVerdict:
        """Verifies a compact JWS with given keys, offline.

        For tooling and conformance vectors: only the signature is checked, no claim. Exactly one of jwks and jwk.

        :param jws: The JWS in compact serialization.
        :param jwks: A key set; a mix of symmetric and asymmetric keys is rejected.
        :param jwk: A single key, which the header may or may not name.
        :param algorithms: The algorithms to accept; default: all that fit the key.
        """
        params: dict[str, Any] = present({"jws": jws, "jwks": jwks, "jwk": jwk, "algorithms": algorithms})
        return await self._invoke("verifyJws", params, jws_verdict, timeout, traceparent)

    async def decrypt_jwe(
        self,
        jwe: str,
        jwk: Mapping[str, Any],
        *,
        algorithms: Sequence[str] | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> JWEVerdict:
        """Decrypts a compact JWE with a given key, offline.

        For tooling and conformance vectors. RSA1_5 is never accepted, PBES2 only when algorithms names it, with at
        most 10,000 iterations.

        :param jwe: The JWE in compact serialization.
        :param jwk: The private or shared key.
        :param algorithms: The key management algorithms to accept; default: all but PBES2.
        """
        params: dict[str, Any] = present({"jwe": jwe, "jwk": jwk, "algorithms": algorithms})
        return await self._invoke("decryptJwe", params, jwe_verdict, timeout, traceparent)

    async def create_session(
        self,
        issuer: str,
        grant: Grant | Mapping[str, Any],
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Session:
        """Creates a session.

        The caller gets a handle; the tokens stay in the sidecar. Handles belong to the user id of the peer that
        created them.

        :param issuer: A configured issuer's name.
        :param grant: The grant that creates the session.
        """
        params: dict[str, Any] = present({"issuer": issuer, "grant": wire(grant)})
        return await self._invoke("createSession", params, Session.from_json, timeout, traceparent)

    async def begin_authorization(
        self,
        issuer: str,
        redirect_uri: str | None = None,
        *,
        scope: str | None = None,
        prompt: str | None = None,
        acr_values: Sequence[str] | None = None,
        max_age: int | None = None,
        login_hint: str | None = None,
        resource: str | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> AuthorizationRequest:
        """Begins a login with an authorization code.

        PKCE with S256, state and nonce are the sidecar's; the request is pushed (RFC 9126) where the issuer takes
        that.

        :param issuer: A configured issuer's name.
        :param redirect_uri: Where the issuer sends the user back to; default: the issuer's configured redirectUri.
        :param scope: The scope; default: the issuer's, else openid, and what its users' resources need.
        :param prompt: none, login, consent or select_account.
        :param acr_values: Authentication contexts, of which the ID token must have one.
        :param max_age: How many seconds ago the user may have authenticated at most.
        :param login_hint: The user who will log in, if known.
        :param resource: The resource that the token is for (RFC 8707).
        """
        params: dict[str, Any] = present(
            {
                "issuer": issuer,
                "redirectUri": redirect_uri,
                "scope": scope,
                "prompt": prompt,
                "acrValues": acr_values,
                "maxAge": max_age,
                "loginHint": login_hint,
                "resource": resource,
            }
        )
        return await self._invoke("beginAuthorization", params, AuthorizationRequest.from_json, timeout, traceparent)

    async def complete_authorization(
        self,
        callback_url: str,
        state: str,
        *,
        replaces: str | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Session:
        """Ends a login with the URL the issuer sent the user back to.

        state, the issuer's name (RFC 9207), the code and the ID token with its nonce are all checked. A state is
        good for one try.

        :param callback_url: The whole URL, with its query.
        :param state: Required: what the browser brought in its own cookie, which the program set to
            begin_authorization's state. Another one than the callback's is authorization_failed with detail
            state_mismatch, and uses nothing up.
        :param replaces: The handle of the session that the browser had before, from its cookie: it is replaced. Any
            other text counts as none.
        """
        params: dict[str, Any] = present({"callbackUrl": callback_url, "state": state, "replaces": replaces})
        return await self._invoke("completeAuthorization", params, Session.from_json, timeout, traceparent)

    async def begin_device_authorization(
        self,
        issuer: str,
        *,
        scope: str | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> DeviceAuthorization:
        """Begins a login on another device (RFC 8628).

        :param issuer: A configured issuer's name.
        :param scope: The scope; default: the issuer's, and what its users' resources need.
        """
        params: dict[str, Any] = present({"issuer": issuer, "scope": scope})
        return await self._invoke(
            "beginDeviceAuthorization", params, DeviceAuthorization.from_json, timeout, traceparent
        )

    async def complete_device_authorization(
        self,
        handle: str,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Session:
        """Checks whether the user has decided.

        Answers authorization_pending with retry_after until then; a call before that sends no request to the
        issuer.

        :param handle: The handle that begin_device_authorization returned.
        """
        params: dict[str, Any] = present({"handle": handle})
        return await self._invoke("completeDeviceAuthorization", params, Session.from_json, timeout, traceparent)

    async def get_session(
        self,
        session: str,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Session:
        """Shows a session.

        :param session: The session's handle.
        """
        params: dict[str, Any] = present({"session": session})
        return await self._invoke("getSession", params, Session.from_json, timeout, traceparent)

    async def list_sessions(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> SessionList:
        """Lists the sessions of the caller's user id.

        A page of them, and where the next one begins. A session that exists during the whole listing is on exactly
        one page.

        :param limit: How many entries at most, from 1 to 1,000; default 100. There may be fewer where they are
            large.
        :param cursor: The next_cursor of the page before; good for the same user id, until the sidecar restarts.
        """
        params: dict[str, Any] = present({"limit": limit, "cursor": cursor})
        return await self._invoke("listSessions", params, SessionList.from_json, timeout, traceparent)

    async def refresh_session(
        self,
        session: str,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Session:
        """Refreshes a session's tokens now.

        :param session: The session's handle.
        """
        params: dict[str, Any] = present({"session": session})
        return await self._invoke("refreshSession", params, Session.from_json, timeout, traceparent)

    async def end_session(
        self,
        session: str,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> SessionEnd:
        """Ends a session, here at once and then at the issuer.

        Its tokens are revoked (RFC 7009) and the end of the session is reported to the issuer. Here it is gone even
        when the network fails.

        :param session: The session's handle.
        """
        params: dict[str, Any] = present({"session": session})
        return await self._invoke("endSession", params, SessionEnd.from_json, timeout, traceparent)

    async def get_access_token(
        self,
        *,
        resource: str | None = None,
        issuer: str | None = None,
        auth: Auth | None = None,
        session: str | None = None,
        on_behalf_of: OnBehalfOf | Mapping[str, Any] | None = None,
        min_ttl_seconds: int | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> AccessToken:
        """Hands out an access token.

        Rejected (peer_forbidden) unless tokens.leaveTheSidecar is on, for a token that is bound to a key (DPoP),
        which never leaves the sidecar, and for a resource with auth: credential.

        :param resource: The resource the token is for.
        :param issuer: The issuer of the token, without resource.
        :param auth: user, implicit, clientCredentials or on_behalf_of; default: the resource's, else user with a
            session and clientCredentials without.
        :param session: With user and implicit: the session's handle, or `only`, the caller's only live one.
        :param on_behalf_of: The inbound token that is exchanged for the resource's token, with auth on_behalf_of.
        :param min_ttl_seconds: How long it must live at least.
        """
        params: dict[str, Any] = present(
            {
                "resource": resource,
                "issuer": issuer,
                "auth": auth,
                "session": session,
                "onBehalfOf": wire(on_behalf_of),
                "minTtlSeconds": min_ttl_seconds,
            }
        )
        return await self._invoke("getAccessToken", params, AccessToken.from_json, timeout, traceparent)

    async def revoke_token(
        self,
        *,
        session: str | None = None,
        issuer: str | None = None,
        token: str | None = None,
        token_type_hint: str | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> TokenRevocation:
        """Revokes a token at its issuer (RFC 7009).

        Either a session, whose refresh token (or else access token) is revoked, or a token with its issuer.
        Rejected (peer_forbidden) for the sidecar's own tokens (client credentials), which its users share.

        :param session: A session's handle; excludes the others.
        :param issuer: A configured issuer's name.
        :param token: The token.
        :param token_type_hint: access_token or refresh_token, passed on.
        """
        params: dict[str, Any] = present(
            {"session": session, "issuer": issuer, "token": token, "tokenTypeHint": token_type_hint}
        )
        return await self._invoke("revokeToken", params, TokenRevocation.from_json, timeout, traceparent)

    async def parse_advice(
        self,
        status: int,
        headers: Mapping[str, str | Sequence[str]],
        *,
        body: str | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> ParsedAdvice:
        """Finds policy advice in an HTTP response, offline.

        Looks into WWW-Authenticate (SSOADVICE, RFC 9470, UMA), then into the Location of a redirect, then into a
        JSON body, and ends where it finds something. A body that is an advice map by itself counts at 401 and 403
        only.

        :param status: The HTTP status, 100 to 599.
        :param headers: Name to value, or to an array of values.
        :param body: The body as text; over 256 KiB it is not looked into.
        """
        params: dict[str, Any] = present({"status": status, "headers": headers, "body": body})
        return await self._invoke("parseAdvice", params, ParsedAdvice.from_json, timeout, traceparent)

    async def authenticate(
        self,
        *,
        issuer: str | None = None,
        service: str | None = None,
        tree: str | None = None,
        answers: Mapping[str, Any] | None = None,
        no_session: bool | None = None,
        force_auth: bool | None = None,
        continuation: str | None = None,
        callbacks: Sequence[Mapping[str, Any]] | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> JourneyStep:
        """Logs a user in at an access manager, step by step.

        Begin with issuer and service or tree (the realm's default without), go on with continuation and callbacks.
        Callbacks come as the access manager sent them and go back with their inputs filled in: as many, in the same
        order. A step without inputs (a wait, a text) is taken on with its continuation alone.

        :param issuer: A configured issuer with an access manager; needed to begin.
        :param service: The tree or chain to walk; at most one of service and tree.
        :param tree: The tree to walk.
        :param answers: Answers by callback type, number (_id), input name or id, given without asking; a choice by
            its index or its text, an object fills several inputs. RedirectCallback: the URL that it led back to;
            SuspendedTextOutputCallback, or suspendedId to begin with: the link's URL.
        :param no_session: Whether the login is only tried: no session comes of it.
        :param force_auth: Whether the user has to authenticate although they are logged in.
        :param continuation: The continuation of the step; excludes issuer, service and tree.
        :param callbacks: The step's callbacks with their inputs filled in.
        """
        params: dict[str, Any] = present(
            {
                "issuer": issuer,
                "service": service,
                "tree": tree,
                "answers": answers,
                "noSession": no_session,
                "forceAuth": force_auth,
                "continuation": continuation,
                "callbacks": callbacks,
            }
        )
        return await self._invoke("authenticate", params, JourneyStep.from_json, timeout, traceparent)

    async def authenticate_with_advice(
        self,
        *,
        session: str | None = None,
        issuer: str | None = None,
        advice: Advice | Mapping[str, Any] | None = None,
        advices: Sequence[Advice | Mapping[str, Any]] | None = None,
        response: ResponseWithAdvice | Mapping[str, Any] | None = None,
        answers: Mapping[str, Any] | None = None,
        continuation: str | None = None,
        callbacks: Sequence[Mapping[str, Any]] | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> JourneyStep:
        """Lets a user do what policy advice requires, step by step.

        Begin with the session (or, for a user who is not logged in, with issuer) and advice, advices or the
        response that contained them; go on with continuation and callbacks, as with authenticate. A transaction
        comes last. An advice of RFC 9470 is a step of its own: a RedirectCallback whose redirect_url is for the
        user's browser, and whose input callback_url takes the URL that the issuer led back to. When the access
        manager gives another login the session gets new tokens, all at once.

        :param session: The session to step up, or `only`, the caller's only live one; this or issuer is required at
            the beginning.
        :param issuer: In place of session, for a user who is not logged in: the issuer at whose access manager the
            advice is a login, which makes a session; needs the right to call authenticate, too.
        :param advice: The advice to satisfy; exactly one of advice, advices, response and continuation.
        :param advices: Several advices to satisfy.
        :param response: The response that contains them, received elsewhere.
        :param answers: Answers that are given without asking, as with authenticate.
        :param continuation: The continuation of the step.
        :param callbacks: The step's callbacks with their inputs filled in.
        """
        params: dict[str, Any] = present(
            {
                "session": session,
                "issuer": issuer,
                "advice": wire(advice),
                "advices": wires(advices),
                "response": wire(response),
                "answers": answers,
                "continuation": continuation,
                "callbacks": callbacks,
            }
        )
        return await self._invoke("authenticateWithAdvice", params, JourneyStep.from_json, timeout, traceparent)


class _Invoke(Protocol):
    async def __call__(
        self,
        method: str,
        params: dict[str, Any],
        decode: Callable[[Any], _Result],
        timeout: float | None,
        traceparent: str | None,
    ) -> _Result: ...


class AsyncAdobePass:
    """The methods of Adobe Pass, typed: logins at television providers (MVPDs), and what they permit.

    Params of every call are as with the other methods.
    """

    def __init__(self, invoke: _Invoke) -> None:
        self._invoke = invoke

    async def get_configuration(
        self,
        provider: str,
        *,
        device: PassDevice | Mapping[str, Any] | None = None,
        include_temp_pass: bool | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> PassConfiguration:
        """Returns a service provider's domains and MVPDs, for a picker.

        It is kept in memory for two minutes by provider and device description; calls at the same time make one
        request.

        :param provider: A configured decision point of kind adobe-pass.
        :param device: The device whose login it is; left out: the configured device.
        :param include_temp_pass: true: with the MVPDs that stand for a TempPass; default: without.
        """
        params: dict[str, Any] = present(
            {"provider": provider, "device": wire(device), "includeTempPass": include_temp_pass}
        )
        return await self._invoke("pass.getConfiguration", params, PassConfiguration.from_json, timeout, traceparent)

    async def create_session(
        self,
        provider: str,
        *,
        mvpd: str | None = None,
        domain_name: str | None = None,
        redirect_url: str | None = None,
        device: PassDevice | Mapping[str, Any] | None = None,
        visitor_id: str | None = None,
        platform: PassPlatform | Mapping[str, Any] | None = None,
        service_token: str | None = None,
        partner: PassPartner | Mapping[str, Any] | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> PassSession:
        """Starts a login at an MVPD, on this screen or on a second one.

        The result contains the next step. A former code of the device is superseded. With partner it is a login by
        the partner, without mvpd, platform and service_token.

        :param provider: A configured decision point of kind adobe-pass.
        :param mvpd: The MVPD that the user chose; left out, it is missing.
        :param domain_name: A domain from the configured domainNames.
        :param redirect_url: The URL that the browser returns to, from the configured redirectUrls.
        :param device: The device whose login it is; left out: the configured device.
        :param visitor_id: The Experience Cloud id (AP-Visitor-Identifier).
        :param platform: The token of the device's platform, for single sign-on.
        :param service_token: A token of an identity service of your own, for single sign-on: a JWS of RS256 that
            has not expired.
        :param partner: The state of a partner's framework, for single sign-on with the partner.
        """
        params: dict[str, Any] = present(
            {
                "provider": provider,
                "mvpd": mvpd,
                "domainName": domain_name,
                "redirectUrl": redirect_url,
                "device": wire(device),
                "visitorId": visitor_id,
                "platform": wire(platform),
                "serviceToken": service_token,
                "partner": wire(partner),
            }
        )
        return await self._invoke("pass.createSession", params, PassSession.from_json, timeout, traceparent)

    async def resume_session(
        self,
        provider: str,
        code: str,
        *,
        mvpd: str | None = None,
        domain_name: str | None = None,
        redirect_url: str | None = None,
        device: PassDevice | Mapping[str, Any] | None = None,
        second_screen: bool | None = None,
        visitor_id: str | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> PassSession:
        """Completes the parameters of a login by its code.

        For a login that this device, or with second_screen another one, has started.

        :param provider: A configured decision point of kind adobe-pass.
        :param code: The code of the login, 1 to 64 bytes.
        :param mvpd: The MVPD that the user chose.
        :param domain_name: A domain from the configured domainNames.
        :param redirect_url: The URL that the browser returns to, from the configured redirectUrls.
        :param device: The device whose login it is; left out: the configured device.
        :param second_screen: true: another screen than the device calls. Nothing of the device is sent, and nothing
            is stored.
        :param visitor_id: The Experience Cloud id (AP-Visitor-Identifier).
        """
        params: dict[str, Any] = present(
            {
                "provider": provider,
                "code": code,
                "mvpd": mvpd,
                "domainName": domain_name,
                "redirectUrl": redirect_url,
                "device": wire(device),
                "secondScreen": second_screen,
                "visitorId": visitor_id,
            }
        )
        return await self._invoke("pass.resumeSession", params, PassSession.from_json, timeout, traceparent)

    async def get_session(
        self,
        provider: str,
        code: str,
        *,
        device: PassDevice | Mapping[str, Any] | None = None,
        second_screen: bool | None = None,
        visitor_id: str | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> PassSessionStatus:
        """Returns the known parameters of a login by its code, for a second screen.

        It shows the kind of device that shows the code. Addresses and the browser of the device are not passed on.

        :param provider: A configured decision point of kind adobe-pass.
        :param code: The code of the login, 1 to 64 bytes.
        :param device: The device whose login it is; left out: the configured device.
        :param second_screen: true: another screen than the device calls. Nothing of the device is sent, and nothing
            is stored.
        :param visitor_id: The Experience Cloud id (AP-Visitor-Identifier).
        """
        params: dict[str, Any] = present(
            {
                "provider": provider,
                "code": code,
                "device": wire(device),
                "secondScreen": second_screen,
                "visitorId": visitor_id,
            }
        )
        return await self._invoke("pass.getSession", params, PassSessionStatus.from_json, timeout, traceparent)

    async def list_profiles(
        self,
        provider: str,
        *,
        mvpd: str | None = None,
        all: bool | None = None,
        code: str | None = None,
        wait_ms: int | None = None,
        device: PassDevice | Mapping[str, Any] | None = None,
        second_screen: bool | None = None,
        visitor_id: str | None = None,
        platform: PassPlatform | Mapping[str, Any] | None = None,
        service_token: str | None = None,
        partner: PassRespondingPartner | Mapping[str, Any] | None = None,
        temp_pass: PassIdentity | Mapping[str, Any] | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> PassProfiles:
        """Returns the profiles of a device's logins, and waits for that of a code.

        With mvpd the profile of that MVPD, with all every one, with code that of a login that has been started;
        otherwise that of the remembered MVPD, and without one every one. Each call sends a request, but for a code
        within pollInterval. With wait_ms the call ends when the user has logged in, when the code is over, or when
        the time is. Waiting calls take no slot of the concurrency limits; at most 4096 of a user wait at one time.

        :param provider: A configured decision point of kind adobe-pass.
        :param mvpd: The MVPD; only without all and code.
        :param all: true: the profiles at every MVPD; only without mvpd and code.
        :param code: The code of a login, 1 to 64 bytes; only without mvpd and all.
        :param wait_ms: With code: how long the call waits for the user in milliseconds, 0 (default) to 1800000.
            meta.timeoutMs bounds the call, too.
        :param device: The device whose login it is; left out: the configured device.
        :param second_screen: true: another screen than the device calls. Nothing of the device is sent, and nothing
            is stored.
        :param visitor_id: The Experience Cloud id (AP-Visitor-Identifier).
        :param platform: The token of the device's platform, for single sign-on.
        :param service_token: A token of an identity service of your own, for single sign-on: a JWS of RS256 that
            has not expired.
        :param partner: The state of a partner's framework, for single sign-on with the partner.
        :param temp_pass: The identity for a promotional TempPass.
        """
        params: dict[str, Any] = present(
            {
                "provider": provider,
                "mvpd": mvpd,
                "all": all,
                "code": code,
                "waitMs": wait_ms,
                "device": wire(device),
                "secondScreen": second_screen,
                "visitorId": visitor_id,
                "platform": wire(platform),
                "serviceToken": service_token,
                "partner": wire(partner),
                "tempPass": wire(temp_pass),
            }
        )
        return await self._invoke("pass.listProfiles", params, PassProfiles.from_json, timeout, traceparent)

    async def authorize(
        self,
        provider: str,
        resources: Sequence[str],
        *,
        mvpd: str | None = None,
        device: PassDevice | Mapping[str, Any] | None = None,
        visitor_id: str | None = None,
        platform: PassPlatform | Mapping[str, Any] | None = None,
        service_token: str | None = None,
        partner: PassPartner | Mapping[str, Any] | None = None,
        temp_pass: PassIdentity | Mapping[str, Any] | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> PassDecisions:
        """Decides about playing resources, with a media token for each permit.

        For each playback: every call sends a request, and nothing is cached. The media token goes to the service
        that releases the stream, unopened. A deny is a result.

        :param provider: A configured decision point of kind adobe-pass.
        :param resources: Ids or MRSS fragments, 1 to 16.
        :param mvpd: The MVPD; default: the remembered one, then the configured one.
        :param device: The device whose login it is; left out: the configured device.
        :param visitor_id: The Experience Cloud id (AP-Visitor-Identifier).
        :param platform: The token of the device's platform, for single sign-on.
        :param service_token: A token of an identity service of your own, for single sign-on: a JWS of RS256 that
            has not expired.
        :param partner: The state of a partner's framework, for single sign-on with the partner.
        :param temp_pass: The identity for a promotional TempPass.
        """
        params: dict[str, Any] = present(
            {
                "provider": provider,
                "resources": resources,
                "mvpd": mvpd,
                "device": wire(device),
                "visitorId": visitor_id,
                "platform": wire(platform),
                "serviceToken": service_token,
                "partner": wire(partner),
                "tempPass": wire(temp_pass),
            }
        )
        return await self._invoke("pass.authorize", params, PassDecisions.from_json, timeout, traceparent)

    async def logout(
        self,
        provider: str,
        *,
        mvpd: str | None = None,
        redirect_url: str | None = None,
        device: PassDevice | Mapping[str, Any] | None = None,
        visitor_id: str | None = None,
        platform: PassPlatform | Mapping[str, Any] | None = None,
        service_token: str | None = None,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> PassLogout:
        """Ends a login: the profile, the remembered MVPD and cached permits are forgotten.

        Forgotten first, whatever Adobe Pass answers: a failure there is a result, and the call can be sent once
        more.

        :param provider: A configured decision point of kind adobe-pass.
        :param mvpd: The MVPD; default: the remembered one, then the configured one.
        :param redirect_url: The URL that the browser returns to, from the configured redirectUrls.
        :param device: The device whose login it is; left out: the configured device.
        :param visitor_id: The Experience Cloud id (AP-Visitor-Identifier).
        :param platform: The token of the device's platform, for single sign-on.
        :param service_token: A token of an identity service of your own, for single sign-on: a JWS of RS256 that
            has not expired.
        """
        params: dict[str, Any] = present(
            {
                "provider": provider,
                "mvpd": mvpd,
                "redirectUrl": redirect_url,
                "device": wire(device),
                "visitorId": visitor_id,
                "platform": wire(platform),
                "serviceToken": service_token,
            }
        )
        return await self._invoke("pass.logout", params, PassLogout.from_json, timeout, traceparent)
