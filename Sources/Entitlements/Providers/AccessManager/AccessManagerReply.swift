import PosternJSON
import PosternSupport

/// Reads what the policy evaluation answers: rows in any order.
enum AccessManagerReply {
  /// One verdict for each of `resources`; nil where no row is about it. Empty maps may be written as empty arrays.
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
    // No decision is a deny; an advice says what would change it.
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

  /// Milliseconds: how long, or until when where that is what it can only mean; the largest integer says for ever.
  private static func lifetime(_ ttl: JSONValue?, _ now: Timestamp) -> Duration? {
    guard let ttl, ttl != .null else { return nil }
    guard let milliseconds = ttl.integerValue, milliseconds > 0 else { return .zero }
    let epoch = now.millisecondsSinceEpoch
    return .milliseconds(milliseconds > epoch ? milliseconds - epoch : milliseconds)
  }
}
