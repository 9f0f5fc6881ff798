import { Advice } from "./common";
import { FetchResourceResult } from "./fetch-resource";

/** Reasons that the sidecar answers. */
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
  | "grant_not_supported";

/** Reasons made in this client. */
export type LocalReason =
  | "connection_failed"
  | "connection_lost"
  | "connection_closed"
  | "protocol_violation"
  | "events_overflowed";

/** Whether the request may have had an effect. `unknown`: it was sent, and no answer came. */
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

/** Whatever the sidecar answers as an error, and what keeps this client from an answer. */
export class PosternError extends Error {
  /** Switch on this. A newer sidecar may answer others. */
  readonly reason: Reason | LocalReason | (string & {});
  /** The JSON-RPC code; none on errors of the connection. */
  readonly code?: number;
  /** The call that failed. */
  readonly method?: string;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  readonly outcome?: Outcome;
  readonly upstream?: { status?: number; code?: string; description?: string };
  readonly traceId?: string;
  /** Points at the param that is wrong. */
  readonly path?: string;
  readonly data: ErrorData;
  readonly cause?: unknown;
}

/** The connection: not there, lost, or speaking something else. */
export class ConnectionError extends PosternError {}
/** The request itself is wrong; `path` points at the param. */
export class RequestError extends PosternError {}
/** A bug in the sidecar. */
export class InternalError extends PosternError {}
/** This user may not do that. */
export class ForbiddenError extends PosternError {}
/** The sidecar takes no more now: overloaded, or shutting down. */
export class UnavailableError extends PosternError {}
/** Time ran out. */
export class DeadlineError extends PosternError {}
/** Cancelled by `cancelTask`, or a body by its reader. */
export class CancelledError extends PosternError {}
/** `reloadConfig` found problems. */
export class ConfigurationError extends PosternError {
  readonly problems?: unknown[];
}
/** The fetch failed. */
export class ResourceError extends PosternError {}
/** The user has to do something first, or that was not enough. */
export class AdviceError extends ResourceError {
  readonly advice?: Advice;
  readonly advices?: Advice[];
  readonly response?: FetchResourceResult;
  readonly continuation?: string;
  readonly expiresAt?: string;
}
/** A token could not be judged, which says nothing about the token. */
export class TokenError extends PosternError {}
/** A login or a step-up failed. */
export class AuthenticationError extends PosternError {}
/** A session, its issuer or the store. */
export class SessionError extends PosternError {}

/** What a fetch rejects with: a `TypeError` like every fetch's; `cause` is the error of the sidecar. */
export class FetchError extends TypeError {
  readonly cause: PosternError;
  readonly reason: PosternError["reason"];
  readonly code?: number;
  readonly retryable: boolean;
  readonly outcome?: Outcome;
  readonly data: ErrorData;
}
