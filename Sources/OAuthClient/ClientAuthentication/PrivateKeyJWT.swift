public import JOSE
public import PosternSupport

/// `private_key_jwt` (RFC 7523 section 2.2, OpenID Connect Core section 9): a short-lived assertion signed with the
/// client's key.
///
/// Its audience is the issuer, whatever endpoint it goes to, so that no other server can use it.
public struct PrivateKeyJWT: ClientAuthentication, Hashable {
  static let lifetime = AssertionSigner.lifetime
  static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

  private let signer: AssertionSigner

  /// Authentication by `key`, with the algorithm that belongs to it; `invalid_key` when it cannot sign.
  public init(key: JWK, clock: some EngineClock) throws(JOSEError) {
    signer = try AssertionSigner(key: key, clock: clock)
  }

  /// `private_key_jwt`.
  public var method: String { "private_key_jwt" }

  /// Adds `client_assertion`, made for this one request.
  public func authenticate(_ request: inout TokenEndpointRequest, as clientID: String) throws(TokenError) {
    let assertion = try signer.assertion(by: clientID, about: clientID, for: request.issuer)
    request.form.append((name: "client_id", value: clientID))
    request.form.append((name: "client_assertion_type", value: Self.assertionType))
    request.form.append((name: "client_assertion", value: assertion))
  }
}
