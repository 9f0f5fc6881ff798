import CPosternZlib

/// One content coding, gzip or deflate, undone in small steps.
final class Inflation {
  /// The bytes cannot be decoded.
  struct Problem: Error {}

  /// The most that one step reads and produces: some hundred microseconds, of input that is costly to decode as well
  /// (many tables of codes, and nothing coded with them).
  static let inputPerStep = 4 << 10
  static let outputPerStep = 128 << 10

  /// zlib wants it to stay where it is.
  private let stream: UnsafeMutablePointer<z_stream>
  private var input: [UInt8] = []
  private var position = 0
  /// zlib has produced more than the buffer holds.
  private var hasMore = false
  /// `deflate` is zlib's format by its definition, and often comes without its frame (RFC 9110 section 8.4.1.2).
  private var mayLackFrame: Bool
  /// The coded bytes have come to their own end: nothing behind it is looked at.
  private(set) var isOver = false

  /// Nil for another coding, and without memory.
  init?(_ coding: String) {
    guard Self.knows(coding) else { return nil }
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    // 32: either frame, gzip's or zlib's.
    guard postern_zlib_inflate_start(stream, MAX_WBITS + 32) == Z_OK else {
      stream.deallocate()
      return nil
    }
    self.stream = stream
    mayLackFrame = coding == "deflate"
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  static func knows(_ coding: String) -> Bool { ["gzip", "x-gzip", "deflate"].contains(coding) }

  /// Whether a step has anything to do.
  var hasWork: Bool { !isOver && (hasMore || position < input.count) }

  /// The next bytes, when there is no more work with those before.
  func feed(_ bytes: [UInt8]) {
    input = bytes
    position = 0
  }

  /// Undoes a piece; what that is.
  func step() throws(Problem) -> [UInt8] {
    var (output, status) = run()
    if status == Z_DATA_ERROR, mayLackFrame {
      // Without a frame, then.
      guard inflateReset2(stream, -MAX_WBITS) == Z_OK else { throw Problem() }
      mayLackFrame = false
      position = 0
      (output, status) = run()
    }
    mayLackFrame = false
    // Z_BUF_ERROR: there was nothing to do after all.
    guard [Z_OK, Z_BUF_ERROR, Z_STREAM_END].contains(status) else { throw Problem() }
    isOver = status == Z_STREAM_END
    if !hasWork { input = [] }
    return output
  }

  private func run() -> ([UInt8], Int32) {
    let given = min(input.count - position, Self.inputPerStep)
    var status = Z_OK
    let output = [UInt8](unsafeUninitializedCapacity: Self.outputPerStep) { buffer, made in
      input.withUnsafeBufferPointer { bytes in
        // It is only read, despite its type.
        stream.pointee.next_in = bytes.baseAddress.map { UnsafeMutablePointer(mutating: $0 + position) }
        stream.pointee.avail_in = UInt32(given)
        stream.pointee.next_out = buffer.baseAddress
        stream.pointee.avail_out = UInt32(Self.outputPerStep)
        status = inflate(stream, Z_SYNC_FLUSH)
      }
      made = Self.outputPerStep - Int(stream.pointee.avail_out)
    }
    position += given - Int(stream.pointee.avail_in)
    hasMore = stream.pointee.avail_out == 0
    return (output, status)
  }
}
