import PosternSupport
import PosternXML

/// Advices as an access manager writes them into one parameter:
/// `<Advices><AttributeValuePair><Attribute name="TYPE"/><Value>VALUE</Value></AttributeValuePair></Advices>`.
public enum CompositeAdvice {
  /// More than anybody sends; the document is refused beyond.
  static let maxBytes = 64 << 10
  /// How many advices of one answer are looked at.
  static let maxAdvices = 16
  private static let maxTypeBytes = 256
  static let maxValueBytes = 4096

  /// What goes to the access manager: no white space, values escaped. Nil when one cannot be written in XML.
  public static func xml(_ advices: [PolicyAdvice]) -> String? {
    var pairs = ""
    for advice in advices {
      guard let type = XMLEscaping.escape(advice.type), let value = XMLEscaping.escape(advice.value) else { return nil }
      pairs += "<AttributeValuePair><Attribute name=\"\(type)\"/><Value>\(value)</Value></AttributeValuePair>"
    }
    return "<Advices>\(pairs)</Advices>"
  }

  /// The advices in a document; none when it is no such document.
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

  /// An advice of these parts without white space around them; nil when they are of no size that can be, cannot stand
  /// in XML, or claim to be what does not come this way.
  static func advice(_ type: String, _ value: String, realm: String?) -> PolicyAdvice? {
    let (type, value) = (AdviceText.trimmed(type), AdviceText.trimmed(value))
    guard (1...maxTypeBytes).contains(type.utf8.count), (1...maxValueBytes).contains(value.utf8.count),
      XMLEscaping.escape(type) != nil, XMLEscaping.escape(value) != nil,
      type != PolicyAdvice.Name.insufficientUserAuthentication, type != PolicyAdvice.Name.umaTicket
    else { return nil }
    return PolicyAdvice(type: type, value: value, realm: realm)
  }

  /// Each advice once, in order, and not more than are looked at.
  static func distinct(_ advices: [PolicyAdvice]) -> [PolicyAdvice] {
    var kept: [PolicyAdvice] = []
    for advice in advices where kept.count < maxAdvices && !kept.contains(advice) { kept.append(advice) }
    return kept
  }
}
