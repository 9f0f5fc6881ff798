@testable import LocalServer

/// Feeds a framer and writes down what comes out, one short line per event.
enum FramerRun {
  static func events(
    _ pieces: [[UInt8]], messageBytes: Int = 1 << 20, depth: Int = 128, values: Int = 1 << 20, end: Bool = true
  ) -> [String] {
    var framer = InboundFramer(messageBytes: messageBytes, depth: depth, values: values)
    var events: [InboundEvent] = []
    for piece in pieces { framer.receive(MessageBytes(piece), into: &events) }
    if end { framer.end(into: &events) }
    return events.map(line)
  }

  static func events(
    _ text: String, messageBytes: Int = 1 << 20, depth: Int = 128, values: Int = 1 << 20, end: Bool = true
  ) -> [String] {
    events([Array(text.utf8)], messageBytes: messageBytes, depth: depth, values: values, end: end)
  }

  /// `=` a text, `+` when it shares its line with the one before.
  static func line(_ event: InboundEvent) -> String {
    switch event {
    case .text(let bytes, let shares): (shares ? "+=" : "=") + String(decoding: bytes.bytes, as: UTF8.self)
    case .malformed(let reason, let shares): (shares ? "+" : "") + "malformed: \(reason)"
    case .oversized(let limit, let shares): (shares ? "+" : "") + "oversized: \(limit)"
    case .tooComplex(let limit, let shares): (shares ? "+" : "") + "too complex: \(limit)"
    case .crowded(let limit): "crowded: \(limit)"
    case .violation(let reason): "violation: \(reason)"
    }
  }
}
