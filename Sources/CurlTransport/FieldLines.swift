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

  /// The fields of a request for which libcurl has lines of its own.
  private struct Given {
    /// Whether `Accept-Encoding` is the request's matter.
    let keepsCodings: Bool
    var accept = false
    var type = false

    init(keepsCodings: Bool) { self.keepsCodings = keepsCodings }

    /// Notes the field; false when its line is the transport's own: framing and negotiation, which libcurl does by
    /// itself and consistently with what it sends.
    mutating func take(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
      switch name.count {
      case 4: return !FieldSyntax.isName(name, "host")
      case 6:
        accept = accept || FieldSyntax.isName(name, "accept")
        return !FieldSyntax.isName(name, "expect")
      case 12: type = type || FieldSyntax.isName(name, "content-type")
      case 14: return !FieldSyntax.isName(name, "content-length")
      case 15: return keepsCodings || !FieldSyntax.isName(name, "accept-encoding")
      case 17: return !FieldSyntax.isName(name, "transfer-encoding")
      default: break
      }
      return true
    }
  }

  /// The list of `fields` in order, without those that are the transport's own, and with libcurl's defaults switched
  /// off. `codings`: the value of `Accept-Encoding`, where there is one; libcurl would format its own line twice.
  /// `keepsCodings`: `fields` may have another one, which goes in place of it.
  func build(
    _ fields: HTTPFields, codings: StaticString? = nil, hasBody: Bool, keepsCodings: Bool = false
  ) throws(Problem) -> UnsafeMutablePointer<curl_slist>? {
    textCount = 0
    nodeCount = 0
    let byteCount = fields.lines.reduce(96) { $0 + $1.name.utf8.count + $1.value.utf8.count + 3 }
    guard reserve(bytes: byteCount, nodes: fields.lines.count + 4) else { throw .memory }
    var given = Given(keepsCodings: keepsCodings)
    if let codings, !keepsCodings || fields["Accept-Encoding"] == nil {
      beginLine()
      write("Accept-Encoding: ")
      write(codings)
      endLine()
    }
    for field in fields.lines {
      var (name, value) = (field.name, field.value)
      // As bytes at once: a String's own view costs several times as much for each of them.
      let problem = name.withUTF8 { name in value.withUTF8 { append(name, $0, &given) } }
      if let problem { throw problem }
    }
    // `Name:` without a value takes libcurl's own line away.
    if !given.accept { appendRemoval("Accept:") }
    if hasBody { appendRemoval("Expect:") }
    if hasBody, !given.type { appendRemoval("Content-Type:") }
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

  private func append(
    _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, _ given: inout Given
  ) -> Problem? {
    guard given.take(name) else { return nil }
    guard FieldSyntax.isToken(name) else { return .name }
    guard FieldSyntax.isValue(value) else { return .value }
    beginLine()
    write(UnsafeRawBufferPointer(name))
    if value.allSatisfy(ASCII.isSpace) {
      // libcurl's way to send a field with an empty value.
      write(";")
    } else {
      write(": ")
      if let octets = FieldOctets.octets(value) {
        octets.withUnsafeBytes { write($0) }
      } else {
        write(UnsafeRawBufferPointer(value))
      }
    }
    endLine()
    return nil
  }

  private func appendRemoval(_ line: StaticString) {
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

  private func write(_ text: StaticString) {
    write(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  private func write(_ bytes: UnsafeRawBufferPointer) {
    guard let text, let source = bytes.baseAddress else { return }
    memcpy(text + textCount, source, bytes.count)
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
