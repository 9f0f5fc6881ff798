import Glibc

/// Whose process is at the other end of a connection on a loopback address: any user of the machine can open one.
enum LoopbackVisitor {
  /// Whether it may be this user's browser. It is not, when the system knows that its socket belongs to another user, root excepted, or when
  /// the other end is closed already, so that it cannot tell. Connections that come from elsewhere, through a container's port, it does not
  /// know.
  static func isOwn(_ descriptor: Int32) -> Bool {
    guard let (port, family) = peer(of: descriptor), let own = peer(of: descriptor, isLocal: true)?.port
    else { return true }
    for table in family == AF_INET6 ? ["/proc/net/tcp6"] : ["/proc/net/tcp", "/proc/net/tcp6"] {
      for socket in sockets(table) where socket.port == port && socket.remotePort == own {
        return socket.isOpen && [0, geteuid()].contains(socket.uid)
      }
    }
    return true
  }

  private typealias Entry = (port: UInt16, remotePort: UInt16, isOpen: Bool, uid: UInt32)

  /// The lines of a table (proc_pid_net(5)): number, own and other address, state, …, uid at the eighth place. Ports are the last four digits.
  private static func sockets(_ table: String) -> [Entry] {
    guard let file = fopen(table, "re") else { return [] }
    defer { fclose(file) }
    var (line, capacity) = (UnsafeMutablePointer<CChar>?.none, 0)
    defer { free(line) }
    var entries: [Entry] = []
    while getline(&line, &capacity, file) > 0, let text = line {
      let words = String(cString: text).split(separator: " ")
      guard words.count > 7, let port = UInt16(words[1].suffix(4), radix: 16),
        let remotePort = UInt16(words[2].suffix(4), radix: 16), let uid = UInt32(words[7])
      else { continue }
      entries.append((port, remotePort, words[3] == "01", uid))
    }
    return entries
  }

  /// The port stands at the same place in the addresses of both families.
  private static func peer(of descriptor: Int32, isLocal: Bool = false) -> (port: UInt16, family: Int32)? {
    var address = sockaddr_in6()
    var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let isKnown = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        (isLocal ? getsockname(descriptor, $0, &length) : getpeername(descriptor, $0, &length)) == 0
      }
    }
    return isKnown ? (UInt16(bigEndian: address.sin6_port), Int32(address.sin6_family)) : nil
  }
}
