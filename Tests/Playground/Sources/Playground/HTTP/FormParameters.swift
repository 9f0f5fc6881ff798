/// The parameters of a form body or query, in order, repeats kept.
struct FormParameters: Sendable {
  /// One parameter, decoded.
  struct Parameter: Sendable {
    let name: String
    let value: String
  }

  /// All of them.
  let all: [Parameter]

  /// Parses `application/x-www-form-urlencoded`; nil when it is malformed, not UTF-8, or has too many parameters.
  init?(parsing bytes: [UInt8]) {
    var all: [Parameter] = []
    for part in bytes.split(separator: UInt8(ascii: "&")) {
      let name = part.prefix { $0 != UInt8(ascii: "=") }
      guard all.count < Limits.formParameters,
        let decodedName = PercentCoding.decode(name, plusIsSpace: true),
        let decodedValue = PercentCoding.decode(part.dropFirst(name.count + 1), plusIsSpace: true)
      else { return nil }
      all.append(Parameter(name: decodedName, value: decodedValue))
    }
    self.all = all
  }

  private init(_ all: [Parameter]) { self.all = all }

  /// The parameters with one more.
  func adding(_ name: String, _ value: String) -> FormParameters {
    FormParameters(all + [Parameter(name: name, value: value)])
  }

  /// The first value of `name`; nil when there is none or it is empty, which counts as omitted (RFC 6749 section 3.1).
  subscript(name: String) -> String? { values(of: name).first }

  /// All non-empty values of `name`.
  func values(of name: String) -> [String] { all.filter { $0.name == name && !$0.value.isEmpty }.map(\.value) }

  /// The value of `name` as a whole number within `range`; nil when it is none.
  func integer(_ name: String, in range: ClosedRange<Int>) -> Int? {
    self[name].flatMap { Int($0) }.flatMap { range.contains($0) ? $0 : nil }
  }

  /// Whether a parameter other than `repeatable` ones occurs more than once.
  func repeats(except repeatable: Set<String>) -> Bool {
    var seen: Set<String> = []
    return all.contains { !repeatable.contains($0.name) && !seen.insert($0.name).inserted }
  }
}
