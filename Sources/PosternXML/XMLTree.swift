import CPosternExpat

/// Puts together what expat reports. Belongs to one call of `XMLParser.parse`, never shared; expat holds it unretained.
final class XMLTree {
  private let parser: XML_Parser
  private let maxDepth: Int
  private let maxNodes: Int
  private var open: [XMLElement] = []
  private var nodes = 0
  private(set) var root: XMLElement?
  /// Why it was given up.
  private(set) var failure: XMLParseError.Kind?

  init(parser: XML_Parser, maxDepth: Int, maxNodes: Int) {
    self.parser = parser
    self.maxDepth = maxDepth
    self.maxNodes = maxNodes
  }

  /// Has expat report to this tree as long as both live.
  func listen() {
    XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
    XML_SetElementHandler(
      parser, { data, name, attributes in XMLTree.of(data)?.begin(name, attributes) },
      { data, _ in XMLTree.of(data)?.end() })
    XML_SetCharacterDataHandler(parser) { data, text, count in XMLTree.of(data)?.append(text, Int(count)) }
    XML_SetStartDoctypeDeclHandler(parser) { data, _, _, _, _ in XMLTree.of(data)?.stop(.documentType) }
  }

  private static func of(_ data: UnsafeMutableRawPointer?) -> XMLTree? {
    data.map { Unmanaged<XMLTree>.fromOpaque($0).takeUnretainedValue() }
  }

  private func begin(_ name: UnsafePointer<CChar>?, _ list: UnsafeMutablePointer<UnsafePointer<CChar>?>?) {
    guard failure == nil, let name else { return }
    var attributes: [XMLElement.Attribute] = []
    var next = list
    while let pair = next, let name = pair[0], let value = pair[1] {
      attributes.append(XMLElement.Attribute(name: String(cString: name), value: String(cString: value)))
      next = pair + 2
      guard nodes + attributes.count < maxNodes else { return stop(.tooMany) }
    }
    nodes += 1 + attributes.count
    guard nodes <= maxNodes else { return stop(.tooMany) }
    guard open.count < maxDepth else { return stop(.tooDeep) }
    open.append(XMLElement(name: String(cString: name), attributes: attributes))
  }

  private func end() {
    guard failure == nil, let element = open.popLast() else { return }
    if open.isEmpty { root = element } else { open[open.count - 1].children.append(element) }
  }

  private func append(_ text: UnsafePointer<CChar>?, _ count: Int) {
    guard failure == nil, let text, !open.isEmpty else { return }
    let bytes = UnsafeRawBufferPointer(start: text, count: count)
    open[open.count - 1].text += String(decoding: bytes, as: UTF8.self)
  }

  private func stop(_ reason: XMLParseError.Kind) {
    failure = failure ?? reason
    XML_StopParser(parser, XML_Bool(XML_FALSE))
  }
}
