import HTTPMessages
import OAuthClient
import PosternJSON
public import PosternSupport

/// The SSO token of the evaluator's session.
struct AccessManagerToken: Sendable {
  let value: Secret<String>
  /// The number of the token; a newer one is greater.
  let generation: UInt64
}

/// The evaluator's session: a fixed one, or one from a login with name and password, in single-flight. Its state is
/// behind a lock.
final class AccessManagerLogin: Sendable {
  /// The maximum number of steps of a login.
  private static let maxSteps = 3
  /// There is one login, and one single-flight key for it.
  private static let run = "login"

  private let evaluator: AccessManagerEvaluator
  private let location: HTTPURL
  private let cookieName: String
  private let current = Locked<AccessManagerToken?>(nil)
  private let replacements = TokenReplacementLimit<String>()
  private let flights: SingleFlight<String, AccessManagerToken, DecisionFault>

  init(_ settings: AccessManagerProvider.Settings, clock: any EngineClock) throws(HTTPURLError) {
    evaluator = settings.evaluator
    cookieName = settings.cookieName
    location = try settings.baseURL.appending(
      relativePath: "json\(settings.realmPath)/authenticate")
    flights = SingleFlight(clock: clock, servesEverybody: true) {
      DecisionFault(endOf: $0, beforeThereWas: "a session of the evaluator")
    }
  }

  /// Returns the session's token, or one newer than `rejected`. How often a user may have the shared session replaced
  /// is limited.
  func token(
    replacing rejected: AccessManagerToken?, over link: DecisionClient
  ) async throws(DecisionFault) -> AccessManagerToken {
    guard case .user(let name, let password) = evaluator else {
      guard case .ssoToken(let token) = evaluator, rejected == nil else { throw Self.rejected }
      return AccessManagerToken(value: token, generation: 0)
    }
    let generation = rejected?.generation ?? 0
    if let token = current.withLock({ $0 }) {
      guard token.generation <= generation else { return token }
      guard
        replacements.wait(toReplace: token.generation, of: Self.run, for: link.scope.uid, at: link.clock.monotonicNow)
          == nil
      else {
        throw DecisionFault(.replacedTooOften)
      }
    }
    return try await flights.value(for: Self.run, in: link.scope) { [self] run async throws(DecisionFault) in
      if let token = current.withLock({ $0 }), token.generation > generation { return token }
      let value = try await logIn(
        name, password, over: link.forSharedRequest(timeout: link.point.settings.budget, in: run))
      return current.withLock { current in
        let token = AccessManagerToken(value: value, generation: (current?.generation ?? 0) + 1)
        current = token
        return token
      }
    }
  }

  private static let rejected = DecisionFault(
    .accessTokenUnavailable("the access manager rejects the evaluator's session"))

  /// Logs in by the callbacks for name and password; a login with other callbacks needs a person.
  private func logIn(
    _ name: Secret<String>, _ password: Secret<String>, over link: DecisionClient
  ) async throws(DecisionFault) -> Secret<String> {
    var body: JSONValue = [:]
    // A load balancer's cookies, without which the server that has the login is not reached.
    var cookies = JourneyCookies()
    for _ in 0..<Self.maxSteps {
      var fields = HTTPFields([
        .init(name: "Accept", value: "application/json"),
        .init(name: "Content-Type", value: "application/json"),
        .init(name: "Accept-API-Version", value: "resource=2.1, protocol=1.0"),
        // The access manager's filter against forged requests demands one of these fields.
        .init(name: "X-Requested-With", value: "postern"),
      ])
      fields["Cookie"] = cookies.field(cookieName, nil)
      let response = try await link.exchange(
        HTTPRequest(method: "POST", url: location, fields: fields, body: JSONWriter().write(body)), for: .shared)
      guard (200..<300).contains(response.status) else {
        throw response.status >= 500 || response.status == 429
          ? DecisionFault(response, trace: nil) : Self.rejected
      }
      cookies.take(response, except: cookieName)
      let document = try DecisionReply.document(of: response)
      if let token = document["tokenId"]?.stringValue {
        guard AccessManager.isToken(token) else { throw Self.rejected }
        return Secret(token)
      }
      guard let filled = Self.filled(document, name, password) else {
        throw DecisionFault(
          .accessTokenUnavailable("the access manager requires more than a password from the evaluator"))
      }
      body = filled
    }
    throw Self.rejected
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

/// The account whose session evaluates policies.
public enum AccessManagerEvaluator: Sendable {
  /// An existing session, by its SSO token.
  case ssoToken(Secret<String>)
  /// A user who is logged in when a session is needed.
  case user(name: Secret<String>, password: Secret<String>)
}

extension AccessManagerEvaluator: ConciseStringConvertible {
  /// The kind: never a credential.
  public var description: String {
    switch self {
    case .ssoToken: "a single sign-on token"
    case .user: "a user's login"
    }
  }
}
