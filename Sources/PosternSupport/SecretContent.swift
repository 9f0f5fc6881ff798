import Glibc

/// What a `Secret` can hold: something that is its bytes, and that can be made of them again.
public protocol SecretContent: Sendable {
  /// The value that has these bytes.
  init(secretBytes: UnsafeRawBufferPointer)
  /// Lends the value's bytes to `body`, which must not keep them.
  func withSecretBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result
}

extension String: SecretContent {
  /// The text of these bytes, UTF-8.
  public init(secretBytes: UnsafeRawBufferPointer) { self.init(decoding: secretBytes, as: UTF8.self) }

  /// Lends the UTF-8 to `body`.
  public func withSecretBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    var text = self
    return text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
  }
}

extension [UInt8]: SecretContent {
  /// These bytes.
  public init(secretBytes: UnsafeRawBufferPointer) { self.init(secretBytes) }

  /// Lends the bytes to `body`.
  public func withSecretBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result { withUnsafeBytes(body) }

  /// Overwrites the bytes, once there is a copy in a `Secret`: what is freed keeps its contents.
  public mutating func wipe() {
    withUnsafeMutableBytes { bytes in if let base = bytes.baseAddress { explicit_bzero(base, bytes.count) } }
  }
}
