/// What authenticated encryption makes of a plaintext.
public struct SealedMessage: Sendable {
  /// The ciphertext.
  public var ciphertext: [UInt8]
  /// The authentication tag.
  public var tag: [UInt8]

  /// The given parts.
  public init(ciphertext: [UInt8], tag: [UInt8]) {
    self.ciphertext = ciphertext
    self.tag = tag
  }
}
