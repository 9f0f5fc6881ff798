import CPosternLinux
import Glibc
public import PosternSupport

/// Writes a body to a passed descriptor, no faster than it takes it, whatever its file status flags are: those are the
/// caller's.
public final class BodyWriter: Sendable {
  private struct State {
    var bytes: Int64 = 0
    var failure: DescriptorError?
  }

  private let sink: Sink
  private let thread: BodyThread
  private let state = Locked(State())

  /// A writer of `descriptor`, whose reader may take no byte for `patience`.
  ///
  /// - Throws: when nothing can be written to it.
  public init(_ descriptor: PassedDescriptor, patience: Duration) async throws(DescriptorError) {
    thread = BodyThread(patience: patience)
    sink = try await thread.result { _ in Sink.make(descriptor) }.get()
  }

  /// How many bytes it has written.
  public var bytes: Int64 { state.withLock { $0.bytes } }

  /// Why it wrote no more; nil: nothing was wrong.
  public var failure: DescriptorError? { state.withLock { $0.failure } }

  /// Writes all of `bytes`; false when that failed, or the calling task was cancelled. One call at a time.
  @Sendable public func write(_ bytes: [UInt8]) async -> Bool {
    do throws(DescriptorError) {
      let count = try await thread.result { [sink] in sink.write(bytes, on: $0) }
      state.withLock { $0.bytes += Int64(count.written) }
      guard let failure = count.failure else { return count.written == bytes.count }
      throw failure
    } catch {
      state.withLock { $0.failure = Task.isCancelled ? nil : error }
      return false
    }
  }
}

/// A descriptor that a body is written to. On the body's thread.
private struct Sink: Sendable {
  let descriptor: PassedDescriptor
  let kind: PassedDescriptor.Kind
  let pipe: OwnPipe?

  static func make(_ descriptor: PassedDescriptor) -> Result<Sink, DescriptorError> {
    let kind = descriptor.kind
    guard kind != .other else { return .failure(.wrongKind) }
    guard descriptor.isWritable else {
      return .failure(.unusable("the descriptor is not open for writing"))
    }
    return Result { () throws(DescriptorError) in
      Sink(descriptor: descriptor, kind: kind, pipe: kind == .pipe ? try OwnPipe() : nil)
    }
  }

  /// Writes all of `bytes`, or up to a failure, or to the end of the body.
  func write(_ bytes: [UInt8], on thread: BodyThread.Core) -> (written: Int, failure: DescriptorError?) {
    var written = 0
    while written < bytes.count {
      let count = writeSome(bytes, from: written)
      if count > 0 {
        written += count
        thread.moved()
        continue
      }
      switch CInt(-count) {
      case EAGAIN:
        guard kind != .file, kind != .memoryFile else { return (written, .failed(errno: EAGAIN)) }
        guard thread.wait(for: descriptor, isWriting: true) else { return (written, nil) }
      case EPIPE, ECONNRESET, ENOTCONN: return (written, .readerGone)
      case 0: return (written, .failed(errno: EIO))
      default: return (written, .failed(errno: CInt(-count)))
      }
    }
    return (written, nil)
  }

  /// One write: the number of bytes, or the negative error number.
  private func writeSome(_ bytes: [UInt8], from start: Int) -> Int {
    if let pipe { return pipe.write(bytes, from: start, to: descriptor) }
    return bytes.withUnsafeBytes { bytes in
      let rest = bytes.baseAddress.map { $0 + start }
      if kind == .socket { return clinux_socket_write(descriptor.number, rest, bytes.count - start) }
      var count = 0
      repeat { count = Glibc.write(descriptor.number, rest, bytes.count - start) } while count < 0 && errno == EINTR
      return count < 0 ? -Int(errno) : count
    }
  }
}
