import HTTPMessages
import PosternJSON
import PosternSupport

/// Where an AuthZEN decision point takes questions.
struct AuthZENEndpoints: Sendable, Hashable {
  let evaluation: HTTPURL
  /// Nil: one question at a time.
  var evaluations: HTTPURL?

  init(evaluation: HTTPURL, evaluations: HTTPURL?) {
    self.evaluation = evaluation
    self.evaluations = evaluations
  }

  /// The default paths (section 10.1).
  init(under base: HTTPURL) throws(HTTPURLError) {
    evaluation = try base.appending(relativePath: "access/v1/evaluation")
    evaluations = try base.appending(relativePath: "access/v1/evaluations")
  }

  /// What the decision point's metadata says (section 9.2); nil when it is no metadata, or another one's: the
  /// identifier must be the same to the byte.
  init?(_ metadata: JSONValue, of identifier: String) {
    guard metadata["policy_decision_point"]?.stringValue?.hasSameBytes(as: identifier) == true,
      let evaluation = metadata["access_evaluation_endpoint"]?.stringValue.flatMap({ try? HTTPURL($0) })
    else { return nil }
    self.evaluation = evaluation
    if let text = metadata["access_evaluations_endpoint"]?.stringValue {
      guard let evaluations = try? HTTPURL(text) else { return nil }
      self.evaluations = evaluations
    }
  }

  /// Whether all of them are at `origin`.
  func areAll(at origin: HTTPURL.Origin) -> Bool {
    evaluation.origin == origin && evaluations.map { $0.origin == origin } ?? true
  }

  /// The well-known location: between host and path of the identifier (section 9.2.1).
  static func wellKnown(of base: HTTPURL) throws(HTTPURLError) -> HTTPURL {
    let path = base.path.utf8.last == UInt8(ascii: "/") ? String(Substring(base.path.utf8.dropLast())) : base.path
    return try base.replacingPath("/.well-known/authzen-configuration\(path)")
  }
}
