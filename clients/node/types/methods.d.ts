import * as control from "./control";
import * as endpoints from "./endpoints";
import * as fetchResource from "./fetch-resource";
import * as preauthorize from "./preauthorize";
import * as tokens from "./tokens";
import * as authenticate from "./authenticate";
import * as sessions from "./sessions";
import { AbortSignal } from "./platform";

/** Options of every call, in addition to its params. */
export interface CallOptions {
  /** The timeout of the call, including the wait for a connection; also sent to the sidecar (`meta.timeoutMs`). */
  timeoutMs?: number;
  /** Cancels the call, in the sidecar too; it rejects with the signal's reason. */
  signal?: AbortSignal;
  /** W3C trace context. */
  traceparent?: string;
}

/** Every method of the sidecar, with its name on the wire (`rpc.discover` is `discover`). */
export interface Methods {
  /** The OpenRPC document of this sidecar. */
  discover(params?: control.DiscoverParams, options?: CallOptions): Promise<control.DiscoverResult>;
  /** Name, version and build of the running sidecar. */
  getInfo(params?: control.GetInfoParams, options?: CallOptions): Promise<control.GetInfoResult>;
  /** Whether the sidecar works, by check. */
  health(params?: control.HealthParams, options?: CallOptions): Promise<control.HealthResult>;
  /** Counters and histograms in Prometheus' text format. */
  metrics(params?: control.MetricsParams, options?: CallOptions): Promise<control.MetricsResult>;
  /** Makes a socket that can do a part of what this connection can. */
  createEndpoint(
    params?: endpoints.CreateEndpointParams,
    options?: CallOptions,
  ): Promise<endpoints.CreateEndpointResult>;
  /** Lists the endpoints of the caller's uid, or those made through this connection's endpoint. */
  listEndpoints(params?: endpoints.ListEndpointsParams, options?: CallOptions): Promise<endpoints.ListEndpointsResult>;
  /** Ends an endpoint and all that were made through it, with their calls. */
  revokeEndpoint(params: endpoints.RevokeEndpointParams, options?: CallOptions): Promise<endpoints.RevokeEndpointResult>;
  /** Gives up a part of what this client can do, for good, on later connections too. */
  narrow(params?: endpoints.NarrowParams, options?: CallOptions): Promise<endpoints.NarrowResult>;
  /** What a call would come to, and why, without making it. */
  explainCall(params: endpoints.ExplainCallParams, options?: CallOptions): Promise<endpoints.ExplainCallResult>;
  /** Reads the configuration again. */
  reloadConfig(params?: control.ReloadConfigParams, options?: CallOptions): Promise<control.ReloadConfigResult>;
  /** Subscribes this connection to the named events. */
  subscribe(params: control.SubscribeParams, options?: CallOptions): Promise<control.SubscribeResult>;
  /** Unsubscribes this connection from the named events. */
  unsubscribe(params: control.UnsubscribeParams, options?: CallOptions): Promise<control.UnsubscribeResult>;
  /** Registers this connection for the named requests of the sidecar. */
  registerDelegate(
    params: control.RegisterDelegateParams,
    options?: CallOptions,
  ): Promise<control.RegisterDelegateResult>;
  /** Fetches a protected resource with the token it needs. */
  fetchResource(
    params?: fetchResource.FetchResourceParams | fetchResource.FetchWithContent,
    options?: CallOptions,
  ): Promise<fetchResource.FetchResourceResult>;
  /** Returns a task. */
  getTask(params: fetchResource.GetTaskParams, options?: CallOptions): Promise<fetchResource.GetTaskResult>;
  /** Lists the caller's tasks. */
  listTasks(params?: fetchResource.ListTasksParams, options?: CallOptions): Promise<fetchResource.ListTasksResult>;
  /** Pauses a task. */
  suspendTask(params: fetchResource.SuspendTaskParams, options?: CallOptions): Promise<fetchResource.SuspendTaskResult>;
  /** Resumes a suspended task. */
  resumeTask(params: fetchResource.ResumeTaskParams, options?: CallOptions): Promise<fetchResource.ResumeTaskResult>;
  /** Cancels a task. */
  cancelTask(params: fetchResource.CancelTaskParams, options?: CallOptions): Promise<fetchResource.CancelTaskResult>;
  /** Requests from a decision point which resources the user may access. */
  preauthorize(
    params: preauthorize.PreauthorizeParams,
    options?: CallOptions,
  ): Promise<preauthorize.PreauthorizeResult>;
  /** Removes cached decisions, after a purchase for example. */
  invalidateDecisions(
    params?: preauthorize.InvalidateDecisionsParams,
    options?: CallOptions,
  ): Promise<preauthorize.InvalidateDecisionsResult>;
  /** Validates an ID token. */
  validateIdToken(params: tokens.ValidateIdTokenParams, options?: CallOptions): Promise<tokens.ValidateIdTokenResult>;
  /** Validates a JWT access token (RFC 9068). */
  validateAccessToken(
    params: tokens.ValidateAccessTokenParams,
    options?: CallOptions,
  ): Promise<tokens.ValidateAccessTokenResult>;
  /** Decides whether a request that an API has received may pass, and how the API answers if not. */
  validateRequest(params: tokens.ValidateRequestParams, options?: CallOptions): Promise<tokens.ValidateRequestResult>;
  /** Validates a logout token (OpenID Connect Back-Channel Logout 1.0). */
  validateLogoutToken(
    params: tokens.ValidateLogoutTokenParams,
    options?: CallOptions,
  ): Promise<tokens.ValidateLogoutTokenResult>;
  /** Requests from the issuer whether a token is active (RFC 7662). */
  introspectToken(params: tokens.IntrospectTokenParams, options?: CallOptions): Promise<tokens.IntrospectTokenResult>;
  /** Verifies a compact JWS with given keys, offline. */
  verifyJws(params: tokens.VerifyJwsParams, options?: CallOptions): Promise<tokens.VerifyJwsResult>;
  /** Decrypts a compact JWE with a given key, offline. */
  decryptJwe(params: tokens.DecryptJweParams, options?: CallOptions): Promise<tokens.DecryptJweResult>;
  /** Finds policy advice in an HTTP response, offline. */
  parseAdvice(params: authenticate.ParseAdviceParams, options?: CallOptions): Promise<authenticate.ParseAdviceResult>;
  /** Logs a user in at an access manager, step by step. */
  authenticate(
    params?: authenticate.AuthenticateParams,
    options?: CallOptions,
  ): Promise<authenticate.AuthenticateResult>;
  /** Has a user satisfy policy advice, step by step. */
  authenticateWithAdvice(
    params?: authenticate.AuthenticateWithAdviceParams,
    options?: CallOptions,
  ): Promise<authenticate.AuthenticateWithAdviceResult>;
  /** Creates a session. */
  createSession(params: sessions.CreateSessionParams, options?: CallOptions): Promise<sessions.CreateSessionResult>;
  /** Starts a login with an authorization code. */
  beginAuthorization(
    params: sessions.BeginAuthorizationParams,
    options?: CallOptions,
  ): Promise<sessions.BeginAuthorizationResult>;
  /** Completes a login with the URL of the callback. */
  completeAuthorization(
    params: sessions.CompleteAuthorizationParams,
    options?: CallOptions,
  ): Promise<sessions.CompleteAuthorizationResult>;
  /** Starts a login on another device (RFC 8628). */
  beginDeviceAuthorization(
    params: sessions.BeginDeviceAuthorizationParams,
    options?: CallOptions,
  ): Promise<sessions.BeginDeviceAuthorizationResult>;
  /** Completes a login on another device, if the user has decided. */
  completeDeviceAuthorization(
    params: sessions.CompleteDeviceAuthorizationParams,
    options?: CallOptions,
  ): Promise<sessions.CompleteDeviceAuthorizationResult>;
  /** Returns a session. */
  getSession(params: sessions.GetSessionParams, options?: CallOptions): Promise<sessions.GetSessionResult>;
  /** Lists the sessions of the caller's user id. */
  listSessions(params?: sessions.ListSessionsParams, options?: CallOptions): Promise<sessions.ListSessionsResult>;
  /** Refreshes a session's tokens now. */
  refreshSession(params: sessions.RefreshSessionParams, options?: CallOptions): Promise<sessions.RefreshSessionResult>;
  /** Ends a session, here at once and then at the issuer. */
  endSession(params: sessions.EndSessionParams, options?: CallOptions): Promise<sessions.EndSessionResult>;
  /** Returns an access token. */
  getAccessToken(params?: sessions.GetAccessTokenParams, options?: CallOptions): Promise<sessions.GetAccessTokenResult>;
  /** Revokes a token at its issuer (RFC 7009). */
  revokeToken(params?: sessions.RevokeTokenParams, options?: CallOptions): Promise<sessions.RevokeTokenResult>;
}
