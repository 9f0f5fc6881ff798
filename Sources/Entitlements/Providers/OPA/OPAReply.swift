import PosternJSON
import PosternSupport

/// Reads what Open Policy Agent's data API answers: an object of the resources' ids.
enum OPAReply {
  /// One verdict for each of `resources`; nil where the rule says nothing of it.
  static func verdicts(
    in document: JSONValue, about resources: [ResourceName], path: String
  ) throws(DecisionFault) -> [DecisionVerdict?] {
    let trace = document["decision_id"]?.stringValue.map(EnhancedError.shortened)
    if document["warning"]?["code"]?.stringValue == "api_usage_warning" {
      throw .format("OPA did not take the question as input: api_usage_warning", trace: trace)
    }
    // Undefined: the rule has no value, or there is no such rule. Nobody can tell, so nobody is denied anything.
    guard let result = document["result"] else {
      throw .format("the rule data/\(path) is undefined: not loaded, or without a default", trace: trace)
    }
    guard let object = result.objectValue else {
      throw .format("the rule data/\(path) gives no object of resource ids", trace: trace)
    }
    return resources.map { resource in object[resource.text].map { verdict($0, trace: trace) } }
  }

  private static func verdict(_ value: JSONValue, trace: String?) -> DecisionVerdict {
    switch value {
    case .bool(let allowed): return allowed ? .permit(lifetime: nil) : .deny(.denied(trace: trace), lifetime: nil)
    case .object(let object):
      guard let allowed = object["allow"]?.boolValue else { break }
      // Seconds; what is none, or none that makes sense, is not kept.
      let lifetime: Duration? = object["ttl"].map { ttl in
        guard let seconds = ttl.numberValue, seconds > 0 else { return .zero }
        return .milliseconds(Int64(min(seconds, 31_536_000) * 1000))
      }
      if allowed, object["error"].map({ $0 != .null }) == true {
        return .fault(.item("the rule allows, and gives an error", trace: trace))
      }
      guard !allowed else { return .permit(lifetime: lifetime) }
      let status =
        EnhancedError.read(value, status: 0, trace: trace)
        ?? .denied(
          message: object["message"]?.stringValue.map(EnhancedError.shortened),
          details: object["details"]?.stringValue.map(EnhancedError.shortened), trace: trace)
      guard case .deny(let reason, _) = EnhancedError.verdict(status) else { return EnhancedError.verdict(status) }
      return .deny(reason, lifetime: lifetime)
    default: break
    }
    return .fault(.item("the rule gives neither true, false nor an object with allow", trace: trace))
  }
}
