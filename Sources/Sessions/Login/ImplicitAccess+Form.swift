import OAuthClient

extension ImplicitAccess {
  private static let jwtType = "urn:ietf:params:oauth:token-type:jwt"
  private static let idTokenType = "urn:ietf:params:oauth:token-type:id_token"

  /// The form's members that log `profile` in, without those of client authentication. Each grant names the profile in
  /// its way:
  ///
  /// - `token_exchange`: a JWT that the client signs, with the profile as `sub`; without a key the ID token of the
  ///   user's last login.
  /// - `jwt_bearer`: the same JWT as the assertion.
  /// - `client_credentials`: not at all. The token is the client's, and only the sidecar knows its user.
  func form(
    for profile: Profile, at issuer: Issuer, scope: String?
  ) throws(SessionError) -> [(name: String, value: String)] {
    // Without credentials of the client anybody could log the profile in.
    guard issuer.clientAuthentication.method != "none" || (signer != nil && grant != .clientCredentials) else {
      throw .grantNotSupported("implicit access needs a client that can prove who it is")
    }
    var form: [(name: String, value: String)]
    switch grant {
    case .tokenExchange:
      let subject = try signer.map { signer throws(SessionError) in
        (token: try assertion(signer, profile, issuer), type: Self.jwtType)
      }
      guard let subject = subject ?? profile.idToken.map({ (token: $0, type: Self.idTokenType) }) else {
        throw .grantNotSupported("token_exchange needs the client's key, or a login since it was configured")
      }
      form = [
        (name: "grant_type", value: "urn:ietf:params:oauth:grant-type:token-exchange"),
        (name: "subject_token", value: subject.token), (name: "subject_token_type", value: subject.type),
      ]
    case .jwtBearer:
      guard let signer else { throw .grantNotSupported("jwt_bearer needs the client's key: clientKeyFile") }
      form = [
        (name: "grant_type", value: "urn:ietf:params:oauth:grant-type:jwt-bearer"),
        (name: "assertion", value: try assertion(signer, profile, issuer)),
      ]
    case .clientCredentials:
      form = [(name: "grant_type", value: "client_credentials")]
    }
    if let scope { form.append((name: "scope", value: scope)) }
    return form
  }

  private func assertion(
    _ signer: AssertionSigner, _ profile: Profile, _ issuer: Issuer
  ) throws(SessionError) -> String {
    do throws(TokenError) {
      return try signer.assertion(by: issuer.clientID, about: profile.subject, for: issuer.identifier)
    } catch {
      throw SessionError(error)
    }
  }
}
