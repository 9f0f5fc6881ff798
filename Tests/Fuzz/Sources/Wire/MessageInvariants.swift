import PosternJSON

/// The invariants of everything that a caller can write to the socket.
public enum MessageInvariants {
  private static let maxBytes = 400
  private static let maxDepth = 6
  private static let maxValues = 24
  private static let limits = ConversationLimits(batch: 4)

  /// Checks an input: its first byte is the size of the pieces in which the others arrive. Returns how many of its
  /// messages are JSON.
  public static func check(_ input: [UInt8]) throws -> Int {
    guard let first = input.first else { return 0 }
    let stream = Array(input.dropFirst())
    let size = Int(first % 16) + 1
    let pieces = stride(from: 0, to: stream.count, by: size).map { Array(stream[$0..<min($0 + size, stream.count)]) }
    let events = events([stream])
    try demand(events == Self.events(pieces), "other messages when the same bytes arrive in pieces")
    // The outline is the first that reads these bytes.
    stream.withUnsafeBytes { _ = EnvelopeOutline($0, limits: limits) }
    var count = 0
    for case .text(let text, _) in events where try check(text.bytes) { count += 1 }
    return count
  }

  private static func events(_ pieces: [[UInt8]]) -> [InboundEvent] {
    var framer = InboundFramer(messageBytes: maxBytes, depth: maxDepth, values: maxValues)
    var events: [InboundEvent] = []
    for piece in pieces { framer.receive(MessageBytes(piece), into: &events) }
    framer.end(into: &events)
    return events
  }

  /// Whether the message is JSON.
  private static func check(_ text: [UInt8]) throws -> Bool {
    try demand(text.count <= maxBytes, "a message over the limit")
    guard let value = try? JSONParser(allowsNUL: true, allowsScalar: true).parse(text) else { return false }
    let size = size(of: value)
    try demand(size.values <= maxValues, "\(size.values) values reached the parser")
    try demand(size.depth <= maxDepth, "\(size.depth) levels reached the parser")
    let written = JSONWriter().write(value)
    let reader = JSONParser(allowsNUL: true, allowsScalar: true)
    try demand((try? reader.parse(written)) == value, "written JSON reads as something else")
    try checkOutline(of: text, value)
    return true
  }

  /// A call is rejected by its outline alone, so it must be the call that is in the message.
  private static func checkOutline(of text: [UInt8], _ value: JSONValue) throws {
    guard let outline = text.withUnsafeBytes({ EnvelopeOutline($0, limits: limits) }) else { return }
    let requests = value.arrayValue ?? [value]
    try demand(requests.count <= limits.batch, "the outline of a batch that is too large")
    try demand(
      outline.methods == requests.map { $0.objectValue?["method"]?.stringValue }, "the outline has other methods")
    try demand((outline.json.arrayValue ?? [outline.json]) == requests.map(withoutParams), "the outline is another one")
  }

  private static func withoutParams(_ request: JSONValue) -> JSONValue {
    guard var object = request.objectValue, object["params"] != nil else { return request }
    object["params"] = .null
    return .object(object)
  }

  private static func size(of value: JSONValue) -> (values: Int, depth: Int) {
    let inner = value.arrayValue ?? value.objectValue?.members.map(\.value)
    guard let inner else { return (1, 0) }
    let sizes = inner.map(size)
    return (sizes.reduce(1) { $0 + $1.values }, 1 + (sizes.map(\.depth).max() ?? 0))
  }
}
