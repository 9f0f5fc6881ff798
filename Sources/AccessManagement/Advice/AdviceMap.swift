import PosternJSON
import PosternSupport

/// Advices in JSON: `{"TransactionConditionAdvice": ["…"]}`, by itself, as the member `advices` of a policy decision,
/// or in an array of these.
enum AdviceMap {
  /// Whether a map counts that stands by itself, outside of `advices`.
  enum BareMap {
    /// It does not.
    case ignored
    /// It does, as far as its members are called advice: other documents have arrays, too.
    case named
    /// It does.
    case accepted
  }

  private static let maxRows = 64

  /// The advices in `text`; none when it is no JSON or holds none.
  static func advices(in text: [UInt8], bare: BareMap, realm: String? = nil) -> [PolicyAdvice] {
    let parser = JSONParser(maxBytes: AdviceRecognizer.maxBodyBytes, maxDepth: 16)
    guard let json = try? parser.parse(text) else { return [] }
    let rows = json.arrayValue.map { Array($0.prefix(maxRows)) } ?? [json]
    let found = rows.compactMap(\.objectValue).flatMap { advices(in: $0, bare: bare, realm: realm) }
    return CompositeAdvice.distinct(found)
  }

  private static func advices(in row: JSONObject, bare: BareMap, realm: String?) -> [PolicyAdvice] {
    if let map = row["advices"]?.objectValue {
      return map.members.prefix(CompositeAdvice.maxAdvices).flatMap { advices($0, realm) }
    }
    guard bare != .ignored else { return [] }
    let members = row.members.filter { bare == .accepted || $0.name.endsWithBytes(of: "Advice") }
    return members.prefix(CompositeAdvice.maxAdvices).flatMap { advices($0, realm) }
  }

  private static func advices(_ member: JSONObject.Member, _ realm: String?) -> [PolicyAdvice] {
    (member.value.arrayValue ?? []).prefix(CompositeAdvice.maxAdvices).compactMap { element in
      guard let value = element.stringValue ?? element.integerValue.map(String.init) else { return nil }
      return CompositeAdvice.advice(member.name, value, realm: realm)
    }
  }
}
