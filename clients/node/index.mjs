// The one implementation, for `import`: an error is the same class whichever way the package was loaded.
import postern from "./lib/index.js";

export const {
  Client,
  createFetch,
  FetchError,
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
} = postern;
