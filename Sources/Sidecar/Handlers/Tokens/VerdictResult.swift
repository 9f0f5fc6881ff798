import AuthEngine
import PosternJSON
import PosternProtocol

/// A verdict as it goes over the wire: `Protocol.TokenVerdict`, built as a value because it is a hot path. A test
/// decodes it as that type, strictly.
enum VerdictResult {
  static func make(_ verdict: AuthEngine.TokenVerdict) -> JSONValue {
    switch verdict {
    case .valid(let claims, let header, let key, let cached):
      var members: [JSONObject.Member] = []
      if let kid = key.kid { members.append(JSONObject.Member(name: "kid", value: .string(kid))) }
      members.append(JSONObject.Member(name: "alg", value: .string(key.alg)))
      if let thumbprint = key.thumbprint {
        members.append(JSONObject.Member(name: "thumbprint", value: .string(thumbprint)))
      }
      return .object(
        JSONObject(distinct: [
          JSONObject.Member(name: "valid", value: true),
          JSONObject.Member(name: "claims", value: .object(claims)),
          JSONObject.Member(name: "header", value: .object(header)),
          JSONObject.Member(name: "key", value: .object(JSONObject(distinct: members))),
          JSONObject.Member(name: "cached", value: .bool(cached)),
        ]))
    case .invalid(let fault): return invalid(fault)
    }
  }

  static func make(_ verdict: IntrospectionVerdict) -> JSONValue {
    switch verdict {
    case .valid(let claims): ["valid": true, "claims": .object(claims)]
    case .invalid(let fault): invalid(fault)
    }
  }

  /// `{valid: false, error}`, with the header if it could be read.
  static func invalid(_ fault: TokenFault, header: JSONObject? = nil) -> JSONValue {
    var result: JSONObject = ["valid": false]
    if let header { result["header"] = .object(header) }
    result["error"] = .object(error(fault))
    return .object(result)
  }

  /// A fault as an object.
  static func error(_ fault: TokenFault) -> JSONObject {
    var error: JSONObject = ["code": .string(fault.code.rawValue), "message": .string(fault.message)]
    if let claim = fault.claim { error["claim"] = .string(claim) }
    if let expected = fault.expected { error["expected"] = expected }
    if let actual = fault.actual { error["actual"] = actual }
    return error
  }
}
