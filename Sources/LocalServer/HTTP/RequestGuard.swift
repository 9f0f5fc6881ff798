import HTTPMessages
import PosternSupport

/// Reads the requests of one connection from its bytes, and rejects what two readers could read in two ways: every line
/// is checked when its CR LF has come, and the framing of the body is followed to its last byte. Nothing else reads them.
///
/// The verdict does not depend on how the bytes are split: the first fault in their order decides.
package struct RequestGuard: Sendable {
  /// A finding about the bytes that were used.
  package enum Event: Sendable {
    /// The header section, of `size` bytes, has ended.
    case head(RequestHead, size: Int)
    /// The bytes that were used belong to the body and its framing: `data` is what they have of the body itself.
    case body(data: [UInt8])
    /// Nothing on this connection can be read any more.
    case rejected(RequestRejection)
  }

  /// The largest sizes.
  package struct Limits: Sendable, Hashable {
    /// Bytes of the target.
    package var target = 8 << 10
    /// Bytes of one field line.
    package var field = 16 << 10
    /// Bytes of the header section.
    package var section = 32 << 10
    /// Fields of the header section.
    package var fields = 100
    /// Bytes of the extensions of one chunk.
    var chunkExtensions = 256
    /// Bytes of the extensions of a body beyond those of its data.
    var surplusExtensions = 16 << 10
    /// Bytes of all trailers.
    package var trailers = 4 << 10
    /// Whether the authority of a target in absolute form replaces the one of `Host`, as for an origin server (RFC 9112
    /// section 3.2.2), where a gateway needs them to be the same.
    var replacesHost = false

    package init() {}
  }

  private enum State: Sendable {
    case head
    case body(Int64)
    case chunk(ChunkPart)
    case complete
    case failed(RequestRejection)
  }

  private enum ChunkPart: Sendable {
    case size(Int64, digits: Int)
    case extensions(Int64, ChunkExtensions)
    case sizeEnd(Int64)
    case data(Int64)
    case dataEnd(hasCR: Bool)
    case trailer
  }

  private let limits: Limits
  private var state = State.head
  private var section: [UInt8] = []
  private var lineStart = 0
  private var hasCR = false
  private var hasEmptyLine = false
  private var line: RequestLine?
  private var fields: [HTTPFields.Field] = []
  private var surplusExtensions = 0

  package init(_ limits: Limits = Limits()) { self.limits = limits }

  /// Whether the request has been read to its end.
  package var isComplete: Bool { if case .complete = state { true } else { false } }

  /// Whether nothing of a request has come yet.
  package var isIdle: Bool { if case .head = state { section.isEmpty && !hasEmptyLine } else { false } }

  /// Whether the method is `HEAD`, as far as that is known: a response to it has no body.
  package var isHead: Bool { line.map { $0.method == "HEAD" } ?? section.starts(with: "HEAD ".utf8) }

  /// The position in the client's trace, if it came.
  package var traceparent: String? { fields.first { $0.name.lowercasedASCII() == "traceparent" }?.value }

  /// How many bytes a header section takes that has not ended: as they came, and as fields.
  var heldBytes: Int { 2 * section.count }

  /// Whether nothing can be read any more.
  package var hasFailed: Bool { if case .failed = state { true } else { false } }

  /// Has everything rejected that still comes.
  package mutating func fail(_ rejection: RequestRejection) { state = .failed(rejection) }

  /// Reads on behind a request that has ended.
  package mutating func startNext() { self = RequestGuard(limits) }

  /// Reads some bytes; the caller passes the others again. Without an event more are needed.
  package mutating func read(_ bytes: UnsafeRawBufferPointer) -> (used: Int, event: Event?) {
    do throws(RequestRejection) {
      switch state {
      case .head: return try readHead(bytes)
      case .body(let left):
        let count = min(left, Int64(bytes.count))
        state = count == left ? .complete : .body(left - count)
        return (Int(count), count > 0 ? .body(data: Array(bytes.prefix(Int(count)))) : nil)
      case .chunk: return try readChunks(bytes)
      case .complete: return (0, nil)
      case .failed(let rejection): throw rejection
      }
    } catch {
      state = .failed(error)
      return (bytes.count, .rejected(error))
    }
  }

  // MARK: - The header section

  private mutating func readHead(_ bytes: UnsafeRawBufferPointer) throws(RequestRejection) -> (Int, Event?) {
    var index = 0
    while index < bytes.count {
      index += takeCharacters(UnsafeRawBufferPointer(rebasing: bytes[index...]))
      guard index < bytes.count else { break }
      let byte = bytes[index]
      index += 1
      guard try isLineEnd(byte) else {
        try checkSizes()
        continue
      }
      let end = section.count - 2
      let content = section[lineStart..<end]
      if let line {
        guard content.isEmpty else {
          try addField(content)
          continue
        }
        let head = try RequestHead(line, HTTPFields(fields), replacesHost: limits.replacesHost)
        return (index, finishHead(head))
      }
      guard content.isEmpty else {
        line = try RequestLine(content, targetLimit: limits.target)
        lineStart = section.count
        continue
      }
      // One empty line before a request is the end of the body before it, of clients of the last century.
      guard !hasEmptyLine else { throw RequestRejection("there is no request line") }
      hasEmptyLine = true
      section.removeAll(keepingCapacity: true)
    }
    return (bytes.count, nil)
  }

  /// Adds the bytes up to the end of a line, to a faulty one, or to the one that is too many; returns how many.
  private mutating func takeCharacters(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard !hasCR else { return 0 }
    let count = section.count - lineStart
    let left = min(
      line == nil ? limits.target + Self.aroundTarget - count : limits.field - count, limits.section - section.count)
    let characters = bytes.prefix(max(0, left)).prefix(while: Self.isCharacter)
    section.append(contentsOf: characters)
    return characters.count
  }

  private static func isCharacter(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }

  /// Bytes of a request line beside the target.
  private static let aroundTarget = 300

  /// Adds a byte of a line; true when it is the last one.
  private mutating func isLineEnd(_ byte: UInt8) throws(RequestRejection) -> Bool {
    section.append(byte)
    if hasCR {
      guard byte == 0x0A else { throw RequestRejection("CR without LF") }
      hasCR = false
      return true
    }
    switch byte {
    case 0x0D: hasCR = true
    case 0x0A: throw RequestRejection("LF without CR")
    default:
      guard Self.isCharacter(byte) else { throw RequestRejection("a control character") }
    }
    return false
  }

  private func checkSizes() throws(RequestRejection) {
    let count = section.count - lineStart
    if line == nil, count > limits.target + Self.aroundTarget {
      throw .tooLarge("the request line is too long", status: 414)
    }
    if line != nil, count > limits.field { throw .tooLarge("a field is too long") }
    if section.count > limits.section { throw .tooLarge("the header section is too long") }
  }

  private mutating func addField(_ content: ArraySlice<UInt8>) throws(RequestRejection) {
    guard fields.count < limits.fields else { throw .tooLarge("there are too many fields") }
    fields.append(try HTTPFields.Field(line: content))
    lineStart = section.count
  }

  private mutating func finishHead(_ head: RequestHead) -> Event {
    switch head.framing {
    case .none: state = .complete
    case .length(let length): state = .body(length)
    case .chunked: state = .chunk(.size(0, digits: 0))
    }
    let size = section.count
    section = []
    lineStart = 0
    return .head(head, size: size)
  }

  // MARK: - Chunks (RFC 9112 section 7.1)

  private mutating func readChunks(_ bytes: UnsafeRawBufferPointer) throws(RequestRejection) -> (Int, Event?) {
    var index = 0
    var data: [UInt8] = []
    while index < bytes.count, case .chunk(let part) = state {
      if case .data(let left) = part {
        let count = min(left, Int64(bytes.count - index))
        data.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[index..<(index + Int(count))]))
        index += Int(count)
        surplusExtensions = max(0, surplusExtensions - Int(count))
        state = .chunk(count == left ? .dataEnd(hasCR: false) : .data(left - count))
      } else {
        state = try next(part, bytes[index])
        index += 1
      }
    }
    return (index, index > 0 ? .body(data: data) : nil)
  }

  private mutating func next(_ part: ChunkPart, _ byte: UInt8) throws(RequestRejection) -> State {
    switch part {
    case .size(let size, let digits):
      if let digit = Hexadecimal.value(byte) {
        guard digits < 16, size <= Int64.max >> 4 else { throw RequestRejection("a chunk's size is too large") }
        return .chunk(.size(size << 4 | Int64(digit), digits: digits + 1))
      }
      guard digits > 0 else { throw RequestRejection("a chunk has no size") }
      return try endSize(size, byte)
    case .extensions(let size, var extensions):
      guard try !extensions.isEnd(byte) else { return .chunk(.sizeEnd(size)) }
      surplusExtensions += 1
      guard extensions.count <= limits.chunkExtensions, surplusExtensions <= limits.surplusExtensions else {
        throw RequestRejection("the extensions of chunks are too long")
      }
      return .chunk(.extensions(size, extensions))
    case .sizeEnd(let size):
      guard byte == 0x0A else { throw RequestRejection("CR without LF in a chunk") }
      return .chunk(size == 0 ? .trailer : .data(size))
    case .data: return state
    case .dataEnd(let hasCR):
      guard byte == (hasCR ? 0x0A : 0x0D) else { throw RequestRejection("a chunk is longer than its size") }
      return .chunk(hasCR ? .size(0, digits: 0) : .dataEnd(hasCR: true))
    case .trailer:
      guard try isLineEnd(byte) else {
        if section.count > limits.trailers { throw .tooLarge("the trailers are too long") }
        return .chunk(.trailer)
      }
      let content = section[lineStart..<(section.count - 2)]
      lineStart = section.count
      return content.isEmpty ? .complete : try checkTrailer(content)
    }
  }

  private func endSize(_ size: Int64, _ byte: UInt8) throws(RequestRejection) -> State {
    switch byte {
    case 0x0D: return .chunk(.sizeEnd(size))
    case UInt8(ascii: ";"): return .chunk(.extensions(size, ChunkExtensions()))
    case 0x20, 0x09: throw ChunkExtensions.whiteSpace
    default: throw RequestRejection("a chunk's size is not hexadecimal digits")
    }
  }

  /// Trailers are dropped; those that would be fields of framing or of rights are not even accepted.
  private func checkTrailer(_ content: ArraySlice<UInt8>) throws(RequestRejection) -> State {
    let name = HTTPFieldRules.canonical(try HTTPFields.Field(line: content).name)
    guard !HTTPFieldRules.isReserved(canonical: name), name != "cookie" else {
      throw RequestRejection("a trailer has the name of a field that decides about the request")
    }
    return .chunk(.trailer)
  }
}
