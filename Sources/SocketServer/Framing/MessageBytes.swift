import NIOCore

/// The bytes of one message, read in place.
///
/// A small message is a window into the buffer that the read filled (up to 64 KiB), which stays alive as long as this
/// value does: parse it and let it go, or keep a copy.
public struct MessageBytes: Sendable, Hashable {
  let buffer: ByteBuffer

  init(_ buffer: ByteBuffer) { self.buffer = buffer }

  /// A copy of `bytes`.
  public init(_ bytes: some Sequence<UInt8>) { buffer = ByteBuffer(bytes: bytes) }

  /// How many bytes there are.
  public var count: Int { buffer.readableBytes }

  /// Runs `body` over the bytes; the pointer is good until it returns.
  @inlinable
  public func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // Inlined into the caller, so that only the plain call below crosses the module: this runs once per message.
    var outcome: Swift.Result<Result, Failure>?
    withPointer { pointer in
      do throws(Failure) {
        outcome = .success(try body(pointer))
      } catch {
        outcome = .failure(error)
      }
    }
    guard let outcome else { preconditionFailure("withPointer calls its body exactly once") }
    return try outcome.get()
  }

  @usableFromInline
  func withPointer(_ body: (UnsafeRawBufferPointer) -> Void) { buffer.withUnsafeReadableBytes(body) }

  /// A copy of the bytes.
  public var bytes: [UInt8] { Array(buffer.readableBytesView) }

  /// The bytes of `range`, counted from the start of this message, without a copy.
  func window(_ range: Range<Int>) -> ByteBuffer {
    buffer.getSlice(at: buffer.readerIndex + range.lowerBound, length: range.count) ?? ByteBuffer()
  }
}
