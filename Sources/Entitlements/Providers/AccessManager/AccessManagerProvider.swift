public import HTTPMessages
import OAuthClient
import PosternJSON
public import PosternSupport
import Sessions

/// Policy evaluation by PingAM and ForgeRock AM.
public final class AccessManagerProvider: DecisionProvider {
  /// The configuration of the decision point.
  public struct Settings: Sendable {
    /// The base URL, as in `https://am.example.com/am`.
    public var baseURL: HTTPURL
    /// The realm as a path: `/realms/root/realms/alpha`.
    public var realmPath = "/realms/root"
    /// The name of the policy set.
    public var application = "iPlanetAMWebAgentService"
    /// The name of the header that carries the evaluator's session.
    public var cookieName = "iPlanetDirectoryPro"
    /// The account whose session may evaluate policies.
    public var evaluator: AccessManagerEvaluator

    /// The access manager at `baseURL`, with the session of `evaluator`.
    public init(baseURL: HTTPURL, evaluator: AccessManagerEvaluator) {
      self.baseURL = baseURL
      self.evaluator = evaluator
    }
  }

  private let settings: Settings
  private let policies: HTTPURL
  private let logins: AccessManagerLogin

  /// No feature goes unhonored: answers come from policies, which the access manager may cache for a while.
  public let unhonoredFeatures: Set<PreauthorizeRequest.Feature> = []

  /// An access manager of these settings; throws when paths cannot be appended to the base URL.
  public init(_ settings: Settings, clock: any EngineClock) throws(HTTPURLError) {
    self.settings = settings
    policies = try settings.baseURL.appending(
      relativePath: "json\(settings.realmPath)/policies?_action=evaluate")
    logins = try AccessManagerLogin(settings, clock: clock)
  }

  /// Evaluates the whole batch in one request. An expired session of the evaluator is replaced once, where there is a
  /// password for it.
  public func evaluate(
    _ batch: DecisionBatch, over link: DecisionClient
  ) async throws(DecisionFault) -> [DecisionVerdict?] {
    let body = JSONWriter().write(try await question(batch, link.scope))
    let response = try await retryOnce { (rejected) async throws(DecisionFault) -> AccessManagerToken in
      try await logins.token(replacing: rejected?.token, over: link)
    } send: { (token, _) async throws(DecisionFault) -> HTTPResponse in
      try await post(body, token, batch, link)
    } ifRejected: {
      $0.status == 401
    }
    guard response.status != 401 else {
      throw DecisionFault(
        .accessTokenUnavailable("the access manager rejects the evaluator's session"))
    }
    return try AccessManagerReply.verdicts(
      in: try DecisionReply.document(of: response), about: batch.resources, action: batch.action,
      at: link.clock.wallNow)
  }

  private func post(
    _ body: [UInt8], _ token: AccessManagerToken, _ batch: DecisionBatch, _ link: DecisionClient
  ) async throws(DecisionFault) -> HTTPResponse {
    var fields = batch.fields
    fields["Accept-API-Version"] = "resource=2.1, protocol=1.0"
    fields[settings.cookieName] = token.value.reveal()
    return try await link.exchange(
      HTTPRequest(method: "POST", url: policies, fields: fields, body: body), for: .question)
  }

  private func question(_ batch: DecisionBatch, _ scope: CallScope) async throws(DecisionFault) -> JSONValue {
    var question: JSONObject = [
      "resources": .array(batch.resources.map { .string($0.text) }),
      "application": .string(settings.application),
      "subject": try await subject(batch.subject, in: scope),
    ]
    if !batch.context.isEmpty { question["environment"] = .object(Self.environment(batch.context)) }
    return .object(question)
  }

  /// Returns the user's own SSO token where there is one. The access manager would not verify an access token, so the
  /// properties of another user are sent as claims.
  private func subject(_ subject: DecisionSubject, in scope: CallScope) async throws(DecisionFault) -> JSONValue {
    if let session = subject.session {
      do throws(SessionError) {
        let live = try await session.sessions.live(session.handle(of: .user, in: scope), in: scope.of(session.uid))
        // The token is sent to no origin but that of the access manager it is from.
        let isOwn = session.issuer.accessManager?.baseURL.origin == settings.baseURL.origin
        if isOwn, let token = live.contents.signOn.token {
          guard !live.contents.signOn.isUnproven else {
            throw SessionError(.expired, "the login has no confirmed user yet")
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

  /// Converts a context to a map of names to arrays of strings: other values are written as JSON.
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

/// Reads the answers of the policy evaluation: rows in any order.
enum AccessManagerReply {
  /// Returns one verdict for each of `resources`; nil where no row is about it. Empty maps may be written as empty
  /// arrays.
  static func verdicts(
    in document: JSONValue, about resources: [ResourceName], action: String, at now: Timestamp
  ) throws(DecisionFault) -> [DecisionVerdict?] {
    guard let rows = document.arrayValue else {
      throw .format("the answer is no array of policy decisions")
    }
    var byResource: [ResourceName: DecisionVerdict] = [:]
    for row in rows {
      guard let resource = row["resource"]?.stringValue else {
        throw .format("a policy decision names no resource")
      }
      let name = ResourceName(resource)
      // Two rows about one resource may contradict each other.
      byResource[name] =
        byResource[name] == nil
        ? verdict(row, action, now)
        : .fault(.item("there are several policy decisions about the resource"))
    }
    return resources.map { byResource[$0] }
  }

  private static func verdict(_ row: JSONValue, _ action: String, _ now: Timestamp)
    -> DecisionVerdict
  {
    guard let actions = map(row["actions"]), let advices = map(row["advices"] ?? [:]) else {
      return .fault(.item("a policy decision is malformed"))
    }
    let lifetime = Self.lifetime(row["ttl"], now)
    switch actions[action] {
    case .bool(true)?: return .permit(lifetime: lifetime)
    case .bool(false)?, nil: break
    default: return .fault(.item("a policy decision is neither true nor false"))
    }
    // A missing decision is a deny; an advice names what would change it.
    guard !advices.isEmpty else { return .deny(.denied(), lifetime: lifetime) }
    let text = EnhancedError.shortened(JSONWriter().string(["advices": .object(advices)]))
    return .deny(
      Status(
        status: 403, code: "advice_required", action: "authentication",
        message: "Access is denied until the user authenticates as the advices say.", details: text),
      lifetime: .zero)
  }

  private static func map(_ value: JSONValue?) -> JSONObject? {
    switch value {
    case .object(let object)?: object
    case .array(let elements)? where elements.isEmpty: JSONObject()
    default: nil
    }
  }

  /// Reads a `ttl` in milliseconds: a duration, or a time where the number can only be one; the largest integer means
  /// for ever.
  private static func lifetime(_ ttl: JSONValue?, _ now: Timestamp) -> Duration? {
    guard let ttl, ttl != .null else { return nil }
    guard let milliseconds = ttl.integerValue, milliseconds > 0 else { return .zero }
    let epoch = now.millisecondsSinceEpoch
    return .milliseconds(milliseconds > epoch ? milliseconds - epoch : milliseconds)
  }
}

extension AccessManagerProvider: ConciseStringConvertible {
  /// The settings.
  public var description: String { "\(settings)" }
}

extension AccessManagerProvider.Settings: ConciseStringConvertible {
  /// URL and application: never a credential.
  public var description: String {
    "access manager at \(baseURL.shown), application \(Concise.name(application)), \(evaluator)"
  }
}
