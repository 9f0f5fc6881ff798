import AccessManagement
public import HTTPMessages
import PosternJSON
public import PosternSupport
import Sessions

/// The policy evaluation of PingAM and ForgeRock AM.
public final class AccessManagerProvider: DecisionProvider {
  /// What of it is configured.
  public struct Settings: Sendable {
    /// The base URL, as in `https://am.example.com/am`.
    public var baseURL: HTTPURL
    /// The realm as it stands in paths: `/realms/root/realms/alpha`.
    public var realmPath = "/realms/root"
    /// The policy set.
    public var application = "iPlanetAMWebAgentService"
    /// The name of the header that carries the evaluator's session.
    public var cookieName = "iPlanetDirectoryPro"
    /// Whose session may evaluate policies.
    public var evaluator: AccessManagerEvaluator

    /// The access manager at `baseURL`, asked by `evaluator`.
    public init(baseURL: HTTPURL, evaluator: AccessManagerEvaluator) {
      self.baseURL = baseURL
      self.evaluator = evaluator
    }
  }

  private let settings: Settings
  private let policies: HTTPURL
  private let logins: AccessManagerLogin

  /// It can be asked to leave nothing out: its answers come from policies, which it may hold for a while.
  public let unhonoredFeatures: Set<PreauthorizeRequest.Feature> = []

  /// An access manager of these settings; throws when the base URL leaves no room for its paths.
  public init(_ settings: Settings, clock: any EngineClock) throws(HTTPURLError) {
    self.settings = settings
    policies = try settings.baseURL.appending(
      relativePath: "json\(settings.realmPath)/policies?_action=evaluate")
    logins = try AccessManagerLogin(settings, clock: clock)
  }

  /// One evaluation of the whole batch. An evaluator's session that has ended is replaced once, where there is a
  /// password for it.
  public func evaluate(
    _ batch: DecisionBatch, over link: DecisionClient
  ) async throws(DecisionFault) -> [DecisionVerdict?] {
    let body = JSONWriter().write(try await question(batch))
    var token = try await logins.token(replacing: nil, over: link)
    var response = try await post(body, token, batch, link)
    if response.status == 401 {
      token = try await logins.token(replacing: token, over: link)
      response = try await post(body, token, batch, link)
    }
    guard response.status != 401 else {
      throw DecisionFault(
        .accessTokenUnavailable("the access manager refuses the evaluator's session"))
    }
    return try AccessManagerReply.verdicts(
      in: try DecisionReply.document(of: response), about: batch.resources, action: batch.action,
      at: link.clock.wallNow)
  }

  private func post(
    _ body: [UInt8], _ token: AccessManagerToken, _ batch: DecisionBatch, _ link: DecisionClient
  ) async throws(DecisionFault) -> HTTPResponse {
    var fields = HTTPFields([
      .init(name: "Accept", value: "application/json"),
      .init(name: "Content-Type", value: "application/json"),
      .init(name: "Accept-API-Version", value: "resource=2.1, protocol=1.0"),
      .init(name: settings.cookieName, value: token.value.reveal()),
    ])
    if batch.bypassesRemoteCache { fields["Cache-Control"] = "no-cache" }
    return try await link.exchange(
      HTTPRequest(method: "POST", url: policies, fields: fields, body: body), for: .question)
  }

  private func question(_ batch: DecisionBatch) async throws(DecisionFault) -> JSONValue {
    var question: JSONObject = [
      "resources": .array(batch.resources.map { .string($0.text) }),
      "application": .string(settings.application),
      "subject": try await subject(batch.subject),
    ]
    if !batch.context.isEmpty { question["environment"] = .object(Self.environment(batch.context)) }
    return .object(question)
  }

  /// The user's own session where there is one. A token would not be verified by the access manager, so what is known
  /// of the user goes as claims.
  private func subject(_ subject: DecisionSubject) async throws(DecisionFault) -> JSONValue {
    if let session = subject.session {
      do throws(SessionError) {
        let live = try await session.sessions.live(session.handle(of: .user), ownedBy: session.owner)
        // It goes to no origin but that of the access manager it is from.
        let isOwn = session.issuer.accessManager?.baseURL.origin == settings.baseURL.origin
        if isOwn, let token = live.contents.ssoToken {
          guard !live.contents.isSSOUnproven else {
            throw SessionError(.expired, "nobody has said yet whose login it is")
          }
          return ["ssoToken": .string(token)]
        }
      } catch {
        if case .expired = error.kind { throw DecisionFault(.accessTokenUnavailable(error.detail)) }
        throw DecisionFault(.sessionMissing())
      }
    }
    var claims = subject.properties
    claims["sub"] = .string(subject.id)
    return ["claims": .object(claims)]
  }

  /// A map of names to arrays of strings: what is neither is written as JSON.
  private static func environment(_ context: JSONObject) -> JSONObject {
    func text(_ value: JSONValue) -> JSONValue {
      if case .string = value { return value }
      return .string(JSONWriter().string(value))
    }
    var environment = JSONObject()
    for member in context.members {
      environment[member.name] = .array((member.value.arrayValue ?? [member.value]).map(text))
    }
    return environment
  }
}
