public import PosternJSON

/// What an authorization server's answer means for a token.
public enum IntrospectionVerdict: Sendable {
  /// Active, and everything that was asked of it is true. `claims` are the members of the answer.
  case valid(claims: JSONObject)
  /// Refused, with the first check that failed.
  case invalid(TokenFault)
}

extension IntrospectionVerdict {
  /// The fault of a refused token.
  public var fault: TokenFault? { if case .invalid(let fault) = self { fault } else { nil } }
}
