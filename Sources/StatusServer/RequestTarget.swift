import NIOHTTP1
import PosternSupport

/// What a request asks for, and of whom (RFC 9112 section 3.2).
struct RequestTarget {
  /// The path, without the query.
  let path: String
  private let authority: String?

  /// Nil when `Host` is missing in HTTP/1.1, or there more than once.
  init?(_ head: HTTPRequestHead) {
    let hosts = head.headers["host"]
    guard hosts.count == 1 || hosts.isEmpty && head.version.minor == 0 else { return nil }
    // In absolute form what stands there counts, and not Host.
    if let scheme = ["http://", "https://"].first(where: { head.uri.lowercasedASCII().startsWithBytes(of: $0) }) {
      let rest = Substring(head.uri.utf8.dropFirst(scheme.utf8.count))
      let place = rest.prefix(beforeBytes: "/", "?")
      authority = String(place)
      let target = Substring(rest.utf8.dropFirst(place.utf8.count)).prefix(beforeBytes: "?")
      path = target.isEmpty ? "/" : String(target)
    } else {
      authority = hosts.first
      path = String(head.uri.prefix(beforeBytes: "?"))
    }
  }

  /// Whether an address is asked, or `localhost`, with or without a port.
  var isLiteral: Bool {
    guard let authority, !authority.isEmpty else { return true }
    if authority.utf8.first == UInt8(ascii: "[") { return true }
    let name = authority.prefix(beforeBytes: ":")
    return name.hasSameASCIILetters(as: "localhost")
      || !name.isEmpty && name.utf8.allSatisfy { $0 == 0x2E || (0x30...0x39).contains($0) }
  }
}
