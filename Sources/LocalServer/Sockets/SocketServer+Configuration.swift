import PosternSupport

extension SocketServer {
  /// The configuration of a server. The limits' defaults are those of the wire contract.
  public struct Configuration: Sendable {
    /// Where to listen.
    public var endpoint: Endpoint
    /// The lock of its path; nil: opened when it is needed.
    public var lock: SocketLock?
    /// The limits of what peers may cause.
    public var limits = Limits()
    /// How long peers may take.
    public var timeouts = Timeouts()
    /// How often it is looked whether the processes that connected still run; a connection goes at the second look that
    /// finds none.
    public var peerCheck = Duration.seconds(2)
    /// Whether all calls of a peer are rejected. Such uids have few connections, each and all together.
    public var isStranger: @Sendable (PeerCredentials) -> Bool = { _ in false }
    /// Event loop threads; connections are dealt out to them in turn.
    public var eventLoops = min(ServingLoop.processors, 4)
    /// Serves connections that begin with an HTTP request; nil: HTTP is not spoken here.
    package var web: GatewayServer?
    /// The message that a connection over a limit reads before it is closed, without a line feed.
    public var rejection: @Sendable (RejectionReason, PeerCredentials) -> [UInt8] = { _, _ in [] }

    /// The defaults at `endpoint`.
    public init(endpoint: Endpoint) { self.endpoint = endpoint }
  }

  /// The limits of messages, connections, and what is kept in memory for them.
  public struct Limits: Sendable, Hashable {
    /// The largest message in bytes (1 GiB at most).
    public var messageBytes = 16 << 20
    /// How many brackets may be open in a message.
    public var depth = 128
    /// How many JSON values a message may have.
    public var values = 100_000
    /// How many connections may be open.
    public var connections = 1024
    /// How many of them may belong to one uid.
    public var connectionsPerUid = 256
    /// How many descriptors that peers have passed may be open here, of all uids: none gets more than three times what
    /// is left.
    public var descriptors = Int.max
    /// How many descriptors of one uid may be open here, those of its calls and those that are being closed.
    public var descriptorsPerUid = 256
    /// Bytes that may wait for one peer; who sends more to it loses the connection.
    public var pendingBytes = 256 << 20
    /// Bytes that may wait for all connections of one uid. From half of it on nothing is read from those of its
    /// connections that have bytes waiting; when more is sent beyond it, the connection that has not taken any for
    /// longest is closed.
    public var unreadBytesPerUid = 64 << 20
    /// As `unreadBytesPerUid`, for strangers.
    public var unreadBytesPerStranger = 4 << 20
    /// Bytes that may have come of messages of all connections of one uid that are not whole, or not handled yet; two
    /// whole messages are always accepted. A connection that sends more of an unfinished message beyond it is closed.
    public var unfinishedBytesPerUid = 64 << 20

    /// Counts the bytes that wait for the connections of one uid.
    func unreadLedger(isStranger: Bool) -> ByteLedger {
      ByteLedger(limit: isStranger ? unreadBytesPerStranger : unreadBytesPerUid)
    }

    /// Counts the bytes of messages of one uid. One whole message must be accepted, whatever else there is.
    func unfinishedLedger() -> ByteLedger { ByteLedger(limit: max(unfinishedBytesPerUid, 2 * messageBytes)) }

    /// A framer for one connection.
    func framer() -> InboundFramer {
      InboundFramer(messageBytes: min(messageBytes, OutboundMessages.maximumMessage), depth: depth, values: values)
    }
  }

  /// How long a connection may wait for its peer.
  public struct Timeouts: Sendable, Hashable {
    /// How long a peer that has begun a message may be silent. It also has to send 64 KiB of it, or its end, within ten
    /// times as long.
    public var stall = Duration.seconds(30)
    /// How long a peer may take no byte while something is waiting for it.
    public var write = Duration.seconds(45)
    /// How long to wait for the peer's end after this side has closed.
    public var linger = Duration.seconds(1)

    /// Longer is as good as never.
    private static let longest = Duration.seconds(365 * 86_400)

    /// Brings each into the range that the event loop's clock can count in.
    var clamped: Timeouts {
      var timeouts = self
      timeouts.stall = min(max(stall, .milliseconds(1)), Self.longest)
      timeouts.write = min(max(write, .milliseconds(1)), Self.longest)
      timeouts.linger = min(max(linger, .zero), Self.longest)
      return timeouts
    }
  }

  /// Where a server listens.
  public enum Endpoint: Sendable, Hashable {
    /// A socket file made at `path` with exactly `mode`, given to `group` when there is one.
    case path(String, mode: UInt32 = 0o600, group: UInt32? = nil)
    /// A listening descriptor from the service manager; the server owns it from here on.
    case inherited(InheritedSocket)
  }
}
