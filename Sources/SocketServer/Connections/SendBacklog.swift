import Glibc
import NIOCore

/// The bytes of one connection that the kernel does not take yet.
struct SendBacklog {
  /// No SIGPIPE for a peer that is gone, and never blocking.
  private static let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
  /// How many bytes one iteration writes at most: a peer that reads fast would keep the loop busy with all of them.
  private static let bytesPerIteration = 256 << 10
  /// Over this many bytes a peer counts as not reading, until there are only `lowWaterMark` left.
  static let highWaterMark = 1 << 20
  private static let lowWaterMark = 1 << 16

  private var buffers: [ByteBuffer] = []
  private var next = 0
  /// How many bytes there are.
  private(set) var bytes = 0
  /// Whether that is little.
  private(set) var isWritable = true

  var isEmpty: Bool { bytes == 0 }

  /// Takes more.
  mutating func append(_ more: [ByteBuffer]) {
    for buffer in more where buffer.readableBytes > 0 {
      buffers.append(buffer)
      bytes += buffer.readableBytes
    }
    if bytes > Self.highWaterMark { isWritable = false }
  }

  /// Writes what the kernel takes; 0, or the error number of a failure.
  mutating func write(to descriptor: CInt) -> CInt {
    var written = 0
    while next < buffers.count, written < Self.bytesPerIteration {
      let sent = Self.send(buffers[next], to: descriptor)
      guard sent >= 0 else {
        if errno == EAGAIN || errno == EWOULDBLOCK { break }
        return errno
      }
      (written, bytes) = (written + sent, bytes - sent)
      guard sent == buffers[next].readableBytes else {
        buffers[next].moveReaderIndex(forwardBy: sent)
        break
      }
      // Its memory goes now.
      buffers[next] = ByteBuffer()
      next += 1
    }
    if next == buffers.count {
      (buffers, next) = ([], 0)
    } else if next >= 64, next * 2 >= buffers.count {
      // A peer that always lags a little never empties it.
      buffers.removeFirst(next)
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
}
