extension CurlTransport {
  /// Counts since the start, and what is going on now.
  public struct Statistics: Sendable, Hashable {
    /// Exchanges that wait for the thread to take them up, or for a connection.
    public internal(set) var exchangesQueued = 0
    /// Exchanges that libcurl has now.
    public internal(set) var exchangesInFlight = 0
    /// Exchanges ever handed to libcurl.
    public internal(set) var exchangesStarted = 0
    /// Exchanges that ended with a response.
    public internal(set) var responses = 0
    /// Exchanges that ended without one, cancelled ones included.
    public internal(set) var failures = 0
    /// Exchanges that were cancelled, by their task or by `close()`.
    public internal(set) var cancellations = 0

    /// Sockets open now, those being connected included.
    public internal(set) var connectionsOpen = 0
    /// Connections ever established for an exchange.
    public internal(set) var connectionsOpened = 0
    /// Exchanges that were carried by a connection established earlier.
    public internal(set) var connectionsReused = 0

    /// Connections given up because something had come over them before a request was sent.
    public internal(set) var connectionsDiscarded = 0
    /// Handles thrown away because libcurl rejected an option.
    public internal(set) var handlesRejected = 0
    /// How often the thread was inside libcurl for longer than `longestIteration`, so that all its connections closed.
    public internal(set) var stalls = 0

    /// Bytes of request bodies sent.
    public internal(set) var bodyBytesSent: Int64 = 0
    /// Bytes of response bodies received, before content codings are undone.
    public internal(set) var bodyBytesReceived: Int64 = 0
  }
}
