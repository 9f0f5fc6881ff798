// The one implementation, for `import`: an error is the same class whichever way the package was loaded.
import postern from "./lib/index.js";

export const {
  Client,
  createFetch,
  FetchFailed,
  protect,
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
  NotAuthenticated,
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
} = postern;

// Former names.
export const {
  ForbiddenError,
  UnavailableError,
  DeadlineError,
  CancelledError,
  ConfigurationError,
  ResourceError,
  AdviceError,
  TokenError,
} = postern;
