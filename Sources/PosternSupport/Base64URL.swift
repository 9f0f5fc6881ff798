/// base64url without padding (RFC 4648 section 5, RFC 7515 appendix C), strict: no `=`, no white space, no character of
/// the standard alphabet, unused bits zero; so that one byte string has exactly one accepted text.
public enum Base64URL {
  private static let alphabet = Base64Alphabet(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", isPadded: false)

  /// The encoding of `bytes`, unpadded.
  public static func encode(_ bytes: [UInt8]) -> [UInt8] { alphabet.encode(bytes.span.bytes) }

  /// The encoding of `bytes`, unpadded.
  public static func encode(_ bytes: RawSpan) -> [UInt8] { alphabet.encode(bytes) }

  /// The encoding of `bytes` as a string, unpadded.
  public static func string(_ bytes: [UInt8]) -> String { alphabet.string(bytes.span.bytes) }

  /// The bytes that `text` encodes; nil unless `text` is exactly what `encode` makes of them.
  public static func decode(_ text: [UInt8]) -> [UInt8]? { alphabet.decode(text.span.bytes) }

  /// The bytes that `text` encodes; nil unless `text` is exactly what `encode` makes of them.
  public static func decode(_ text: RawSpan) -> [UInt8]? { alphabet.decode(text) }

  /// The bytes that `text` encodes; nil unless `text` is exactly what `string` makes of them.
  public static func decode(_ text: String) -> [UInt8]? { alphabet.decode(Array(text.utf8).span.bytes) }
}
