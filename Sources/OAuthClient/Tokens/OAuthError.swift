import PosternJSON

/// An error as an authorization server words it (RFC 6749 section 5.2).
public struct OAuthError: Sendable, Hashable {
  /// What servers say by itself: no secret, even where one happens to be a part of it.
  static let registeredCodes: Set<String> = [
    "access_denied", "account_selection_required", "authorization_pending", "consent_required", "expired_token",
    "insufficient_user_authentication", "interaction_required", "invalid_client", "invalid_dpop_proof", "invalid_grant",
    "invalid_request", "invalid_scope", "invalid_target", "login_required", "server_error", "slow_down",
    "temporarily_unavailable", "unauthorized_client", "unsupported_grant_type", "unsupported_token_type",
    "use_dpop_nonce",
  ]

  /// The `error` code: `invalid_client`.
  public let code: String
  /// `error_description`, when there is one; at most 256 printable characters.
  public let description: String?

  /// Reads the body of an answer; nil when it is not such an error.
  init?(_ document: JSONValue?) {
    guard let code = document?["error"]?.stringValue, !code.isEmpty, code.utf8.count <= 128,
      code.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
    else { return nil }
    self.code = code
    let printable = document?["error_description"]?.stringValue?.unicodeScalars
      .filter { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
      .prefix(256)
    description = printable.flatMap { $0.isEmpty ? nil : String(String.UnicodeScalarView($0)) }
  }
}
