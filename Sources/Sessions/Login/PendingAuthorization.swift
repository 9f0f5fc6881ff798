import OAuthClient
import PosternCrypto
import PosternJSON
import PosternSupport
import SessionRecords
import TokenValidation

/// An authorization that waits for its callback; stored under the hash of its `state`, read once.
package struct PendingAuthorization: RecordContents {
  /// The claims that the ID token must have.
  struct Requirement: Sendable, Codable {
    let nonce: String
    /// In seconds.
    let maxAge: Int?
    let acrValues: [String]
  }

  @Flattened var issuer: IssuerReference
  let redirectURI: String
  let verifier: String
  @Flattened var requirement: Requirement
  package let scope: String
  /// `resource` (RFC 8707).
  let resource: String?
  /// The key that the code and the tokens are bound to (RFC 9449 section 10), with its private half.
  var dpopKey: JSONValue?
  /// Whether the issuer's callbacks always name it, by its metadata (RFC 9207 section 3). Nil in older records.
  var expectsIssuer: Bool?
  /// The session whose login it replaces; nil: it creates one.
  var stepUp: String?
  /// See `LoginOrigin.path`.
  var path: [String]?

  init(_ request: AuthorizationRequest, at issuer: Issuer, scope: String) {
    _issuer = Flattened(wrappedValue: IssuerReference(issuer))
    redirectURI = request.redirectURI
    verifier = PKCE.random().verifier
    _requirement = Flattened(
      wrappedValue: Requirement(
        nonce: Base64URL.string(SecureRandom.bytes(16)), maxAge: request.maxAge, acrValues: request.acrValues))
    self.scope = scope
    resource = request.resource
  }

  static func key(ofState state: String) -> RecordKey {
    RecordKey(collection: .authorization, id: HashFunction.sha256.hash(Array("state:\(state)".utf8)))
  }

  /// Whether `openid` was requested, so that there must be an ID token.
  var isOpenID: Bool { ScopeText.names("openid", in: scope) }

  /// The form of the request, whose code will be bound to `key` (RFC 9449 section 10).
  func form(_ request: AuthorizationRequest, state: String, key: DPoPKey?) -> [(name: String, value: String)] {
    request.form(
      clientID: issuer.clientID, scope: scope, state: state, nonce: requirement.nonce,
      challenge: PKCE(verifier: verifier).challenge) + (key.map { [(name: "dpop_jkt", value: $0.thumbprint)] } ?? [])
  }

  /// The code in the callback, when everything around it is right.
  func code(in callback: AuthorizationCallback, of issuer: Issuer) throws(AuthorizationError) -> String {
    try callback.code(redirectURI: redirectURI, issuer: issuer, requiresIssuer: expectsIssuer == true)
  }

  /// The grant that exchanges the code.
  func grant(of code: Secret<String>) -> SessionGrant {
    .authorizationCode(code: code, codeVerifier: Secret(verifier), redirectURI: redirectURI)
  }
}

extension IDTokenExpectations {
  /// The rules for the ID token that came with a session's first token.
  init(of authorization: PendingAuthorization?, at issuer: SessionIssuer, _ grant: SessionGrant, accessToken: String) {
    self.init(clientID: issuer.issuer.clientID, nonce: authorization?.requirement.nonce)
    maxAge = authorization?.requirement.maxAge.map { .seconds($0) }
    acrValues = authorization?.requirement.acrValues ?? []
    self.accessToken = Secret(accessToken)
    if case .authorizationCode(let code, _, _) = grant { authorizationCode = code }
  }
}
