/// What header field lines a caller may give: a grammar, and names that are not theirs to set.
public enum HTTPFieldRules {
  /// Whether `name` is a field name: a token (RFC 9110 section 5.1), at most 256 bytes.
  public static func isName(_ name: String) -> Bool {
    (1...256).contains(name.utf8.count) && name.utf8.allSatisfy(ASCII.isTokenCharacter)
  }

  /// Whether `value` may be a field's value: no CR, LF, NUL or other control byte but the tab (RFC 9110 section 5.5).
  public static func isValue(_ value: String) -> Bool {
    value.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
  }

  /// Whether `name` belongs to the sidecar or to the connection: `Authorization`, `User-Agent`, `Host`, `DPoP`, message
  /// framing, hop-by-hop fields (RFC 9110 section 7.6.1) and every `Proxy-…`. Compared without case.
  public static func isReserved(_ name: String) -> Bool {
    let lowercased = name.lowercased()
    return reserved.contains(lowercased) || lowercased.hasPrefix("proxy-")
  }

  /// Whether the field may follow a redirect to another origin: what describes the content and the trace, nothing that
  /// identifies anybody.
  public static func crossesOrigins(_ name: String) -> Bool {
    let lowercased = name.lowercased()
    return lowercased.hasPrefix("accept") || crossing.contains(lowercased)
  }

  /// `value` without spaces and tabs around it (RFC 9110 section 5.5).
  public static func trimmed(_ value: String) -> String {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    guard value.utf8.first.map(isSpace) == true || value.utf8.last.map(isSpace) == true else { return value }
    let bytes = value.utf8.drop(while: isSpace)
    guard let last = bytes.lastIndex(where: { !isSpace($0) }) else { return "" }
    return String(decoding: bytes[...last], as: UTF8.self)
  }

  private static let reserved: Set<String> = [
    "authorization", "connection", "content-length", "dpop", "expect", "host", "http2-settings", "keep-alive", "te",
    "trailer", "transfer-encoding", "upgrade", "user-agent",
  ]

  private static let crossing: Set<String> = [
    "b3", "content-type", "traceparent", "tracestate", "user-agent",
  ]
}
