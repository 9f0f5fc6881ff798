import CPosternOpenSSL

/// Conversion of ECDSA signatures between r‖s of fixed length (RFC 7518 section 3.4) and the DER that OpenSSL uses.
enum ECDSASignature {
  /// Two integers of at most 67 bytes with their headers, and the sequence's.
  private static let maximumDERByteCount = 2 * (67 + 2) + 3

  /// Calls `body` with the DER form of `raw`. Returns nil without calling it unless the length is right and
  /// 1 ≤ r, s < n (Java once accepted zeros as valid: CVE-2022-21449).
  static func withDER<Value>(raw: [UInt8], curve: ECCurve, _ body: (UnsafeRawBufferPointer) -> Value) -> Value? {
    let count = curve.coordinateByteCount
    guard raw.count == 2 * count else { return nil }
    let order = curve.order
    guard isScalar(raw[..<count], below: order), isScalar(raw[count...], below: order) else { return nil }
    return withUnsafeTemporaryAllocation(byteCount: maximumDERByteCount, alignment: 1) { buffer in
      let r = integerByteCount(raw[..<count])
      let s = integerByteCount(raw[count...])
      let content = r + s + 4
      var used = 0
      func put(_ byte: UInt8) {
        buffer[used] = byte
        used += 1
      }
      func put(_ integer: ArraySlice<UInt8>, byteCount: Int) {
        put(0x02)
        put(UInt8(byteCount))
        let digits = integer.drop { $0 == 0 }
        if byteCount > digits.count { put(0) }
        for digit in digits { put(digit) }
      }
      put(0x30)
      if content > 0x7f { put(0x81) }
      put(UInt8(content))
      put(raw[..<count], byteCount: r)
      put(raw[count...], byteCount: s)
      return body(UnsafeRawBufferPointer(rebasing: buffer[..<used]))
    }
  }

  /// The r‖s form of a DER signature.
  static func raw(der: [UInt8], curve: ECCurve) -> [UInt8]? {
    ErrorQueue.discarding {
      let signature = der.withUnsafeBufferPointer { buffer in
        var start = buffer.baseAddress
        return d2i_ECDSA_SIG(nil, &start, buffer.count)
      }
      guard let signature else { return nil }
      defer { ECDSA_SIG_free(signature) }
      guard let r = ECDSA_SIG_get0_r(signature), let s = ECDSA_SIG_get0_s(signature),
        let left = BigNumber.bytes(of: r, count: curve.coordinateByteCount),
        let right = BigNumber.bytes(of: s, count: curve.coordinateByteCount)
      else { return nil }
      return left + right
    }
  }

  /// Whether 1 ≤ `scalar` < `order`; both public values of one length.
  private static func isScalar(_ scalar: ArraySlice<UInt8>, below order: [UInt8]) -> Bool {
    scalar.lexicographicallyPrecedes(order) && scalar.contains { $0 != 0 }
  }

  /// The length of DER's minimal two's complement of a positive number.
  private static func integerByteCount(_ integer: ArraySlice<UInt8>) -> Int {
    let digits = integer.drop { $0 == 0 }
    return digits.count + (digits.first.map { $0 > 0x7f } == true ? 1 : 0)
  }
}
