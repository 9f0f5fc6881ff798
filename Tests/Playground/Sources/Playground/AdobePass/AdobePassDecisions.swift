import PosternJSON
import PosternSupport

/// Decides by the text of a resource.
final class AdobePassDecisions: Sendable {
  private static let maxFlaky = 1000

  /// The "flaky" resources that have failed once.
  private let failed = Locked<Set<String>>([])

  /// The denies by what the resource contains; the first that fits counts.
  private static let denies: [(String, AdobePassError)] = [
    ("deny", AdobePassError("preauthorization_denied_by_mvpd", 403, "none")),
    ("parental", AdobePassError("authorization_denied_by_parental_controls", 403, "none")),
    ("login", AdobePassError("authenticated_profile_expired", 403, "authentication")),
    ("slow", AdobePassError("network_received_error", 403, "retry")),
    ("broken", AdobePassError("internal_server_error", 500, "none")),
    ("novel", AdobePassError("a_code_of_tomorrow", 499, "an-action-of-tomorrow")),
  ]

  /// The decisions about `resources`; a "poison" among others silences all.
  func rows(about resources: [String], at target: (String, String), degradation: Bool?) -> [JSONValue] {
    if resources.contains(where: { $0.contains("poison") }) { return [] }
    return resources.flatMap { rows(about: $0, at: target, degradation: degradation) }
  }

  private func rows(about resource: String, at target: (String, String), degradation: Bool?) -> [JSONValue] {
    var row: JSONObject = [
      "resource": .string(resource.contains("spaced") ? resource + " " : resource),
      "serviceProvider": .string(target.0),
      "mvpd": .string(target.1), "authorized": true, "source": "mvpd",
    ]
    func deny(_ error: AdobePassError) {
      row["authorized"] = false
      row["error"] = error.json
    }
    if let degradation {
      row["source"] = "degradation"
      if !degradation { deny(AdobePassError("authorization_denied_by_degradation_rule", 403, "none")) }
      return [.object(row)]
    }
    if resource.contains("missing") { return [] }
    if resource.contains("silent") { row["authorized"] = false }
    if resource.contains("temp") { row["source"] = "temppass" }
    if resource.contains("dummy") { row["source"] = "dummy" }
    if resource.contains("flaky"), failsNow(resource) {
      deny(AdobePassError("network_connection_timeout", 403, "retry"))
    } else if let (_, error) = Self.denies.first(where: { resource.contains($0.0) }) {
      deny(error)
    }
    guard resource.contains("twice") else { return [.object(row)] }
    var second = row
    if resource.contains("contradictory") { second["authorized"] = false }
    return [.object(row), .object(second)]
  }

  private func failsNow(_ resource: String) -> Bool {
    failed.withLock { failed in
      if failed.remove(resource) != nil { return false }
      if failed.count < Self.maxFlaky { failed.insert(resource) }
      return true
    }
  }
}
