import HTTPMessages
import Testing

@Suite("A redirect's reference is resolved by RFC 3986 section 5")
struct HTTPURLResolutionTests {
  /// The examples of RFC 3986 section 5.4, with `https` for `http` and without URLs that are not accepted.
  static let rows: [(String, String)] = [
    ("g", "https://a/b/c/g"),
    ("./g", "https://a/b/c/g"),
    ("g/", "https://a/b/c/g/"),
    ("/g", "https://a/g"),
    ("//g", "https://g/"),
    ("?y", "https://a/b/c/d;p?y"),
    ("g?y", "https://a/b/c/g?y"),
    ("#s", "https://a/b/c/d;p?q"),
    ("g#s", "https://a/b/c/g"),
    ("g?y#s", "https://a/b/c/g?y"),
    (";x", "https://a/b/c/;x"),
    ("g;x", "https://a/b/c/g;x"),
    ("", "https://a/b/c/d;p?q"),
    (".", "https://a/b/c/"),
    ("./", "https://a/b/c/"),
    ("..", "https://a/b/"),
    ("../", "https://a/b/"),
    ("../g", "https://a/b/g"),
    ("../..", "https://a/"),
    ("../../g", "https://a/g"),
    ("../../../g", "https://a/g"),
    ("/./g", "https://a/g"),
    ("/../g", "https://a/g"),
    ("g.", "https://a/b/c/g."),
    (".g", "https://a/b/c/.g"),
    ("..g", "https://a/b/c/..g"),
    ("./../g", "https://a/b/g"),
    ("./g/.", "https://a/b/c/g/"),
    ("g/../h", "https://a/b/c/h"),
    ("g;x=1/../y", "https://a/b/c/y"),
    ("g?y/../x", "https://a/b/c/g?y/../x"),
    ("%2e%2e/g", "https://a/b/g"),
    ("http://other/x", "http://other/x"),
    ("//other:8443/x?y", "https://other:8443/x?y"),
  ]

  @Test("each example of the RFC", arguments: rows)
  func resolves(reference: String, expected: String) throws {
    let base = try HTTPURL("https://a/b/c/d;p?q")
    #expect(try base.resolving(reference: reference).description == expected)
  }

  @Test(
    "a hostile Location is rejected, never repaired",
    arguments: [
      ("g:h", HTTPURLError.Reason.unsupportedScheme), ("javascript:alert(1)", .unsupportedScheme),
      ("//user@evil/", .userInformation), ("///x", .emptyHost), ("\\\\evil\\x", .backslash), ("/\\evil", .backslash),
      ("/a b", .controlCharacter), ("/a\r\nSet-Cookie: x", .controlCharacter), ("/é", .notASCII),
      ("/%zz", .invalidPercentEncoding), ("https:/x", .missingAuthority),
    ])
  func rejects(reference: String, reason: HTTPURLError.Reason) throws {
    let base = try HTTPURL("https://a/b/c/d;p?q")
    #expect(throws: HTTPURLError(reason)) { try base.resolving(reference: reference) }
  }
}

@Suite("A relative path is appended as the whole URL would be parsed")
struct AppendedPathTests {
  @Test(
    "a path of which nothing is to be normalised differs from others in its result",
    arguments: ["https://a", "https://a/", "https://a/b", "https://a/b/", "https://a/b/c.d/"])
  func paths(base: String) throws {
    let pieces = ["a", "B7", "-_~", "x.y", ".", "..", ".z", "..z", "", "%2e", "%41", "a;b", "é", "\\", "a?b=c", "#d"]
    let url = try HTTPURL(base)
    let slashed = base.hasSuffix("/") ? base : base + "/"
    for first in pieces {
      for second in pieces {
        for text in ["\(first)/\(second)", "\(first)/\(second)/", "\(first)\(second)", "/\(first)/\(second)"]
        where !text.isEmpty && text.first != "?" && text.first != "#" {
          let whole = try? HTTPURL(slashed + (text.hasPrefix("/") ? String(text.dropFirst()) : text))
          #expect((try? url.appending(relativePath: text)) == whole, "\(base) \(text)")
        }
      }
    }
  }
}
