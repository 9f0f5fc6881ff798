import Glibc

/// A listening socket passed by the service manager (systemd socket activation, sd_listen_fds(3)).
public struct InheritedSocket: Sendable, Hashable {
  /// The listening descriptor.
  public let descriptor: CInt
  /// The path it is bound to; nil for an abstract or unnamed one.
  public let path: String?

  /// The first descriptor the protocol passes.
  static let firstDescriptor: CInt = 3

  /// More than any unit passes; keeps a nonsense number from becoming a long loop.
  private static let maximumCount: CInt = 1024

  /// Takes the socket that `LISTEN_PID` and `LISTEN_FDS` announce to this process, and removes the variables so that no
  /// child takes them for its own; nil when there is none. Call once, before other threads run: `unsetenv` is not safe
  /// while another thread calls `getenv`.
  ///
  /// The first one is used. The others stay open, for the service manager counts on them, and close-on-exec.
  public static func takeFromEnvironment() throws(SocketServerError) -> InheritedSocket? {
    let names = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID"]
    var environment: [String: String] = [:]
    for name in names {
      environment[name] = getenv(name).map { String(cString: $0) }
      unsetenv(name)
    }
    return try take(environment: environment, process: getpid(), first: firstDescriptor)
  }

  static func take(
    environment: [String: String], process: pid_t, first: CInt
  ) throws(SocketServerError) -> InheritedSocket? {
    guard let announced = environment["LISTEN_PID"], let number = environment["LISTEN_FDS"] else { return nil }
    guard let addressee = pid_t(announced) else { throw .activationUnusable(reason: "LISTEN_PID is not a number") }
    // The variables of a parent, which are not for us.
    guard addressee == process else { return nil }
    guard let count = CInt(number), (0...maximumCount).contains(count) else {
      throw .activationUnusable(reason: "LISTEN_FDS is not a number of descriptors")
    }
    guard count > 0 else { return nil }
    try check(first)
    for descriptor in first..<(first + count) {
      guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else { throw .system(call: "fcntl(F_SETFD)", errno: errno) }
    }
    return InheritedSocket(descriptor: first, path: boundPath(of: first))
  }

  private static func check(_ descriptor: CInt) throws(SocketServerError) {
    guard try option(SO_DOMAIN, of: descriptor) == AF_UNIX else {
      throw .activationUnusable(reason: "descriptor \(descriptor) is not a Unix socket")
    }
    guard try option(SO_TYPE, of: descriptor) == CInt(SOCK_STREAM.rawValue) else {
      throw .activationUnusable(reason: "descriptor \(descriptor) is not a stream socket")
    }
    guard try option(SO_ACCEPTCONN, of: descriptor) != 0 else {
      throw .activationUnusable(reason: "descriptor \(descriptor) does not listen")
    }
  }

  private static func option(_ name: CInt, of descriptor: CInt) throws(SocketServerError) -> CInt {
    var value: CInt = 0
    var length = socklen_t(MemoryLayout<CInt>.size)
    guard getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 else {
      throw .activationUnusable(reason: "descriptor \(descriptor) is not a socket")
    }
    return value
  }

  private static func boundPath(of descriptor: CInt) -> String? {
    var address = sockaddr_un()
    var length = socklen_t(MemoryLayout<sockaddr_un>.size)
    let failed = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    guard failed == 0 else { return nil }
    let path = withUnsafeBytes(of: address.sun_path) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    return path.isEmpty ? nil : path
  }
}
