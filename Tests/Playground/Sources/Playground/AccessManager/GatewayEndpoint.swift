import NIOHTTP1
import PosternCrypto
import PosternJSON
import PosternSupport

/// `/gateway/{policy}/**`: a policy enforcement point in the manner of PingGateway before an echo.
///
/// Takes the provider's access tokens and evaluates the access manager's policies for the session (`sid`) of the token.
/// Denies with advice: as a challenge when `x-authenticate-response` of the request is `header`, else as a redirect;
/// `?form=redirect` and `form=body` choose for tests.
struct GatewayEndpoint: Endpoint {
  let check: BearerTokenCheck
  let journeys: JourneyDesk
  let transactions: TransactionDesk
  let faults: Faults
  let statistics: Statistics
  /// Where the access manager is, as a redirect names it.
  let accessManagerURL: String
  private let inner = EchoEndpoint()

  init(
    check: BearerTokenCheck, journeys: JourneyDesk, transactions: TransactionDesk, faults: Faults,
    statistics: Statistics, accessManagerURL: String
  ) {
    self.check = check
    self.journeys = journeys
    self.transactions = transactions
    self.faults = faults
    self.statistics = statistics
    self.accessManagerURL = accessManagerURL
  }

  func reply(to request: Request) async throws -> Reply {
    statistics.count(\.gatewayRequests)
    do {
      let fault = try await faults.strike(.gateway)
      if let reply = fault?.generalReply { return reply }
      let token = try check.token(of: request, scope: nil).token
      guard let query = request.queryParameters else { return .problem(400, "the query is malformed") }
      guard let policy = GatewayPolicy(rawValue: request.captures["policy"] ?? "") else {
        return .problem(404, "no such policy")
      }
      let advices = advices(of: policy, token, request, query["_txid"], isStubborn: fault?.kind == .sameAdvice)
      guard !advices.isEmpty else { return try await inner.reply(to: request) }
      statistics.count(\.gatewayAdvices)
      return Self.denial(advices, request, query, accessManagerURL)
    } catch let challenge as BearerChallenge {
      return challenge.reply
    }
  }

  /// The conditions still to meet. A transaction is the last: it is made for this request only.
  private func advices(
    of policy: GatewayPolicy, _ token: AccessToken, _ request: Request, _ txId: String?, isStubborn: Bool
  ) -> [(type: String, value: String)] {
    let done = token.authentication.map { journeys.trees(of: $0.sessionID) } ?? []
    for tree in policy.trees where !done.contains(tree) || isStubborn {
      return [policy.advice(for: tree)]
    }
    guard policy.isTransactional else { return [] }
    let resource = "\(request.method) \(request.path) \(Base64URL.string(HashFunction.sha256.hash(request.body)))"
    if isStubborn, let txId { return [(type: "TransactionConditionAdvice", value: txId)] }
    if let txId, transactions.redeem(txId, subject: token.subject, resource: resource) { return [] }
    guard let id = transactions.begin(for: token.subject, resource: resource) else {
      return [("SessionConditionAdvice", "deny")]
    }
    return [(type: "TransactionConditionAdvice", value: id)]
  }

  private static func denial(
    _ advices: [(type: String, value: String)], _ request: Request, _ query: FormParameters, _ manager: String
  ) -> Reply {
    let map = JSONValue.object(JSONObject(advices.map { ($0.type, .array([.string($0.value)])) }))
    let wantsHeader = request.headers.first(name: "x-authenticate-response")?.lowercased() == "header"
    switch query["form"] ?? (wantsHeader ? "header" : "redirect") {
    case "header":
      let encoded = Base64.string(JSONWriter().write(map))
      let challenge = "SSOADVICE realm=\"/\(AccessManager.realm)\",advices=\"\(encoded)\",am_uri=\"\(manager)/\""
      return Reply(status: 401, headers: [("www-authenticate", challenge)])
    case "foreign":
      let encoded = Base64.string(JSONWriter().write(map))
      let challenge = "SSOADVICE realm=\"/\",advices=\"\(encoded)\",am_uri=\"https://am.evil.test/am/\""
      return Reply(status: 401, headers: [("www-authenticate", challenge)])
    case "body":
      return Reply(
        status: 403, json: [["resource": .string(request.path), "actions": [:], "advices": map, "ttl": 0]])
    default:
      let pairs = advices.map {
        "<AttributeValuePair><Attribute name=\"\($0.type)\"/><Value>\($0.value)</Value></AttributeValuePair>"
      }
      let xml = PercentCoding.encode("<Advices>\(pairs.joined())</Advices>")
      let target = PercentCoding.encode("\(request.path)?_txid=\(advices.first?.value ?? "")")
      return .redirect(
        307,
        to:
          "\(manager)/?goto=\(target)&realm=/\(AccessManager.realm)&authIndexType=composite_advice&authIndexValue=\(xml)"
      )
    }
  }
}
