package import AuthEngine
package import PosternJSON
import PosternProtocol
import PosternSupport

/// A preauthorization's answer as it goes over the wire: `Preauthorize.Result`, written at once because it is a hot
/// path. A test decodes it as that type, strictly.
package struct PreauthorizeResult: ~Copyable {
  private let text = JSONComposer()
  /// Decisions of one batch end together: the instant that was written last, and how.
  private var instant: (Timestamp, String)?

  /// The text of `response`.
  package static func text(of response: PreauthorizeResponse) -> JSONText {
    var result = PreauthorizeResult()
    result.append(response)
    return result.text.finished()
  }

  private mutating func append(_ response: PreauthorizeResponse) {
    text.literal(#"{"outcome":"#)
    text.string(response.outcome.rawValue)
    text.literal(#","decisions":["#)
    for (index, decision) in response.decisions.enumerated() {
      if index > 0 { text.literal(",") }
      append(decision)
    }
    text.literal("]")
    if let status = response.status {
      text.literal(#","status":"#)
      append(status)
    }
    text.literal(#","unhonoredFeatures":["#)
    let unhonored = PreauthorizeRequest.Feature.allCases.filter(response.unhonoredFeatures.contains)
    for (index, feature) in unhonored.enumerated() {
      if index > 0 { text.literal(",") }
      text.string(feature.rawValue)
    }
    text.literal("]}")
  }

  private mutating func append(_ decision: Decision) {
    text.literal(#"{"id":"#)
    text.string(decision.id)
    if let error = decision.error {
      text.literal(#","authorized":false,"error":"#)
      append(error)
    } else {
      text.literal(#","authorized":true"#)
    }
    text.literal(#","source":"#)
    text.string(decision.source.rawValue)
    text.literal(#","ageMs":"#)
    text.integer(decision.age.wholeMilliseconds)
    if let expiresAt = decision.expiresAt {
      text.literal(#","expiresAt":"#)
      append(expiresAt)
    }
    text.literal("}")
  }

  private mutating func append(_ instant: Timestamp) {
    if let (known, written) = self.instant, known == instant { return text.string(written) }
    let written = instant.rfc3339
    self.instant = (instant, written)
    text.string(written)
  }

  private func append(_ status: Status) {
    text.literal(#"{"status":"#)
    text.integer(Int64(status.status))
    text.literal(#","code":"#)
    text.string(status.code)
    text.literal(#","message":"#)
    text.string(status.message)
    if let details = status.details {
      text.literal(#","details":"#)
      text.string(details)
    }
    if let helpURL = status.helpURL {
      text.literal(#","helpUrl":"#)
      text.string(helpURL)
    }
    if let trace = status.trace {
      text.literal(#","trace":"#)
      text.string(trace)
    }
    text.literal(#","action":"#)
    text.string(status.action)
    text.literal("}")
  }
}
