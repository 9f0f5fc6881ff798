import PosternJSON

/// Reads decisions of the AuthZEN Authorization API 1.0.
enum AuthZENReply {
  /// The decisions of an `evaluations` answer (section 7.2): as many as were asked for, in that order. A top-level
  /// `decision` beside them says nothing.
  static func verdicts(
    in document: JSONValue, count: Int, reasons: AuthZENReasons, trace: String?
  ) throws(DecisionFault) -> [DecisionVerdict] {
    guard let evaluations = document["evaluations"]?.arrayValue else {
      throw .format("the answer has no evaluations", trace: trace)
    }
    guard evaluations.count == count else {
      throw .format("the answer has \(evaluations.count) evaluations for \(count) resources", trace: trace)
    }
    var verdicts: [DecisionVerdict] = []
    for evaluation in evaluations { verdicts.append(try verdict(in: evaluation, reasons: reasons, trace: trace)) }
    return verdicts
  }

  /// One decision (section 6.2).
  static func verdict(
    in evaluation: JSONValue, reasons: AuthZENReasons, trace: String?
  ) throws(DecisionFault) -> DecisionVerdict {
    guard let decision = evaluation["decision"]?.boolValue else {
      throw .format("an evaluation has no decision", trace: trace)
    }
    let context = evaluation["context"]
    if let context, context != .null, context.objectValue == nil {
      throw .format("the context of a decision is no object", trace: trace)
    }
    let hasError = context?["error"].map { $0 != .null } ?? false
    guard !decision else {
      return hasError ? .fault(.item("a permit that came with an error", trace: trace)) : .permit(lifetime: nil)
    }
    return EnhancedError.verdict(reasons.status(in: context, trace: trace))
  }
}
