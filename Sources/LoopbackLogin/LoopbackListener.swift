import Glibc

/// A listening TCP socket on a loopback address.
enum LoopbackListener {
  /// Opens one; the error is that of errno. SO_REUSEADDR, because the connections of the login before keep the port for
  /// a minute (TIME_WAIT): one that another program listens on is still an error.
  static func open(_ address: String, port: UInt16) -> (descriptor: Int32, port: UInt16)? {
    var hints = addrinfo()
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(address, String(port), &hints, &found) == 0, let info = found else {
      errno = EADDRNOTAVAIL
      return nil
    }
    defer { freeaddrinfo(found) }
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let descriptor = socket(info.pointee.ai_family, kind, 0)
    guard descriptor >= 0 else { return nil }
    var isReused: Int32 = 1
    guard setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isReused, socklen_t(MemoryLayout<Int32>.size)) == 0,
      bind(descriptor, info.pointee.ai_addr, info.pointee.ai_addrlen) == 0, listen(descriptor, 128) == 0,
      let bound = Self.port(of: descriptor)
    else {
      let error = errno
      close(descriptor)
      errno = error
      return nil
    }
    return (descriptor, bound)
  }

  /// Reads the port, which has the same offset in the addresses of both families.
  private static func port(of descriptor: Int32) -> UInt16? {
    var address = sockaddr_in6()
    var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let isKnown = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) == 0 }
    }
    return isKnown ? UInt16(bigEndian: address.sin6_port) : nil
  }
}
