import NIOCore

/// One connection's framing: the first non-blank byte decides it, for good.
struct InboundFramer: Sendable {
  /// What the first byte said; nil before it, and when it was unusable.
  private(set) var framing: Framing?
  private var stream: StreamFramer
  private var headers: HeaderFramer
  private var hasRefusedFirstByte = false

  /// A framer for messages of at most `messageBytes` bytes; `depth` bounds the open brackets in stream framing (a body
  /// in header framing is not scanned: its parser bounds them).
  init(messageBytes: Int, depth: Int) {
    stream = StreamFramer(limit: messageBytes, depth: depth)
    headers = HeaderFramer(limit: messageBytes)
  }

  /// Whether a message has begun and not ended: what the stall time applies to.
  var isMidMessage: Bool {
    switch framing {
    case .stream: stream.isMidMessage
    case .headers: headers.isMidMessage
    case nil: hasRefusedFirstByte
    }
  }

  /// Which message is at hand, counted from 1.
  var messageOrdinal: Int {
    switch framing {
    case .stream: stream.messageOrdinal
    case .headers: headers.messageOrdinal
    case nil: 0
    }
  }

  /// How many bytes of it have come.
  var messageLength: Int {
    switch framing {
    case .stream: stream.messageLength
    case .headers: headers.messageLength
    case nil: 0
    }
  }

  /// Takes the bytes of one read and appends what they complete.
  mutating func receive(_ chunk: MessageBytes, into events: inout [InboundEvent]) {
    switch framing {
    case .stream: stream.receive(chunk, into: &events)
    case .headers: headers.receive(chunk, into: &events)
    case nil:
      guard !hasRefusedFirstByte, let first = Self.firstNonBlank(chunk) else { return }
      switch first.byte {
      case UInt8(ascii: "{"), UInt8(ascii: "["): framing = .stream
      case UInt8(ascii: "C"), UInt8(ascii: "c"): framing = .headers
      default:
        hasRefusedFirstByte = true
        events.append(
          .violation(reason: "the first byte is neither { or [ (JSON texts) nor C (Content-Length headers)"))
        return
      }
      receive(MessageBytes(chunk.window(first.index..<chunk.count)), into: &events)
    }
  }

  /// The peer has half-closed; appends what a message cut off comes to.
  mutating func end(into events: inout [InboundEvent]) {
    switch framing {
    case .stream: stream.end(into: &events)
    case .headers: headers.end(into: &events)
    case nil: break
    }
  }

  private static func firstNonBlank(_ chunk: MessageBytes) -> (index: Int, byte: UInt8)? {
    chunk.buffer.withUnsafeReadableBytes { bytes in
      let index = bytes.firstIndex { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
      return index.map { ($0, bytes[$0]) }
    }
  }
}
