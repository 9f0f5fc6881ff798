import HTTPMessages
public import JOSE
import PosternCrypto
import PosternJSON
public import PosternSupport

/// Signs short-lived JWTs in the client's name, about itself or about a user (RFC 7523 section 3).
public struct AssertionSigner: Sendable {
  static let lifetime = Duration.seconds(60)

  private let key: JWK
  private let algorithm: SignatureAlgorithm
  fileprivate let form: AssertionForm
  private let clock: any EngineClock

  /// A signer with `key`, and the algorithm that belongs to it; `invalid_key` when it cannot sign.
  public init(key: JWK, clock: some EngineClock) throws(JOSEError) {
    try self.init(key: key, form: AssertionForm(), clock: clock)
  }

  /// A signer of assertions of `form`; `invalid_key` when the key cannot sign by its algorithm.
  package init(key: JWK, form: AssertionForm, clock: some EngineClock) throws(JOSEError) {
    guard let algorithm = form.algorithm ?? key.defaultSignatureAlgorithm, !algorithm.isSymmetric,
      key.material.isSecret
    else {
      throw JOSEError(.invalidKey, "the client's key cannot sign")
    }
    // Found out now, and not at the first request.
    _ = try CompactJWS.sign(claims: [:], with: key, algorithm: algorithm)
    self.key = key
    self.form = form
    self.algorithm = algorithm
    self.clock = clock
  }

  /// Returns an assertion of `clientID` about `subject` for `audience` alone, valid for one use within a minute.
  package func assertion(by clientID: String, about subject: String, for audience: String) throws(TokenError) -> String
  {
    try Self.assertion(
      by: clientID, about: subject, for: audience, signedWith: key, algorithm, header: form.header, at: clock.wallNow)
  }

  fileprivate static func assertion(
    by clientID: String, about subject: String, for audience: String, signedWith key: JWK,
    _ algorithm: SignatureAlgorithm, header: JSONObject, at now: Timestamp
  ) throws(TokenError) -> String {
    let claims: JSONObject = [
      "iss": .string(clientID), "sub": .string(subject), "aud": .string(audience),
      "jti": .string(Base64URL.string(SecureRandom.bytes(16))), "iat": .integer(now.secondsSinceEpoch),
      "exp": .integer((now + lifetime).secondsSinceEpoch),
    ]
    do throws(JOSEError) {
      return try CompactJWS.sign(claims: claims, with: key, algorithm: algorithm, header: header)
    } catch {
      throw TokenError(.notPossible, "the client's assertion cannot be made: \(error.message)")
    }
  }
}

extension AssertionSigner: Hashable {
  /// Whether both have the same key, and sign in the same way.
  public static func == (left: AssertionSigner, right: AssertionSigner) -> Bool {
    left.key.thumbprint == right.key.thumbprint && left.key.keyID == right.key.keyID
      && left.algorithm.name == right.algorithm.name && left.form == right.form
  }

  /// Hashes the key's thumbprint.
  public func hash(into hasher: inout Hasher) { hasher.combine(key.thumbprint) }
}

/// `private_key_jwt` (RFC 7523 section 2.2, OpenID Connect Core section 9): a short-lived assertion signed with the
/// client's key.
///
/// Its audience is the issuer, whatever endpoint it goes to, so that no other server can use it, unless the provider
/// accepts another audience only.
public struct PrivateKeyJWT: ClientAuthentication, Hashable {
  private let signer: AssertionSigner

  /// Authentication by `key`, with the algorithm that belongs to it; `invalid_key` when it cannot sign.
  public init(key: JWK, clock: some EngineClock) throws(JOSEError) {
    signer = try AssertionSigner(key: key, clock: clock)
  }

  /// Authentication by assertions of `form`; `invalid_key` when the key cannot sign by its algorithm.
  package init(key: JWK, form: AssertionForm, clock: some EngineClock) throws(JOSEError) {
    signer = try AssertionSigner(key: key, form: form, clock: clock)
  }

  /// `private_key_jwt`.
  public var method: String { "private_key_jwt" }

  /// Whether the token endpoint is the audience of each assertion.
  public var needsTokenEndpoint: Bool { signer.form.audience == .tokenEndpoint }

  /// Adds `client_assertion`, made for this one request.
  public func authenticate(_ request: inout TokenEndpointRequest, as clientID: String) throws(TokenError) {
    let assertion = try signer.assertion(
      by: clientID, about: clientID, for: signer.form.audience.text(for: request))
    request.add(assertion, ofType: ClientAssertion.jwtBearer, by: clientID)
  }
}

/// `client_secret_jwt` (RFC 7523 section 2.2, OpenID Connect Core section 9): as `private_key_jwt`, with HS256 and the
/// client secret's UTF-8 as the key. The secret itself is never sent.
public struct ClientSecretJWT: ClientAuthentication {
  /// The shortest secret, in bytes (RFC 7518 section 3.2).
  public static let minimumByteCount = 32

  private let secret: Secret<String>
  private let key: JWK
  private let audience: AssertionForm.Audience
  private let clock: any EngineClock

  /// Authentication by `secret`; `weak_key` when it has fewer than 32 bytes.
  public init(secret: Secret<String>, clock: some EngineClock) throws(JOSEError) {
    try self.init(secret: secret, audience: .issuer, clock: clock)
  }

  /// Authentication by assertions for `audience`; `weak_key` for a secret of fewer than 32 bytes.
  package init(
    secret: Secret<String>, audience: AssertionForm.Audience, clock: some EngineClock
  ) throws(JOSEError) {
    self.audience = audience
    let key = SymmetricKey(Array(secret.reveal().utf8))
    guard key.byteCount >= Self.minimumByteCount else {
      throw JOSEError(
        .weakKey, "HS256 needs a secret of at least \(Self.minimumByteCount) bytes, this one has \(key.byteCount)")
    }
    self.secret = secret
    self.key = JWK(.symmetric(key))
    self.clock = clock
  }

  /// `client_secret_jwt`.
  public var method: String { "client_secret_jwt" }
  /// Whether the token endpoint is the audience of each assertion.
  public var needsTokenEndpoint: Bool { audience == .tokenEndpoint }
  /// `HS256`.
  public var requiredAlgorithm: String? { SignatureAlgorithm.hs256.name }

  /// Adds `client_assertion`, made for this one request.
  public func authenticate(_ request: inout TokenEndpointRequest, as clientID: String) throws(TokenError) {
    let assertion = try AssertionSigner.assertion(
      by: clientID, about: clientID, for: audience.text(for: request), signedWith: key, .hs256,
      header: AssertionForm().header, at: clock.wallNow)
    request.add(assertion, ofType: ClientAssertion.jwtBearer, by: clientID)
  }
}

extension ClientSecretJWT: Hashable {
  /// Whether both have the same secret, and the same audience.
  public static func == (left: ClientSecretJWT, right: ClientSecretJWT) -> Bool {
    left.secret == right.secret && left.audience == right.audience
  }

  /// Hashes the secret.
  public func hash(into hasher: inout Hasher) { hasher.combine(secret) }
}

/// What providers want of assertions in different ways.
package struct AssertionForm: Sendable, Hashable {
  /// The audience of an assertion that authenticates the client.
  package enum Audience: String, Sendable, Hashable, CaseIterable {
    /// The issuer's identifier.
    case issuer
    /// The token endpoint.
    case tokenEndpoint
    /// The URL that the assertion is sent to.
    case url

    func text(for request: TokenEndpointRequest) -> String {
      switch self {
      case .issuer: request.issuer
      case .tokenEndpoint: "\((request.tokenEndpoint ?? request.endpoint).withoutQuery)"
      case .url: "\(request.endpoint.withoutQuery)"
      }
    }
  }

  package var audience: Audience
  /// The algorithm; nil: that of the key.
  package var algorithm: SignatureAlgorithm?
  /// The thumbprints of the certificate, by their parameters in the header.
  package var thumbprints: [String: String]

  package init(
    audience: Audience = .issuer, algorithm: SignatureAlgorithm? = nil, thumbprints: [String: String] = [:]
  ) {
    self.audience = audience
    self.algorithm = algorithm
    self.thumbprints = thumbprints
  }

  /// The header without `alg` and `kid`. Entra wants `typ` (certificate credentials).
  var header: JSONObject {
    var header: JSONObject = ["typ": "JWT"]
    for name in thumbprints.keys.sorted() { header[name] = thumbprints[name].map { .string($0) } }
    return header
  }
}

extension TokenEndpointRequest {
  /// Adds `client_id` and the assertion (RFC 7521 section 4.2).
  mutating func add(_ assertion: String, ofType type: String, by clientID: String) {
    identify(as: clientID)
    form.append((name: "client_assertion_type", value: type))
    form.append((name: "client_assertion", value: assertion))
  }
}

extension AssertionSigner: ConciseStringConvertible {
  /// Key and algorithm: never key material.
  public var description: String { "signer of assertions, \(algorithm), \(key)" }
}

extension PrivateKeyJWT: ConciseStringConvertible {
  /// The method.
  public var description: String { method }
}

extension ClientSecretJWT: ConciseStringConvertible {
  /// The method: never the secret.
  public var description: String { method }
}
