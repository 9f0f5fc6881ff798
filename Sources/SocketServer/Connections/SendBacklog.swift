import CPosternLinux
import Glibc
import NIOCore
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
    for piece in more where piece.bytes.readableBytes > 0 {
      pieces.append(piece)
      bytes += piece.bytes.readableBytes
    }
    if bytes > Self.highWaterMark { isWritable = false }
  }

  /// Writes what the kernel takes; 0, or the error number of a failure.
  mutating func write(to descriptor: CInt) -> CInt {
    var written = 0
    while next < pieces.count, written < Self.bytesPerIteration {
      let sent = Self.send(&pieces[next], to: descriptor)
      guard sent >= 0 else {
        let code = CInt(-sent)
        if code == EAGAIN || code == EWOULDBLOCK { break }
        return code
      }
      (written, bytes) = (written + sent, bytes - sent)
      guard pieces[next].bytes.readableBytes == 0 else { break }
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
      sent = buffer.withUnsafeReadableBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, flags) }
    } while sent < 0 && errno == EINTR
    return sent
  }

  /// One send of what is left of a piece, which loses what was sent: the number of bytes, or the negative error number.
  static func send(_ piece: inout OutboundPiece, to descriptor: CInt) -> Int {
    let sent =
      piece.descriptors.isEmpty
      ? send(piece.bytes, to: descriptor) : send(piece.bytes, passing: piece.descriptors, to: descriptor)
    guard sent >= 0 else {
      let code = piece.descriptors.isEmpty ? Int(errno) : -sent
      // Too many descriptors are on their way in sockets that are not read (unix(7)): the message goes without one.
      guard code == Int(ETOOMANYREFS), !piece.descriptors.isEmpty else { return -code }
      piece.descriptors = []
      return send(&piece, to: descriptor)
    }
    piece.bytes.moveReaderIndex(forwardBy: sent)
    if sent > 0, !piece.descriptors.isEmpty { piece.descriptors = [] }
    return sent
  }

  private static func send(_ buffer: ByteBuffer, passing descriptors: [PassedDescriptor], to socket: CInt) -> Int {
    let numbers = descriptors.map(\.number)
    return withExtendedLifetime(descriptors) {
      buffer.withUnsafeReadableBytes { clinux_send(socket, $0.baseAddress, $0.count, numbers, CInt(numbers.count)) }
    }
  }
}
