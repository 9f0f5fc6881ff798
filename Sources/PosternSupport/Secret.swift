import Glibc

/// A value that must never be printed: its description, debug description and mirror all read `<secret>`. At rest it is
/// in `SecretMemory`: not swapped out, not dumped, overwritten when it goes.
///
/// `reveal()` is the one way to the value, so that every use can be found by searching for it.
public struct Secret<Value: SecretContent>: Sendable {
  private let bytes: SecretBytes

  /// Wraps a copy of `value`.
  public init(_ value: Value) { bytes = value.withSecretBytes(SecretBytes.init(copying:)) }

  /// The secret itself, in ordinary memory. Call it where the value is used (a header, a form field), never earlier.
  public func reveal() -> Value { bytes.withUnsafeBytes(Value.init(secretBytes:)) }
}

extension Secret where Value == [UInt8] {
  /// How many bytes it has.
  public var byteCount: Int { bytes.count }

  /// Wraps a copy of `value`, and overwrites it.
  public init(moving value: inout [UInt8]) {
    self.init(value)
    value.wipe()
  }
}

extension Secret: Hashable {
  /// Whether both are the same bytes.
  public static func == (left: Secret, right: Secret) -> Bool {
    left.bytes.withUnsafeBytes { left in
      right.bytes.withUnsafeBytes { $0.count == left.count && $0.elementsEqual(left) }
    }
  }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
}

extension Secret: ConciseStringConvertible, CustomDebugStringConvertible {
  /// Always `<secret>`.
  public var description: String { "<secret>" }
  /// Always `<secret>`.
  public var debugDescription: String { "<secret>" }
}

/// A type that a `Secret` can hold: it is made of bytes, and can be made from them again.
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

/// The bytes of one secret, in `SecretMemory`: overwritten when the last reference goes.
public final class SecretBytes: @unchecked Sendable {
  // Sendable because the bytes are written in init and overwritten in deinit only.
  private let buffer: UnsafeMutableRawBufferPointer
  private let block: SecretBlock?

  /// A copy of `bytes`.
  public init(copying bytes: UnsafeRawBufferPointer) {
    guard !bytes.isEmpty else {
      buffer = UnsafeMutableRawBufferPointer(start: nil, count: 0)
      block = nil
      return
    }
    let (block, address) = SecretMemory.take(bytes.count)
    buffer = UnsafeMutableRawBufferPointer(start: address, count: bytes.count)
    buffer.copyMemory(from: bytes)
    self.block = block
  }

  deinit {
    guard let block, let address = buffer.baseAddress else { return }
    explicit_bzero(address, buffer.count)
    SecretMemory.give(back: address, buffer.count, of: block)
  }

  /// How many they are.
  public var count: Int { buffer.count }

  /// Lends the bytes to `body`, which must not keep them.
  public func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withExtendedLifetime(self) { () throws(Failure) in try body(UnsafeRawBufferPointer(buffer)) }
  }
}

extension SecretBytes: ConciseStringConvertible {
  /// Always `<secret>`.
  public var description: String { "<secret>" }
}
