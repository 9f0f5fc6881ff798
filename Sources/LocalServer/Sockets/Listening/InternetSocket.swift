import Glibc

/// Listening TCP sockets.
enum InternetSocket {
  /// Listens on `address`, and returns the port as well: a free one if `address` has port 0.
  static func listen(
    on address: ListenAddress, backlog: CInt
  ) throws(SocketServerError) -> (descriptor: CInt, port: Int) {
    var (four, six) = (sockaddr_in(), sockaddr_in6())
    let isFour = inet_pton(AF_INET, address.host, &four.sin_addr) == 1
    guard isFour || inet_pton(AF_INET6, address.host, &six.sin6_addr) == 1 else {
      throw .system(call: "listen(\(address.host)), which is not an IP address", errno: EADDRNOTAVAIL)
    }
    let socket = try Descriptor(
      "socket",
      socket(
        isFour ? AF_INET : AF_INET6, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0))
    set(SO_REUSEADDR, of: SOL_SOCKET, on: socket.number)
    let port = in_port_t(address.port).bigEndian
    let failed: CInt
    if isFour {
      (four.sin_family, four.sin_port) = (sa_family_t(AF_INET), port)
      failed = bind(socket.number, &four)
    } else {
      (six.sin6_family, six.sin6_port) = (sa_family_t(AF_INET6), port)
      failed = bind(socket.number, &six)
    }
    guard failed == 0 else { throw .system(call: "bind", errno: failed) }
    guard Glibc.listen(socket.number, backlog) == 0 else { throw .system(call: "listen", errno: errno) }
    let bound = boundPort(of: socket.number) ?? address.port
    return (socket.release(), bound)
  }

  /// Sends each write of a connection without delay (TCP_NODELAY): a response already takes as few writes as possible.
  static func sendAtOnce(_ connection: CInt) { set(TCP_NODELAY, of: CInt(IPPROTO_TCP), on: connection) }

  private static func set(_ option: CInt, of level: CInt, on socket: CInt) {
    var isOn: CInt = 1
    setsockopt(socket, level, option, &isOn, socklen_t(MemoryLayout<CInt>.size))
  }

  private static func bind<Address>(_ socket: CInt, _ address: inout Address) -> CInt {
    let size = socklen_t(MemoryLayout<Address>.size)
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(socket, $0, size) == 0 ? 0 : errno }
    }
  }

  private static func boundPort(of socket: CInt) -> Int? {
    var bound = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let isKnown = withUnsafeMutablePointer(to: &bound) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) == 0 }
    }
    // The port is in the same bytes of both families.
    return isKnown ? withUnsafeBytes(of: bound) { Int($0[2]) << 8 | Int($0[3]) } : nil
  }
}
