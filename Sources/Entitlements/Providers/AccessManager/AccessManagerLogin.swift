import AccessManagement
import HTTPMessages
import OAuthClient
import PosternJSON
import PosternSupport

/// What the evaluator's session is known by.
struct AccessManagerToken: Sendable {
  let value: Secret<String>
  /// Counts upwards.
  let generation: UInt64
}

/// The evaluator's session: a fixed one, or one got with name and password, once for all who wait. Guarded by its own
/// lock.
final class AccessManagerLogin: Sendable {
  /// How many steps a login may take.
  private static let maxSteps = 3
  /// There is one login, and one run of it.
  private static let run = "login"

  private let evaluator: AccessManagerEvaluator
  private let location: HTTPURL
  private let cookieName: String
  private let current = Locked<AccessManagerToken?>(nil)
  private let replacements = TokenReplacements<String>()
  private let flights: SingleFlight<String, AccessManagerToken, DecisionFault>

  init(_ settings: AccessManagerProvider.Settings, clock: any EngineClock) throws(HTTPURLError) {
    evaluator = settings.evaluator
    cookieName = settings.cookieName
    location = try settings.baseURL.appending(
      relativePath: "json\(settings.realmPath)/authenticate")
    flights = SingleFlight(clock: clock, servesEverybody: true)
  }

  /// The session's token, or a newer one than `rejected`. Nobody has sessions replaced without end that others use.
  func token(
    replacing rejected: AccessManagerToken?, over link: DecisionClient
  ) async throws(DecisionFault) -> AccessManagerToken {
    guard case .user(let name, let password) = evaluator else {
      guard case .ssoToken(let token) = evaluator, rejected == nil else { throw Self.refused }
      return AccessManagerToken(value: token, generation: 0)
    }
    let generation = rejected?.generation ?? 0
    if let token = current.withLock({ $0 }) {
      guard token.generation <= generation else { return token }
      guard replacements.wait(toReplace: token.generation, of: Self.run, at: link.clock.monotonicNow) == nil else {
        throw DecisionFault(.replacedTooOften)
      }
    }
    do throws(SingleFlightError<DecisionFault>) {
      return try await flights.value(for: Self.run, deadline: link.deadline) {
        [self] () async throws(DecisionFault) in
        if let token = current.withLock({ $0 }), token.generation > generation { return token }
        let value = try await logIn(name, password, over: link.forEverybody(patience: link.point.budget))
        return current.withLock { current in
          let token = AccessManagerToken(value: value, generation: (current?.generation ?? 0) + 1)
          current = token
          return token
        }
      }
    } catch {
      switch error {
      case .failed(let fault): throw fault
      case .cancelled, .deadlineExceeded:
        throw DecisionFault(.networkError("the time ran out before the evaluator was logged in"))
      }
    }
  }

  private static let refused = DecisionFault(
    .accessTokenUnavailable("the access manager refuses the evaluator's session"))

  /// Fills the callbacks for name and password; a login that asks for anything else is not for a machine.
  private func logIn(
    _ name: Secret<String>, _ password: Secret<String>, over link: DecisionClient
  ) async throws(DecisionFault) -> Secret<String> {
    var body: JSONValue = [:]
    // A balancer's, without which a server behind it does not find the login.
    var cookies = JourneyCookies()
    for _ in 0..<Self.maxSteps {
      var fields = HTTPFields([
        .init(name: "Accept", value: "application/json"),
        .init(name: "Content-Type", value: "application/json"),
        .init(name: "Accept-API-Version", value: "resource=2.1, protocol=1.0"),
        // Its filter against forged requests asks for one of these.
        .init(name: "X-Requested-With", value: "postern"),
      ])
      fields["Cookie"] = cookies.field(cookieName, nil)
      let response = try await link.exchange(
        HTTPRequest(method: "POST", url: location, fields: fields, body: JSONWriter().write(body)), for: .shared)
      guard (200..<300).contains(response.status) else {
        throw response.status >= 500 || response.status == 429
          ? DecisionFault(response, trace: nil) : Self.refused
      }
      cookies.take(response, except: cookieName)
      let document = try DecisionReply.document(of: response)
      if let token = document["tokenId"]?.stringValue {
        guard AccessManager.isToken(token) else { throw Self.refused }
        return Secret(token)
      }
      guard let filled = Self.filled(document, name, password) else {
        throw DecisionFault(
          .accessTokenUnavailable("the access manager asks the evaluator for more than a password"))
      }
      body = filled
    }
    throw Self.refused
  }

  private static func filled(
    _ document: JSONValue, _ name: Secret<String>, _ password: Secret<String>
  ) -> JSONValue? {
    guard case .object(var object) = document, let callbacks = object["callbacks"]?.arrayValue
    else { return nil }
    var filled: [JSONValue] = []
    for callback in callbacks {
      let value: Secret<String>
      switch callback["type"]?.stringValue {
      case "NameCallback": value = name
      case "PasswordCallback": value = password
      default: return nil
      }
      guard case .object(var members) = callback,
        let input = members["input"]?.arrayValue?.first?["name"]
      else {
        return nil
      }
      members["input"] = [["name": input, "value": .string(value.reveal())]]
      filled.append(.object(members))
    }
    guard !filled.isEmpty else { return nil }
    object["callbacks"] = .array(filled)
    return .object(object)
  }
}
