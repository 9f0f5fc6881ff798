/// A whole token and the whole policy it was judged by. Never a digest and never a part of the token (CVE-2026-35039).
struct VerdictKey: Sendable, Hashable {
  let bytes: [UInt8]

  init(token: String, policy: PolicyFingerprint) {
    let count = token.utf8.count
    var bytes: [UInt8] = []
    bytes.reserveCapacity(8 + count + policy.bytes.count)
    withUnsafeBytes(of: Int64(count).littleEndian) { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: token.utf8)
    bytes.append(contentsOf: policy.bytes)
    self.bytes = bytes
  }

  /// Feeds the bytes in one piece, which is what makes looking up cheap.
  func hash(into hasher: inout Hasher) {
    bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
  }
}
