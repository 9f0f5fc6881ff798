import PosternJSON

/// Where the reason of a deny stands in an AuthZEN decision's `context`, whose content is not standardised.
public struct DecisionReasonsConfiguration: Sendable, Equatable {
  /// A JSON Pointer to the code; nil: the usual places.
  public var code: String?
  /// A JSON Pointer to the message; nil: the usual places.
  public var message: String?
}

extension DecisionReasonsConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    code = keys.optional(
      "code", .pointer, "JSON Pointer into context, to the code. Looked at before the usual places.",
      example: .commented("/reason_code"))
    message = keys.optional(
      "message", .pointer, "JSON Pointer into context, to the message. Looked at before the usual places.",
      example: .commented("/reason_user/en"))
  }
}

extension ValueForm where Value == String {
  /// A JSON Pointer (RFC 6901) that points into something.
  fileprivate static var pointer: Self {
    var form = text
    form.parse = { scalar, context throws(ValueProblem) in
      let pointer = try line(scalar, context)
      guard pointer.hasPrefix("/") else { throw ValueProblem("must be a JSON Pointer, as in /reason_code") }
      return pointer
    }
    return form
  }
}
