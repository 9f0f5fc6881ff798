import PosternJSON
import PosternSupport

/// Decides by the text of a resource.
final class AdobePassDecisions: Sendable {
  /// The common parts of the decisions of one request.
  struct Context: Sendable {
    let serviceProvider: String
    let mvpd: String
    /// Whether the decisions are to authorize, with media tokens.
    let authorizes: Bool
    /// A rule of the operator; nil: none.
    let degradation: AdobePassSettings.Degradation?
    let lifetimes: AdobePassSettings.Lifetimes
    let now: Int64
  }

  private static let maxFlaky = 1000

  /// The "flaky" resources that have failed once.
  private let failed = Locked<Set<String>>([])

  /// The denies by what the resource contains; the first that fits counts.
  private static let denies: [(String, AdobePassError)] = [
    ("parental", AdobePassError("authorization_denied_by_parental_controls")),
    ("login", AdobePassError("authenticated_profile_expired")),
    ("slow", AdobePassError("network_received_error")),
    ("broken", AdobePassError("internal_server_error")),
    ("novel", AdobePassError("a_code_of_tomorrow", 499, "an-action-of-tomorrow")),
    ("hba", AdobePassError("authorization_denied_by_hba_policies")),
  ]

  /// The decisions about `resources`; a "poison" among others silences all. `gate` is what comes before the provider:
  /// why it is not even consulted about a resource, or the source that decides instead of it.
  func rows(
    about resources: [String], in context: Context, gate: (String) -> Gate
  ) -> [JSONValue] {
    if resources.contains(where: { $0.contains("poison") }) { return [] }
    return resources.flatMap { rows(about: $0, in: context, gate: gate) }
  }

  /// The decision before the provider is consulted.
  enum Gate: Sendable {
    case open
    case permits(source: String)
    case denies(AdobePassError, source: String)
  }

  private func rows(about resource: String, in context: Context, gate: (String) -> Gate) -> [JSONValue] {
    var row: JSONObject = [
      "resource": .string(resource.contains("spaced") ? resource + " " : resource),
      "serviceProvider": .string(context.serviceProvider),
      "mvpd": .string(context.mvpd), "authorized": true, "source": "mvpd",
    ]
    func deny(_ error: AdobePassError) {
      row["authorized"] = false
      row["error"] = error.json
    }
    if let degradation = context.degradation {
      row["source"] = "degradation"
      if !degradation.permits { deny(AdobePassError("authorization_denied_by_degradation_rule")) }
      return [.object(withToken(row, resource, context))]
    }
    switch gate(resource) {
    case .open: break
    case .permits(let source):
      row["source"] = .string(source)
      return [.object(withToken(row, resource, context))]
    case .denies(let error, let source):
      row["source"] = .string(source)
      deny(error)
      return [.object(row)]
    }
    if resource.contains("missing") { return [] }
    if resource.contains("silent") { row["authorized"] = false }
    if resource.contains("temp") { row["source"] = "temppass" }
    if resource.contains("dummy") { row["source"] = "dummy" }
    if let error = error(about: resource, in: context) { deny(error) }
    row = withToken(row, resource, context)
    guard resource.contains("twice") else { return [.object(row)] }
    var second = row
    if resource.contains("contradictory") { second["authorized"] = false }
    return [.object(row), .object(second)]
  }

  private func error(about resource: String, in context: Context) -> AdobePassError? {
    if resource.hasPrefix("code:") { return AdobePassError(String(resource.dropFirst("code:".count))) }
    if resource.contains("flaky"), failsNow(resource) { return AdobePassError("network_connection_timeout") }
    if resource.contains("deny") {
      return context.authorizes
        ? AdobePassError(
          "authorization_denied_by_mvpd", 403, "none", details: "Your package does not have \(resource).")
        : AdobePassError("preauthorization_denied_by_mvpd")
    }
    return Self.denies.first { resource.contains($0.0) }?.1
  }

  /// A decision to authorize, with its windows and where it permits a media token. An operator's rule has no window.
  private func withToken(_ row: JSONObject, _ resource: String, _ context: Context) -> JSONObject {
    guard context.authorizes else { return row }
    var row = row
    if context.degradation == nil {
      row["notBefore"] = .integer(context.now)
      row["notAfter"] = .integer(context.now + context.lifetimes.decision * 1000)
    }
    guard row["authorized"] == true, !resource.contains("tokenless") else { return row }
    let end = resource.contains("endedtoken") ? context.now - 1 : context.now + context.lifetimes.mediaToken * 1000
    let text = "<media>\(PercentCoding.encode(resource)) \(RandomText.next())</media>"
    row["token"] = [
      "notBefore": .integer(context.now), "notAfter": .integer(end),
      "serializedToken": .string(resource.contains("emptytoken") ? "" : Base64.string(Array(text.utf8))),
    ]
    return row
  }

  private func failsNow(_ resource: String) -> Bool {
    failed.withLock { failed in
      if failed.remove(resource) != nil { return false }
      if failed.count < Self.maxFlaky { failed.insert(resource) }
      return true
    }
  }
}
