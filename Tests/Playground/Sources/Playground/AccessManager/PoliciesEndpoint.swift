import NIOHTTP1
import PosternJSON

/// `POST /am/json/…/policies?_action=evaluate`: evaluates the policies about a subject, for authorized callers.
struct PoliciesEndpoint: Endpoint {
  /// The policy sets there are; the first is the default.
  static let applications = ["iPlanetAMWebAgentService", "shop"]

  let sessions: SSOSessions
  let evaluation: PolicyEvaluation
  let settings: AccessManagerSettings
  let faults: Faults
  let statistics: Statistics

  func reply(to request: Request) async throws -> Reply {
    statistics.count(\.policyEvaluations)
    let fault = try await faults.strike(.policies)
    if let reply = fault?.generalReply { return reply }
    guard let caller = caller(of: request) else { return Self.error(401, "Access Denied") }
    guard caller.user.mayEvaluatePolicies else {
      return Self.error(403, "Permission to perform the evaluate action denied.")
    }
    guard request.mediaType == "application/json", request.queryParameters?["_action"] == "evaluate",
      let body = try? JSONParser(maxDepth: 16).parse(request.body), body.objectValue != nil
    else { return Self.error(400, "Bad Request") }
    let names = body["resources"]?.arrayValue?.map(\.stringValue) ?? []
    guard !names.isEmpty, !names.contains(nil) else { return Self.error(400, "Invalid value resources") }
    let application = body["application"].map { $0.stringValue ?? "" } ?? Self.applications[0]
    guard Self.applications.contains(application) else {
      return Self.error(400, "Unable to find application \(application)")
    }
    guard let subject = subject(body["subject"], caller) else { return Self.error(400, "Invalid value subject") }
    guard let environment = Self.environment(body["environment"]) else {
      return Self.error(400, "Invalid value environment")
    }
    var rows: [JSONValue] = []
    for name in names.compactMap({ $0 }) {
      guard let row = evaluation.row(name, subject, transactions: environment["TxId"] ?? []) else {
        return Self.error(500, "Condition evaluation failed")
      }
      rows.append(row.json(emptyArrays: settings.values.hasEmptyArrays))
      if fault?.kind == .contradiction { rows.append(row.opposite.json(emptyArrays: false)) }
    }
    // Never in the order of the request.
    return Reply(json: .array(rows.reversed()))
  }

  /// The session of the request: its token is in the cookie, or in a field of the cookie's name.
  private func caller(of request: Request) -> ProviderSession? {
    if let (_, session) = sessions.session(of: request) { return session }
    return request.headers.first(name: SSOSessions.cookieName).flatMap(sessions.session)
  }

  /// The subject; nil when it cannot be determined.
  private func subject(_ given: JSONValue?, _ caller: ProviderSession) -> PolicySubject? {
    guard let given else { return .session(caller) }
    guard let object = given.objectValue, object.count == 1, let member = object.members.first else { return nil }
    switch member.name {
    case "ssoToken":
      // An access token is no single sign-on token.
      guard let token = member.value.stringValue, !token.hasPrefix("eyJ") else { return nil }
      return sessions.session(token).map { .session($0) } ?? .inactive
    case "jwt": return member.value.stringValue.flatMap(PolicySubject.unverified)
    case "claims": return member.value["sub"]?.stringValue.map { .claims(sub: $0) }
    default: return nil
    }
  }

  private static func environment(_ given: JSONValue?) -> [String: [String]]? {
    guard let given else { return [:] }
    guard let object = given.objectValue else { return nil }
    var environment: [String: [String]] = [:]
    for member in object.members {
      guard let values = member.value.arrayValue?.map(\.stringValue), !values.contains(nil) else { return nil }
      environment[member.name] = values.compactMap { $0 }
    }
    return environment
  }

  private static func error(_ status: Int, _ message: String) -> Reply {
    let reasons = [400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 500: "Internal Server Error"]
    return Reply(
      status: status,
      json: [
        "code": .integer(Int64(status)), "reason": .string(reasons[status] ?? ""), "message": .string(message),
      ])
  }
}
