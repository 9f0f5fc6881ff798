import Glibc

/// Sockets on 127.0.0.1.
enum Loopback {
  struct Failure: Error {
    let call: String
    let number: Int32
  }

  /// A listening socket on a port the system chose; without a backlog one that keeps the port and does not listen.
  static func listen(backlog: Int32?) throws -> (descriptor: Int32, port: Int) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw Failure(call: "socket", number: errno) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) == 0 && backlog.map { Glibc.listen(descriptor, $0) == 0 } ?? true
          && getsockname(descriptor, address, &length) == 0
      }
    }
    guard bound else {
      let number = errno
      close(descriptor)
      throw Failure(call: "listen", number: number)
    }
    return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
  }

  /// A connected socket; nil when nothing listens there.
  static func connect(port: Int, blocking: Bool = true) -> Int32? {
    let flags = blocking ? 0 : Int32(SOCK_NONBLOCK.rawValue)
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | flags, 0)
    guard descriptor >= 0 else { return nil }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let code = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if code == 0 || errno == EINPROGRESS { return descriptor }
    close(descriptor)
    return nil
  }

  /// Ports nothing listens on now, all different.
  static func freePorts(_ count: Int) throws -> [Int] {
    let sockets = try (0..<count).map { _ in try listen(backlog: 1) }
    for socket in sockets { close(socket.descriptor) }
    return sockets.map(\.port)
  }
}
