package import JOSE
import PosternJSON
import PosternSupport

extension ValueForm where Value == SignatureAlgorithm {
  /// The `alg` of a signature, by its name.
  package static func algorithm(among algorithms: [SignatureAlgorithm]) -> Self {
    named(algorithms, by: \.name, rejectionReasons: ["none": "unsigned tokens are never accepted"])
  }
}

extension ValueForm where Value == KeyManagementAlgorithm {
  /// The `alg` of an encryption, by its name.
  package static func algorithm(among algorithms: [KeyManagementAlgorithm]) -> Self {
    named(
      algorithms, by: \.name,
      rejectionReasons: [
        "RSA1_5": "RSA1_5 is never accepted: it invites padding oracles (RFC 8725 section 3.2)"
      ])
  }
}

extension ValueForm where Value == ContentEncryption {
  /// The `enc` of an encryption, by its name.
  static var contentEncryption: Self { named(ContentEncryption.all, by: \.name) }
}

extension ValueForm {
  /// Accepts one of `values` by its name; `rejectionReasons` explains other known names that are rejected.
  private static func named(
    _ values: [Value], by name: @escaping @Sendable (Value) -> String, rejectionReasons: [String: String] = [:]
  ) -> Self {
    let names = values.map(name)
    return ValueForm(
      schema: { ["enum": .array(names.map(JSONValue.string))] },
      placeholder: values[0],
      json: { .string(name($0)) },
      parse: { scalar, _ throws(ValueProblem) in
        if let value = values.first(where: { name($0) == scalar.text }) { return value }
        throw ValueProblem(
          rejectionReasons[scalar.text] ?? Suggestion.message(for: scalar.text, among: names))
      }
    )
  }
}
