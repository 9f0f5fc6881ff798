import PosternSupport

extension SignatureAlgorithm {
  /// Why `key` does not belong to this algorithm; nil when it does. Its size is not looked at.
  func mismatch(with key: JWK) -> JOSEError? {
    guard key.keyType == keyType else {
      return JOSEError(.keyAlgMismatch, "\(name) needs a key of type \(keyType.rawValue), not \(key.keyType.rawValue)")
    }
    guard accepts(key.material.curve) else {
      return JOSEError(.keyAlgMismatch, "the key's curve is not one of \(name)")
    }
    guard key.algorithm?.hasSameBytes(as: name) ?? true else {
      return JOSEError(.keyAlgMismatch, "the key is for another algorithm than \(name)")
    }
    return nil
  }

  /// Why `key` is too small; nil when it is not.
  func weakness(of key: JWK) -> JOSEError? {
    let bits = key.material.bitCount
    guard bits < minimumKeyBitCount else { return nil }
    return JOSEError(.weakKey, "\(name) needs a key of at least \(minimumKeyBitCount) bits, this one has \(bits)")
  }

  private func accepts(_ curve: KeyCurve?) -> Bool {
    switch (scheme, curve) {
    case (.rsa, nil), (.hmac, nil): true
    case (.ecdsa(let expected, _), .weierstrass(let actual)?): expected == actual
    case (.edwards(let expected), .edwards(let actual)?): expected.contains(actual)
    default: false
    }
  }
}
