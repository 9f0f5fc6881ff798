import Glibc

/// Reports the state of the process to the service manager (sd_notify(3)): one datagram to the socket that
/// `NOTIFY_SOCKET` names.
///
/// It never fails: without the variable, or without a listener, it does nothing.
struct ServiceNotification: Sendable {
  /// The states that are reported.
  enum State: Sendable {
    /// It serves; once after the start, and after every reload. `status` is what `systemctl status` shows.
    case ready(status: String)
    /// The configuration is being read again; `ready` follows.
    case reloading
    /// Only what `systemctl status` shows.
    case status(String)
    /// It is well.
    case watchdog
    /// It drains and ends.
    case stopping(status: String)
  }

  private let address: [UInt8]?
  /// Connected to an abstract name at the start, because the process's sandbox forbids that later; invalid after the
  /// manager has replaced its socket.
  private let abstract: Int32?

  /// `path` is the value of `NOTIFY_SOCKET`: a path, or an abstract name behind `@`.
  init(path: String?) {
    let bytes = path.map { Array($0.utf8) } ?? []
    let isUsable = bytes.count > 1 && bytes.count <= Self.capacity && (bytes[0] == 0x2F || bytes[0] == 0x40)
    address = isUsable ? (bytes[0] == 0x40 ? [0] + bytes.dropFirst() : bytes) : nil
    abstract = address.flatMap { $0[0] == 0 ? Self.connected(to: $0) : nil }
  }

  /// Whether there is a service manager.
  var isUsable: Bool { address != nil }

  /// Sends `state`. False when it was not received.
  @discardableResult
  func send(_ state: State) -> Bool {
    guard let address, let descriptor = abstract ?? Self.connected(to: address) else { return false }
    defer { if abstract == nil { close(descriptor) } }
    let message = Array(Self.text(of: state).utf8)
    return Glibc.send(descriptor, message, message.count, CInt(MSG_NOSIGNAL)) == message.count
  }

  private static func connected(to address: [UInt8]) -> Int32? {
    let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    // A manager whose queue is full is waited for, for READY must not get lost; but not for ever.
    var patience = timeval(tv_sec: 5, tv_usec: 0)
    _ = setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: address) }
    // An abstract name ends where the address does, a path with a zero.
    let length = MemoryLayout<sa_family_t>.size + address.count + (address[0] == 0 ? 0 : 1)
    let failed = withUnsafePointer(to: &name) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(length)) }
    }
    guard failed == 0 else {
      close(descriptor)
      return nil
    }
    return descriptor
  }

  /// Bytes of `sun_path` that can be used: one is left for the zero behind a path.
  private static let capacity = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  private static func text(of state: State) -> String {
    switch state {
    case .ready(let status): return "READY=1\nSTATUS=\(status)"
    case .reloading:
      var now = timespec()
      clock_gettime(CLOCK_MONOTONIC, &now)
      // Type=notify-reload wants to know when the reload began.
      let microseconds = now.tv_sec * 1_000_000 + now.tv_nsec / 1000
      return "RELOADING=1\nMONOTONIC_USEC=\(microseconds)\nSTATUS=Reading the configuration"
    case .status(let text): return "STATUS=\(text)"
    case .watchdog: return "WATCHDOG=1"
    case .stopping(let status): return "STOPPING=1\nSTATUS=\(status)"
    }
  }
}
