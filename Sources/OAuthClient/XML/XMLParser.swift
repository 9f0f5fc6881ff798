import CPosternExpat

/// expat as a strict parser: UTF-8 only, no document type declaration (hence no entities, internal or external), size,
/// depth and number of nodes bounded.
struct XMLParser: Sendable {
  /// The largest document in bytes.
  var maxBytes: Int
  /// The deepest nesting; `<a/>` is 1.
  var maxDepth: Int
  /// The most elements and attributes together.
  var maxNodes: Int

  /// A parser with the given limits.
  init(maxBytes: Int = 64 << 10, maxDepth: Int = 16, maxNodes: Int = 1024) {
    self.maxBytes = maxBytes
    self.maxDepth = maxDepth
    self.maxNodes = maxNodes
  }

  /// The root element of the document in `bytes`.
  func parse(_ bytes: [UInt8]) throws(XMLParseError) -> XMLElement {
    guard bytes.count <= maxBytes, let count = Int32(exactly: bytes.count) else {
      throw XMLParseError(kind: .tooLarge, offset: 0)
    }
    guard let parser = XML_ParserCreate("UTF-8") else { throw XMLParseError(kind: .tooLarge, offset: 0) }
    defer { XML_ParserFree(parser) }
    let tree = XMLTree(parser: parser, maxDepth: maxDepth, maxNodes: maxNodes)
    tree.setHandlers()
    let status = withExtendedLifetime(tree) {
      bytes.withUnsafeBufferPointer { buffer in
        buffer.withMemoryRebound(to: CChar.self) { XML_Parse(parser, $0.baseAddress, count, 1) }
      }
    }
    guard status == XML_STATUS_OK, tree.failure == nil, let root = tree.root else {
      let offset = max(0, Int(XML_GetCurrentByteIndex(parser)))
      throw XMLParseError(kind: tree.failure ?? .notWellFormed, offset: offset)
    }
    return root
  }
}

/// The reason why a document is not accepted. Does not quote it.
struct XMLParseError: Error, Sendable, Hashable {
  /// The kind of fault.
  enum Kind: Sendable, Hashable {
    /// It is not well-formed XML in UTF-8.
    case notWellFormed
    /// It has a document type declaration.
    case documentType
    /// It has more bytes than allowed.
    case tooLarge
    /// Its elements are nested more deeply than allowed.
    case tooDeep
    /// It has more elements and attributes than allowed.
    case tooMany
  }

  /// The kind of fault.
  let kind: Kind
  /// The number of bytes before the fault.
  let offset: Int
}

/// Builds the element tree from what expat reports. Used by one call of `XMLParser.parse`; expat keeps an unretained
/// pointer to it.
final class XMLTree {
  private let parser: XML_Parser
  private let maxDepth: Int
  private let maxNodes: Int
  private var open: [XMLElement] = []
  private var nodes = 0
  private(set) var root: XMLElement?
  /// Why parsing was stopped.
  private(set) var failure: XMLParseError.Kind?

  init(parser: XML_Parser, maxDepth: Int, maxNodes: Int) {
    self.parser = parser
    self.maxDepth = maxDepth
    self.maxNodes = maxNodes
  }

  /// Sets expat's handlers to this tree, which must live as long as the parser is used.
  func setHandlers() {
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
