import HTTPMessages
import PosternSupport

/// One exchange of a `CurlTransport`, from its caller to the loop and back.
///
/// `isCancelled` and `hasArrived` belong to the inbox's lock. `whenEnded`, `waiterID` and `transfer` belong to the
/// loop from the moment the inbox has taken the exchange in, so that the loop alone can end it, once.
// Sendable because each mutable property has one owner, handed over by the inbox's lock.
final class Exchange: TransferHandle, @unchecked Sendable {
  typealias End = @Sendable (Result<HTTPResponse, TransportError>) -> Void

  private let inbox: Inbox
  let request: HTTPRequest
  let options: TransferOptions
  let submittedAt: MonotonicInstant
  /// The connections that it may go over.
  let use: ConnectionUse

  /// When it must be over: its deadline, later by the time it was paused; for a body in pieces, the bound that holds
  /// now.
  func due(at now: MonotonicInstant) -> MonotonicInstant? {
    if let bounds = options.streaming, let movedAt = transfer?.reception.streamMovedAt {
      return bounds.deadline.earlier(
        Deadline(instant: options.control?.takesBytes == true ? movedAt + bounds.silence : nil)
      ).instant
    }
    return options.deadline.instant.map { $0 + (options.control?.pausedTime(at: now) ?? .zero) }
  }

  /// Whether it is its body's silence that is over its bound.
  func isSilent(at now: MonotonicInstant) -> Bool {
    guard let bounds = options.streaming, let movedAt = transfer?.reception.streamMovedAt else { return false }
    return movedAt + bounds.silence <= now
  }

  /// Whether the request may be sent twice (RFC 9110 section 9.2.2).
  var isIdempotent: Bool {
    guard !request.isSentOnce else { return false }
    return switch request.method {
    case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE": true
    default: false
    }
  }

  /// Whether all of the request's body is still there to be sent.
  var bodyIsWhole: Bool { request.streamedBody == nil || options.control?.hasBegunUpload == false }

  var isCancelled = false
  var hasArrived = false
  /// Takes the result; nil before the exchange has arrived, and after its end.
  var whenEnded: End?
  /// Identifies it in the queue, while it waits for a connection.
  var waiterID: TransferSlots<HTTPURL.Origin, Exchange>.State.WaiterID?
  var transfer: Transfer?
  /// How many connections were discarded under it.
  var discards = 0
  /// Whether bytes of it have left over one of those.
  var hasLeft = false

  init(_ request: HTTPRequest, _ options: TransferOptions, by inbox: Inbox, submittedAt: MonotonicInstant) {
    self.inbox = inbox
    self.request = request
    self.options = options
    self.submittedAt = submittedAt
    use = ConnectionUse(
      by: options.peerID.uid, in: options.partition,
      hasBody: request.streamedBody != nil || request.body?.isEmpty == false)
  }

  /// Hands it to the loop; or returns why not, and then it has ended without a word to its caller.
  func start(whenEnded: @escaping End) -> TransportError? {
    options.control?.attach { [inbox, self] in inbox.nudge(self) }
    guard let error = inbox.submit(self, whenEnded) else { return nil }
    options.control?.detach()
    return error
  }

  func cancel() { inbox.cancel(self) }
}

/// An exchange whose caller does not have the result yet.
struct CompletedTransfer: Sendable {
  let exchange: Exchange
  let whenEnded: Exchange.End
  let result: Result<HTTPResponse, TransportError>

  /// Tells all callers, from the loop itself: callers that share an executor, as the sidecar's calls share their
  /// connection's, are woken once for all of them, without a thread in between.
  static func handOver(_ ended: [CompletedTransfer]) {
    for end in ended {
      // Before the caller may start the next exchange with the same control.
      end.exchange.options.control?.detach()
      end.whenEnded(end.result)
    }
  }
}
