import CPosternOpenSSL

/// Big-endian bytes to OpenSSL's numbers and back.
enum BigNumber {
  /// The minimal big-endian bytes of `number`; empty for zero.
  static func bytes(of number: OpaquePointer) -> [UInt8] {
    let count = Int(postern_bn_byte_count(number))
    guard count > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
      used = Int(BN_bn2bin(number, buffer.baseAddress))
    }
  }

  /// The big-endian bytes of `number`, exactly `count` of them; nil when it needs more.
  static func bytes(of number: OpaquePointer, count: Int) -> [UInt8]? {
    var fits = false
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
      fits = BN_bn2binpad(number, buffer.baseAddress, Int32(count)) == Int32(count)
      used = fits ? count : 0
    }
    return fits ? bytes : nil
  }
}
