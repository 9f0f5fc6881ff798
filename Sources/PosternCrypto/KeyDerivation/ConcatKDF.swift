import CPosternOpenSSL

/// The concatenation key derivation function with SHA-256 (SP 800-56A section 5.8.1), as RFC 7518 section 4.6.2 uses
/// it.
public enum ConcatKDF {
  /// `byteCount` bytes derived from `secret`, bound to `info` (the `OtherInfo`).
  public static func derive(from secret: SymmetricKey, info: [UInt8], byteCount: Int) -> SymmetricKey {
    let inputByteCount = 4 + secret.byteCount + info.count
    return withUnsafeTemporaryAllocation(byteCount: inputByteCount, alignment: 1) { input in
      defer { OPENSSL_cleanse(input.baseAddress, input.count) }
      secret.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: input[4...]).copyMemory(from: $0) }
      UnsafeMutableRawBufferPointer(rebasing: input[(4 + secret.byteCount)...]).copyBytes(from: info)
      var output: [UInt8] = []
      var counter: UInt32 = 1
      while output.count < byteCount {
        input.storeBytes(of: counter.bigEndian, as: UInt32.self)
        output += HashFunction.sha256.hash(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(input)))
        counter += 1
      }
      defer { output.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
      return SymmetricKey(copying: output.span.bytes.extracting(0..<byteCount))
    }
  }
}
