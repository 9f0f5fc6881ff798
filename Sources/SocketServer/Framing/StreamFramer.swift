import Glibc
import NIOCore

/// Cuts a stream of JSON texts apart: white space between them or none, each scanned once, buffered only when it spans
/// reads, and never beyond the limit.
struct StreamFramer: Sendable {
  private enum Phase {
    case between
    case text
    /// In a text that is over a limit: scanned to its end, not kept.
    case discardedText
    /// Behind a malformed text, up to the next line feed.
    case skipping
  }

  /// The most bytes a text may have. What holds for a text is the value at its last byte.
  var limit: Int
  private let values: Int
  private var scanner: JSONTextScanner
  private var phase = Phase.between
  /// Whether there was a line feed since the end of the last text.
  private var isOnNewLine = true
  private var textSharesLine = false
  /// The text's bytes from earlier reads.
  private var collected = ByteBuffer()

  /// How many texts have begun: distinguishes one unfinished message from the next.
  private(set) var messageOrdinal = 0
  /// How many bytes of the current text came in earlier reads.
  private(set) var messageLength = 0

  /// A framer for texts of at most `limit` bytes, `depth` open brackets and `values` values.
  init(limit: Int, depth: Int, values: Int = .max) {
    self.limit = limit
    self.values = values
    scanner = JSONTextScanner(maximumDepth: depth, maximumValues: values)
  }

  /// Whether a text has begun and not ended. Skipping to a line feed is not a message: its error is already out.
  var isMidMessage: Bool { phase == .text || phase == .discardedText }

  /// How many bytes of the current message are kept.
  var collectedBytes: Int { collected.readableBytes }

  /// Takes bytes and appends what they complete, until there are `limit` events; how many it has taken.
  @discardableResult
  mutating func receive(_ chunk: MessageBytes, into events: inout [InboundEvent], upTo limit: Int = .max) -> Int {
    chunk.buffer.withUnsafeReadableBytes { bytes in
      var index = 0
      while index < bytes.count, events.count < limit {
        switch phase {
        case .between: index = start(bytes, at: index, into: &events)
        case .text, .discardedText: index = advance(chunk, bytes, from: index, into: &events)
        case .skipping: index = skip(bytes, from: index)
        }
      }
      return index
    }
  }

  /// The peer has half-closed: a text that has begun is cut off.
  mutating func end(into events: inout [InboundEvent]) {
    if phase == .text {
      events.append(.malformed(reason: JSONDefect.cutOff.reason, sharesLine: textSharesLine))
    }
    collected = ByteBuffer()
    phase = .skipping
  }

  private mutating func start(
    _ bytes: UnsafeRawBufferPointer, at index: Int, into events: inout [InboundEvent]
  ) -> Int {
    switch bytes[index] {
    case UInt8(ascii: "\n"): isOnNewLine = true
    case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): break
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      textSharesLine = !isOnNewLine
      messageOrdinal &+= 1
      messageLength = 0
      scanner.reset()
      phase = .text
      return index
    default:
      events.append(.malformed(reason: JSONDefect.textExpected.reason, sharesLine: !isOnNewLine))
      phase = .skipping
      return index
    }
    return index + 1
  }

  private mutating func advance(
    _ chunk: MessageBytes, _ bytes: UnsafeRawBufferPointer, from start: Int, into events: inout [InboundEvent]
  ) -> Int {
    switch scanner.scan(bytes, from: start) {
    case .incomplete:
      messageLength += bytes.count - start
      if phase == .text {
        if messageLength > limit {
          discardOversized(into: &events)
        } else {
          collected.writeImmutableBuffer(chunk.window(start..<bytes.count))
        }
      }
      return bytes.count

    case .complete(let end):
      messageLength += end - start
      if phase == .text {
        if messageLength > limit {
          discardOversized(into: &events)
        } else {
          events.append(.text(take(chunk.window(start..<end)), sharesLine: textSharesLine))
        }
      }
      isOnNewLine = false
      phase = .between
      return end

    case .malformed(let offender, let defect):
      messageLength += offender - start
      if phase == .text {
        // Already too large before the wrong byte: the same event as when the bytes come one by one.
        if messageLength > limit {
          discardOversized(into: &events)
        } else {
          events.append(.malformed(reason: defect.reason, sharesLine: textSharesLine))
          collected = ByteBuffer()
        }
      }
      phase = .skipping
      return offender

    case .tooManyValues(let next):
      messageLength += next - start
      if phase == .text {
        discard(
          messageLength > limit
            ? .oversized(limit: limit, sharesLine: textSharesLine)
            : .tooComplex(limit: values, sharesLine: textSharesLine),
          into: &events)
      }
      return next
    }
  }

  private mutating func discardOversized(into events: inout [InboundEvent]) {
    discard(.oversized(limit: limit, sharesLine: textSharesLine), into: &events)
  }

  private mutating func discard(_ event: InboundEvent, into events: inout [InboundEvent]) {
    events.append(event)
    collected = ByteBuffer()
    phase = .discardedText
  }

  private mutating func take(_ last: ByteBuffer) -> MessageBytes {
    guard collected.readableBytes > 0 else { return MessageBytes(last) }
    collected.writeImmutableBuffer(last)
    defer { collected = ByteBuffer() }
    return MessageBytes(collected)
  }

  private mutating func skip(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
    guard let base = bytes.baseAddress, let found = memchr(base + start, 0x0A, bytes.count - start) else {
      return bytes.count
    }
    isOnNewLine = true
    phase = .between
    return UnsafeRawPointer(found) - base + 1
  }
}
