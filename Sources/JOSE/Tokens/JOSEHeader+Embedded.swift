import PosternJSON

extension JOSEHeader {
  /// The parameters by which a sender would choose the key that judges him.
  private static let keyParameters = ["jwk", "jku", "x5u", "x5c"]

  /// Refuses a header that carries or points at a key, for tokens that have no business doing so: `forbidden_header`.
  /// Without this call such parameters are ignored.
  public func refuseEmbeddedKeys() throws(JOSEError) {
    guard let name = Self.keyParameters.first(where: { parameters[$0] != nil }) else { return }
    throw JOSEError(.forbiddenHeader, "the header carries or points at a key", claim: name)
  }

  /// The public key in `jwk`, for proofs of possession only (RFC 9449 section 4.2), whose very point is that the sender
  /// names his key. It proves nothing until its thumbprint has been compared with something trusted.
  ///
  /// `malformed_token` when there is none, `invalid_key` when it holds private members, is symmetric or unusable.
  public func untrustedProofKey() throws(JOSEError) -> JWK {
    guard let members = parameters["jwk"]?.objectValue else {
      throw JOSEError(.malformedToken, "jwk is missing or not an object", claim: "jwk")
    }
    guard !KeyMaterial.privateMemberNames.contains(where: { members[$0] != nil }) else {
      throw JOSEError(.invalidKey, "jwk holds private members", claim: "jwk")
    }
    return try JWK(json: members)
  }
}
