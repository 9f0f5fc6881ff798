import Glibc
import PosternSupport

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

  /// The sockets that were passed, by what they are for.
  public struct Passed: Sendable, Hashable {
    /// For JSON-RPC; nil: none was passed.
    public var rpc: InheritedSocket?
    /// For the gateway; nil: none was passed.
    public var gateway: InheritedSocket?
  }

  /// Takes the sockets that `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES` announce to this process, and removes the
  /// variables so that no child takes them for its own. Call once, before other threads run: `unsetenv` is not safe
  /// while another thread calls `getenv`.
  ///
  /// The first one named `gateway` is the gateway's, and the first one named `rpc` that of JSON-RPC; where none has
  /// that name, the first one that is not the gateway's. The others stay open, for the service manager counts on them,
  /// and close-on-exec.
  public static func takeFromEnvironment() throws(SocketServerError) -> Passed {
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
  ) throws(SocketServerError) -> Passed {
    guard let announced = environment["LISTEN_PID"], let number = environment["LISTEN_FDS"] else { return Passed() }
    guard let addressee = pid_t(announced) else { throw .activationUnusable(reason: "LISTEN_PID is not a number") }
    // The variables of a parent, which are not for us.
    guard addressee == process else { return Passed() }
    guard let count = CInt(number), (0...maximumCount).contains(count) else {
      throw .activationUnusable(reason: "LISTEN_FDS is not a number of descriptors")
    }
    let descriptors = Array(first..<(first + count))
    // One for each descriptor, or none at all (sd_listen_fds_with_names(3)).
    let given = (environment["LISTEN_FDNAMES"] ?? "").split(atByte: ":", omittingEmptySubsequences: false)
    let names = given.count == descriptors.count ? given.map(String.init) : descriptors.map { _ in "" }
    func descriptor(named name: String) -> CInt? { zip(descriptors, names).first { $0.1 == name }?.0 }
    let gateway = descriptor(named: gatewayName)
    let rpc = descriptor(named: rpcName) ?? zip(descriptors, names).first { $0.1 != gatewayName }?.0
    for descriptor in [rpc, gateway] { if let descriptor { try check(descriptor) } }
    for descriptor in descriptors {
      guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else { throw .system(call: "fcntl(F_SETFD)", errno: errno) }
    }
    func socket(_ descriptor: CInt) -> InheritedSocket {
      InheritedSocket(descriptor: descriptor, path: boundPath(of: descriptor))
    }
    return Passed(rpc: rpc.map(socket), gateway: gateway.map(socket))
  }

  /// `FileDescriptorName=` of the two (systemd.socket(5)).
  private static let rpcName = "rpc"
  private static let gatewayName = "gateway"

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
