public import HTTPMessages
import PosternJSON
public import PosternSupport

/// OpenID AuthZEN Authorization API 1.0.
public final class AuthZENProvider: DecisionProvider {
  /// What of it is configured.
  public struct Settings: Sendable {
    /// The base URL.
    public var baseURL: HTTPURL
    /// The same as it was written: what `policy_decision_point` of the metadata must be.
    public var identifier: String
    /// Where the metadata are; nil: at the well-known location.
    public var metadataURL: HTTPURL?
    /// The subject's type.
    public var subjectType = "user"
    /// The resources' type.
    public var resourceType = "channel"
    /// Where a deny's reason stands.
    public var reasons = AuthZENReasons.usual

    /// The defaults for the decision point at `baseURL`.
    public init(baseURL: HTTPURL, identifier: String) {
      self.baseURL = baseURL
      self.identifier = identifier
    }
  }

  /// How many single questions may be under way where there are no batches.
  private static let parallelism = 8

  private let settings: Settings
  private let discovery: AuthZENDiscovery

  /// Everything can be asked to be left out.
  public let unhonoredFeatures: Set<PreauthorizeRequest.Feature> = []

  /// A decision point of these settings; throws when their URLs leave no room for the API's paths.
  public init(_ settings: Settings, clock: any EngineClock) throws(HTTPURLError) {
    self.settings = settings
    discovery = try AuthZENDiscovery(settings, clock: clock)
  }

  /// One batch; one question for each resource where the decision point has no batches.
  public func evaluate(
    _ batch: DecisionBatch, over link: DecisionClient
  ) async throws(DecisionFault) -> [DecisionVerdict?] {
    let endpoints = try await discovery.endpoints(over: link)
    guard let url = endpoints.evaluations else { return await singly(batch, at: endpoints.evaluation, link) }
    let question = AuthZENQuestion(batch, settings)
    let (response, trace) = try await post(question.batch, to: url, batch, link)
    if [404, 405, 501].contains(response.status) {
      discovery.forgetBatches(for: link.subject.owner, at: link.clock.monotonicNow)
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
        guard let place = rest.next() else { return }
        group.addTask { [self] in
          do throws(DecisionFault) {
            let (response, trace) = try await post(question.single(batch.resources[place]), to: url, batch, link)
            let document = try DecisionReply.document(of: response, trace: trace)
            return (place, try AuthZENReply.verdict(in: document, reasons: settings.reasons, trace: trace))
          } catch {
            return (place, .fault(error))
          }
        }
      }
      for _ in 0..<Self.parallelism { begin() }
      while let (place, verdict) = await group.next() {
        verdicts[place] = verdict
        begin()
      }
    }
    return verdicts
  }

  private func post(
    _ body: [UInt8], to url: HTTPURL, _ batch: DecisionBatch, _ link: DecisionClient
  ) async throws(DecisionFault) -> (HTTPResponse, trace: String) {
    let identifier = RequestIdentifier.make()
    var fields = HTTPFields([
      .init(name: "Accept", value: "application/json"), .init(name: "Content-Type", value: "application/json"),
      .init(name: RequestIdentifier.field, value: identifier),
    ])
    if batch.bypassesRemoteCache { fields["Cache-Control"] = "no-cache" }
    let response = try await link.send(
      HTTPRequest(method: "POST", url: url, fields: fields, body: body))
    return (response, RequestIdentifier.of(response, sent: identifier))
  }
}
