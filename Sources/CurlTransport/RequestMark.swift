import CPosternLinux

/// The position in a TCP connection's stream at which a request begins.
///
/// A response to the request comes after it, and with the first segment of it, or before, the peer's
/// kernel has acknowledged bytes of the request: acknowledgements are cumulative, and a server reads nothing that its
/// kernel has not received. Where nothing of the request is acknowledged when the response is there, it was sent for
/// something else.
struct RequestMark {
  private let descriptor: Int32
  private let offset: UInt64

  /// The next position; nil where the kernel does not count.
  init?(nextOn descriptor: Int32) {
    guard let sent = Self.sent(descriptor) else { return nil }
    self.descriptor = descriptor
    offset = sent.acknowledged + sent.outstanding
  }

  /// Whether the peer's kernel has received a byte of the request. True where that is not known.
  var hasArrived: Bool {
    guard let sent = Self.sent(descriptor) else { return true }
    return sent.acknowledged > offset
  }

  private static func sent(_ descriptor: Int32) -> (acknowledged: UInt64, outstanding: UInt64)? {
    var acknowledged: UInt64 = 0
    var outstanding: UInt64 = 0
    return clinux_tcp_sent(descriptor, &acknowledged, &outstanding) == 0 ? (acknowledged, outstanding) : nil
  }
}
