import CPosternOpenSSL
public import PosternSupport

/// Secret bytes: never printed, kept in `SecretMemory`, overwritten when the last reference goes.
public struct SymmetricKey: Sendable {
  private let storage: SecretBytes

  /// A copy of `bytes`.
  public init(_ bytes: [UInt8]) { self.init(copying: bytes.span.bytes) }

  /// A copy of `bytes`; the caller should overwrite the original.
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

  /// A copy of the bytes, for export. Search for this name to find where key material is exported.
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

extension SymmetricKey: ConciseStringConvertible, CustomDebugStringConvertible {
  /// Always `<secret>`.
  public var description: String { "<secret>" }
  /// Always `<secret>`.
  public var debugDescription: String { "<secret>" }
}

/// Random bytes from OpenSSL's generator, which the kernel seeds.
public enum SecureRandom {
  /// `count` unpredictable bytes. Traps when the machine has no randomness: nothing safe can be done then.
  public static func bytes(_ count: Int) -> [UInt8] {
    guard count > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
      let succeeded = ErrorQueue.discarding { Int32(exactly: count).map { RAND_bytes(buffer.baseAddress, $0) } == 1 }
      precondition(succeeded, "no randomness")
      used = count
    }
  }
}

/// Comparisons whose time does not depend on where the operands differ.
public enum ConstantTime {
  /// Whether both hold the same bytes. The time depends on the lengths only.
  public static func equals(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    equals(left.span.bytes, right.span.bytes)
  }

  /// Whether both hold the same bytes. The time depends on the lengths only.
  public static func equals(_ left: RawSpan, _ right: RawSpan) -> Bool {
    guard left.byteCount == right.byteCount else { return false }
    guard left.byteCount > 0 else { return true }
    return left.withUnsafeBytes { left in
      right.withUnsafeBytes { CRYPTO_memcmp(left.baseAddress, $0.baseAddress, left.count) == 0 }
    }
  }
}
