/// A complete response: interim (1xx) responses and trailers dropped, content codings undone.
public struct HTTPResponse: Sendable {
  /// When things happened, measured by the transport from the start of this one exchange.
  public struct Timing: Sendable, Hashable {
    /// The whole exchange.
    public var total: Duration
    /// Waiting in the transport before libcurl had it.
    public var queued: Duration
    /// Name resolution, TCP and TLS; zero on a reused connection.
    public var connect: Duration
    /// Until the first response byte.
    public var firstByte: Duration

    /// A timing of the given parts.
    public init(
      total: Duration = .zero, queued: Duration = .zero, connect: Duration = .zero, firstByte: Duration = .zero
    ) {
      self.total = total
      self.queued = queued
      self.connect = connect
      self.firstByte = firstByte
    }
  }

  /// The status code, 200…599.
  public var status: Int
  /// The reason phrase, where the protocol has one (HTTP/1.x) and it was not empty.
  public var reason: String?
  /// The fields in order. When the transport undid a content coding, `Content-Encoding` and `Content-Length` are gone.
  public var fields: HTTPFields
  /// The body, content codings undone; empty when there is none.
  public var body: [UInt8]
  /// When things happened.
  public var timing: Timing

  /// A response of the given parts.
  public init(
    status: Int, reason: String? = nil, fields: HTTPFields = HTTPFields(), body: [UInt8] = [], timing: Timing = Timing()
  ) {
    self.status = status
    self.reason = reason
    self.fields = fields
    self.body = body
    self.timing = timing
  }
}
