public import HTTPMessages
import PosternJSON
public import PosternSupport

/// A decision point with Open Policy Agent's REST data API, with batches by convention: the rule gets all resources and
/// returns an object with their ids as members.
public final class OPAProvider: DecisionProvider {
  /// The configuration of the decision point.
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
  /// Whether OPA has reported that its bundles are loaded.
  private let isReady = Locked(false)

  /// All features are honored; the rest is up to the rule.
  public let unhonoredFeatures: Set<PreauthorizeRequest.Feature> = []

  /// A decision point of these settings; throws when the API's paths cannot be appended to the URLs.
  public init(_ settings: Settings) throws(HTTPURLError) {
    self.settings = settings
    rule = try settings.baseURL.appending(relativePath: "v1/data/\(settings.path)")
    health = try settings.baseURL.appending(relativePath: "health?bundles")
  }

  /// Evaluates the whole batch in one request.
  public func evaluate(
    _ batch: DecisionBatch, over link: DecisionClient
  ) async throws(DecisionFault) -> [DecisionVerdict?] {
    try await waitUntilReady(link)
    let body: JSONValue = ["input": input(batch)]
    let response = try await link.send(
      HTTPRequest(method: "POST", url: rule, fields: batch.fields, body: JSONWriter().write(body)))
    return try OPAReply.verdicts(
      in: try DecisionReply.document(of: response), about: batch.resources, path: settings.path)
  }

  /// Waits until OPA is ready: before its policies are loaded, it denies everything. An OPA without the health endpoint
  /// is taken to be ready.
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
    var input: JSONObject = [
      "subject": .object(batch.subjectMembers(defaultType: settings.subjectType)),
      "action": ["name": .string(batch.action)], "context": .object(batch.context),
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

/// Reads answers of Open Policy Agent's data API: an object with the resources' ids as members.
enum OPAReply {
  /// Returns one verdict for each of `resources`; nil where the rule has no value for it.
  static func verdicts(
    in document: JSONValue, about resources: [ResourceName], path: String
  ) throws(DecisionFault) -> [DecisionVerdict?] {
    let trace = document["decision_id"]?.stringValue.map(EnhancedError.shortened)
    if document["warning"]?["code"]?.stringValue == "api_usage_warning" {
      throw .format("OPA did not take the question as input: api_usage_warning", trace: trace)
    }
    // Undefined: the rule has no value, or there is no such rule. That is no decision, so nothing is denied.
    guard let result = document["result"] else {
      throw .format("the rule data/\(path) is undefined: not loaded, or without a default", trace: trace)
    }
    guard let object = result.objectValue else {
      throw .format("the rule data/\(path) gives no object of resource ids", trace: trace)
    }
    return resources.map { resource in object[resource.text].map { verdict($0, trace: trace) } }
  }

  private static func verdict(_ value: JSONValue, trace: String?) -> DecisionVerdict {
    switch value {
    case .bool(let allowed): return allowed ? .permit(lifetime: nil) : .deny(.denied(trace: trace), lifetime: nil)
    case .object(let object):
      guard let allowed = object["allow"]?.boolValue else { break }
      // In seconds; a decision with an unusable value is not cached.
      let lifetime: Duration? = object["ttl"].map { ttl in
        guard let seconds = ttl.numberValue, seconds > 0 else { return .zero }
        return .milliseconds(Int64(min(seconds, 31_536_000) * 1000))
      }
      if allowed, object["error"].map({ $0 != .null }) == true {
        return .fault(.item("the rule allows, and gives an error", trace: trace))
      }
      guard !allowed else { return .permit(lifetime: lifetime) }
      let status =
        EnhancedError.read(value, status: 0, trace: trace)
        ?? .denied(
          message: object["message"]?.stringValue.map(EnhancedError.shortened),
          details: object["details"]?.stringValue.map(EnhancedError.shortened), trace: trace)
      guard case .deny(let reason, _) = EnhancedError.verdict(status) else { return EnhancedError.verdict(status) }
      return .deny(reason, lifetime: lifetime)
    default: break
    }
    return .fault(.item("the rule gives neither true, false nor an object with allow", trace: trace))
  }
}

extension OPAProvider: ConciseStringConvertible {
  /// The settings.
  public var description: String { "\(settings)" }
}

extension OPAProvider.Settings: ConciseStringConvertible {
  /// URL and path.
  public var description: String { "Open Policy Agent at \(baseURL.shown), \(Concise.name(path))" }
}
