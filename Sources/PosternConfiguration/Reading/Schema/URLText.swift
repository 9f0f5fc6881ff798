import HTTPMessages
import PosternSupport

/// An absolute URL as text, taken apart just far enough to say what is wrong with it (RFC 3986): of any scheme, with user
/// information and a fragment, as written. `HTTPURL`, which the engine makes of it, has none of these. The messages never
/// quote it: people put passwords there.
package struct URLText {
  /// Lower case, without the colon.
  package var scheme: String
  /// As written, IPv6 in brackets.
  package var host: String
  /// The port, if there is one.
  package var port: UInt16?
  /// Beginning with `/`, or empty.
  package var path: String
  /// Behind `?`; nil without one.
  package var query: String?
  /// Whether there is a `#`.
  var hasFragment: Bool
  /// Whether there is something before an `@` in the authority.
  var hasUserInfo: Bool

  /// Takes `text` apart; throws when it is no URL with an authority.
  package init(_ text: String) throws(ValueProblem) {
    let isClean = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\"<>\\^`{|}".utf8.contains($0) }
    guard isClean else {
      throw ValueProblem("a URL has no spaces, quotes, backslashes or characters beyond ASCII; percent-encode them")
    }
    // All of it is ASCII: bytes are the characters.
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), text[colon...].startsWithBytes(of: "://"),
      colon != text.startIndex
    else {
      throw ValueProblem("must be an absolute URL, as in https://example.com/")
    }
    scheme = text[..<colon].lowercasedASCII()
    var rest = text[colon...].utf8.dropFirst(3)
    let fragment = rest.firstIndex(of: UInt8(ascii: "#"))
    hasFragment = fragment != nil
    if let fragment { rest = rest[..<fragment] }
    let mark = rest.firstIndex(of: UInt8(ascii: "?"))
    query = mark.map { String(Substring(rest[rest.index(after: $0)...])) }
    if let mark { rest = rest[..<mark] }
    let authorityEnd = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
    path = String(Substring(rest[authorityEnd...]))
    var authority = rest[..<authorityEnd]
    let at = authority.lastIndex(of: UInt8(ascii: "@"))
    hasUserInfo = at != nil
    if let at { authority = authority[authority.index(after: at)...] }
    (host, port) = try Self.split(Substring(authority))
    guard Self.isHost(host) else {
      throw ValueProblem("the URL's host is not a host name, a dotted IPv4 address or an IPv6 address in brackets")
    }
    guard !Self.hasBadEscape(path), !Self.hasBadEscape(query ?? "") else {
      throw ValueProblem("the URL has a % without two hexadecimal digits behind it")
    }
  }

  /// The port of an https or http URL.
  var webPort: UInt16 { port ?? (scheme == "https" ? 443 : 80) }

  /// Whether the host is a loopback address, written as an address.
  package var isLoopback: Bool { HTTPHost.isLoopbackAddress(host) }

  private static func split(_ authority: Substring) throws(ValueProblem) -> (host: String, port: UInt16?) {
    let hostEnd: Substring.Index
    if authority.startsWithBytes(of: "["), let bracket = authority.utf8.firstIndex(of: UInt8(ascii: "]")) {
      hostEnd = authority.utf8.index(after: bracket)
    } else {
      hostEnd = authority.utf8.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
    }
    let host = String(authority[..<hostEnd])
    guard hostEnd != authority.endIndex else { return (host, nil) }
    let digits = authority[hostEnd...].dropFirst()
    guard authority[hostEnd] == ":", digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), digits.utf8.count <= 5,
      let port = UInt16(digits), port > 0
    else { throw ValueProblem("the URL's port must be 1 to 65535") }
    return (host, port)
  }

  private static func isHost(_ host: String) -> Bool { (try? HTTPHost.canonical(ArraySlice(host.utf8))) != nil }

  private static func hasBadEscape(_ text: String) -> Bool {
    guard text.utf8.contains(UInt8(ascii: "%")) else { return false }
    let bytes = Array(text.utf8)
    return bytes.indices.contains { index in
      bytes[index] == UInt8(ascii: "%")
        && !(index + 2 < bytes.count && Hexadecimal.isDigit(bytes[index + 1]) && Hexadecimal.isDigit(bytes[index + 2]))
    }
  }
}
