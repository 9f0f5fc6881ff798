import CPosternCurl
import Glibc
import HTTPMessages

/// The request's field lines as libcurl takes them, in memory that is used again for the next request.
///
/// libcurl reads the list until the transfer ends and does not copy it. Owned by one `Transfer`.
final class FieldLines {
  /// Beyond this the memory is given back after use.
  private static let keptBytes = 64 << 10

  private var text: UnsafeMutablePointer<CChar>?
  private var textCapacity = 0
  private var nodes: UnsafeMutablePointer<curl_slist>?
  private var nodeCapacity = 0
  private var textCount = 0
  private var nodeCount = 0

  /// Why fields cannot be sent.
  enum Problem: Error {
    case name, value, memory
  }

  /// The list of `fields` in order, without those that are the transport's own, and with libcurl's defaults switched
  /// off. `keepsCodings`: with `Accept-Encoding`, which goes in place of libcurl's.
  func build(
    _ fields: HTTPFields, hasBody: Bool, keepsCodings: Bool = false
  ) throws(Problem) -> UnsafeMutablePointer<curl_slist>? {
    textCount = 0
    nodeCount = 0
    let byteCount = fields.lines.reduce(64) { $0 + $1.name.utf8.count + $1.value.utf8.count + 3 }
    guard reserve(bytes: byteCount, nodes: fields.lines.count + 3) else { throw .memory }
    var givesAccept = false
    var givesType = false
    for field in fields.lines {
      let isAboutCodings = keepsCodings && FieldSyntax.isName(field.name.utf8, "accept-encoding")
      guard isAboutCodings || !Self.isTransports(field.name.utf8) else { continue }
      givesAccept = givesAccept || FieldSyntax.isName(field.name.utf8, "accept")
      givesType = givesType || FieldSyntax.isName(field.name.utf8, "content-type")
      try append(field)
    }
    // `Name:` without a value takes libcurl's own line away.
    if !givesAccept { appendRemoval("Accept:") }
    if hasBody { appendRemoval("Expect:") }
    if hasBody, !givesType { appendRemoval("Content-Type:") }
    return nodes
  }

  /// Gives large memory back; the list is no longer in use.
  func reset() {
    if textCapacity > Self.keptBytes { release() }
  }

  /// Gives all memory back.
  func release() {
    free(text)
    free(nodes)
    text = nil
    nodes = nil
    textCapacity = 0
    nodeCapacity = 0
  }

  /// Framing and negotiation, which libcurl does by itself and consistently with what it sends.
  private static func isTransports(_ name: String.UTF8View) -> Bool {
    switch name.count {
    case 4: FieldSyntax.isName(name, "host")
    case 6: FieldSyntax.isName(name, "expect")
    case 14: FieldSyntax.isName(name, "content-length")
    case 15: FieldSyntax.isName(name, "accept-encoding")
    case 17: FieldSyntax.isName(name, "transfer-encoding")
    default: false
    }
  }

  private func append(_ field: HTTPFields.Field) throws(Problem) {
    guard FieldSyntax.isToken(field.name.utf8) else { throw .name }
    guard FieldSyntax.isValue(field.value.utf8) else { throw .value }
    beginLine()
    write(field.name)
    if field.value.utf8.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) {
      // libcurl's way to send a field with an empty value.
      write(";")
    } else {
      write(": ")
      if FieldOctets.standsForBytes(field.value) { write(FieldOctets.bytes(field.value)) } else { write(field.value) }
    }
    endLine()
  }

  private func appendRemoval(_ line: String) {
    beginLine()
    write(line)
    endLine()
  }

  private func beginLine() {
    guard let text, let nodes else { return }
    nodes[nodeCount] = curl_slist(data: text + textCount, next: nil)
    if nodeCount > 0 { nodes[nodeCount - 1].next = nodes + nodeCount }
    nodeCount += 1
  }

  private func write(_ string: String) {
    var string = string
    string.withUTF8 { bytes in
      guard let text, let source = bytes.baseAddress else { return }
      memcpy(text + textCount, source, bytes.count)
      textCount += bytes.count
    }
  }

  private func write(_ bytes: [UInt8]) {
    guard let text, !bytes.isEmpty else { return }
    memcpy(text + textCount, bytes, bytes.count)
    textCount += bytes.count
  }

  private func endLine() {
    text?[textCount] = 0
    textCount += 1
  }

  private func reserve(bytes: Int, nodes nodeCount: Int) -> Bool {
    guard bytes > textCapacity || nodeCount > nodeCapacity else { return true }
    release()
    textCapacity = max(bytes, 1024)
    nodeCapacity = max(nodeCount, 16)
    text = malloc(textCapacity)?.assumingMemoryBound(to: CChar.self)
    nodes = malloc(nodeCapacity * MemoryLayout<curl_slist>.stride)?.assumingMemoryBound(to: curl_slist.self)
    if text == nil || nodes == nil {
      release()
      return false
    }
    return true
  }
}
