import PosternJSON

/// Evaluates the gateway's policies, by the first part of a resource's path, for `GET` and `POST`.
struct PolicyEvaluation: Sendable {
  let journeys: JourneyDesk
  let transactions: TransactionDesk

  /// Evaluates the policies about one resource.
  struct Row: Sendable {
    let resource: String
    /// Nil: no policy speaks of it.
    var permits: Bool?
    var advices: [(type: String, value: String)] = []
    var ttl = Int64.max
  }

  /// The row of a resource; nil when a condition cannot be evaluated for such a subject.
  func row(_ resource: String, _ subject: PolicySubject, transactions ids: [String]) -> Row? {
    var row = Row(resource: resource)
    let name = Self.policy(of: resource)
    guard case .inactive = subject else {
      if name == "denied" { row.permits = false }
      guard let policy = GatewayPolicy(rawValue: name) else { return row }
      return self.row(row, policy, subject, ids)
    }
    return row
  }

  private func row(_ row: Row, _ policy: GatewayPolicy, _ subject: PolicySubject, _ ids: [String]) -> Row? {
    var row = row
    guard policy != .open else {
      row.permits = true
      return row
    }
    guard case .session(let session) = subject else { return nil }
    let done = journeys.trees(of: session.authentication.sessionID)
    if let tree = policy.trees.first(where: { !done.contains($0) }) {
      row.advices = [policy.advice(for: tree)]
      return row
    }
    guard policy.isTransactional else {
      row.permits = true
      return row
    }
    row.ttl = 0
    let user = session.user.subject
    if ids.contains(where: { transactions.redeem($0, subject: user, resource: row.resource) }) {
      row.permits = true
    } else if let id = transactions.begin(for: user, resource: row.resource) {
      row.advices = [(type: "TransactionConditionAdvice", value: id)]
    }
    return row
  }

  /// The first part of the path, or of a name that is no URL.
  private static func policy(of resource: String) -> String {
    let path =
      resource.firstRange(of: "://").map { resource[$0.upperBound...].drop { $0 != "/" } } ?? resource[...]
    return path.split(whereSeparator: { $0 == "/" || $0 == "?" }).first.map(String.init) ?? ""
  }
}

extension PolicyEvaluation.Row {
  /// The row on the wire; maps without members become arrays when `emptyArrays` is set.
  func json(emptyArrays: Bool) -> JSONValue {
    func map(_ members: [(String, JSONValue)]) -> JSONValue {
      members.isEmpty && emptyArrays ? [] : .object(JSONObject(members))
    }
    let actions = permits.map { [("GET", JSONValue.bool($0)), ("POST", .bool($0))] } ?? []
    return [
      "resource": .string(resource), "actions": map(actions), "attributes": map([]),
      "advices": map(advices.map { ($0.type, .array([.string($0.value)])) }), "ttl": .integer(ttl),
    ]
  }

  /// The row with the opposite decision.
  var opposite: PolicyEvaluation.Row {
    PolicyEvaluation.Row(resource: resource, permits: !(permits ?? false))
  }
}
