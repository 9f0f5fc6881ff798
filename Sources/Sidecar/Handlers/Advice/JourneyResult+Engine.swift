import AuthEngine
import PosternProtocol
import PosternSupport

extension JourneyResult {
  /// The engine's outcome as it goes over the wire.
  init(_ outcome: JourneyOutcome) {
    switch outcome {
    case .callbacks(let step):
      self.init(.callbacks)
      continuation = step.continuation
      callbacks = step.callbacks
      stage = step.stage
      header = step.header
      description = step.description
      expiresAt = step.expiresAt.rfc3339
    case .completed(let end):
      self.init(.completed)
      txId = end.txId
      session = end.session?.text
      sessionUpgraded = end.isUpgraded
    case .failed(let failure):
      self.init(.failed)
      error = Failure(code: failure.code, message: failure.message, detail: failure.detail)
    }
  }
}
