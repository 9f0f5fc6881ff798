import Glibc

/// Cuts a stream of JSON texts apart: white space between them or none, each scanned once, buffered only when it spans
/// reads, and never beyond the limit.
///
/// What holds for a text is the limit at its last byte.
struct StreamFramer: Sendable {
  private enum Phase {
    case between
    case text
    /// In a text that is over a limit: scanned to its end, not kept.
    case discardedText
    /// Behind a malformed text, up to the next line feed.
    case skipping
  }

  private var phase = Phase.between
  /// Whether there was a line feed since the end of the last text.
  private var isOnNewLine = true
  private var textSharesLine = false

  /// Whether a text has begun and not ended. Skipping to a line feed is not a message: its error is already out.
  var isMidMessage: Bool { phase == .text || phase == .discardedText }

  /// Takes bytes and appends what they complete, until there are `limit` events; how many it has taken.
  mutating func receive(
    _ chunk: MessageBytes, _ message: inout IncomingMessage, into events: inout [InboundEvent], upTo limit: Int
  ) -> Int {
    chunk.buffer.withUnsafeBytes { bytes in
      var index = 0
      while index < bytes.count, events.count < limit {
        switch phase {
        case .between: index = start(bytes, at: index, &message, into: &events)
        case .text, .discardedText: index = advance(chunk, bytes, from: index, &message, into: &events)
        case .skipping: index = skip(bytes, from: index)
        }
      }
      return index
    }
  }

  /// The peer has half-closed: a text that has begun is cut off.
  mutating func end(_ message: inout IncomingMessage, into events: inout [InboundEvent]) {
    if phase == .text {
      events.append(.malformed(reason: JSONDefect.cutOff.reason, sharesLine: textSharesLine))
    }
    message.discard()
    phase = .skipping
  }

  private mutating func start(
    _ bytes: UnsafeRawBufferPointer, at index: Int, _ message: inout IncomingMessage,
    into events: inout [InboundEvent]
  ) -> Int {
    switch bytes[index] {
    case UInt8(ascii: "\n"): isOnNewLine = true
    case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): break
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      textSharesLine = !isOnNewLine
      message.begin()
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
    _ chunk: MessageBytes, _ bytes: UnsafeRawBufferPointer, from start: Int, _ message: inout IncomingMessage,
    into events: inout [InboundEvent]
  ) -> Int {
    switch message.scan(bytes, from: start) {
    case .incomplete:
      message.grow(by: bytes.count - start)
      if isKept(&message, into: &events) { message.collect(chunk.window(start..<bytes.count)) }
      return bytes.count

    case .complete(let end):
      message.grow(by: end - start)
      if isKept(&message, into: &events) {
        events.append(.text(message.take(chunk.window(start..<end)), sharesLine: textSharesLine))
      }
      isOnNewLine = false
      phase = .between
      return end

    case .malformed(let offender, let defect):
      message.grow(by: offender - start)
      // Already too large before the wrong byte: the same event as when the bytes come one by one.
      if isKept(&message, into: &events) {
        discard(&message, .malformed(reason: defect.reason, sharesLine: textSharesLine), into: &events)
      }
      phase = .skipping
      return offender

    case .tooManyValues(let next):
      message.grow(by: next - start)
      if isKept(&message, into: &events) {
        discard(&message, .tooComplex(limit: message.values, sharesLine: textSharesLine), into: &events)
      }
      return next
    }
  }

  /// Whether the text is to be kept; one that is over the limit now is reported and discarded.
  private mutating func isKept(_ message: inout IncomingMessage, into events: inout [InboundEvent]) -> Bool {
    if phase == .text, message.length > message.limit {
      discard(&message, .oversized(limit: message.limit, sharesLine: textSharesLine), into: &events)
    }
    return phase == .text
  }

  private mutating func discard(
    _ message: inout IncomingMessage, _ event: InboundEvent, into events: inout [InboundEvent]
  ) {
    events.append(event)
    message.discard()
    phase = .discardedText
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
