import PosternSupport

extension JWKSet {
  /// The one key that may verify a token with `header` under `algorithm`.
  ///
  /// - `key_not_found`: no key has the `kid` (there is never a default key), or without one no key fits.
  /// - `key_alg_mismatch`: the key the header means is of another type, curve or `alg`.
  /// - `key_ambiguous`: several fit. None is tried out.
  /// - The reason of a refused entry, when that is what the header means.
  public func verificationKey(for header: JOSEHeader, algorithm: SignatureAlgorithm) throws(JOSEError) -> JWK {
    try select(keyID: header.keyID, operations: ["verify"], purpose: .signature, mismatch: algorithm.mismatch(with:))
  }

  func select(
    keyID: String?, operations: [String], purpose: KeyPurpose, mismatch: (JWK) -> JOSEError?
  ) throws(JOSEError) -> JWK {
    var candidates = 0
    var fitting: JWK?
    var fault: JOSEError?
    for key in keys where key.permits(operations, for: purpose) && key.isMeant(by: keyID) {
      candidates += 1
      if let reason = mismatch(key) {
        fault = fault ?? reason
      } else if fitting == nil {
        fitting = key
      } else {
        throw JOSEError(.keyAmbiguous, "several keys fit the token", claim: "kid")
      }
    }
    if let fitting { return fitting }
    // With a kid the header means that key, and without one the only key there is: say what is wrong with it.
    if let fault, keyID != nil || candidates == 1 { throw fault }
    if let reason = refusal(keyID: keyID) { throw reason }
    throw JOSEError(.keyNotFound, keyID == nil ? "no key fits the token" : "no key has the token's kid", claim: "kid")
  }

  private func refusal(keyID: String?) -> JOSEError? {
    let refused = refused.filter { !$0.isIgnored }
    guard let keyID else { return keys.isEmpty && refused.count == 1 ? refused.first?.reason : nil }
    return refused.first { $0.keyID?.hasSameBytes(as: keyID) ?? false }?.reason
  }
}

extension JWK {
  /// Whether a header with `keyID` may mean this key: its `kid` is the same, or the header has none.
  fileprivate func isMeant(by keyID: String?) -> Bool {
    guard let keyID else { return true }
    return self.keyID?.hasSameBytes(as: keyID) ?? false
  }
}
