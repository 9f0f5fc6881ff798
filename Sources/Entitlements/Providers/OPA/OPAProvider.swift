public import HTTPMessages
import PosternJSON
import PosternSupport

/// Open Policy Agent's REST data API, with batches by convention: the rule gets all resources and gives an object of
/// their ids.
public final class OPAProvider: DecisionProvider {
  /// What of it is configured.
  public struct Settings: Sendable {
    /// The base URL.
    public var baseURL: HTTPURL
    /// The path of the rule below `/v1/data/`.
    public var path: String
    /// The resources' type.
    public var resourceType = "channel"
    /// The subject's type.
    public var subjectType = "user"

    /// The rule at `path`.
    public init(baseURL: HTTPURL, path: String) {
      self.baseURL = baseURL
      self.path = path
    }
  }

  private let settings: Settings
  private let rule: HTTPURL
  private let health: HTTPURL
  /// Whether OPA has said that its bundles are there.
  private let isReady = Locked(false)

  /// Everything can be asked to be left out; what the rule does is the rule's.
  public let unhonoredFeatures: Set<PreauthorizeRequest.Feature> = []

  /// A decision point of these settings; throws when the URLs leave no room for the API's paths.
  public init(_ settings: Settings) throws(HTTPURLError) {
    self.settings = settings
    rule = try settings.baseURL.appending(relativePath: "v1/data/\(settings.path)")
    health = try settings.baseURL.appending(relativePath: "health?bundles")
  }

  /// One question about the whole batch.
  public func evaluate(
    _ batch: DecisionBatch, over link: DecisionClient
  ) async throws(DecisionFault) -> [DecisionVerdict?] {
    try await waitUntilReady(link)
    var fields = HTTPFields([
      .init(name: "Accept", value: "application/json"), .init(name: "Content-Type", value: "application/json"),
    ])
    if batch.bypassesRemoteCache { fields["Cache-Control"] = "no-cache" }
    let body: JSONValue = ["input": input(batch)]
    let response = try await link.send(
      HTTPRequest(method: "POST", url: rule, fields: fields, body: JSONWriter().write(body)))
    return try OPAReply.verdicts(
      in: try DecisionReply.document(of: response), about: batch.resources, path: settings.path)
  }

  /// OPA answers before its policies are loaded, and denies everything then: it is asked until it is ready once. Where
  /// there is no such endpoint it is taken to be.
  private func waitUntilReady(_ link: DecisionClient) async throws(DecisionFault) {
    guard !isReady.withLock({ $0 }) else { return }
    let response = try await link.exchange(HTTPRequest(method: "GET", url: health), for: .shared)
    guard response.status < 500, response.status != 429 else {
      throw DecisionFault(
        .requestorNotConfigured("OPA is not ready: /health?bundles answers \(response.status)"), retry: .after(nil))
    }
    isReady.withLock { $0 = true }
  }

  private func input(_ batch: DecisionBatch) -> JSONValue {
    var subject: JSONObject = [
      "type": .string(batch.subject.type ?? settings.subjectType), "id": .string(batch.subject.id),
    ]
    if !batch.subject.properties.isEmpty { subject["properties"] = .object(batch.subject.properties) }
    var input: JSONObject = [
      "subject": .object(subject), "action": ["name": .string(batch.action)], "context": .object(batch.context),
      "resources": .array(batch.resources.map(resource)),
    ]
    if batch.bypassesRemoteCache { input["bypass_cache"] = true }
    return .object(input)
  }

  private func resource(_ name: ResourceName) -> JSONValue {
    var resource: JSONObject = ["type": .string(settings.resourceType), "id": .string(name.text)]
    if let fragment = MRSSResource(name.text) {
      resource["title"] = .string(fragment.title)
      if let rating = fragment.rating { resource["rating"] = .string(rating) }
    }
    return .object(resource)
  }
}
