import CPosternOpenSSL
public import PosternSupport

/// A key pair on a Weierstrass curve. A value over one immutable OpenSSL key.
public struct ECPrivateKey: Sendable {
  /// The public half.
  public let publicKey: ECPublicKey
  let key: EVPKey

  /// A fresh key.
  public static func generate(_ curve: ECCurve) throws(CryptoError) -> ECPrivateKey {
    try ECPrivateKey(
      key: EVPKey.generate(type: "EC") { EVP_PKEY_CTX_set_group_name($0, curve.groupName.characters) })
  }

  /// A key of its scalar, exactly as long as the group order, and its public point; `invalidKey` unless they belong
  /// together.
  public init(curve: ECCurve, scalar: SymmetricKey, x: [UInt8], y: [UInt8]) throws(CryptoError) {
    guard scalar.byteCount == curve.coordinateByteCount else {
      throw CryptoError(code: .invalidKey, message: "EC private key of the wrong length")
    }
    publicKey = try ECPublicKey(curve: curve, x: x, y: y)
    key = try ErrorQueue.checked(.invalidKey, "EC private key") {
      ECPublicKey.point(x: x, y: y).withUnsafeBytes { point in
        var parameters = KeyParameters()
        parameters.add(ParameterName.group, group: curve.groupName)
        parameters.add(ParameterName.publicKey, octets: point)
        parameters.add(ParameterName.privateKey, secret: scalar)
        return parameters.makeKey(type: "EC", selection: postern_evp_pkey_keypair)
      }
    }
    try key.checkPair()
  }

  /// A key that OpenSSL has made or parsed.
  init(key: EVPKey) throws(CryptoError) {
    publicKey = try ECPublicKey(of: key)
    self.key = key
  }

  /// The scalar, as long as the group order. Search for this name to find where key material is exported.
  public func revealScalar() throws(CryptoError) -> SymmetricKey {
    SymmetricKey(try key.integer(ParameterName.privateKey, byteCount: publicKey.curve.coordinateByteCount))
  }

  /// The signature of `message`: r‖s, each as long as the group order.
  public func signature(for message: RawSpan, hash: HashFunction) throws(CryptoError) -> [UInt8] {
    let der = try key.sign(message, hash: hash)
    guard let raw = ECDSASignature.raw(der: der, curve: publicKey.curve) else {
      throw CryptoError(code: .operationFailed, message: "signing")
    }
    return raw
  }

  /// The x coordinate shared with `peer`, which must be on the same curve (SP 800-56A section 5.7.1.2).
  public func sharedSecret(with peer: ECPublicKey) throws(CryptoError) -> SymmetricKey {
    guard peer.curve == publicKey.curve else {
      throw CryptoError(code: .invalidKey, message: "keys on different curves")
    }
    return try key.derive(with: peer.key)
  }
}

extension ECPrivateKey: ConciseStringConvertible {
  /// The curve: never key material.
  public var description: String { "\(publicKey.curve) private key" }
}
