import PosternCrypto

// `#expect` cannot take a call with a span among its arguments.

extension RSAPublicKey {
  func isValidSignature(_ signature: [UInt8], for message: [UInt8], scheme: RSASignatureScheme) -> Bool {
    isValidSignature(signature, for: message.span.bytes, scheme: scheme)
  }
}

extension ECPublicKey {
  func isValidSignature(_ signature: [UInt8], for message: [UInt8], hash: HashFunction) -> Bool {
    isValidSignature(signature, for: message.span.bytes, hash: hash)
  }
}

extension EdwardsPublicKey {
  func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool {
    isValidSignature(signature, for: message.span.bytes)
  }
}
