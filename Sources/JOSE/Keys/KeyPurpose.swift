import PosternSupport

/// What a key may be for: the two registered values of `use` with the operations of `key_ops` that belong to them (RFC
/// 7517 sections 4.2 and 4.3).
enum KeyPurpose: Sendable {
  case signature
  case encryption

  var use: String {
    switch self {
    case .signature: "sig"
    case .encryption: "enc"
    }
  }

  var operations: [String] {
    switch self {
    case .signature: ["sign", "verify"]
    case .encryption: ["encrypt", "decrypt", "wrapKey", "unwrapKey", "deriveKey", "deriveBits"]
    }
  }
}

extension JWK {
  /// Whether `use` and `key_ops`, as far as they are there, let the key do one of `needed`.
  func permits(_ needed: [String], for purpose: KeyPurpose) -> Bool {
    (use?.hasSameBytes(as: purpose.use) ?? true) && (operations?.contains { needed.contains(bytesOf: $0) } ?? true)
  }
}

extension [String] {
  /// Whether one element has the bytes of `text`; `contains` would also find its canonical equivalents.
  func contains(bytesOf text: String) -> Bool { contains { $0.hasSameBytes(as: text) } }
}
