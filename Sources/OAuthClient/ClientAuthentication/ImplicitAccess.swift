public import PosternSupport

/// How an issuer lets the client log a registered profile in without the user, by client authentication.
public struct ImplicitAccess: Sendable {
  /// The grants that can do it.
  public enum Grant: String, Sendable, Hashable, Codable, CaseIterable {
    /// RFC 8693.
    case tokenExchange = "token_exchange"
    /// RFC 7523 section 2.1.
    case jwtBearer = "jwt_bearer"
    /// RFC 6749 section 4.4.
    case clientCredentials = "client_credentials"
  }

  /// The terms of a session when it was created: it ends when other terms are configured.
  package struct Terms: Sendable, Hashable, Codable {
    package let grant: Grant
    package let scope: String?
  }

  /// The grant.
  public let grant: Grant
  /// The scope to request, and the most that is ever requested; nil: the issuer's default.
  public let scope: String?
  /// Signs the client's assertions about a profile; nil where the client has no key.
  public let signer: AssertionSigner?

  /// Access by `grant`.
  public init(grant: Grant, scope: String? = nil, signer: AssertionSigner? = nil) {
    self.grant = grant
    self.scope = scope
    self.signer = signer
  }

  package var terms: Terms { Terms(grant: grant, scope: scope) }

  /// Whether the profile's ID token is sent to the issuer, since the client cannot sign an assertion.
  package var needsIDToken: Bool { grant == .tokenExchange && signer == nil }

  /// The form's members that log the user `subject` in, without those of client authentication. Each grant names the
  /// user in its way:
  ///
  /// - `token_exchange`: a JWT that the client signs, with the user as `sub`; without a key the ID token of the user's
  ///   last login.
  /// - `jwt_bearer`: the same JWT as the assertion.
  /// - `client_credentials`: not at all. The token is the client's, and only the sidecar knows its user.
  package func form(
    for subject: String, idToken: String?, at issuer: Issuer, scope: String?
  ) throws(TokenError) -> [(name: String, value: String)] {
    // Without credentials of the client anybody could log the user in.
    guard issuer.clientAuthentication.method != "none" || (signer != nil && grant != .clientCredentials) else {
      throw TokenError(.notPossible, "implicit access needs a client that can prove who it is")
    }
    func assertion() throws(TokenError) -> String? {
      try signer.map { signer throws(TokenError) in
        try signer.assertion(by: issuer.clientID, about: subject, for: issuer.identifier)
      }
    }
    var form: GrantForm.Members
    switch grant {
    case .tokenExchange:
      if let assertion = try assertion() {
        form = GrantForm.tokenExchange(subject: assertion, type: GrantForm.jwtType)
      } else if let idToken {
        form = GrantForm.tokenExchange(subject: idToken, type: GrantForm.idTokenType)
      } else {
        throw TokenError(.notPossible, "token_exchange needs the client's key, or a login since it was configured")
      }
    case .jwtBearer:
      guard let assertion = try assertion() else {
        throw TokenError(.notPossible, "jwt_bearer needs the client's key: clientKeyFile")
      }
      form = GrantForm.jwtBearer(assertion: assertion)
    case .clientCredentials: form = [(name: "grant_type", value: "client_credentials")]
    }
    if let scope { form.append((name: "scope", value: scope)) }
    return form
  }
}

extension ImplicitAccess: ConciseStringConvertible {
  /// Grant and scope.
  public var description: String {
    Concise.text("implicit access by \(grant.rawValue)", scope.map { "scope \(Concise.name($0))" })
  }
}
