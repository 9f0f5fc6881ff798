package import AuthEngine
package import PosternProtocol
import PosternSupport

extension Preauthorize.Result {
  /// A preauthorization's answer as it goes over the wire.
  package init(_ response: PreauthorizeResponse) {
    // Decisions of one batch end together: the instant that was written last, and how.
    var last: (instant: Timestamp, text: String)?
    func text(_ instant: Timestamp) -> String {
      if let last, last.instant == instant { return last.text }
      let text = instant.rfc3339
      last = (instant, text)
      return text
    }
    let outcome: Preauthorize.Outcome =
      switch response.outcome {
      case .response: .response
      case .failure: .failure
      }
    self.init(
      outcome: outcome,
      decisions: response.decisions.map { decision in
        Preauthorize.Decision(
          id: decision.id, error: decision.error.map { .init($0) }, source: .init(decision.source),
          ageMs: decision.age.wholeMilliseconds, expiresAt: decision.expiresAt.map(text))
      },
      status: response.status.map { .init($0) },
      unhonoredFeatures: Preauthorize.Feature.allCases.filter {
        response.unhonoredFeatures.contains(.init($0))
      })
  }
}

extension Preauthorize.Source {
  fileprivate init(_ source: Decision.Source) {
    self =
      switch source {
      case .local: .local
      case .backend: .backend
      case .degradation: .degradation
      }
  }
}

extension PreauthorizeRequest.Feature {
  init(_ feature: Preauthorize.Feature) {
    self =
      switch feature {
      case .localCache: .localCache
      case .remoteCache: .remoteCache
      }
  }
}

extension Preauthorize.Status {
  /// The engine's status as it goes over the wire.
  package init(_ status: Status) {
    self.init(
      status: status.status, code: status.code, message: status.message, details: status.details,
      helpUrl: status.helpURL, trace: status.trace, action: status.action)
  }
}
