"""The methods of `fake.when`. Generated from proto-docs/openrpc.json by tools/generate.py: do not edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ._arguments import Data, Query, compose
from ._bodies import Body
from ._fake import Core, Expectation, FetchExpectation, with_body
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


class Expectations:
    """The methods of a client. Each returns an `Expectation`, which you give answers for the calls that it describes.

    It describes the calls that have the arguments you name: `fake.when.fetch_resource("orders")` describes each fetch
    of that resource, `fake.when.fetch_resource()` each fetch.
    """

    def __init__(self, core: Core) -> None:
        self._core = core

    @property
    def adobe_pass(self) -> AdobePassExpectations:
        """The methods of Adobe Pass."""
        return AdobePassExpectations(self._core)

    def discover(self) -> Expectation[dict[str, Any]]:
        """Calls of `discover`."""
        params: dict[str, Any] = {}
        return self._core.expect("rpc.discover", params, as_object)

    def get_info(self) -> Expectation[Info]:
        """Calls of `get_info`."""
        params: dict[str, Any] = {}
        return self._core.expect("getInfo", params, Info.from_json)

    def health(self) -> Expectation[Health]:
        """Calls of `health`."""
        params: dict[str, Any] = {}
        return self._core.expect("health", params, Health.from_json)

    def metrics(self) -> Expectation[Metrics]:
        """Calls of `metrics`."""
        params: dict[str, Any] = {}
        return self._core.expect("metrics", params, Metrics.from_json)

    def reload_config(self) -> Expectation[ConfigurationReload]:
        """Calls of `reload_config`."""
        params: dict[str, Any] = {}
        return self._core.expect("reloadConfig", params, ConfigurationReload.from_json)

    def subscribe(
        self,
        events: Sequence[EventName] | None = None,
    ) -> Expectation[Subscription]:
        """Calls of `subscribe`."""
        params: dict[str, Any] = present({"events": events})
        return self._core.expect("subscribe", params, Subscription.from_json)

    def unsubscribe(
        self,
        events: Sequence[EventName] | None = None,
    ) -> Expectation[Subscription]:
        """Calls of `unsubscribe`."""
        params: dict[str, Any] = present({"events": events})
        return self._core.expect("unsubscribe", params, Subscription.from_json)

    def create_endpoint(
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
    ) -> Expectation[CreatedEndpoint]:
        """Calls of `create_endpoint`."""
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
        return self._core.expect("createEndpoint", params, CreatedEndpoint.from_json)

    def list_endpoints(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Expectation[EndpointList]:
        """Calls of `list_endpoints`."""
        params: dict[str, Any] = present({"limit": limit, "cursor": cursor})
        return self._core.expect("listEndpoints", params, EndpointList.from_json)

    def revoke_endpoint(
        self,
        endpoint: str | None = None,
    ) -> Expectation[EndpointRevocation]:
        """Calls of `revoke_endpoint`."""
        params: dict[str, Any] = present({"endpoint": endpoint})
        return self._core.expect("revokeEndpoint", params, EndpointRevocation.from_json)

    def narrow(
        self,
        *,
        resources: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        http_methods: Sequence[str] | None = None,
        paths: Sequence[str] | None = None,
        sessions: Sequence[str] | None = None,
        rate: EndpointRate | Mapping[str, Any] | None = None,
        concurrency: int | None = None,
    ) -> Expectation[Nothing]:
        """Calls of `narrow`."""
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
        return self._core.expect("narrow", params, Nothing.from_json)

    def explain_call(
        self,
        method: str | None = None,
        *,
        params: Any | None = None,
    ) -> Expectation[Explanation]:
        """Calls of `explain_call`."""
        members: dict[str, Any] = present({"method": method, "params": params})
        return self._core.expect("explainCall", members, Explanation.from_json)

    def fetch_resource(
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
        body: Body | None = None,
        params: Query | None = None,
        json: Any = None,
        data: Data | None = None,
        multipart: Sequence[Part | Mapping[str, Any]] | None = None,
        headers: Mapping[str, str | Sequence[str]] | None = None,
        follow_redirects: bool | None = None,
        task: str | None = None,
        continuation: str | None = None,
    ) -> FetchExpectation:
        """Calls of `fetch_resource`."""
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
            }
        )
        found = compose(members, body, params=params, json=json, data=data)
        return self._core.expect_fetch(with_body({**members, "headers": headers}, found))

    def get_task(
        self,
        task: str | None = None,
    ) -> Expectation[Task]:
        """Calls of `get_task`."""
        params: dict[str, Any] = present({"task": task})
        return self._core.expect("getTask", params, Task.from_json)

    def list_tasks(
        self,
        *,
        state: Literal["running", "suspended", "cancelled", "completed"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Expectation[TaskList]:
        """Calls of `list_tasks`."""
        params: dict[str, Any] = present({"state": state, "limit": limit, "cursor": cursor})
        return self._core.expect("listTasks", params, TaskList.from_json)

    def suspend_task(
        self,
        task: str | None = None,
    ) -> Expectation[Task]:
        """Calls of `suspend_task`."""
        params: dict[str, Any] = present({"task": task})
        return self._core.expect("suspendTask", params, Task.from_json)

    def resume_task(
        self,
        task: str | None = None,
    ) -> Expectation[Task]:
        """Calls of `resume_task`."""
        params: dict[str, Any] = present({"task": task})
        return self._core.expect("resumeTask", params, Task.from_json)

    def cancel_task(
        self,
        task: str | None = None,
    ) -> Expectation[Task]:
        """Calls of `cancel_task`."""
        params: dict[str, Any] = present({"task": task})
        return self._core.expect("cancelTask", params, Task.from_json)

    def preauthorize(
        self,
        resources: Sequence[str] | None = None,
        *,
        disable_features: Sequence[Literal["LOCAL_CACHE", "REMOTE_CACHE"]] | None = None,
        provider: str | None = None,
        session: str | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> Expectation[Preauthorization]:
        """Calls of `preauthorize`."""
        params: dict[str, Any] = present(
            {
                "resources": resources,
                "disableFeatures": disable_features,
                "provider": provider,
                "session": session,
                "context": context,
            }
        )
        return self._core.expect("preauthorize", params, Preauthorization.from_json)

    def invalidate_decisions(
        self,
        *,
        provider: str | None = None,
        session: str | None = None,
        resources: Sequence[str] | None = None,
    ) -> Expectation[DecisionInvalidation]:
        """Calls of `invalidate_decisions`."""
        params: dict[str, Any] = present({"provider": provider, "session": session, "resources": resources})
        return self._core.expect("invalidateDecisions", params, DecisionInvalidation.from_json)

    def validate_id_token(
        self,
        id_token: str | None = None,
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
    ) -> Expectation[TokenVerdict]:
        """Calls of `validate_id_token`."""
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
        return self._core.expect("validateIdToken", params, token_verdict)

    def validate_access_token(
        self,
        access_token: str | None = None,
        audience: str | None = None,
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
    ) -> Expectation[TokenVerdict]:
        """Calls of `validate_access_token`."""
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
        return self._core.expect("validateAccessToken", params, token_verdict)

    def validate_request(
        self,
        method: str | None = None,
        url: str | None = None,
        headers: Mapping[str, str | Sequence[str]] | None = None,
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
    ) -> Expectation[RequestVerdict]:
        """Calls of `validate_request`."""
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
        return self._core.expect("validateRequest", params, request_verdict)

    def validate_logout_token(
        self,
        logout_token: str | None = None,
        *,
        issuer: str | None = None,
        expected_issuer: str | None = None,
        client_id: str | None = None,
        jwks: Mapping[str, Any] | None = None,
        jwks_url: str | None = None,
        now: float | None = None,
        end: bool | None = None,
    ) -> Expectation[TokenVerdict]:
        """Calls of `validate_logout_token`."""
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
        return self._core.expect("validateLogoutToken", params, token_verdict)

    def introspect_token(
        self,
        token: str | None = None,
        issuer: str | None = None,
        *,
        token_type_hint: str | None = None,
        audience: str | None = None,
        required_scopes: Sequence[str] | None = None,
    ) -> Expectation[IntrospectionVerdict]:
        """Calls of `introspect_token`."""
        params: dict[str, Any] = present(
            {
                "token": token,
                "issuer": issuer,
                "tokenTypeHint": token_type_hint,
                "audience": audience,
                "requiredScopes": required_scopes,
            }
        )
        return self._core.expect("introspectToken", params, introspection_verdict)

    def verify_jws(
        self,
        jws: str | None = None,
        *,
        jwks: Mapping[str, Any] | None = None,
        jwk: Mapping[str, Any] | None = None,
        algorithms: Sequence[str] | None = None,
    ) -> Expectation[JWSVerdict]:
        """Calls of `verify_jws`."""
        params: dict[str, Any] = present({"jws": jws, "jwks": jwks, "jwk": jwk, "algorithms": algorithms})
        return self._core.expect("verifyJws", params, jws_verdict)

    def decrypt_jwe(
        self,
        jwe: str | None = None,
        jwk: Mapping[str, Any] | None = None,
        *,
        algorithms: Sequence[str] | None = None,
    ) -> Expectation[JWEVerdict]:
        """Calls of `decrypt_jwe`."""
        params: dict[str, Any] = present({"jwe": jwe, "jwk": jwk, "algorithms": algorithms})
        return self._core.expect("decryptJwe", params, jwe_verdict)

    def create_session(
        self,
        issuer: str | None = None,
        grant: Grant | Mapping[str, Any] | None = None,
    ) -> Expectation[Session]:
        """Calls of `create_session`."""
        params: dict[str, Any] = present({"issuer": issuer, "grant": wire(grant)})
        return self._core.expect("createSession", params, Session.from_json)

    def begin_authorization(
        self,
        issuer: str | None = None,
        redirect_uri: str | None = None,
        *,
        scope: str | None = None,
        prompt: str | None = None,
        acr_values: Sequence[str] | None = None,
        max_age: int | None = None,
        login_hint: str | None = None,
        resource: str | None = None,
    ) -> Expectation[AuthorizationRequest]:
        """Calls of `begin_authorization`."""
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
        return self._core.expect("beginAuthorization", params, AuthorizationRequest.from_json)

    def complete_authorization(
        self,
        callback_url: str | None = None,
        state: str | None = None,
        *,
        replaces: str | None = None,
    ) -> Expectation[Session]:
        """Calls of `complete_authorization`."""
        params: dict[str, Any] = present({"callbackUrl": callback_url, "state": state, "replaces": replaces})
        return self._core.expect("completeAuthorization", params, Session.from_json)

    def begin_device_authorization(
        self,
        issuer: str | None = None,
        *,
        scope: str | None = None,
    ) -> Expectation[DeviceAuthorization]:
        """Calls of `begin_device_authorization`."""
        params: dict[str, Any] = present({"issuer": issuer, "scope": scope})
        return self._core.expect("beginDeviceAuthorization", params, DeviceAuthorization.from_json)

    def complete_device_authorization(
        self,
        handle: str | None = None,
    ) -> Expectation[Session]:
        """Calls of `complete_device_authorization`."""
        params: dict[str, Any] = present({"handle": handle})
        return self._core.expect("completeDeviceAuthorization", params, Session.from_json)

    def get_session(
        self,
        session: str | None = None,
    ) -> Expectation[Session]:
        """Calls of `get_session`."""
        params: dict[str, Any] = present({"session": session})
        return self._core.expect("getSession", params, Session.from_json)

    def list_sessions(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Expectation[SessionList]:
        """Calls of `list_sessions`."""
        params: dict[str, Any] = present({"limit": limit, "cursor": cursor})
        return self._core.expect("listSessions", params, SessionList.from_json)

    def refresh_session(
        self,
        session: str | None = None,
    ) -> Expectation[Session]:
        """Calls of `refresh_session`."""
        params: dict[str, Any] = present({"session": session})
        return self._core.expect("refreshSession", params, Session.from_json)

    def end_session(
        self,
        session: str | None = None,
    ) -> Expectation[SessionEnd]:
        """Calls of `end_session`."""
        params: dict[str, Any] = present({"session": session})
        return self._core.expect("endSession", params, SessionEnd.from_json)

    def get_access_token(
        self,
        *,
        resource: str | None = None,
        issuer: str | None = None,
        auth: Auth | None = None,
        session: str | None = None,
        on_behalf_of: OnBehalfOf | Mapping[str, Any] | None = None,
        min_ttl_seconds: int | None = None,
    ) -> Expectation[AccessToken]:
        """Calls of `get_access_token`."""
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
        return self._core.expect("getAccessToken", params, AccessToken.from_json)

    def revoke_token(
        self,
        *,
        session: str | None = None,
        issuer: str | None = None,
        token: str | None = None,
        token_type_hint: str | None = None,
    ) -> Expectation[TokenRevocation]:
        """Calls of `revoke_token`."""
        params: dict[str, Any] = present(
            {"session": session, "issuer": issuer, "token": token, "tokenTypeHint": token_type_hint}
        )
        return self._core.expect("revokeToken", params, TokenRevocation.from_json)

    def parse_advice(
        self,
        status: int | None = None,
        headers: Mapping[str, str | Sequence[str]] | None = None,
        *,
        body: str | None = None,
    ) -> Expectation[ParsedAdvice]:
        """Calls of `parse_advice`."""
        params: dict[str, Any] = present({"status": status, "headers": headers, "body": body})
        return self._core.expect("parseAdvice", params, ParsedAdvice.from_json)

    def authenticate(
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
    ) -> Expectation[JourneyStep]:
        """Calls of `authenticate`."""
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
        return self._core.expect("authenticate", params, JourneyStep.from_json)

    def authenticate_with_advice(
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
    ) -> Expectation[JourneyStep]:
        """Calls of `authenticate_with_advice`."""
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
        return self._core.expect("authenticateWithAdvice", params, JourneyStep.from_json)


class AdobePassExpectations:
    """The methods of Adobe Pass, in the same way."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def get_configuration(
        self,
        provider: str | None = None,
        *,
        device: PassDevice | Mapping[str, Any] | None = None,
        include_temp_pass: bool | None = None,
    ) -> Expectation[PassConfiguration]:
        """Calls of `adobe_pass.get_configuration`."""
        params: dict[str, Any] = present(
            {"provider": provider, "device": wire(device), "includeTempPass": include_temp_pass}
        )
        return self._core.expect("pass.getConfiguration", params, PassConfiguration.from_json)

    def create_session(
        self,
        provider: str | None = None,
        *,
        mvpd: str | None = None,
        domain_name: str | None = None,
        redirect_url: str | None = None,
        device: PassDevice | Mapping[str, Any] | None = None,
        visitor_id: str | None = None,
        platform: PassPlatform | Mapping[str, Any] | None = None,
        service_token: str | None = None,
        partner: PassPartner | Mapping[str, Any] | None = None,
    ) -> Expectation[PassSession]:
        """Calls of `adobe_pass.create_session`."""
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
        return self._core.expect("pass.createSession", params, PassSession.from_json)

    def resume_session(
        self,
        provider: str | None = None,
        code: str | None = None,
        *,
        mvpd: str | None = None,
        domain_name: str | None = None,
        redirect_url: str | None = None,
        device: PassDevice | Mapping[str, Any] | None = None,
        second_screen: bool | None = None,
        visitor_id: str | None = None,
    ) -> Expectation[PassSession]:
        """Calls of `adobe_pass.resume_session`."""
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
        return self._core.expect("pass.resumeSession", params, PassSession.from_json)

    def get_session(
        self,
        provider: str | None = None,
        code: str | None = None,
        *,
        device: PassDevice | Mapping[str, Any] | None = None,
        second_screen: bool | None = None,
        visitor_id: str | None = None,
    ) -> Expectation[PassSessionStatus]:
        """Calls of `adobe_pass.get_session`."""
        params: dict[str, Any] = present(
            {
                "provider": provider,
                "code": code,
                "device": wire(device),
                "secondScreen": second_screen,
                "visitorId": visitor_id,
            }
        )
        return self._core.expect("pass.getSession", params, PassSessionStatus.from_json)

    def list_profiles(
        self,
        provider: str | None = None,
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
    ) -> Expectation[PassProfiles]:
        """Calls of `adobe_pass.list_profiles`."""
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
        return self._core.expect("pass.listProfiles", params, PassProfiles.from_json)

    def authorize(
        self,
        provider: str | None = None,
        resources: Sequence[str] | None = None,
        *,
        mvpd: str | None = None,
        device: PassDevice | Mapping[str, Any] | None = None,
        visitor_id: str | None = None,
        platform: PassPlatform | Mapping[str, Any] | None = None,
        service_token: str | None = None,
        partner: PassPartner | Mapping[str, Any] | None = None,
        temp_pass: PassIdentity | Mapping[str, Any] | None = None,
    ) -> Expectation[PassDecisions]:
        """Calls of `adobe_pass.authorize`."""
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
        return self._core.expect("pass.authorize", params, PassDecisions.from_json)

    def logout(
        self,
        provider: str | None = None,
        *,
        mvpd: str | None = None,
        redirect_url: str | None = None,
        device: PassDevice | Mapping[str, Any] | None = None,
        visitor_id: str | None = None,
        platform: PassPlatform | Mapping[str, Any] | None = None,
        service_token: str | None = None,
    ) -> Expectation[PassLogout]:
        """Calls of `adobe_pass.logout`."""
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
        return self._core.expect("pass.logout", params, PassLogout.from_json)
