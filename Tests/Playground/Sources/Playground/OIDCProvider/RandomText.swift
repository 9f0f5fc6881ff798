import PosternCrypto
import PosternSupport

/// Unguessable text: 256 random bits as base64url.
enum RandomText {
  /// A new one.
  static func next() -> String { Base64URL.string(SecureRandom.bytes(32)) }

  /// A random UUID (RFC 9562 section 5.4).
  static func uuid() -> String {
    var bytes = SecureRandom.bytes(16)
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    let digits = bytes.map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }
    let groups = [digits[0..<4], digits[4..<6], digits[6..<8], digits[8..<10], digits[10..<16]]
    return groups.map { $0.joined() }.joined(separator: "-")
  }
}
