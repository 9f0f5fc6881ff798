import PosternSupport

/// An address to listen on, `host:port`.
struct ListenAddress: Sendable, Hashable {
  let host: String
  let port: Int

  /// Returns nil when `text` is none, or not a loopback address and not `beyondLoopback`: a name is not resolved, but
  /// `localhost` is 127.0.0.1.
  init?(_ text: String, beyondLoopback: Bool) {
    guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")),
      let port = Int(text[text.utf8.index(after: colon)...]),
      (0...65_535).contains(port)
    else { return nil }
    var name = String(text[..<colon])
    if name.startsWithBytes(of: "["), name.endsWithBytes(of: "]") { name = String(name.dropFirst().dropLast()) }
    switch name {
    case "localhost": host = "127.0.0.1"
    case "::1": host = name
    default:
      guard beyondLoopback || name.startsWithBytes(of: "127."), name.utf8.contains(where: ".:".utf8.contains) else {
        return nil
      }
      host = name
    }
    self.port = port
  }
}
