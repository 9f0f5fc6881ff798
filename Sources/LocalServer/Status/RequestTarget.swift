import NIOHTTP1
import PosternSupport

/// The path and authority of a request (RFC 9112 section 3.2).
struct RequestTarget {
  /// The path, without the query.
  let path: String
  private let authority: String?

  /// Returns nil when `Host` is missing in HTTP/1.1, or there more than once.
  init?(_ head: HTTPRequestHead) {
    let hosts = head.headers["host"]
    guard hosts.count == 1 || hosts.isEmpty && head.version.minor == 0 else { return nil }
    // The authority of the absolute form takes precedence over Host.
    if let scheme = ["http://", "https://"].first(where: { head.uri.lowercasedASCII().startsWithBytes(of: $0) }) {
      let rest = Substring(head.uri.utf8.dropFirst(scheme.utf8.count))
      let origin = rest.prefix(beforeBytes: "/", "?")
      authority = String(origin)
      let target = Substring(rest.utf8.dropFirst(origin.utf8.count)).prefix(beforeBytes: "?")
      path = target.isEmpty ? "/" : String(target)
    } else {
      authority = hosts.first
      path = String(head.uri.prefix(beforeBytes: "?"))
    }
  }

  /// Whether the authority is an address or `localhost`, with or without a port.
  var isLiteral: Bool {
    guard let authority, !authority.isEmpty else { return true }
    if authority.utf8.first == UInt8(ascii: "[") { return true }
    let name = authority.prefix(beforeBytes: ":")
    return name.hasSameASCIILetters(as: "localhost")
      || !name.isEmpty && name.utf8.allSatisfy { $0 == 0x2E || (0x30...0x39).contains($0) }
  }
}
