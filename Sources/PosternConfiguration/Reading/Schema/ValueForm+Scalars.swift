package import PosternJSON
import PosternSupport

extension ValueForm where Value == Bool {
  /// `true` or `false`.
  package static var boolean: Self {
    ValueForm(schema: { ["type": "boolean"] }, placeholder: false, json: JSONValue.bool) {
      scalar, _ throws(ValueProblem) in
      guard scalar.style != .quoted else { throw ValueProblem("write true or false without quotes") }
      switch scalar.text {
      case "true", "True", "TRUE": return true
      case "false", "False", "FALSE": return false
      default: throw ValueProblem("write true or false")
      }
    }
  }
}

extension ValueForm where Value == Int {
  /// A whole number in decimal digits.
  package static func integer(_ range: ClosedRange<Int>) -> Self {
    ValueForm(
      schema: {
        ["type": "integer", "minimum": .integer(Int64(range.lowerBound)), "maximum": .integer(Int64(range.upperBound))]
      },
      bounds: { "\(range.lowerBound) to \(range.upperBound)" },
      placeholder: range.lowerBound,
      json: { .integer(Int64($0)) },
      parse: { scalar, _ throws(ValueProblem) in
        guard scalar.style != .quoted else { throw ValueProblem("write the number without quotes") }
        let isNumber = !scalar.text.isEmpty && scalar.text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        guard isNumber else { throw ValueProblem("must be \(expected)") }
        guard let number = Int(scalar.text), range.contains(number) else {
          throw ValueProblem("out of range: must be \(expected)")
        }
        return number
      }
    )
  }
}

extension ValueForm where Value == Double {
  /// A number, with or without a fraction.
  package static func number(above lowest: Double, upTo highest: Double) -> Self {
    ValueForm(
      schema: { ["type": "number", "exclusiveMinimum": .real(lowest), "maximum": .real(highest)] },
      placeholder: highest,
      json: { $0 == $0.rounded() ? .integer(Int64($0)) : .real($0) },
      parse: { scalar, _ throws(ValueProblem) in
        guard scalar.style != .quoted else { throw ValueProblem("write the number without quotes") }
        let isNumber = scalar.text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
        guard isNumber, let number = Double(scalar.text) else {
          throw ValueProblem("must be a number such as 1 or 0.5")
        }
        guard number > lowest, number <= highest else {
          throw ValueProblem("out of range: must be above \(Int(lowest)) and at most \(Int(highest))")
        }
        return number
      }
    )
  }
}

extension ValueForm where Value == String {
  /// A line of text: not empty, no control characters.
  package static var text: Self {
    ValueForm(
      schema: { ["type": "string", "minLength": 1] }, placeholder: "", json: JSONValue.string,
      parse: { scalar, _ throws(ValueProblem) in try scalar.line() }
    )
  }

  /// A line of text that follows `rule`, which returns the value.
  package static func text(
    schema: (@Sendable () -> JSONObject)? = nil,
    _ rule: @escaping @Sendable (String, ReadingContext) throws(ValueProblem) -> String
  ) -> Self {
    var form = text
    if let schema { form.schema = schema }
    form.parse = { scalar, context throws(ValueProblem) in try rule(try scalar.line(), context) }
    return form
  }
}

extension ValueForm where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
  /// Accepts a case of an enumeration, one of `cases`, by its raw value or by one of the names that cases had earlier.
  package static func choice(
    _: Value.Type, among cases: [Value] = Array(Value.allCases), formerly formerNames: [String: Value] = [:],
    placeholder: Value
  ) -> Self {
    let values = cases.map(\.rawValue)
    return ValueForm(
      schema: {
        let current: JSONObject = ["enum": .array(values.map(JSONValue.string))]
        let former: JSONObject = ["enum": .array(formerNames.keys.sorted().map(JSONValue.string)), "deprecated": true]
        return formerNames.isEmpty ? current : ["anyOf": [.object(current), .object(former)]]
      },
      placeholder: placeholder,
      json: { .string($0.rawValue) },
      parse: { scalar, _ throws(ValueProblem) in
        guard let value = formerNames[scalar.text] ?? cases.first(where: { $0.rawValue == scalar.text }) else {
          throw ValueProblem(Suggestion.message(for: scalar.text, among: values))
        }
        return value
      }
    )
  }
}

extension SourceScalar {
  /// A line of text: not empty, no control characters.
  fileprivate func line() throws(ValueProblem) -> String {
    guard !text.isEmpty else { throw ValueProblem("must not be empty") }
    guard !text.unicodeScalars.contains(where: \.isControl) else {
      throw ValueProblem("must not contain control characters or line breaks")
    }
    return text
  }
}

extension Unicode.Scalar {
  /// Whether it is a control character. The first 128 need no look-up in Unicode's tables.
  package var isControl: Bool { isASCII ? value < 0x20 || value == 0x7F : properties.generalCategory == .control }

  /// Whether it is white space, in the same way.
  package var isWhitespace: Bool { isASCII ? (9...13).contains(value) || value == 0x20 : properties.isWhitespace }
}
