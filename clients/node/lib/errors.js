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

/** The connection to the sidecar. Created by the client, as its subclasses are. */
class ConnectionError extends PosternError {}

/** There is no connection; nothing was sent. */
class ConnectionFailed extends ConnectionError {}

/** The connection ended before the response; `outcome` shows whether the call may have been executed. */
class ConnectionLost extends ConnectionError {}

/** A message from the socket violates the protocol. The connection was closed. */
class ProtocolViolation extends ConnectionLost {}

/** The client was closed while, or before, it was called. */
class ClientClosed extends ConnectionLost {}

/** The request itself is invalid. */
class RequestError extends PosternError {}

/** A bug in the sidecar. */
class InternalError extends PosternError {}

/** This user is not permitted to do that. */
class Forbidden extends PosternError {}

/** The sidecar accepts no more calls now: overloaded, or shutting down. */
class Unavailable extends PosternError {}

/** The call timed out. */
class DeadlineExceeded extends PosternError {}

/** Cancelled by `cancelTask`. (A call that its own signal ends rejects with the signal's reason.) */
class Cancelled extends PosternError {}

/** `reloadConfig` found problems. */
class ConfigurationInvalid extends PosternError {
  get problems() {
    return this.data.problems;
  }
}

/** The fetch failed. */
class FetchError extends PosternError {}

/**
 * No user is logged in, or not any more: send the user to the login. The call named no session (`data.detail` is
 * `session_missing`), or the session is unknown, has ended, or gets no more tokens.
 */
class LoginRequired extends FetchError {}

/**
 * The issuer does not accept the sidecar's own client id and secret: correct the configuration. No login helps. From
 * fetches with client credentials, and from everything that obtains tokens of a session.
 */
class ClientAuthenticationError extends FetchError {}

class AboutAdvice extends FetchError {
  get advice() {
    return this.data.advice;
  }

  get advices() {
    return this.data.advices;
  }

  get response() {
    return this.data.response;
  }
}

/** The user has to do something first. */
class AdviceRequired extends AboutAdvice {
  get continuation() {
    return this.data.continuation;
  }

  get expiresAt() {
    return this.data.expiresAt;
  }
}

/** The advice was not satisfied, or that was not sufficient. */
class AdviceFailed extends AboutAdvice {}

/** The issuer gives no token on behalf of the user before that user has done something. */
class InteractionRequired extends FetchError {
  get claims() {
    return this.data.claims;
  }

  get wwwAuthenticate() {
    return this.data.wwwAuthenticate;
  }
}

/** A token could not be validated: treat it as not valid. */
class ValidationUndecided extends PosternError {}

/** A login or a step-up at an access manager failed. */
class AuthenticationError extends PosternError {}

/** A session, its issuer or the store. */
class SessionError extends PosternError {}

/** The user has not decided yet: call again after `retryAfterMs`. */
class AuthorizationPending extends SessionError {}

/** A call to Adobe Pass has no result. */
class PassError extends PosternError {}

/** Adobe Pass answered, and it was no success. */
class PassRejected extends PassError {
  /** Adobe's error; with status 0 the sidecar's own finding. */
  get error() {
    return this.data.error;
  }

  /** What helps. */
  get next() {
    return this.data.next;
  }
}

/** Adobe Pass gave no usable answer. */
class PassUnreachable extends PassError {}

/** No decision point of kind adobe-pass has that name, for this user. */
class PassNotConfigured extends PassError {}

module.exports = {
  PosternError,
  ConnectionError,
  ConnectionFailed,
  ConnectionLost,
  ProtocolViolation,
  ClientClosed,
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
};
