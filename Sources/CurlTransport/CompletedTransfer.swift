import HTTPMessages

/// An exchange whose caller has not been told yet.
struct CompletedTransfer: Sendable {
  let continuation: Exchange.Continuation
  let result: Result<HTTPResponse, TransportError>

  /// Tells all of them, from the loop itself: whoever has an executor of its own, as the sidecar's calls have their
  /// connection's, is woken by that once for all of them and needs no thread in between.
  static func resume(_ ended: [CompletedTransfer]) {
    for exchange in ended { exchange.continuation.resume(returning: exchange.result) }
  }
}
