import HTTPMessages

/// An exchange whose caller has not been told yet.
struct EndedExchange: Sendable {
  let continuation: Exchange.Continuation
  let result: Result<HTTPResponse, TransportError>

  /// Tells all of them.
  ///
  /// Several are handed to one task: each resumption from the loop would wake a thread of its own.
  static func resume(_ ended: [EndedExchange]) {
    if ended.count > 1 {
      Task.detached { resumeHere(ended) }
    } else {
      resumeHere(ended)
    }
  }

  private static func resumeHere(_ ended: [EndedExchange]) {
    for exchange in ended { exchange.continuation.resume(returning: exchange.result) }
  }
}
