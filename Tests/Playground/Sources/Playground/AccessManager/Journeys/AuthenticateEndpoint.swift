import NIOHTTP1
import PosternJSON

/// `POST /am/json/…/authenticate`: begins a journey (tree, composite advice, transaction), takes pages, resumes.
struct AuthenticateEndpoint: Endpoint {
  let sessions: SSOSessions
  let journeys: JourneyDesk
  let transactions: TransactionDesk
  let settings: AccessManagerSettings
  let desk: LoginDesk
  let faults: Faults

  static let balancerCookie = "amlbcookie"

  func reply(to request: Request) async throws -> Reply {
    desk.statistics.count(\.authenticateRequests)
    let fault = try await faults.strike(.authenticate, only: Fault.Kind.general.union([.sessionTimedOut]))
    if fault?.kind == .sessionTimedOut { return Self.timedOut }
    if let reply = fault?.generalReply { return reply }
    guard request.headers["x-requested-with"].count == 1, request.mediaType == "application/json" else {
      return Self.error(403, "Forbidden")
    }
    guard let query = request.queryParameters, let body = try? JSONParser(maxDepth: 32).parse(request.body) else {
      return Self.error(400, "Bad Request")
    }
    if let id = query["suspendedId"] { return resume(id) }
    if body["authId"] != nil { return submit(body, request, code: query["code"]) }
    return begin(request, query)
  }

  private func begin(_ request: Request, _ query: FormParameters) -> Reply {
    let signedOn = sessions.session(of: request)
    let isForced = query["ForceAuth"] == "true"
    var purpose = JourneyWalk.Purpose.tree("Login")
    switch (query["authIndexType"], query["authIndexValue"]) {
    case (nil, nil): break
    case ("service"?, let name?): purpose = .tree(name)
    case ("transaction"?, let id?): purpose = .transaction(id)
    case ("composite_advice"?, let xml?):
      guard let pairs = CompositeAdviceReading.pairs(xml), let meant = Self.purpose(of: pairs) else {
        return Self.error(401, "No configuration found")
      }
      purpose = meant
    default: return Self.error(400, "Bad Request")
    }
    let nodes: [JourneyNode]
    switch purpose {
    case .transaction(let id):
      guard let signedOn, transactions.enter(id, subject: signedOn.session.user.subject) else {
        return Self.error(401, "Unable to read transaction.", code: "128")
      }
      nodes = [.confirm]
    case .tree(let name):
      guard let tree = JourneyNode.tree(name) else { return Self.error(401, "No configuration found") }
      let done = signedOn.map { journeys.trees(of: $0.session.authentication.sessionID) } ?? []
      if let signedOn, !isForced, done.contains(name) { return success(signedOn.token, shows: true) }
      nodes = signedOn == nil ? tree.map { $0 == .password ? .credentials : $0 } : tree.filter { $0 != .credentials }
    }
    let walk = JourneyWalk(
      purpose: purpose, nodes: nodes, user: signedOn?.session.user, ssoToken: signedOn?.token,
      isWithoutSession: query["noSession"] == "true", balancer: RandomText.next())
    return nodes.isEmpty ? finish(walk) : page(of: walk)
  }

  /// Combines the advices of a policy: the first that is not a transaction decides.
  private static func purpose(of pairs: [(type: String, value: String)]) -> JourneyWalk.Purpose? {
    func value(_ type: String) -> String? { pairs.first { $0.type == type }?.value }
    if let service = value("AuthenticateToServiceConditionAdvice") ?? value("AuthenticateToTreeConditionAdvice") {
      return .tree(String(service.split(separator: ":").last ?? ""))
    }
    if let level = value("AuthLevelConditionAdvice") { return .tree(Int(level) ?? 0 >= 5 ? "Otp" : "ConfirmPassword") }
    if value("AuthSchemeConditionAdvice") != nil || value("AuthenticateToRealmConditionAdvice") != nil {
      return .tree("Login")
    }
    return value("TransactionConditionAdvice").map { .transaction($0) }
  }

  private func submit(_ body: JSONValue, _ request: Request, code: String?) -> Reply {
    guard let id = body["authId"]?.stringValue, let given = body["callbacks"]?.arrayValue else {
      return Self.error(400, "Bad Request")
    }
    guard var walk = journeys.take(id), let node = walk.nodes.first else { return Self.timedOut }
    guard request.cookie(Self.balancerCookie) == walk.balancer else { return Self.error(401, "Session not found here") }
    let expected = node.callbacks(settings.values.pollWaitMilliseconds)
    // Those of the page: as many, of the same types, in the same order.
    guard given.map({ $0["type"] }) == expected.map({ $0["type"] }) else { return Self.error(400, "Invalid callbacks") }
    switch walk.take(given, desk, code: code) {
    case .more: return page(of: walk)
    case .done: return finish(walk)
    case .failed: return Self.error(401, "Login failure", failureURL: "https://am.test/failed")
    case .invalid: return Self.error(400, "Bad Request")
    }
  }

  private func resume(_ id: String) -> Reply {
    guard var walk = journeys.resume(id) else {
      return Self.error(
        401, "org.forgerock.openam.auth.nodes.framework.token.SuspendedAuthSessionException: not found")
    }
    walk.nodes.removeFirst()
    return walk.nodes.isEmpty ? finish(walk) : page(of: walk)
  }

  private func page(of walk: JourneyWalk) -> Reply {
    guard let node = walk.nodes.first, let id = journeys.keep(walk) else { return Self.error(503, "Too many") }
    if node == .email { journeys.suspend(walk) }
    var json: JSONObject = [
      "authId": .string(id), "callbacks": .array(node.callbacks(settings.values.pollWaitMilliseconds)),
    ]
    if node == .credentials {
      json["stage"] = "UsernamePassword"
      json["header"] = "Sign In"
      json["description"] = "New here? <a href=\"#/register\">Create an account</a>"
    }
    return Reply(
      json: .object(json), headers: [("set-cookie", "\(Self.balancerCookie)=\(walk.balancer); Path=/; HttpOnly")])
  }

  /// Completes a tree: the same session after a transaction, a new session that replaces it after anything else.
  private func finish(_ walk: JourneyWalk) -> Reply {
    guard let user = walk.user else { return Self.error(500, "A tree without a user") }
    if walk.isWithoutSession {
      return Reply(json: ["message": "Authentication Successful", "successUrl": "/am/console", "realm": "/alpha"])
    }
    switch walk.purpose {
    case .transaction(let id):
      // The user's decision is visible only when the request is retried.
      if walk.agrees { transactions.complete(id) }
      return success(walk.ssoToken ?? "", shows: true)
    case .tree(let name):
      let login = NextLogins.Login(user: user, acr: walk.isStrong ? "mfa" : nil, amr: nil, time: nil, times: nil)
      let session = desk.session(of: login)
      var trees: Set<String> = [name]
      if let old = walk.ssoToken.flatMap({ sessions.ended($0) }) {
        trees.formUnion(journeys.trees(of: old.authentication.sessionID))
      }
      guard let token = sessions.begin(session) else { return Self.error(503, "Too many sessions") }
      journeys.note(trees, of: session.authentication.sessionID)
      return success(token, shows: walk.ssoToken == nil || !settings.values.hidesTokens)
    }
  }

  private func success(_ token: String, shows: Bool) -> Reply {
    Reply(
      json: [
        "tokenId": .string(shows ? token : ""), "successUrl": "/am/console",
        "realm": .string("/\(AccessManager.realm)"),
      ],
      headers: [("set-cookie", "\(SSOSessions.cookieName)=\(token); Path=/; HttpOnly")])
  }

  private static let timedOut = error(401, "Session has timed out", code: "110")

  private static func error(
    _ status: Int, _ message: String, code: String? = nil, failureURL: String? = nil
  ) -> Reply {
    let reasons = [400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 500: "Internal Server Error"]
    var json: JSONObject = [
      "code": .integer(Int64(status)), "reason": .string(reasons[status] ?? "Unavailable"),
      "message": .string(message),
    ]
    if let code { json["detail"] = ["errorCode": .string(code)] }
    if let failureURL { json["detail"] = ["failureUrl": .string(failureURL)] }
    return Reply(status: status, json: .object(json))
  }
}
