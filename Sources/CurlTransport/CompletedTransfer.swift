import HTTPMessages

/// An exchange whose caller does not have the result yet.
struct CompletedTransfer: Sendable {
  let continuation: Exchange.Continuation
  let result: Result<HTTPResponse, TransportError>

  /// Resumes all callers, from the loop itself: callers that share an executor, as the sidecar's calls share their
  /// connection's, are woken once for all of them, without a thread in between.
  static func resume(_ ended: [CompletedTransfer]) {
    for exchange in ended { exchange.continuation.resume(returning: exchange.result) }
  }
}
