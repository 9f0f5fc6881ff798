import NIOCore

/// A body of any length made in chunks: byte `i` is `i mod 251`, so that a receiver can tell loss, doubling and
/// disorder.
struct BytePattern: IteratorProtocol {
  private static let period = 251
  private static let block = ByteBuffer(bytes: (0..<period * 257).map { UInt8(truncatingIfNeeded: $0 % period) })

  private var rest: Int

  /// A pattern of `length` bytes.
  init(length: Int) { rest = length }

  /// The next chunk, at most 64 KiB; whole periods, so that each chunk starts like the first.
  mutating func next() -> ByteBuffer? {
    guard rest > 0 else { return nil }
    let size = min(rest, Self.block.readableBytes)
    rest -= size
    return Self.block.getSlice(at: Self.block.readerIndex, length: size)
  }
}
