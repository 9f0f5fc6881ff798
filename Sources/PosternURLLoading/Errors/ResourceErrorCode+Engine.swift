import AuthEngine

extension ResourceError.Code {
  static let peerForbidden = Self(number: -32_020, reason: "peer_forbidden")
  static let jwksFetchFailed = Self(number: 2001, reason: "jwks_fetch_failed")
  static let discoveryFailed = Self(number: 2002, reason: "discovery_failed")
  static let discoveryIssuerMismatch = Self(number: 2003, reason: "discovery_issuer_mismatch")
  static let jwksInvalid = Self(number: 2004, reason: "jwks_invalid")
  static let introspectionFailed = Self(number: 2007, reason: "introspection_failed")
  static let adviceNotRecognised = Self(number: 3001, reason: "advice_not_recognised")
  static let continuationUnknown = Self(number: 3002, reason: "continuation_unknown")
  static let authenticationTimedOut = Self(number: 3003, reason: "authentication_timed_out")
  static let accessManagerUnreachable = Self(number: 3004, reason: "access_manager_unreachable")
  static let accessManagerError = Self(number: 3005, reason: "access_manager_error")
  static let sessionExpired = Self(number: 5002, reason: "session_expired")
  static let authorizationFailed = Self(number: 5005, reason: "authorization_failed")
  static let stateUnknown = Self(number: 5006, reason: "state_unknown")
  static let authorizationPending = Self(number: 5007, reason: "authorization_pending")
  static let issuerUnknown = Self(number: 5009, reason: "issuer_unknown")
  static let grantNotSupported = Self(number: 5010, reason: "grant_not_supported")
}
