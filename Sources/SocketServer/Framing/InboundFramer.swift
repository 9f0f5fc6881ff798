import NIOCore

/// One connection's framing: the first non-blank byte decides it, for good.
struct InboundFramer: Sendable {
  /// The framing that the first byte selected; nil before it, and when it was unusable.
  private(set) var framing: Framing?
  private var stream: StreamFramer
  private var headers: HeaderFramer
  private var hasRejectedFirstByte = false

  /// A framer for messages of at most `messageBytes` bytes, `depth` open brackets and `values` JSON values.
  init(messageBytes: Int, depth: Int, values: Int = .max) {
    stream = StreamFramer(limit: messageBytes, depth: depth, values: values)
    headers = HeaderFramer(limit: messageBytes, depth: depth, values: values)
  }

  /// The most bytes a message may have from now on.
  var messageBytes: Int {
    get { stream.limit }
    set {
      stream.limit = newValue
      headers.limit = newValue
    }
  }

  /// Whether a message has begun and not ended: what the stall time applies to.
  var isMidMessage: Bool {
    switch framing {
    case .stream: stream.isMidMessage
    case .headers: headers.isMidMessage
    case nil: hasRejectedFirstByte
    }
  }

  /// The number of the current message, counted from 1.
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

  /// How many bytes of it are kept.
  var collectedBytes: Int {
    switch framing {
    case .stream: stream.collectedBytes
    case .headers: headers.collectedBytes
    case nil: 0
    }
  }

  /// Gives up the current message, and all that comes after it.
  mutating func abandon() {
    var ignored: [InboundEvent] = []
    end(into: &ignored)
  }

  /// Takes bytes and appends what they complete, until there are `limit` events; how many it has taken.
  @discardableResult
  mutating func receive(_ chunk: MessageBytes, into events: inout [InboundEvent], upTo limit: Int = .max) -> Int {
    switch framing {
    case .stream: return stream.receive(chunk, into: &events, upTo: limit)
    case .headers: return headers.receive(chunk, into: &events, upTo: limit)
    case nil:
      guard !hasRejectedFirstByte, let first = Self.firstNonBlank(chunk) else { return chunk.count }
      switch first.byte {
      case UInt8(ascii: "{"), UInt8(ascii: "["): framing = .stream
      case UInt8(ascii: "C"), UInt8(ascii: "c"): framing = .headers
      default:
        hasRejectedFirstByte = true
        events.append(
          .violation(reason: "the first byte is neither { or [ (JSON texts) nor C (Content-Length headers)"))
        return chunk.count
      }
      let rest = MessageBytes(chunk.window(first.index..<chunk.count))
      return first.index + receive(rest, into: &events, upTo: limit)
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
