public import PosternJSON

/// What the validator says about a token. A "no" is a verdict, not an error.
public enum TokenVerdict: Sendable {
  /// Genuine, and everything that was asked of it is true.
  ///
  /// `claims` and `header` are those of the signed token (of the inner one, when it came encrypted). `cached` says that
  /// the signature was verified at an earlier call; the claims are judged anew every time.
  case valid(claims: JSONObject, header: JSONObject, key: TokenKey, cached: Bool)
  /// Refused, with the first check that failed.
  case invalid(TokenFault)
}

extension TokenVerdict {
  /// The fault of a refused token.
  public var fault: TokenFault? { if case .invalid(let fault) = self { fault } else { nil } }

  /// The claims of a valid token.
  public var claims: JSONObject? { if case .valid(let claims, _, _, _) = self { claims } else { nil } }

  /// Whether the token is valid.
  public var isValid: Bool { fault == nil }
}
