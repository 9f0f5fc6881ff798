import Glibc
import HTTPMessages

/// Cuts `Content-Length` messages apart (LSP base protocol). What holds for a body is the limit at its first byte.
struct HeaderFramer: Sendable {
  private enum Phase {
    case block
    case body
    /// In a body that is over a limit, or no JSON text: not kept.
    case discardedBody
    case failed
  }

  /// How far the scan of the current body has come.
  private enum Scan {
    case notBegun
    case insideText
    /// Behind the text's end; or the body is no object or array, and so at most one value.
    case over
  }

  private var scan = Scan.notBegun
  private var phase = Phase.block
  private var block = HeaderBlock()
  private var blockLength = 0
  /// The current line as far as it came in earlier reads.
  private var line: [UInt8] = []
  private var bodyLeft = 0

  /// Whether a message has begun and not ended; also after a violation, when the connection only waits to be closed.
  var isMidMessage: Bool { phase != .block || blockLength > 0 }

  /// Takes bytes and appends what they complete, until there are `limit` events; how many it has taken.
  mutating func receive(
    _ chunk: MessageBytes, _ message: inout IncomingMessage, into events: inout [InboundEvent], upTo limit: Int
  ) -> Int {
    chunk.buffer.withUnsafeBytes { bytes in
      var index = 0
      while index < bytes.count, events.count < limit {
        switch phase {
        case .block:
          do throws(HeaderBlock.Violation) {
            index = try readLine(bytes, from: index, &message, into: &events)
          } catch {
            events.append(.violation(reason: error.reason))
            phase = .failed
          }
        case .body, .discardedBody:
          index = readBody(chunk, bytes, from: index, &message, into: &events)
        case .failed: return bytes.count
        }
      }
      return index
    }
  }

  /// The peer has half-closed: a message that has begun is cut off.
  mutating func end(_ message: inout IncomingMessage, into events: inout [InboundEvent]) {
    if phase == .body || phase == .block && blockLength > 0 {
      events.append(.malformed(reason: "the message is cut off by the end of the input", sharesLine: false))
    }
    message.discard()
    phase = .failed
  }

  private mutating func readLine(
    _ bytes: UnsafeRawBufferPointer, from start: Int, _ message: inout IncomingMessage,
    into events: inout [InboundEvent]
  ) throws(HeaderBlock.Violation) -> Int {
    if blockLength == 0 { message.begin() }
    let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
    let lineFeed = rest.baseAddress.flatMap { base in
      memchr(base, 0x0A, rest.count).map { UnsafeRawPointer($0) - base }
    }
    let taken = lineFeed.map { $0 + 1 } ?? rest.count
    blockLength += taken
    message.grow(by: taken)
    guard blockLength <= HeaderBlock.maximumLength else { throw .blockTooLong }
    line.append(contentsOf: rest[..<taken])
    guard lineFeed != nil else { return start + taken }
    defer { line.removeAll(keepingCapacity: true) }
    guard line.count >= 2, line[line.count - 2] == UInt8(ascii: "\r") else { throw .lineEnding }
    if line.count > 2 {
      try block.append(line: line[..<(line.count - 2)])
    } else {
      beginBody(try block.finish(), limit: message.limit, into: &events)
    }
    return start + taken
  }

  private mutating func beginBody(_ length: Int, limit: Int, into events: inout [InboundEvent]) {
    bodyLeft = length
    if length > limit {
      events.append(.oversized(limit: limit, sharesLine: false))
      phase = .discardedBody
    } else if length == 0 {
      events.append(.text(MessageBytes(ByteBuffer()), sharesLine: false))
      beginBlock()
    } else {
      phase = .body
      scan = .notBegun
    }
  }

  private mutating func readBody(
    _ chunk: MessageBytes, _ bytes: UnsafeRawBufferPointer, from start: Int, _ message: inout IncomingMessage,
    into events: inout [InboundEvent]
  ) -> Int {
    let end = start + min(bodyLeft, bytes.count - start)
    bodyLeft -= end - start
    message.grow(by: end - start)
    if phase == .body {
      if let violation = look(at: UnsafeRawBufferPointer(rebasing: bytes[start..<end]), &message) {
        events.append(violation)
        message.discard()
        phase = .discardedBody
      } else if bodyLeft > 0 {
        message.collect(chunk.window(start..<end))
      } else {
        events.append(.text(message.take(chunk.window(start..<end)), sharesLine: false))
      }
    }
    if bodyLeft == 0 { beginBlock() }
    return end
  }

  /// Scans the next bytes of a body, so that the parser never sees one that is malformed or has too many values: what
  /// to report of such a one.
  private mutating func look(at bytes: UnsafeRawBufferPointer, _ message: inout IncomingMessage) -> InboundEvent? {
    var start = 0
    if scan == .notBegun {
      guard let first = bytes.firstIndex(where: { !ASCII.isJSONSpace($0) }) else { return nil }
      start = first
      scan = bytes[first] == UInt8(ascii: "{") || bytes[first] == UInt8(ascii: "[") ? .insideText : .over
    }
    guard scan == .insideText else { return nil }
    switch message.scan(bytes, from: start) {
    case .incomplete: return nil
    case .complete:
      scan = .over
      return nil
    case .malformed(_, let defect): return .malformed(reason: defect.reason, sharesLine: false)
    case .tooManyValues: return .tooComplex(limit: message.values, sharesLine: false)
    }
  }

  private mutating func beginBlock() {
    phase = .block
    block = HeaderBlock()
    blockLength = 0
  }
}
