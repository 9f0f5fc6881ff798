import HTTPMessages
import Testing

@Suite("Encodings, field rules and media types")
struct EncodingTests {
  @Test("every byte is encoded or left by the table")
  func everyByte() {
    let unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    for byte in UInt8(0)...0x7F {
      let character = String(UnicodeScalar(byte))
      let hex = String(byte, radix: 16, uppercase: true)
      let encoded = "%" + (hex.utf8.count == 1 ? "0" : "") + hex
      let isUnreserved = unreserved.contains(character)
      #expect(PercentEncoding.encode(character, for: .pathSegment) == (isUnreserved ? character : encoded))
      let staysInQuery = isUnreserved || character == "/" || character == "?"
      #expect(PercentEncoding.encode(character, for: .query) == (staysInQuery ? character : encoded))
      let staysInForm = (isUnreserved && character != "~") || character == "*"
      #expect(FormEncoding.encode(character) == (character == " " ? "+" : staysInForm ? character : encoded))
    }
    #expect(PercentEncoding.encode("é😀", for: .query) == "%C3%A9%F0%9F%98%80")
    #expect(FormEncoding.encode([(name: "a b", value: "c&d"), (name: "e", value: "")]) == Array("a+b=c%26d&e=".utf8))
  }

  @Test("names are tokens, values have no control bytes")
  func fieldGrammar() {
    for name in ["X", "x-y_z", "!#$%&'*+-.^_`|~09"] { #expect(HTTPFieldRules.isName(name), "\(name)") }
    for name in ["", " ", "X:", "X Y", "X\n", "X\u{0}", "Ü", "X(", "\"X\"", String(repeating: "a", count: 257)] {
      #expect(!HTTPFieldRules.isName(name))
    }
    for value in ["", "a\tb", "é", " x "] { #expect(HTTPFieldRules.isValue(value)) }
    for value in ["\r", "\n", "a\r\nb", "\u{0}", "\u{1f}", "\u{7f}"] { #expect(!HTTPFieldRules.isValue(value)) }
    #expect(HTTPFieldRules.trimmed(" \ta b\t ") == "a b")
    #expect(HTTPFieldRules.trimmed(" \t ").isEmpty && HTTPFieldRules.trimmed("").isEmpty)
  }

  @Test("fields that identify a user or belong to the connection are reserved and do not cross origins")
  func names() {
    for name in [
      "Authorization", "HOST", "proxy-x", "Proxy-Connection", "dPoP", "te", "Postern-Session", "postern_key",
    ] {
      #expect(HTTPFieldRules.isReserved(name), "\(name)")
    }
    for name in ["Accept", "Cookie", "X-Proxy", "Hostess", "Content-Type", "Posterns"] {
      #expect(!HTTPFieldRules.isReserved(name))
    }
    for name in ["Accept", "accept-language", "Content-Type", "USER-AGENT", "traceparent", "Tracestate"] {
      #expect(HTTPFieldRules.crossesOrigins(name), "\(name)")
    }
    for name in ["Authorization", "Cookie", "X-Api-Key", "Referer", "Origin", "Content-MD5", "DPoP"] {
      #expect(!HTTPFieldRules.crossesOrigins(name), "\(name)")
    }
  }

  static let mediaTypes: [(String, String?, String?, Bool, Bool)] = [
    ("text/plain", "text/plain", nil, true, false),
    ("TEXT/HTML; Charset=UTF-8", "text/html", "utf-8", true, false),
    ("text/html;charset=\"utf-8\"", "text/html", "utf-8", true, false),
    ("text/html; x=\"a;charset=b\"; charset=c", "text/html", "c", true, false),
    ("text/html; x=\"a\\\";charset=b\"; charset=c", "text/html", "c", true, false),
    ("text/html; charset=a; charset=b", "text/html", "a", true, false),
    ("text/html; charset=", "text/html", nil, true, false),
    ("application/json", "application/json", nil, true, true),
    ("application/problem+json; charset=utf-8", "application/problem+json", "utf-8", true, true),
    ("application/xml", "application/xml", nil, true, false),
    ("image/svg+xml", "image/svg+xml", nil, true, false),
    ("application/x-www-form-urlencoded", "application/x-www-form-urlencoded", nil, true, false),
    ("application/octet-stream", "application/octet-stream", nil, false, false),
    ("image/png", "image/png", nil, false, false),
    (" application/jwt ", "application/jwt", nil, true, false),
    ("text", nil, nil, false, false),
    ("text/", nil, nil, false, false),
    ("/plain", nil, nil, false, false),
    ("text/plain/x", nil, nil, false, false),
    ("te xt/plain", nil, nil, false, false),
    ("", nil, nil, false, false),
    (";charset=utf-8", nil, nil, false, false),
  ]

  @Test("media type, charset, and whether it is text", arguments: mediaTypes)
  func mediaType(row: (String, String?, String?, Bool, Bool)) {
    let type = MediaType(row.0)
    #expect(type?.essence == row.1 && type?.charset == row.2)
    #expect((type?.isTextual ?? false) == row.3 && (type?.isJSON ?? false) == row.4)
  }

  @Test(
    "the charset decides whether bytes may be read as UTF-8",
    arguments: [
      ("text/plain", MediaType.Encoding.utf8), ("text/plain; charset=UTF-8", .utf8),
      ("text/plain; charset=utf8", .utf8),
      ("text/plain; charset=\"us-ascii\"", .utf8), ("text/plain; charset=ISO-8859-15", .extendsASCII),
      ("text/plain; charset=windows-1252", .extendsASCII), ("text/plain; charset=latin1", .extendsASCII),
      ("text/plain; charset=koi8-r", .extendsASCII), ("text/plain; charset=utf-16", .other),
      ("text/plain; charset=utf-7", .other), ("text/plain; charset=shift_jis", .other),
      ("text/plain; charset=x", .other),
    ])
  func encoding(row: (String, MediaType.Encoding)) {
    #expect(MediaType(row.0)?.encoding == row.1)
  }

  @Test("a hostile Content-Type is bounded")
  func mediaTypeBounds() {
    #expect(MediaType("text/plain" + String(repeating: ";", count: 100_000))?.essence == "text/plain")
    #expect(MediaType("text/plain; \"" + String(repeating: "\\\"", count: 100_000))?.charset == nil)
    #expect(MediaType(String(repeating: "a", count: 100_000)) == nil)
  }
}
