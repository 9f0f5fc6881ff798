import { Advice } from "./common";
import { FetchResourceResult } from "./fetch-resource";
import { Status } from "./preauthorize";

/** Reasons of the sidecar. */
export type Reason =
  | "parse_error"
  | "invalid_request"
  | "method_not_found"
  | "invalid_params"
  | "internal_error"
  | "message_too_large"
  | "overloaded"
  | "batch_too_large"
  | "message_too_complex"
  | "peer_forbidden"
  | "shutting_down"
  | "deadline_exceeded"
  | "configuration_invalid"
  | "audit_unavailable"
  | "request_cancelled"
  | "not_authenticated"
  | "not_implicitly_authenticated"
  | "device_not_authenticated"
  | "method_not_allowed"
  | "invalid_headers"
  | "invalid_url"
  | "origin_not_allowed"
  | "network_unreachable"
  | "server_unreachable"
  | "tls_failure"
  | "pin_mismatch"
  | "response_too_large"
  | "protocol_error"
  | "debugger_attached"
  | "payload_encryption_failed"
  | "task_not_found"
  | "advice_required"
  | "advice_failed"
  | "interaction_required"
  | "jwks_fetch_failed"
  | "discovery_failed"
  | "discovery_issuer_mismatch"
  | "jwks_invalid"
  | "issuer_unknown"
  | "jwks_url_not_allowed"
  | "introspection_failed"
  | "advice_not_recognised"
  | "continuation_unknown"
  | "authentication_timed_out"
  | "access_manager_unreachable"
  | "access_manager_error"
  | "session_not_found"
  | "session_expired"
  | "token_endpoint_error"
  | "token_endpoint_unreachable"
  | "authorization_failed"
  | "state_unknown"
  | "authorization_pending"
  | "store_unavailable"
  | "grant_not_supported"
  | "pass_error"
  | "pass_unreachable"
  | "pass_not_configured";

/** Reasons of this client. */
export type LocalReason =
  | "connection_failed"
  | "connection_lost"
  | "client_closed"
  | "protocol_violation"
  | "events_overflowed"
  /** The sidecar's error had no reason. */
  | "unknown";

/** Whether the request may have had an effect. `unknown`: it was sent, and there was no response. */
export type Outcome = "not_sent" | "sent_no_reply" | "replied" | "unknown";

export interface ErrorData {
  reason: string;
  path?: string;
  retryable?: boolean;
  retryAfterMs?: number;
  outcome?: Outcome;
  upstream?: { status?: number; code?: string; description?: string };
  traceId?: string;
  [name: string]: unknown;
}

/** An error of the sidecar, or of this client when there is no response. */
export class PosternError extends Error {
  /** Switch on this. A newer sidecar may have others, which this version's types do not know: give the switch a default. */
  readonly reason: Reason | LocalReason;
  /** The JSON-RPC code; none on errors of the connection. */
  readonly code?: number;
  /** The call that failed. */
  readonly method?: string;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  readonly outcome?: Outcome;
  readonly upstream?: { status?: number; code?: string; description?: string };
  readonly traceId?: string;
  /** Points to the invalid param. */
  readonly path?: string;
  readonly data: ErrorData;
  readonly cause?: unknown;
}

/** The connection to the sidecar. */
export class ConnectionError extends PosternError {}
/** There is no connection; nothing was sent. */
export class ConnectionFailed extends ConnectionError {}
/** The connection ended before the response; `outcome` shows whether the call may have been executed. */
export class ConnectionLost extends ConnectionError {}
/** A message from the socket violates the protocol. The connection was closed. */
export class ProtocolViolation extends ConnectionLost {}
/** The client was closed while, or before, it was called. */
export class ClientClosed extends ConnectionLost {}
/** The request itself is invalid; `path` points to the param. */
export class RequestError extends PosternError {}
/** A bug in the sidecar. */
export class InternalError extends PosternError {}
/** This user is not permitted to do that. */
export class Forbidden extends PosternError {}
/** The sidecar accepts no more calls now: overloaded, or shutting down. */
export class Unavailable extends PosternError {}
/** The call timed out. */
export class DeadlineExceeded extends PosternError {}
/** Cancelled by `cancelTask`, or a body by its reader. */
export class Cancelled extends PosternError {}
/** `reloadConfig` found problems. */
export class ConfigurationInvalid extends PosternError {
  readonly problems?: unknown[];
}
/** The fetch failed. */
export class FetchError extends PosternError {}
/**
 * No user is logged in, or not any more: send the user to the login. The call named no session (`data.detail` is
 * `session_missing`), or the session is unknown, has ended, or gets no more tokens. Codes 1001, 1002, 5001 and 5002.
 */
export class LoginRequired extends FetchError {}
/**
 * The issuer does not accept the sidecar's own client id and secret: correct the configuration. No login helps. From
 * fetches with client credentials, and from everything that obtains tokens of a session.
 */
export class ClientAuthenticationError extends FetchError {}
/** The user has to do something first: `authenticateWithAdvice`, then `fetchResource`, both with `continuation`. */
export class AdviceRequired extends FetchError {
  readonly advice?: Advice;
  readonly advices?: Advice[];
  readonly response?: FetchResourceResult;
  readonly continuation?: string;
  readonly expiresAt?: string;
}
/** The advice was not satisfied, or that was not sufficient. */
export class AdviceFailed extends FetchError {
  readonly advice?: Advice;
  readonly advices?: Advice[];
  readonly response?: FetchResourceResult;
}
/**
 * The issuer gives no token on behalf of the user before that user has done something: answer your own client with 401
 * and `wwwAuthenticate`.
 */
export class InteractionRequired extends FetchError {
  /** The claims request as JSON text, as the issuer sent it. */
  readonly claims?: string;
  /** A value of `WWW-Authenticate` for your client; none where the issuer named nothing that a client could act on. */
  readonly wwwAuthenticate?: string;
}
/** A token could not be validated: treat it as not valid. */
export class ValidationUndecided extends PosternError {}
/** A login or a step-up at an access manager failed. */
export class AuthenticationError extends PosternError {}
/** A session, its issuer or the store. */
export class SessionError extends PosternError {}
/** The user has not decided yet: call again after `retryAfterMs`. */
export class AuthorizationPending extends SessionError {}

/** A call to Adobe Pass has no result. */
export class PassError extends PosternError {}
/** Adobe Pass answered, and it was no success. */
export class PassRejected extends PassError {
  /** Adobe's error; with status 0 the sidecar's own finding. */
  readonly error?: Status;
  /** What helps. A newer sidecar may return others. */
  readonly next?:
    | "login"
    | "newCode"
    | "chooseMvpd"
    | "identity"
    | "partnerStatus"
    | "operator"
    | "later"
    | "none"
    | (string & {});
}
/** Adobe Pass gave no usable answer; `outcome` shows whether the request may have had an effect. */
export class PassUnreachable extends PassError {}
/** No decision point of kind adobe-pass has that name, for this user. */
export class PassNotConfigured extends PassError {}

/** The error of `createFetch`'s functions: a `TypeError` as with every fetch; `cause` is the error of the sidecar. */
export class FetchFailed extends TypeError {
  readonly cause: PosternError;
  readonly reason: PosternError["reason"];
  readonly code?: number;
  readonly retryable: boolean;
  readonly outcome?: Outcome;
  readonly data: ErrorData;
}
