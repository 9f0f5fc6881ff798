import AuthEngine
import JSON
import Protocol
import Support

/// A preauthorization's answer as it goes over the wire: `Preauthorize.Result`, built as a value because it is a hot path. A test decodes it
/// as that type, strictly.
enum PreauthorizeResult {
  static func make(_ response: PreauthorizeResponse) -> JSONValue {
    var members = [JSONObject.Member(name: "outcome", value: .string(response.outcome.rawValue))]
    // Decisions of one batch end together: each instant is written once.
    var instants: [Timestamp: JSONValue] = [:]
    members.append(
      JSONObject.Member(
        name: "decisions", value: .array(response.decisions.map { decision($0, &instants) })))
    if let status = response.status { members.append(JSONObject.Member(name: "status", value: make(status))) }
    let unhonored = PreauthorizeRequest.Feature.allCases.filter(response.unhonoredFeatures.contains)
    members.append(
      JSONObject.Member(name: "unhonoredFeatures", value: .array(unhonored.map { .string($0.rawValue) })))
    return .object(JSONObject(distinct: members))
  }

  private static func decision(_ decision: Decision, _ instants: inout [Timestamp: JSONValue]) -> JSONValue {
    var members: [JSONObject.Member] = []
    members.reserveCapacity(6)
    members.append(JSONObject.Member(name: "id", value: .string(decision.id)))
    members.append(JSONObject.Member(name: "authorized", value: .bool(decision.isAuthorized)))
    if let error = decision.error { members.append(JSONObject.Member(name: "error", value: make(error))) }
    members.append(JSONObject.Member(name: "source", value: .string(decision.source.rawValue)))
    members.append(JSONObject.Member(name: "ageMs", value: .integer(decision.age.wholeMilliseconds)))
    if let expiresAt = decision.expiresAt {
      let text = instants[expiresAt] ?? .string(expiresAt.rfc3339)
      instants[expiresAt] = text
      members.append(JSONObject.Member(name: "expiresAt", value: text))
    }
    return .object(JSONObject(distinct: members))
  }

  private static func make(_ status: Status) -> JSONValue {
    var members = [
      JSONObject.Member(name: "status", value: .integer(Int64(status.status))),
      JSONObject.Member(name: "code", value: .string(status.code)),
      JSONObject.Member(name: "message", value: .string(status.message)),
    ]
    for (name, text) in [("details", status.details), ("helpUrl", status.helpURL), ("trace", status.trace)] {
      if let text { members.append(JSONObject.Member(name: name, value: .string(text))) }
    }
    members.append(JSONObject.Member(name: "action", value: .string(status.action)))
    return .object(JSONObject(distinct: members))
  }
}
