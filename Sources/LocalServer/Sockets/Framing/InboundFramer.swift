import HTTPMessages

/// One connection's framing: the first non-blank byte decides it, for good.
package struct InboundFramer: Sendable {
  /// The framing that the first byte selected; nil before it, and when it was unusable.
  private(set) var framing: Framing?
  /// The message that is being received.
  private(set) var message: IncomingMessage
  private var stream = StreamFramer()
  private var headers = HeaderFramer()
  private var hasRejectedFirstByte = false
  /// The most bytes that the server allows a message.
  private let messageBytes: Int

  /// A framer for messages of at most `messageBytes` bytes, `depth` open brackets and `values` JSON values.
  package init(messageBytes: Int, depth: Int, values: Int = .max) {
    self.messageBytes = messageBytes
    message = IncomingMessage(limit: messageBytes, depth: depth, values: values)
  }

  /// Sets the most bytes that a message may have from now on; nil: as many as the server allows.
  package mutating func limitMessages(to bytes: Int?) { message.limit = min(messageBytes, bytes ?? messageBytes) }

  /// Whether a message has begun and not ended: what the stall time applies to.
  var isMidMessage: Bool {
    switch framing {
    case .stream: stream.isMidMessage
    case .headers: headers.isMidMessage
    case nil: hasRejectedFirstByte
    }
  }

  /// Gives up the current message, and all that comes after it.
  mutating func abandon() {
    var ignored: [InboundEvent] = []
    end(into: &ignored)
  }

  /// Takes bytes and appends what they complete, until there are `limit` events; how many it has taken.
  @discardableResult
  package mutating func receive(_ chunk: MessageBytes, into events: inout [InboundEvent], upTo limit: Int = .max) -> Int
  {
    switch framing {
    case .stream: return stream.receive(chunk, &message, into: &events, upTo: limit)
    case .headers: return headers.receive(chunk, &message, into: &events, upTo: limit)
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
  package mutating func end(into events: inout [InboundEvent]) {
    switch framing {
    case .stream: stream.end(&message, into: &events)
    case .headers: headers.end(&message, into: &events)
    case nil: break
    }
  }

  private static func firstNonBlank(_ chunk: MessageBytes) -> (index: Int, byte: UInt8)? {
    chunk.buffer.withUnsafeBytes { bytes in
      let index = bytes.firstIndex { !ASCII.isJSONSpace($0) }
      return index.map { ($0, bytes[$0]) }
    }
  }
}
