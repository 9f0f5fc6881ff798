import HTTPMessages
import PosternSupport

/// A redirect URI on this machine, to which a browser comes back from a login (RFC 8252 section 7.3).
package struct LoopbackRedirect: Sendable {
  /// The host in the URI: `127.0.0.1`, `[::1]` or `localhost`.
  package let host: String
  /// The port to listen on; 0 for any that is free.
  package let port: UInt16
  /// The path of the callback, without its query.
  let path: String
  /// What is before and behind the port, as it is configured: issuers compare the characters.
  private let spelling: (head: String, tail: String)

  /// The usual one on `port`, where none is configured.
  package init(port: UInt16) {
    host = "127.0.0.1"
    self.port = port
    path = "/callback"
    spelling = ("http://127.0.0.1", "/callback")
  }

  /// Parses a configured redirect URI; nil when it is not on this machine. One without a port stands for any port:
  /// issuers must allow that for loopback addresses.
  package init?(_ uri: String) {
    guard let url = try? HTTPURL(uri), url.origin.scheme == "http" else { return nil }
    guard url.origin.isLoopbackAddress || url.origin.host == "localhost" else { return nil }
    host = url.origin.host
    port = url.origin.port == 80 ? 0 : UInt16(clamping: url.origin.port)
    path = url.path
    spelling = Self.spelling(of: uri)
  }

  /// The text before and behind the port of a URL.
  private static func spelling(of uri: String) -> (head: String, tail: String) {
    let bytes = Array(uri.utf8)
    let start = (bytes.firstIndex(of: UInt8(ascii: "/")) ?? 0) + 2
    let end = bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex
    let address = bytes[start..<end].lastIndex { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "]") }
    let headEnd = address.flatMap { bytes[$0] == UInt8(ascii: ":") ? $0 : nil } ?? end
    return (String(decoding: bytes[..<headEnd], as: UTF8.self), String(decoding: bytes[end...], as: UTF8.self))
  }

  /// Where the issuer is to send the browser, while `port` is listened on.
  func uri(port: UInt16) -> String { "\(spelling.head):\(port)\(spelling.tail)" }

  /// Whether a request for `target` (path and query) is one for the callback.
  func isCallback(_ target: String) -> Bool {
    guard target.utf8.first == UInt8(ascii: "/") else { return false }
    return (try? HTTPURL("http://\(host)\(target.prefix(beforeBytes: "?", "#"))"))?.path == path
  }

  /// The address to listen on.
  var address: String {
    switch host {
    case "[::1]": "::1"
    case "localhost": "127.0.0.1"
    default: host
    }
  }

  /// The `state` in the URL of a callback; nil where there is none, or more than one.
  package static func state(in url: String) -> String? {
    let query = url.split(atByte: "?", maxSplits: 1).dropFirst().first ?? ""
    let states = FormEncoding.readableFields(of: String(query)).filter { $0.name == "state" }
    return states.count == 1 ? states.first?.value : nil
  }
}
