import Crypto
import Support

/// Text that nobody guesses: 256 random bits as base64url.
enum RandomText {
  /// A new one.
  static func next() -> String { Base64URL.string(SecureRandom.bytes(32)) }
}
