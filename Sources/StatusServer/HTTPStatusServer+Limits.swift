import NIOCore
import NIOHTTP1

extension HTTPStatusServer {
  /// What a client may cost.
  enum Limits {
    /// The most connections at one time; beyond them the one that has waited for longest is closed.
    static let connections = 64
    /// Connections that may wait to be accepted; the kernel caps it at `net.core.somaxconn`.
    static let backlog: CInt = 4096
    /// How long a whole request may take to come, and its answer to be taken.
    static let patience = TimeAmount.seconds(30)

    /// Bounds on the header block, applied while it is read: beyond them 400 and the end of the connection.
    static var decoder: NIOHTTPDecoderLimitConfiguration {
      var limits = NIOHTTPDecoderLimitConfiguration()
      limits.maxHeaderFieldSize = 8 << 10
      limits.maxHeaderListSize = 16 << 10
      limits.maxHeaderFieldCount = 64
      return limits
    }
  }
}
