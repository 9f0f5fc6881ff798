import PosternSupport

/// Percent-encoding (RFC 3986 section 2.1) of data for a URL.
public enum PercentEncoding {
  /// The part of a URL that the data is for.
  public enum Component: Sendable, Hashable, CaseIterable {
    /// Names and values of a query: `/` and `?` are not encoded.
    case query
    /// One path segment.
    case pathSegment
  }

  /// `text` as UTF-8, with everything percent-encoded but unreserved characters and those that `component` exempts.
  public static func encode(_ text: String, for component: Component) -> String {
    var result: [UInt8] = []
    result.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if passes(byte, component) {
        result.append(byte)
      } else {
        append(byte, to: &result)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// How many bytes `encode` makes of the text.
  public static func byteCount(of text: String, for component: Component) -> Int {
    text.utf8.reduce(0) { $0 + (passes($1, component) ? 1 : 3) }
  }

  private static func passes(_ byte: UInt8, _ component: Component) -> Bool {
    ASCII.isUnreserved(byte) || (component == .query && (byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?")))
  }

  /// Appends `%XX`.
  package static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "%"))
    bytes.append(Hexadecimal.uppercaseDigit(byte >> 4))
    bytes.append(Hexadecimal.uppercaseDigit(byte & 0xF))
  }
}

/// `application/x-www-form-urlencoded` as OAuth uses it (RFC 6749 appendix B): UTF-8, space as `+`.
public enum FormEncoding {
  /// The media type of such a body.
  public static let mediaType = "application/x-www-form-urlencoded"

  /// One name or value: letters, digits and `*-._` stay, a space becomes `+`, everything else is percent-encoded.
  public static func encode(_ text: String) -> String {
    var result: [UInt8] = []
    result.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: " "): result.append(UInt8(ascii: "+"))
      case UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): result.append(byte)
      default:
        if ASCII.isLetter(byte) || ASCII.isDigit(byte) {
          result.append(byte)
        } else {
          PercentEncoding.append(byte, to: &result)
        }
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// The fields in order, as a body.
  public static func encode(_ fields: [(name: String, value: String)]) -> [UInt8] {
    Array(fields.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&").utf8)
  }
}

extension FormEncoding {
  /// The fields of a form or query in order; nil when an escape is malformed or the text is not UTF-8.
  public static func decode(_ text: String) -> [(name: String, value: String)]? {
    var fields: [(name: String, value: String)] = []
    for part in text.utf8.split(separator: UInt8(ascii: "&")) {
      guard let field = field(part) else { return nil }
      fields.append(field)
    }
    return fields
  }

  /// The fields that can be decoded, in order: for readers that need some of them, over which the others do not decide.
  public static func readableFields(of text: String) -> [(name: String, value: String)] {
    text.utf8.split(separator: UInt8(ascii: "&")).compactMap(field)
  }

  private static func field(_ part: Substring.UTF8View) -> (name: String, value: String)? {
    let halves = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
    let text = halves.count > 1 ? halves[1] : part[part.endIndex...]
    guard let name = component(halves[0]), let value = component(text) else { return nil }
    return (name: name, value: value)
  }

  private static func component(_ bytes: Substring.UTF8View.SubSequence) -> String? {
    var result: [UInt8] = []
    var rest = bytes[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "+"): result.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst().flatMap(Hexadecimal.value),
          let low = rest.popFirst().flatMap(Hexadecimal.value)
        else { return nil }
        result.append(high << 4 | low)
      default: result.append(byte)
      }
    }
    return String(validating: result, as: UTF8.self)
  }
}
