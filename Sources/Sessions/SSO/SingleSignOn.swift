import PosternSupport

/// A code that a single sign-on token got, with all that belongs to it.
struct SingleSignOn: Sendable {
  let code: Secret<String>
  let pending: PendingAuthorization

  /// The grant that exchanges it.
  var grant: SessionGrant {
    .authorizationCode(code: code, codeVerifier: Secret(pending.verifier), redirectURI: pending.redirectURI)
  }
}
