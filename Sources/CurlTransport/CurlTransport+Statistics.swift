public import PosternSupport

extension CurlTransport {
  /// Counts since the start, and what is going on now.
  public struct Statistics: Sendable, Hashable {
    struct Exchanges: Hashable {
      var queued = 0
      var inFlight = 0
      var started = 0
      var responses = 0
      var failures = 0
      var cancellations = 0
    }

    struct Connections: Hashable {
      var open = 0
      var opened = 0
      var reused = 0
      var discarded = 0
    }

    struct BodyBytes: Hashable {
      var sent: Int64 = 0
      var received: Int64 = 0
    }

    var exchanges = Exchanges()
    var connections = Connections()
    var bodyBytes = BodyBytes()
    /// Handles thrown away because libcurl rejected an option.
    public internal(set) var handlesRejected = 0
    /// How often the thread was inside libcurl for longer than `longestIteration`, so that all its connections closed.
    public internal(set) var stalls = 0

    /// Exchanges that wait for the thread to take them up, or for a connection.
    public var exchangesQueued: Int { exchanges.queued }
    /// Exchanges that libcurl has now.
    public var exchangesInFlight: Int { exchanges.inFlight }
    /// Exchanges ever handed to libcurl.
    public var exchangesStarted: Int { exchanges.started }
    /// Exchanges that ended with a response.
    public var responses: Int { exchanges.responses }
    /// Exchanges that ended without one, cancelled ones included.
    public var failures: Int { exchanges.failures }
    /// Exchanges that were cancelled, by their task or by `close()`.
    public var cancellations: Int { exchanges.cancellations }

    /// Sockets open now, those being connected included.
    public var connectionsOpen: Int { connections.open }
    /// Connections ever established for an exchange.
    public var connectionsOpened: Int { connections.opened }
    /// Exchanges that were carried by a connection established earlier.
    public var connectionsReused: Int { connections.reused }
    /// Connections given up because something had come over them before a request was sent.
    public var connectionsDiscarded: Int { connections.discarded }

    /// Bytes of request bodies sent.
    public var bodyBytesSent: Int64 { bodyBytes.sent }
    /// Bytes of response bodies received, before content codings are undone.
    public var bodyBytesReceived: Int64 { bodyBytes.received }
  }
}

extension CurlTransport.Statistics: ConciseStringConvertible {
  /// The counts that show the load.
  public var description: String {
    "\(exchangesInFlight) in flight, \(Concise.count(responses, "response")), \(Concise.count(failures, "failure")), "
      + Concise.count(connectionsOpen, "open connection")
  }
}
