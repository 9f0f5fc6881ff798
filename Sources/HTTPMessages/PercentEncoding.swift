/// Percent-encoding (RFC 3986 section 2.1) of data that goes into a URL or a form.
public enum PercentEncoding {
  /// What stays as it is, beside the unreserved characters.
  public enum Component: Sendable, Hashable, CaseIterable {
    /// Names and values of a query: `/` and `?` stay.
    case query
    /// One path segment: nothing more stays.
    case pathSegment
  }

  /// `text` as UTF-8, everything but unreserved characters (and what `component` lets stay) percent-encoded.
  public static func encode(_ text: String, for component: Component) -> String {
    var result: [UInt8] = []
    result.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if ASCII.isUnreserved(byte) || (component == .query && (byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?"))) {
        result.append(byte)
      } else {
        append(byte, to: &result)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Adds `%XX`.
  static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "%"))
    bytes.append(ASCII.hexDigit(byte >> 4))
    bytes.append(ASCII.hexDigit(byte & 0xF))
  }
}
