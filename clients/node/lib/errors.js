"use strict";

/** An error of the sidecar, or of this client when there is no response. */
class PosternError extends Error {
  /**
   * @param {string} message
   * @param {{reason: string, code?: number, data?: Record<string, any>, method?: string, cause?: unknown}} details
   */
  constructor(message, { reason, code, data = {}, method, cause }) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
    this.code = code;
    /** @type {Record<string, any>} */
    this.data = { reason, ...data };
    this.method = method;
  }

  get name() {
    return this.constructor.name;
  }

  get retryable() {
    return this.data.retryable === true;
  }

  get retryAfterMs() {
    return this.data.retryAfterMs;
  }

  get outcome() {
    return this.data.outcome;
  }

  get upstream() {
    return this.data.upstream;
  }

  get traceId() {
    return this.data.traceId;
  }

  get path() {
    return this.data.path;
  }
}

/** The connection: not established, lost, or another protocol. Created by the client, never by the sidecar. */
class ConnectionError extends PosternError {}

/** The request itself is invalid. */
class RequestError extends PosternError {}

/** A bug in the sidecar. */
class InternalError extends PosternError {}

/** This user is not permitted to do that. */
class ForbiddenError extends PosternError {}

/** The sidecar accepts no more calls now: overloaded, or shutting down. */
class UnavailableError extends PosternError {}

/** The call timed out. */
class DeadlineError extends PosternError {}

/** Cancelled by `cancelTask`. (A call that its own signal ends rejects with the signal's reason.) */
class CancelledError extends PosternError {}

/** `reloadConfig` found problems. */
class ConfigurationError extends PosternError {
  get problems() {
    return this.data.problems;
  }
}

/** The fetch failed. */
class ResourceError extends PosternError {}

/** The user has to do something first, or that was not sufficient. */
class AdviceError extends ResourceError {
  get advice() {
    return this.data.advice;
  }

  get advices() {
    return this.data.advices;
  }

  get response() {
    return this.data.response;
  }

  get continuation() {
    return this.data.continuation;
  }

  get expiresAt() {
    return this.data.expiresAt;
  }
}

/** A token could not be validated, whether or not it is valid. */
class TokenError extends PosternError {}

/** A login or a step-up failed. */
class AuthenticationError extends PosternError {}

/** A session, its issuer or the store. */
class SessionError extends PosternError {}

/** [code, reason, class]; the same list as proto-docs/errors.md. */
/** @type {[number, string, typeof PosternError][]} */
const REASONS = [
  [-32700, "parse_error", RequestError],
  [-32600, "invalid_request", RequestError],
  [-32601, "method_not_found", RequestError],
  [-32602, "invalid_params", RequestError],
  [-32603, "internal_error", InternalError],
  [-32007, "message_too_large", RequestError],
  [-32009, "overloaded", UnavailableError],
  [-32010, "batch_too_large", RequestError],
  [-32020, "peer_forbidden", ForbiddenError],
  [-32021, "shutting_down", UnavailableError],
  [-32022, "deadline_exceeded", DeadlineError],
  [-32023, "configuration_invalid", ConfigurationError],
  [-32024, "audit_unavailable", UnavailableError],
  [-32025, "message_too_complex", RequestError],
  [-32800, "request_cancelled", CancelledError],
  [1001, "not_authenticated", ResourceError],
  [1002, "not_implicitly_authenticated", ResourceError],
  [1003, "device_not_authenticated", ResourceError],
  [1004, "method_not_allowed", ResourceError],
  [1005, "invalid_headers", ResourceError],
  [1006, "invalid_url", ResourceError],
  [1007, "origin_not_allowed", ResourceError],
  [1008, "network_unreachable", ResourceError],
  [1009, "server_unreachable", ResourceError],
  [1010, "tls_failure", ResourceError],
  [1011, "pin_mismatch", ResourceError],
  [1012, "response_too_large", ResourceError],
  [1013, "protocol_error", ResourceError],
  [1014, "debugger_attached", ResourceError],
  [1015, "payload_encryption_failed", ResourceError],
  [1016, "task_not_found", ResourceError],
  [1017, "advice_required", AdviceError],
  [1018, "advice_failed", AdviceError],
  [2001, "jwks_fetch_failed", TokenError],
  [2002, "discovery_failed", TokenError],
  [2003, "discovery_issuer_mismatch", TokenError],
  [2004, "jwks_invalid", TokenError],
  [2005, "issuer_unknown", TokenError],
  [2006, "jwks_url_not_allowed", TokenError],
  [2007, "introspection_failed", TokenError],
  [3001, "advice_not_recognised", AuthenticationError],
  [3002, "continuation_unknown", AuthenticationError],
  [3003, "authentication_timed_out", AuthenticationError],
  [3004, "access_manager_unreachable", AuthenticationError],
  [3005, "access_manager_error", AuthenticationError],
  [5001, "session_not_found", SessionError],
  [5002, "session_expired", SessionError],
  [5003, "token_endpoint_error", SessionError],
  [5004, "token_endpoint_unreachable", SessionError],
  [5005, "authorization_failed", SessionError],
  [5006, "state_unknown", SessionError],
  [5007, "authorization_pending", SessionError],
  [5008, "store_unavailable", SessionError],
  [5009, "issuer_unknown", SessionError],
  [5010, "grant_not_supported", SessionError],
];

/** @type {Map<string, typeof PosternError>} */
const CLASSES = new Map(REASONS.map(([code, reason, type]) => [`${code} ${reason}`, type]));

/** The exception for the `error` of a response; an unknown reason becomes a plain `PosternError`. */
function fromAnswer(error, method) {
  const object = typeof error === "object" && error !== null ? error : {};
  const data = typeof object.data === "object" && object.data !== null ? object.data : {};
  const reason = typeof data.reason === "string" ? data.reason : "unknown";
  const message = typeof object.message === "string" ? object.message : "an error without a message";
  const Type = CLASSES.get(`${object.code} ${reason}`) ?? PosternError;
  return new Type(`${message} (${reason})`, { reason, code: object.code, data, method });
}

/**
 * Nothing was sent: a retry of the call is safe.
 * @param {typeof PosternError} Type
 * @param {string} reason
 * @param {string} message
 * @param {{method?: string, cause?: unknown, code?: number, retryable?: boolean}} details
 */
function notSent(Type, reason, message, { method, cause, code, retryable = false }) {
  return new Type(message, { reason, code, method, cause, data: { outcome: "not_sent", retryable } });
}

module.exports = {
  PosternError,
  ConnectionError,
  RequestError,
  InternalError,
  ForbiddenError,
  UnavailableError,
  DeadlineError,
  CancelledError,
  ConfigurationError,
  ResourceError,
  AdviceError,
  TokenError,
  AuthenticationError,
  SessionError,
  REASONS,
  fromAnswer,
  notSent,
};
