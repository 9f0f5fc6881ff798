public import HTTPMessages
public import PosternSupport

/// HTTP over libcurl: one dedicated thread owns every libcurl handle, callers only exchange messages with it.
///
/// Connections are kept and shared between exchanges of the same origin, trust, uid and `ConnectionPartition`; what
/// arrives on one before a request was sent is never a response: the connection is closed, and the request is sent over
/// another. Redirects are returned, cookies, `.netrc`, HSTS and Alt-Svc are not used, and no environment variable
/// changes where a request goes. What the transport adds to a request by itself: `Host`, `Content-Length`,
/// `Accept-Encoding` (and HTTP's own framing); these, `Transfer-Encoding` and `Expect` are left out of the caller's
/// fields, all others are sent as given.
///
/// A request that met a dead kept connection is retried on a fresh one when no byte of it had left or its method is
/// idempotent (RFC 9110 section 9.2.2) and it is not `isSentOnce`; any other fails with outcome `sent_no_reply`.
///
/// `close()` ends the thread and waits for it. A transport that is dropped without it ends its thread in its own time.
public final class CurlTransport: HTTPTransport {
  private let inbox: Inbox
  private let thread: LoopThread
  private let uptime = SystemClock()

  /// Starts the thread.
  ///
  /// - Throws: `StartError` when libcurl lacks what is needed or the machine has no thread to give.
  public init(configuration: Configuration = Configuration()) throws(StartError) {
    if let problem = CurlLibrary.problem { throw StartError(problem) }
    if case .negotiate = configuration.proxy?.current?.authentication, !CurlLibrary.negotiates {
      throw StartError("this libcurl has no GSS-API, which outbound.proxy.auth: negotiate needs")
    }
    let multi = try MultiHandle(configuration: configuration)
    inbox = Inbox(multi: multi)
    thread = try LoopThread(inbox: inbox, multi: multi, configuration: configuration)
  }

  deinit {
    inbox.close()
    thread.abandon()
  }

  /// The versions of libcurl and of its TLS library, as found at run time.
  public static var libraryVersions: LibraryVersions { CurlLibrary.versions }

  /// Whether this libcurl can authenticate to a proxy by `OutboundProxy.Authentication.negotiate`.
  public static var negotiates: Bool { CurlLibrary.negotiates }

  /// Sends `request` and returns the whole response, whatever its status.
  ///
  /// Cancelling the calling task ends the exchange: `TransportError.Code.cancelled`, exactly once, unless it had
  /// ended before.
  public func send(
    _ request: HTTPRequest, options: TransferOptions
  ) async throws(TransportError) -> HTTPResponse {
    let exchange = exchange(request, options)
    let result = await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        if let error = exchange.start(whenEnded: { continuation.resume(returning: $0) }) {
          continuation.resume(returning: .failure(error))
        }
      }
    } onCancel: {
      exchange.cancel()
    }
    return try result.get()
  }

  /// Sends `request` as `send` does. `whenEnded` is called on the transport's thread, which waits for it, or before
  /// this returns; nil is returned where it was.
  public func start(
    _ request: HTTPRequest, options: TransferOptions,
    whenEnded: @escaping @Sendable (Result<HTTPResponse, TransportError>) -> Void
  ) -> (any TransferHandle)? {
    let exchange = exchange(request, options)
    guard let error = exchange.start(whenEnded: whenEnded) else { return exchange }
    whenEnded(.failure(error))
    return nil
  }

  private func exchange(_ request: HTTPRequest, _ options: TransferOptions) -> Exchange {
    Exchange(request, options, by: inbox, submittedAt: uptime.monotonicNow)
  }

  /// Ends every outstanding exchange with `TransportError.Code.cancelled`, closes all connections and waits for the
  /// thread.
  ///
  /// Later calls of `send` fail with the same code. Calling it again does nothing.
  public func close() {
    inbox.close()
    thread.join()
  }

  /// Whether the thread starts a new iteration within `time`: one that is stuck serves no request.
  public func responds(within time: Duration) async -> Bool {
    let before = inbox.wakeLoop()
    let clock = ContinuousClock()
    let end = clock.now.advanced(by: time)
    while inbox.iterations == before {
      guard clock.now < end, (try? await Task.sleep(for: .milliseconds(1))) != nil else { return false }
    }
    return true
  }

  /// Counts for metrics: those of the thread are as of its last iteration.
  public func statistics() -> Statistics { inbox.statistics() }
}

extension CurlTransport: ConciseStringConvertible {}
