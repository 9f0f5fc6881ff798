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
    self.init(
      outcome: response.outcome,
      decisions: response.decisions.map { decision in
        Preauthorize.Decision(
          id: decision.id, error: decision.error.map { .init($0) }, source: decision.source,
          ageMs: decision.age.wholeMilliseconds, expiresAt: decision.expiresAt.map(text))
      },
      status: response.status.map { .init($0) },
      unhonoredFeatures: PreauthorizeRequest.Feature.allCases.filter(response.unhonoredFeatures.contains))
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
