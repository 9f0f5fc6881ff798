public import HTTPMessages
import PosternJSON
public import PosternSupport

/// A decision point with the OpenID AuthZEN Authorization API 1.0.
public final class AuthZENProvider: DecisionProvider {
  /// The configuration of the decision point.
  public struct Settings: Sendable {
    /// The base URL.
    public var baseURL: HTTPURL
    /// The base URL as it is written in the configuration: the metadata's `policy_decision_point` must be the same.
    public var identifier: String
    /// The URL of the metadata; nil for the well-known location.
    public var metadataURL: HTTPURL?
    /// The subject's type.
    public var subjectType = "user"
    /// The resources' type.
    public var resourceType = "channel"
    /// The locations of a deny's reason.
    public var reasons = AuthZENReasons.usual

    /// The defaults for the decision point at `baseURL`.
    public init(baseURL: HTTPURL, identifier: String) {
      self.baseURL = baseURL
      self.identifier = identifier
    }
  }

  /// The number of single requests that may run at once where there are no batches.
  private static let parallelism = 8

  private let settings: Settings
  private let discovery: AuthZENDiscovery

  /// All features are honored.
  public let unhonoredFeatures: Set<PreauthorizeRequest.Feature> = []

  /// A decision point of these settings; throws when the API's paths cannot be appended to their URLs.
  public init(_ settings: Settings, clock: any EngineClock) throws(HTTPURLError) {
    self.settings = settings
    discovery = try AuthZENDiscovery(settings, clock: clock)
  }

  /// Evaluates the batch in one request; in one for each resource where the decision point has no batches.
  public func evaluate(
    _ batch: DecisionBatch, over link: DecisionClient
  ) async throws(DecisionFault) -> [DecisionVerdict?] {
    let endpoints = try await discovery.endpoints(over: link)
    guard let url = endpoints.evaluations else { return await singly(batch, at: endpoints.evaluation, link) }
    let question = AuthZENQuestion(batch, settings)
    let (response, trace) = try await post(question.batch, to: url, batch, link)
    if [404, 405, 501].contains(response.status) {
      discovery.forgetBatches(for: link.subject.uid, at: link.clock.monotonicNow)
      return await singly(batch, at: endpoints.evaluation, link)
    }
    return try AuthZENReply.verdicts(
      in: try DecisionReply.document(of: response, trace: trace), count: batch.resources.count,
      reasons: settings.reasons, trace: trace)
  }

  private func singly(_ batch: DecisionBatch, at url: HTTPURL, _ link: DecisionClient) async -> [DecisionVerdict?] {
    let question = AuthZENQuestion(batch, settings)
    var rest = batch.resources.indices.makeIterator()
    var verdicts: [DecisionVerdict?] = Array(repeating: nil, count: batch.resources.count)
    await withTaskGroup(of: (Int, DecisionVerdict).self) { group in
      func begin() {
        guard let index = rest.next() else { return }
        group.addTask { [self] in
          do throws(DecisionFault) {
            let (response, trace) = try await post(question.single(batch.resources[index]), to: url, batch, link)
            let document = try DecisionReply.document(of: response, trace: trace)
            return (index, try AuthZENReply.verdict(in: document, reasons: settings.reasons, trace: trace))
          } catch {
            return (index, .fault(error))
          }
        }
      }
      for _ in 0..<Self.parallelism { begin() }
      while let (index, verdict) = await group.next() {
        verdicts[index] = verdict
        begin()
      }
    }
    return verdicts
  }

  private func post(
    _ body: [UInt8], to url: HTTPURL, _ batch: DecisionBatch, _ link: DecisionClient
  ) async throws(DecisionFault) -> (HTTPResponse, trace: String) {
    let identifier = RequestIdentifier.make()
    var fields = batch.fields
    fields[RequestIdentifier.field] = identifier
    let response = try await link.send(
      HTTPRequest(method: "POST", url: url, fields: fields, body: body))
    return (response, RequestIdentifier.of(response, sent: identifier))
  }
}

/// The request bodies of AuthZEN (sections 6.1 and 7.1), written directly as text because batches are large. No member
/// is null.
struct AuthZENQuestion: Sendable {
  /// The context member that makes a decision point bypass its cache; others ignore it.
  static let bypass = "postern_bypass_cache"

  private let subject: JSONObject
  private let action: String
  private let context: JSONObject
  private let resourceType: String
  private let resources: [ResourceName]

  init(_ batch: DecisionBatch, _ settings: AuthZENProvider.Settings) {
    subject = batch.subjectMembers(defaultType: settings.subjectType)
    action = batch.action
    var context = batch.context
    if batch.bypassesRemoteCache { context[Self.bypass] = true }
    self.context = context
    resourceType = settings.resourceType
    resources = batch.resources
  }

  /// The body for all resources, each to be decided whatever the decisions about the others.
  var batch: [UInt8] {
    let text = JSONComposer()
    appendCommon(to: text)
    text.literal(#","evaluations":["#)
    for (index, name) in resources.enumerated() {
      text.literal(index > 0 ? #",{"resource":"# : #"{"resource":"#)
      append(name, to: text)
      text.literal("}")
    }
    text.literal(#"],"options":{"evaluations_semantic":"execute_all"}}"#)
    return text.finished().bytes
  }

  /// The body for one resource.
  func single(_ name: ResourceName) -> [UInt8] {
    let text = JSONComposer()
    appendCommon(to: text)
    text.literal(#","resource":"#)
    append(name, to: text)
    text.literal("}")
    return text.finished().bytes
  }

  private func appendCommon(to text: borrowing JSONComposer) {
    text.literal(#"{"subject":"#)
    text.value(.object(subject))
    text.literal(#","action":{"name":"#)
    text.string(action)
    text.literal("}")
    guard !context.isEmpty else { return }
    text.literal(#","context":"#)
    text.value(.object(context))
  }

  private func append(_ name: ResourceName, to text: borrowing JSONComposer) {
    let fragment = MRSSResource(name.text)
    text.literal(#"{"type":"#)
    text.string(resourceType)
    text.literal(#","id":"#)
    text.string(fragment?.title ?? name.text)
    if let fragment {
      text.literal(#","properties":{"mrss":"#)
      text.string(name.text)
      if let rating = fragment.rating {
        text.literal(#","rating":"#)
        text.string(rating)
      }
      text.literal("}")
    }
    text.literal("}")
  }
}

extension AuthZENProvider: ConciseStringConvertible {
  /// The settings.
  public var description: String { "\(settings)" }
}

extension AuthZENProvider.Settings: ConciseStringConvertible {
  /// The URL.
  public var description: String { "AuthZEN decision point at \(baseURL.shown)" }
}
