import CPosternExpat

/// expat as a strict parser: UTF-8 only, no document type declaration (hence no entities, internal or external), size,
/// depth and number of nodes bounded.
public struct XMLParser: Sendable {
  /// The largest document in bytes.
  public var maxBytes: Int
  /// The deepest nesting; `<a/>` is 1.
  public var maxDepth: Int
  /// The most elements and attributes together.
  public var maxNodes: Int

  /// A parser with the given limits.
  public init(maxBytes: Int = 64 << 10, maxDepth: Int = 16, maxNodes: Int = 1024) {
    self.maxBytes = maxBytes
    self.maxDepth = maxDepth
    self.maxNodes = maxNodes
  }

  /// The root element of the document in `bytes`.
  public func parse(_ bytes: [UInt8]) throws(XMLParseError) -> XMLElement {
    guard bytes.count <= maxBytes, let count = Int32(exactly: bytes.count) else {
      throw XMLParseError(kind: .tooLarge, offset: 0)
    }
    guard let parser = XML_ParserCreate("UTF-8") else { throw XMLParseError(kind: .tooLarge, offset: 0) }
    defer { XML_ParserFree(parser) }
    let tree = XMLTree(parser: parser, maxDepth: maxDepth, maxNodes: maxNodes)
    tree.listen()
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
