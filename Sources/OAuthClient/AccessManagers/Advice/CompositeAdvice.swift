import PosternJSON
import PosternSupport

/// Advices as an access manager writes them into one parameter:
/// `<Advices><AttributeValuePair><Attribute name="TYPE"/><Value>VALUE</Value></AttributeValuePair></Advices>`.
public enum CompositeAdvice {
  /// The largest document that is read.
  static let maxBytes = 64 << 10
  /// The maximum number of advices of one answer.
  static let maxAdvices = 16
  private static let maxTypeBytes = 256
  static let maxValueBytes = 4096

  /// Returns the document for the access manager: no white space, values escaped. Nil when a value cannot be written in
  /// XML.
  public static func xml(_ advices: [PolicyAdvice]) -> String? {
    var pairs = ""
    for advice in advices {
      guard let type = XMLEscaping.escape(advice.type), let value = XMLEscaping.escape(advice.value) else { return nil }
      pairs += "<AttributeValuePair><Attribute name=\"\(type)\"/><Value>\(value)</Value></AttributeValuePair>"
    }
    return "<Advices>\(pairs)</Advices>"
  }

  /// Returns the advices in a document; none when it is no such document.
  public static func advices(xml: [UInt8], realm: String? = nil) -> [PolicyAdvice] {
    guard let root = try? XMLParser(maxBytes: maxBytes, maxDepth: 8, maxNodes: 256).parse(xml), root.name == "Advices"
    else { return [] }
    var found: [PolicyAdvice] = []
    for pair in root.children("AttributeValuePair") {
      guard let type = pair.children("Attribute").first?["name"] else { continue }
      found += pair.children("Value").compactMap { advice(type, $0.text, realm: realm) }
    }
    return distinct(found)
  }

  /// Returns an advice of these parts without white space around them; nil when they are empty or too long, cannot be
  /// written in XML, or name a type that has another form.
  static func advice(_ type: String, _ value: String, realm: String?) -> PolicyAdvice? {
    let (type, value) = (AdviceText.trimmed(type), AdviceText.trimmed(value))
    guard (1...maxTypeBytes).contains(type.utf8.count), (1...maxValueBytes).contains(value.utf8.count),
      XMLEscaping.escape(type) != nil, XMLEscaping.escape(value) != nil,
      type != PolicyAdvice.Name.insufficientUserAuthentication, type != PolicyAdvice.Name.umaTicket
    else { return nil }
    return PolicyAdvice(type: type, value: value, realm: realm)
  }

  /// Returns each advice once, in order, up to the maximum number.
  static func distinct(_ advices: [PolicyAdvice]) -> [PolicyAdvice] {
    var kept: [PolicyAdvice] = []
    for advice in advices where kept.count < maxAdvices && !kept.contains(advice) { kept.append(advice) }
    return kept
  }
}

/// Advices in JSON: `{"TransactionConditionAdvice": ["…"]}`, by itself, as the member `advices` of a policy decision,
/// or in an array of these.
enum AdviceMap {
  /// Whether a map outside of `advices` counts.
  enum BareMap {
    /// It is ignored.
    case ignored
    /// Its members count whose names end with `Advice`: other documents have arrays, too.
    case named
    /// All its members count.
    case accepted
  }

  private static let maxRows = 64

  /// Returns the advices in `text`; none when it is no JSON or has none.
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
