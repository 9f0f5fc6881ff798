import CPosternLinux
import EventLoops
import Glibc
public import PosternSupport

/// Writes a body to a passed descriptor, no faster than it takes it.
///
/// Its file status flags are the caller's: pipes and sockets are written without blocking whatever they are, other
/// files by a thread of their own.
public final class BodyWriter: Sendable {
  private struct State {
    var bytes: Int64 = 0
    var failure: DescriptorError?
  }

  private let descriptor: PassedDescriptor
  private let kind: PassedDescriptor.Kind
  private let waits: DescriptorWaits
  /// How long the reader may take no byte.
  private let patience: Duration
  private let pipe: OwnPipe?
  private let thread = BlockingThread()
  private let state = Locked(State())

  /// A writer of `descriptor`.
  ///
  /// - Throws: when nothing can be written to it.
  public init(
    _ descriptor: PassedDescriptor, _ waits: DescriptorWaits, patience: Duration
  ) throws(DescriptorError) {
    kind = descriptor.kind
    guard kind != .other else {
      throw .unusable("the descriptor is no pipe, connected stream socket, file or character device")
    }
    guard descriptor.isWritable else { throw .unusable("the descriptor is not open for writing") }
    self.descriptor = descriptor
    self.waits = waits
    self.patience = patience
    pipe = kind == .pipe ? try OwnPipe() : nil
  }

  /// How many bytes it has written.
  public var bytes: Int64 { state.withLock { $0.bytes } }

  /// Why it wrote no more; nil: nothing was wrong.
  public var failure: DescriptorError? { state.withLock { $0.failure } }

  /// Writes all of `bytes`; false when that failed, or the calling task was cancelled. One call at a time.
  @Sendable public func write(_ bytes: [UInt8]) async -> Bool {
    do throws(DescriptorError) {
      var written = 0
      while written < bytes.count {
        guard let count = try await writeSome(bytes, from: written) else { return false }
        written += count
        state.withLock { $0.bytes += Int64(count) }
      }
      return true
    } catch {
      state.withLock { $0.failure = error }
      return false
    }
  }

  /// Writes what the descriptor takes now, or waits until it takes something; nil when the calling task was cancelled.
  private func writeSome(_ bytes: [UInt8], from start: Int) async throws(DescriptorError) -> Int? {
    while true {
      let count: Int
      switch kind {
      case .pipe: count = pipe?.write(bytes, from: start, to: descriptor) ?? 0
      case .socket:
        count = bytes.withUnsafeBytes {
          clinux_socket_write(descriptor.number, $0.baseAddress.map { $0 + start }, $0.count - start)
        }
      case .memoryFile: count = Self.writeFile(descriptor, bytes, from: start)
      case .file, .device, .other:
        guard let result = await thread.run({ [descriptor] in Self.writeFile(descriptor, bytes, from: start) }) else {
          if Task.isCancelled { return nil }
          throw .exhausted
        }
        count = result
      }
      if count > 0 { return count }
      switch CInt(-count) {
      case EAGAIN:
        switch await waits.wait(for: .writable, of: descriptor, atMost: patience) {
        case .ready: continue
        case .timedOut: throw .silent
        case .cancelled: return nil
        case .impossible: throw .exhausted
        }
      case EPIPE, ECONNRESET, ENOTCONN: throw .readerGone
      case 0: throw .failed(errno: EIO)
      default: throw .failed(errno: CInt(-count))
      }
    }
  }

  /// One write; the number of bytes, or the negative error number.
  private static func writeFile(_ descriptor: PassedDescriptor, _ bytes: [UInt8], from start: Int) -> Int {
    bytes.withUnsafeBytes { bytes in
      var count = 0
      repeat {
        count = Glibc.write(descriptor.number, bytes.baseAddress.map { $0 + start }, bytes.count - start)
      } while count < 0 && errno == EINTR
      return count < 0 ? -Int(errno) : count
    }
  }
}
