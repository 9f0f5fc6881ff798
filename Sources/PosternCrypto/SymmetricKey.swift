import PosternSupport

/// Secret bytes: never printed, kept in `SecretMemory`, overwritten when the last reference goes.
public struct SymmetricKey: Sendable {
  private let storage: SecretBytes

  /// A copy of `bytes`.
  public init(_ bytes: [UInt8]) { self.init(copying: bytes.span.bytes) }

  /// A copy of `bytes`, which stay the caller's to overwrite.
  public init(copying bytes: RawSpan) { storage = bytes.withUnsafeBytes(SecretBytes.init(copying:)) }

  init(copying bytes: UnsafeMutableBufferPointer<UInt8>.SubSequence) {
    storage = SecretBytes(copying: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes.base)[bytes.indices]))
  }

  /// A random key of `byteCount` bytes.
  public static func random(byteCount: Int) -> SymmetricKey { SymmetricKey(SecureRandom.bytes(byteCount)) }

  /// Its length in bytes.
  public var byteCount: Int { storage.count }

  /// Lends the bytes to `body`, which must not keep them.
  public func withUnsafeBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
    storage.withUnsafeBytes(body)
  }

  /// A copy of the bytes, for export. Search for this name to find where key material leaves its box.
  public func reveal() -> [UInt8] { withUnsafeBytes { Array($0) } }

  /// The part of it in `range`, which must lie inside.
  public func slice(_ range: Range<Int>) -> SymmetricKey {
    withUnsafeBytes { SymmetricKey(copying: RawSpan(_unsafeBytes: $0).extracting(range)) }
  }
}

extension SymmetricKey: Equatable {
  /// Same bytes, compared in constant time.
  public static func == (left: SymmetricKey, right: SymmetricKey) -> Bool {
    left.withUnsafeBytes { left in
      right.withUnsafeBytes { ConstantTime.equals(RawSpan(_unsafeBytes: left), RawSpan(_unsafeBytes: $0)) }
    }
  }
}

extension SymmetricKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Always `<secret>`.
  public var description: String { "<secret>" }
  /// Always `<secret>`.
  public var debugDescription: String { "<secret>" }
  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
