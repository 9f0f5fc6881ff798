import NIOCore

/// The address to listen on, checked to be a loopback one.
struct LoopbackAddress {
  /// The address with its port.
  let socketAddress: SocketAddress
  /// The host as written in URLs.
  let urlHost: String

  /// The address of `host`: within 127.0.0.0/8 (RFC 1122 section 3.2.1.3), `::1`, or `localhost` for 127.0.0.1. No name
  /// is resolved.
  init(host: String, port: Int) throws(PlaygroundError) {
    guard (0...65_535).contains(port) else { throw .portOutOfRange(port) }
    let literal = host == "localhost" ? "127.0.0.1" : host
    guard let address = try? SocketAddress(ipAddress: literal, port: port), let text = address.ipAddress else {
      throw .notLoopback(host)
    }
    switch address {
    case .v4 where text.hasPrefix("127."): urlHost = text
    case .v6 where text == "::1": urlHost = "[::1]"
    default: throw .notLoopback(host)
    }
    socketAddress = address
  }
}
