"use strict";

const {
  PosternError,
  RequestError,
  InternalError,
  Forbidden,
  Unavailable,
  DeadlineExceeded,
  Cancelled,
  ConfigurationInvalid,
  FetchError,
  LoginRequired,
  ClientAuthenticationError,
  AdviceRequired,
  AdviceFailed,
  InteractionRequired,
  ValidationUndecided,
  AuthenticationError,
  SessionError,
  AuthorizationPending,
  PassError,
  PassRejected,
  PassUnreachable,
  PassNotConfigured,
} = require("./errors.js");

/** [code, reason, class]; the same list as proto-docs/errors.md. */
/** @type {[number, string, typeof PosternError][]} */
const REASONS = [
  [-32700, "parse_error", RequestError],
  [-32600, "invalid_request", RequestError],
  [-32601, "method_not_found", RequestError],
  [-32602, "invalid_params", RequestError],
  [-32603, "internal_error", InternalError],
  [-32007, "message_too_large", RequestError],
  [-32009, "overloaded", Unavailable],
  [-32010, "batch_too_large", RequestError],
  [-32020, "peer_forbidden", Forbidden],
  [-32021, "shutting_down", Unavailable],
  [-32022, "deadline_exceeded", DeadlineExceeded],
  [-32023, "configuration_invalid", ConfigurationInvalid],
  [-32024, "audit_unavailable", Unavailable],
  [-32025, "message_too_complex", RequestError],
  [-32800, "request_cancelled", Cancelled],
  [1001, "not_authenticated", LoginRequired],
  [1002, "not_implicitly_authenticated", LoginRequired],
  [1003, "device_not_authenticated", FetchError],
  [1004, "method_not_allowed", FetchError],
  [1005, "invalid_headers", FetchError],
  [1006, "invalid_url", FetchError],
  [1007, "origin_not_allowed", FetchError],
  [1008, "network_unreachable", FetchError],
  [1009, "server_unreachable", FetchError],
  [1010, "tls_failure", FetchError],
  [1011, "pin_mismatch", FetchError],
  [1012, "response_too_large", FetchError],
  [1013, "protocol_error", FetchError],
  [1014, "debugger_attached", FetchError],
  [1015, "payload_encryption_failed", FetchError],
  [1016, "task_not_found", FetchError],
  [1017, "advice_required", AdviceRequired],
  [1018, "advice_failed", AdviceFailed],
  [1019, "interaction_required", InteractionRequired],
  [2001, "jwks_fetch_failed", ValidationUndecided],
  [2002, "discovery_failed", ValidationUndecided],
  [2003, "discovery_issuer_mismatch", ValidationUndecided],
  [2004, "jwks_invalid", ValidationUndecided],
  [2005, "issuer_unknown", ValidationUndecided],
  [2006, "jwks_url_not_allowed", ValidationUndecided],
  [2007, "introspection_failed", ValidationUndecided],
  [3001, "advice_not_recognised", AuthenticationError],
  [3002, "continuation_unknown", AuthenticationError],
  [3003, "authentication_timed_out", AuthenticationError],
  [3004, "access_manager_unreachable", AuthenticationError],
  [3005, "access_manager_error", AuthenticationError],
  [5001, "session_not_found", LoginRequired],
  [5002, "session_expired", LoginRequired],
  [5003, "token_endpoint_error", SessionError],
  [5004, "token_endpoint_unreachable", SessionError],
  [5005, "authorization_failed", SessionError],
  [5006, "state_unknown", SessionError],
  [5007, "authorization_pending", AuthorizationPending],
  [5008, "store_unavailable", SessionError],
  [5009, "issuer_unknown", SessionError],
  [5010, "grant_not_supported", SessionError],
  [6001, "pass_error", PassRejected],
  [6002, "pass_unreachable", PassUnreachable],
  [6003, "pass_not_configured", PassNotConfigured],
];

/** @type {Map<number, typeof PosternError>} */
const CLASSES = new Map(REASONS.map(([code, , type]) => [code, type]));

/** The class for codes that this version does not know, by their thousands. */
const FAMILIES = [PosternError, FetchError, ValidationUndecided, AuthenticationError, PosternError, SessionError, PassError];

// Codes with the error of a token endpoint.
const OF_THE_TOKEN_ENDPOINT = new Set([1003, 5003]);

function classOf(code, data) {
  const error = data.error ?? data.upstream?.code;
  if (OF_THE_TOKEN_ENDPOINT.has(code) && error === "invalid_client") return ClientAuthenticationError;
  return CLASSES.get(code) ?? FAMILIES[Math.floor(code / 1000)] ?? PosternError;
}

/** The exception for the `error` of a response. */
function fromAnswer(error, method) {
  const object = typeof error === "object" && error !== null ? error : {};
  const data = typeof object.data === "object" && object.data !== null ? object.data : {};
  const reason = typeof data.reason === "string" ? data.reason : "unknown";
  const message = typeof object.message === "string" ? object.message : "an error without a message";
  const Type = classOf(object.code, data);
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

module.exports = { REASONS, fromAnswer, notSent };
