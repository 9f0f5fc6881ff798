import PosternCrypto
import PosternSupport

extension SignatureAlgorithm {
  /// The row for a header's `alg`, as far as `allowed` lets it be used.
  ///
  /// `alg_not_supported` for a registered algorithm that cannot be computed here, else `alg_not_allowed`: for a name
  /// outside the list, in another case, or `none`.
  public static func resolve(_ name: String, allowed: [SignatureAlgorithm]) throws(JOSEError) -> SignatureAlgorithm {
    guard let row = SignatureAlgorithm(name: name) else {
      guard registeredButUnsupported.contains(where: { $0.hasSameBytes(as: name) }) else { throw notAllowed }
      throw JOSEError(.algNotSupported, "the algorithm is not supported by this build", claim: "alg")
    }
    guard case .edwards(let curves) = row.scheme else {
      guard allowed.contains(row) else { throw notAllowed }
      return row
    }
    let narrowed = curves.intersection(allowedCurves(allowed))
    guard !narrowed.isEmpty else { throw notAllowed }
    return SignatureAlgorithm(
      name: row.name, keyType: row.keyType, minimumKeyBitCount: row.minimumKeyBitCount, scheme: .edwards(narrowed))
  }

  /// The curves that an allow-list admits: the polymorphic `EdDSA` stands for both (RFC 8037 section 3.1), `Ed25519`
  /// and `Ed448` each for its own (RFC 9864 section 2.2), whichever of the names a token has.
  private static func allowedCurves(_ allowed: [SignatureAlgorithm]) -> Set<EdwardsCurve> {
    allowed.reduce(into: []) { curves, algorithm in
      guard case .edwards(let own) = algorithm.scheme else { return }
      curves.formUnion(own)
    }
  }

  private static var notAllowed: JOSEError {
    JOSEError(.algNotAllowed, "the token's algorithm is not in the allow-list", claim: "alg")
  }
}
