/// `host:port` on an address of this machine, as written in the configuration.
enum ListenAddress {
  /// Throws what is wrong with `text`.
  static func validate(_ text: String) throws(ValueProblem) {
    guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else {
      throw ValueProblem("must be host:port, as in 127.0.0.1:9464")
    }
    let port = text[text.index(after: colon)...]
    let host = String(text[..<colon])
    guard port.utf8.count <= 5, port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), UInt16(port) != nil else {
      throw ValueProblem("must be host:port, as in 127.0.0.1:9464; a port is 0 to 65535")
    }
    guard host == "localhost" || IPAddress.isLiteral(host) else {
      throw ValueProblem("must be an address and a port: 127.0.0.1, [::1] or localhost; no name is looked up")
    }
  }
}
