import PosternCrypto
import PosternSupport

/// Proof Key for Code Exchange with S256 (RFC 7636 section 4).
enum PKCE {
  /// The challenge of `verifier`.
  static func challenge(of verifier: String) -> String {
    Base64URL.string(HashFunction.sha256.hash(Array(verifier.utf8)))
  }

  /// Whether `text` is a verifier: 43 to 128 unreserved characters (section 4.1).
  static func isVerifier(_ text: String) -> Bool {
    (43...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
          UInt8(ascii: "~"):
          true
        default: false
        }
      }
  }

  /// Whether `text` can be a challenge: a SHA-256 hash as base64url.
  static func isChallenge(_ text: String) -> Bool { Base64URL.decode(text)?.count == 32 }
}
