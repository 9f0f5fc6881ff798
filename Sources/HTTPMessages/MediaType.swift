public import PosternSupport

/// A media type, the value of `Content-Type` (RFC 9110 section 8.3.1).
public struct MediaType: Sendable, Hashable {
  /// The type in lower case: `application`.
  public let type: String
  /// The subtype in lower case: `problem+json`.
  public let subtype: String
  /// The `charset` parameter in lower case, when there is one.
  public let charset: String?

  /// Parses a field value; nil when it has no media type. Malformed parameters are ignored.
  public init?(_ value: String) {
    let parts = Self.splitOutsideQuotes(value)
    let names = (parts.first ?? "").split(atByte: "/", omittingEmptySubsequences: false)
    guard names.count == 2, HTTPFieldRules.isName(String(names[0])), HTTPFieldRules.isName(String(names[1])) else {
      return nil
    }
    type = names[0].lowercasedASCII()
    subtype = names[1].lowercasedASCII()
    charset = parts.dropFirst().lazy.compactMap(Self.charset(of:)).first
  }

  /// `application/problem+json`.
  public var essence: String { "\(type)/\(subtype)" }

  /// Whether it is JSON: `application/json`, `text/json` or `…+json` (RFC 6839 section 3.1).
  public var isJSON: Bool { subtype == "json" || subtype.endsWithBytes(of: "+json") }

  /// Whether the content is text: `text/…`, JSON, XML, and the `application` types that are text by their definition.
  public var isTextual: Bool {
    if type == "text" || isJSON || subtype == "xml" || subtype.endsWithBytes(of: "+xml")
      || subtype.endsWithBytes(of: "+yaml")
    {
      return true
    }
    return type == "application" && Self.textualApplicationSubtypes.contains(subtype)
  }

  /// The character encoding, as far as that matters for reading text as UTF-8.
  public enum Encoding: Sendable, Hashable {
    /// UTF-8 or its subset ASCII; also without a `charset`.
    case utf8
    /// Another superset of ASCII.
    case extendsASCII
    /// Any other encoding.
    case other
  }

  /// The encoding that `charset` names.
  public var encoding: Encoding {
    guard let charset else { return .utf8 }
    if ["utf-8", "utf8", "us-ascii", "ascii"].contains(charset) { return .utf8 }
    let isExtension = ["iso-8859-", "iso8859-", "windows-125", "cp125", "latin", "koi8-"].contains {
      charset.startsWithBytes(of: $0)
    }
    return isExtension ? .extendsASCII : .other
  }

  private static let textualApplicationSubtypes: Set<String> = [
    "ecmascript", "graphql", "javascript", "json-seq", "jsonl", "jose", "jwt", "ndjson", "openmetrics-text",
    "sql", "toml", "x-javascript", "x-jsonlines", "x-ndjson", "x-sh", "x-www-form-urlencoded", "x-yaml", "yaml",
  ]

  private static func charset(of parameter: String) -> String? {
    let parts = parameter.split(atByte: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].hasSameASCIILetters(as: "charset") else { return nil }
    var value = parts[1].utf8[...]
    if value.count >= 2, value.first == UInt8(ascii: "\""), value.last == UInt8(ascii: "\"") {
      value = value.dropFirst().dropLast()
    }
    let name = String(Substring(value))
    return HTTPFieldRules.isName(name) ? name.lowercasedASCII() : nil
  }

  /// The parts between semicolons outside of quotes, trimmed; at most 16.
  private static func splitOutsideQuotes(_ value: String) -> [String] {
    var parts: [[UInt8]] = [[]]
    var quoted = false
    var escaped = false
    for byte in value.utf8.prefix(4096) {
      if byte == UInt8(ascii: ";"), !quoted {
        guard parts.count < 16 else { break }
        parts.append([])
        continue
      }
      if byte == UInt8(ascii: "\""), !escaped { quoted.toggle() }
      escaped = quoted && !escaped && byte == UInt8(ascii: "\\")
      parts[parts.count - 1].append(byte)
    }
    return parts.map { HTTPFieldRules.trimmed(String(decoding: $0, as: UTF8.self)) }
  }
}

extension MediaType: ConciseStringConvertible {
  /// `text/html; charset=utf-8`.
  public var description: String { Concise.name(charset.map { "\(essence); charset=\($0)" } ?? essence) }
}
