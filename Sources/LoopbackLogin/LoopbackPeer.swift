import Glibc

/// Finds the user at the other end of a connection on a loopback address: any user of the machine can open one.
enum LoopbackPeer {
  /// Whether it may be this user's browser. It is not, when the system knows that its socket belongs to another user,
  /// root excepted, or when the other end is closed already, so that it cannot tell. Connections that come from
  /// elsewhere, through a container's port, it does not know.
  static func isOwn(_ descriptor: Int32) -> Bool {
    // A peer that has reset its connection has no address any more, though its request can still be read.
    guard let peer = SocketAddress(of: descriptor, getpeername), let own = SocketAddress(of: descriptor, getsockname)
    else { return false }
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
      for socket in sockets(table) where socket.local == peer && socket.remote == own {
        return socket.isOpen && [0, geteuid()].contains(socket.uid)
      }
    }
    // It may have been reset while the tables were read.
    return SocketAddress(of: descriptor, getpeername) != nil
  }

  private typealias Entry = (local: SocketAddress, remote: SocketAddress, isOpen: Bool, uid: UInt32)

  /// The lines of a table (proc_pid_net(5)): number, own and other address, state, …, uid in the eighth column.
  private static func sockets(_ table: String) -> [Entry] {
    guard let file = fopen(table, "re") else { return [] }
    defer { fclose(file) }
    var (line, capacity) = (UnsafeMutablePointer<CChar>?.none, 0)
    defer { free(line) }
    var entries: [Entry] = []
    while getline(&line, &capacity, file) > 0, let text = line {
      let words = String(cString: text).split(separator: " ")
      guard words.count > 7, let local = SocketAddress(words[1]), let remote = SocketAddress(words[2]),
        let uid = UInt32(words[7])
      else { continue }
      entries.append((local, remote, words[3] == "01", uid))
    }
    return entries
  }

  /// The address of a socket: IP address and port.
  private struct SocketAddress: Equatable {
    /// An IPv4 address as IPv6 maps it (RFC 4291 section 2.5.5.2): a socket of either family may have connected.
    private let address: [UInt8]
    private let port: UInt16

    private static let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]

    /// As a table has it: the address in words of four bytes, each as the number that it is on this machine; a colon;
    /// the port.
    init?(_ text: Substring) {
      let parts = text.split(separator: ":")
      guard parts.count == 2, [8, 32].contains(parts[0].utf8.count), let port = UInt16(parts[1], radix: 16)
      else { return nil }
      self.port = port
      var (bytes, rest) = ([UInt8](), parts[0])
      while !rest.isEmpty {
        guard let word = UInt32(rest.prefix(8), radix: 16) else { return nil }
        bytes += withUnsafeBytes(of: word, Array.init)
        rest = rest.dropFirst(8)
      }
      address = bytes.count == 4 ? Self.mapped + bytes : bytes
    }

    /// One end of a connection, as `name` returns it. Nil when it is not IP.
    init?(
      of descriptor: Int32,
      _ name: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) {
      var found = sockaddr_in6()
      var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
      let isKnown = withUnsafeMutablePointer(to: &found) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { name(descriptor, $0, &length) == 0 }
      }
      guard isKnown else { return nil }
      // The port has the same offset in the addresses of both families; an IPv4 address follows it.
      port = UInt16(bigEndian: found.sin6_port)
      switch Int32(found.sin6_family) {
      case AF_INET: address = Self.mapped + withUnsafeBytes(of: found.sin6_flowinfo, Array.init)
      case AF_INET6: address = withUnsafeBytes(of: found.sin6_addr, Array.init)
      default: return nil
      }
    }
  }
}
