import CPosternLinux
import Glibc
import PosternSupport

/// The bytes of one connection that the kernel does not take yet.
struct SendBacklog {
  /// No SIGPIPE for a peer that is gone, and never blocking.
  private static let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
  /// How many bytes one iteration writes at most: a peer that reads fast would keep the loop busy with all of them.
  private static let bytesPerIteration = 256 << 10
  /// Over this many bytes a peer counts as not reading, until there are only `lowWaterMark` left.
  static let highWaterMark = 1 << 20
  private static let lowWaterMark = 1 << 16

  private var pieces: [OutboundPiece] = []
  private var next = 0
  /// How many bytes there are.
  private(set) var bytes = 0
  /// Whether that is little.
  private(set) var isWritable = true

  var isEmpty: Bool { bytes == 0 }

  /// Takes more.
  mutating func append(_ more: [OutboundPiece]) {
    for piece in more where piece.bytes.count > 0 {
      pieces.append(piece)
      bytes += piece.bytes.count
    }
    if bytes > Self.highWaterMark { isWritable = false }
  }

  /// Writes what the kernel takes; 0, or the error number of a failure.
  mutating func write(to descriptor: CInt, _ reader: SocketReader) -> CInt {
    var written = 0
    while next < pieces.count, written < Self.bytesPerIteration {
      let waiting = pieces[next].bytes.count
      let sent = Self.send(&pieces[next], to: descriptor, reader)
      // Another message may be in the piece now.
      bytes += pieces[next].bytes.count - waiting
      guard sent >= 0 else {
        let code = CInt(-sent)
        if code == EAGAIN || code == EWOULDBLOCK { break }
        return code
      }
      written += sent
      guard pieces[next].bytes.count == 0 else { break }
      // Its memory goes now.
      pieces[next].bytes = ByteBuffer()
      next += 1
    }
    if next == pieces.count {
      (pieces, next) = ([], 0)
    } else if next >= 64, next * 2 >= pieces.count {
      // A peer that always lags a little never empties it.
      pieces.removeFirst(next)
      next = 0
    }
    if bytes <= Self.lowWaterMark { isWritable = true }
    return 0
  }

  /// One `send`: the number of bytes, or -1 with `errno`.
  static func send(_ buffer: ByteBuffer, to descriptor: CInt) -> Int {
    var sent = -1
    repeat {
      sent = buffer.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, flags) }
    } while sent < 0 && errno == EINTR
    return sent
  }

  /// One send of what is left of a piece, which loses what was sent: the number of bytes, or the negative error number.
  static func send(_ piece: inout OutboundPiece, to descriptor: CInt, _ reader: SocketReader) -> Int {
    guard piece.failure == 0 else { return -Int(piece.failure) }
    let sent = piece.passing.map { pass($0, with: piece.bytes, over: descriptor, reader) }
    let count = sent ?? send(piece.bytes, to: descriptor)
    guard count >= 0 else {
      guard let sent, let passing = piece.passing else { return -Int(errno) }
      // A matter of time, or the peer is gone.
      guard ![EAGAIN, EWOULDBLOCK, EPIPE, ECONNRESET].contains(CInt(-sent)) else { return sent }
      // Nothing of it was sent: another message goes instead.
      piece.passing = nil
      guard let other = passing.otherwise() else {
        piece.failure = CInt(-sent)
        return sent
      }
      piece.bytes = other
      return send(&piece, to: descriptor, reader)
    }
    piece.bytes.removeFirst(count)
    if count > 0 { piece.passing = nil }
    return count
  }

  private static func pass(
    _ passing: OutboundPiece.Passing, with buffer: ByteBuffer, over socket: CInt, _ reader: SocketReader
  ) -> Int {
    guard let sent = reader.sent else { return -Int(EOPNOTSUPP) }
    return buffer.withUnsafeBytes { sent.pass(passing.descriptors, with: $0, of: reader.uid, over: socket) }
  }
}
