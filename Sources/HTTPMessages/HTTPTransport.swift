public import PosternSupport

/// Sends HTTP requests. One call is one exchange: redirects are returned, not followed.
public protocol HTTPTransport: Sendable {
  /// Sends `request` and returns the whole response, whatever its status.
  ///
  /// Cancelling the calling task ends the exchange with `TransportError.Code.cancelled`, exactly once.
  func send(_ request: HTTPRequest, options: TransferOptions) async throws(TransportError) -> HTTPResponse

  /// Sends `request`, and calls `whenEnded` with the outcome: exactly once, on any thread, perhaps before this returns.
  ///
  /// Cancelling what it returns is cancelling the exchange; nil when that has ended already.
  func start(
    _ request: HTTPRequest, options: TransferOptions,
    whenEnded: @escaping @Sendable (Result<HTTPResponse, TransportError>) -> Void
  ) -> (any TransferHandle)?
}

/// An exchange that was started.
public protocol TransferHandle: AnyObject, Sendable {
  /// Ends the exchange with `TransportError.Code.cancelled`, unless it has ended.
  func cancel()
}

extension HTTPTransport {
  /// Sends `request` by `send`, in a task of its own.
  public func start(
    _ request: HTTPRequest, options: TransferOptions,
    whenEnded: @escaping @Sendable (Result<HTTPResponse, TransportError>) -> Void
  ) -> (any TransferHandle)? {
    TransferTask(
      Task.immediate {
        do throws(TransportError) {
          whenEnded(.success(try await send(request, options: options)))
        } catch {
          whenEnded(.failure(error))
        }
      })
  }
}

/// The exchange of a transport that has `send` only.
private final class TransferTask: TransferHandle {
  private let task: Task<Void, Never>

  init(_ task: Task<Void, Never>) { self.task = task }

  func cancel() { task.cancel() }
}

/// A request as the transport sends it: absolute URL, final fields, body bytes.
public struct HTTPRequest: Sendable {
  /// The method token, upper case (`GET`, `POST`, …).
  public var method: String
  /// The target.
  public var url: HTTPURL
  /// The target as reports and response heads have it, where `url` has a secret in it; nil: `url`.
  public var shownURL: HTTPURL?
  /// The fields to send. The transport adds `Host`, `Content-Length` and `Accept-Encoding`.
  public var fields: HTTPFields
  /// The body; nil sends none (not even `Content-Length: 0`, unless the method calls for it).
  public var body: [UInt8]?

  /// The body that comes from `TransferOptions.control` while the request is sent, in place of `body`.
  public var streamedBody: StreamedRequestBody?

  /// Whether it is sent at most once, whatever its method: for a caller that counts its own attempts.
  public var isSentOnce = false
  /// Whether it is a program's request that is passed on: the response's fields keep their bytes (`FieldOctets`).
  package var isForwarded = false
  /// Whether the representation is passed on as it is: `Accept-Encoding` goes up as it is in `fields`, `identity` where
  /// it is not, and no content coding is undone.
  package var keepsCodings = false

  /// A request; fields are not checked here, but by `HTTPFieldRules`.
  public init(method: String, url: HTTPURL, fields: HTTPFields = HTTPFields(), body: [UInt8]? = nil) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
  }
}

/// A request's body that is read while it is sent.
public struct StreamedRequestBody: Sendable, Hashable {
  /// How many bytes it has; nil: that is not known before its end.
  public var length: Int64?

  /// A body of that length.
  public init(length: Int64?) { self.length = length }
}

/// A complete response, without interim (1xx) responses and trailers, with content codings undone.
public struct HTTPResponse: Sendable {
  /// The durations of one exchange, measured by the transport from its start.
  public struct Timing: Sendable, Hashable {
    /// The whole exchange.
    public var total: Duration
    /// The time in the transport's queue, before libcurl started.
    public var queued: Duration
    /// Name resolution, TCP and TLS; zero on a reused connection.
    public var connect: Duration
    /// The time until the first byte of the response.
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
  /// The fields in order, without `Content-Encoding` and `Content-Length` when the transport undid a content coding. It
  /// undoes none in a part of a representation (206), and none that it does not know.
  public var fields: HTTPFields
  /// The body, content codings undone; empty when there is none.
  public var body: [UInt8]
  /// The durations of the exchange.
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

/// The status and fields of a response whose body is still to come.
public struct HTTPResponseHead: Sendable {
  /// The status code, 200…599.
  public var status: Int
  /// The reason phrase, where the protocol has one (HTTP/1.x) and it was not empty.
  public var reason: String?
  /// The URL of the request.
  public var url: HTTPURL
  /// The fields in order, without `Content-Encoding` and `Content-Length` when the transport undoes a content coding.
  public var fields: HTTPFields

  /// A head of the given parts.
  public init(status: Int, reason: String? = nil, url: HTTPURL, fields: HTTPFields = HTTPFields()) {
    self.status = status
    self.reason = reason
    self.url = url
    self.fields = fields
  }
}

extension HTTPRequest: ConciseStringConvertible {
  /// Method and URL without its query.
  public var description: String {
    Concise.text("\(method) \(url.shown)", body.map { Concise.count($0.count, "byte") })
  }
}

extension StreamedRequestBody: ConciseStringConvertible {
  /// The length.
  public var description: String { length.map { Concise.count($0, "byte") } ?? "bytes of unknown number" }
}

extension HTTPResponse: ConciseStringConvertible {
  /// Status, size and type of the body.
  public var description: String {
    Concise.text(HTTPStatusLine.text(status, reason), HTTPStatusLine.text(body.count, of: fields))
  }
}

extension HTTPResponse.Timing: ConciseStringConvertible {
  /// The whole time.
  public var description: String { "\(total), first byte after \(firstByte)" }
}

extension HTTPResponseHead: ConciseStringConvertible {
  /// Status and URL without its query.
  public var description: String { "\(HTTPStatusLine.text(status, reason)) from \(url.shown)" }
}

/// Parts of the descriptions of responses.
package enum HTTPStatusLine {
  /// `200 OK`.
  package static func text(_ status: Int, _ reason: String?) -> String {
    guard let reason, !reason.isEmpty else { return "\(status)" }
    return "\(status) \(Concise.name(reason))"
  }

  /// `1,234 bytes of application/json`.
  package static func text(_ byteCount: Int, of fields: HTTPFields) -> String {
    let type = fields["Content-Type"].flatMap { MediaType($0) }?.essence
    return Concise.count(byteCount, "byte") + (type.map { " of \(Concise.name($0))" } ?? "")
  }
}
