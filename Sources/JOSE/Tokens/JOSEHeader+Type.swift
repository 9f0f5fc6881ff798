import PosternSupport

extension JOSEHeader {
  /// Refuses a token of another kind (RFC 8725 section 3.11): `typ` must be one of `accepted`, or absent where that is
  /// allowed.
  ///
  /// Media types are compared without regard to case, and `application/` may be left out (RFC 7515 section 4.1.9).
  /// Error `wrong_token_type`.
  public func requireType(_ accepted: [String], mayBeAbsent: Bool) throws(JOSEError) {
    guard let type else {
      guard mayBeAbsent else { throw JOSEError(.wrongTokenType, "typ is missing", claim: "typ") }
      return
    }
    guard accepted.contains(where: { Self.isSameMediaType(type, $0) }) else {
      throw JOSEError(.wrongTokenType, "typ is that of another kind of token", claim: "typ")
    }
  }

  /// Whether the content is itself a token: `cty` is `JWT` (RFC 7519 section 5.2).
  public var isNested: Bool { contentType.map { Self.isSameMediaType($0, "JWT") } ?? false }

  private static func isSameMediaType(_ left: String, _ right: String) -> Bool {
    left.hasSameBytes(as: right) || withoutPrefix(left).hasSameASCIILetters(as: withoutPrefix(right))
  }

  private static func withoutPrefix(_ type: String) -> Substring {
    let prefix = "application/"
    guard Substring(type.utf8.prefix(prefix.utf8.count)).hasSameASCIILetters(as: prefix) else { return type[...] }
    let rest = type.utf8.dropFirst(prefix.utf8.count)
    return rest.contains(UInt8(ascii: "/")) ? type[...] : Substring(rest)
  }
}
