import PosternSupport

/// Framed bytes that are written together.
struct OutboundPiece {
  var bytes: ByteBuffer
  /// The descriptors that go with the first byte; nil when they are sent.
  var passing: Passing?
  /// The error number by which it failed for good.
  var failure: CInt = 0

  /// Descriptors that go with a message, which is one piece then.
  struct Passing {
    /// Closed here when the first byte is sent, or the connection is gone.
    let descriptors: [PassedDescriptor]
    /// The message in place of this one where they cannot be passed; nil: the connection has to go. Called once.
    let otherwise: @Sendable () -> ByteBuffer?
  }
}

/// The messages of one connection that wait to be written, framed: small ones in one buffer, long ones in pieces.
struct OutboundMessages {
  /// The most that one message may have.
  static let maximumMessage = 1 << 30

  /// The most bytes of a message that are kept in one buffer: the memory of each is freed by itself.
  static let pieceBytes = 256 << 10

  /// The framing that messages go out in.
  var framing = Framing.stream
  /// Framed bytes; `pieces` come before them.
  private(set) var buffer = ByteBuffer()
  /// Long messages, and what was sent before them.
  private var pieces: [OutboundPiece] = []
  private var bytesInPieces = 0

  /// How many bytes wait.
  var byteCount: Int { bytesInPieces + buffer.count }

  /// Frames `message` and takes it; false when it is too long.
  mutating func append(_ message: UnsafeRawBufferPointer) -> Bool {
    guard message.count <= Self.maximumMessage, buffer.count <= Self.maximumMessage else { return false }
    switch framing {
    case .stream:
      buffer.append(message, endingWith: UInt8(ascii: "\n"))
    case .headers: frame(message)
    }
    return true
  }

  /// Frames `bytes` with more header fields, each line with its end, and takes them; false when they are too long.
  mutating func append(_ bytes: UnsafeRawBufferPointer, fields: String) -> Bool {
    guard bytes.count <= Self.maximumMessage, buffer.count <= Self.maximumMessage else { return false }
    frame(bytes, fields: fields)
    return true
  }

  private mutating func frame(_ bytes: UnsafeRawBufferPointer, fields: String = "") {
    buffer.reserve(bytes.count + fields.utf8.count + 40)
    buffer.append("Content-Length: ".utf8)
    buffer.append(String(bytes.count).utf8)
    buffer.append("\r\n".utf8)
    buffer.append(fields.utf8)
    buffer.append("\r\n".utf8)
    buffer.append(bytes)
  }

  /// Takes a message that was framed before, in one piece where descriptors go with it. False when it is too long.
  mutating func append(_ message: [ByteBuffer], passing: OutboundPiece.Passing? = nil) -> Bool {
    let count = message.reduce(0) { $0 + $1.count }
    // Of one that is too long for a piece nothing is left.
    guard count <= Self.maximumMessage, passing == nil || count > 0 else { return false }
    if buffer.count > 0 {
      pieces.append(OutboundPiece(bytes: buffer))
      bytesInPieces += buffer.count
      buffer = ByteBuffer()
    }
    let first = pieces.count
    pieces += message.map { OutboundPiece(bytes: $0) }
    if passing != nil, first < pieces.count { pieces[first].passing = passing }
    bytesInPieces += count
    return true
  }

  /// Hands over what waits: the pieces, and behind them what is in `taken` afterwards. What was in it is used again.
  mutating func take(_ taken: inout ByteBuffer) -> [OutboundPiece] {
    swap(&buffer, &taken)
    defer { (pieces, bytesInPieces) = ([], 0) }
    return pieces
  }

  /// Drops what waits.
  mutating func removeAll() {
    buffer = ByteBuffer()
    (pieces, bytesInPieces) = ([], 0)
  }

  /// `message` framed, in one piece.
  static func whole(_ message: UnsafeRawBufferPointer, framing: Framing) -> ByteBuffer {
    var messages = OutboundMessages()
    messages.framing = framing
    _ = messages.append(message)
    return messages.buffer
  }

  /// `message` framed, in pieces.
  static func pieces(of message: UnsafeRawBufferPointer, framing: Framing) -> [ByteBuffer] {
    var pieces: [ByteBuffer] = []
    if framing == .headers { pieces.append(ByteBuffer("Content-Length: \(message.count)\r\n\r\n".utf8)) }
    var start = 0
    while start < message.count {
      let end = min(start + pieceBytes, message.count)
      var piece = ByteBuffer()
      piece.reserve(end - start)
      piece.append(UnsafeRawBufferPointer(rebasing: message[start..<end]))
      pieces.append(piece)
      start = end
    }
    if framing == .stream { pieces.append(ByteBuffer("\n".utf8)) }
    return pieces
  }
}
