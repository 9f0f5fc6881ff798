import CPosternOpenSSL

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
