import PosternJSON

/// A token request whose client has proven who it is.
struct TokenRequest: Sendable {
  /// The client.
  let client: PlaygroundClient
  /// The form.
  let form: FormParameters
  /// The thumbprint of the key in its proof (RFC 9449 section 5).
  let proofKey: String?

  /// A parameter that must be there.
  func required(_ name: String) throws(OAuthError) -> String {
    guard let value = form[name] else { throw OAuthError(.invalidRequest, "\(name) is missing") }
    return value
  }
}

/// A token answer (RFC 6749 section 5.1).
struct TokenAnswer: Sendable {
  /// The members.
  var json: JSONObject
  /// As in `Reply`.
  var noteWritten: (@Sendable (Bool) -> Void)?
}

/// Carries out one `grant_type`.
protocol GrantHandler: Sendable {
  /// The answer to `request`. Throws `OAuthError` when there is no grant.
  func answer(to request: TokenRequest) throws -> TokenAnswer
}
