import CPosternLinux
import EventLoops
import Glibc
public import PosternSupport

/// Reads a body from a passed descriptor, no faster than it is sent.
///
/// A file is read from its current offset, which stays where it is, so that the body can be read once more.
public final class BodyReader: Sendable {
  private struct State {
    var bytes: Int64 = 0
    var failure: DescriptorError?
  }

  /// A step of reading.
  private enum Step {
    case bytes([UInt8])
    case failed(errno: CInt)
  }

  private static let pieceBytes = 48 << 10

  /// How many bytes the body has; nil: that is known at its end only.
  public let length: Int64?
  private let descriptor: PassedDescriptor
  private let kind: PassedDescriptor.Kind
  private let waits: DescriptorWaits
  /// How long the writer may send no byte.
  private let patience: Duration
  /// Where a file's body begins.
  private let start: off_t
  private let pipe: OwnPipe?
  private let thread: BlockingThread
  private let state = Locked(State())

  /// A reader of `descriptor`, of `length` bytes; nil: as many as there are.
  ///
  /// - Throws: when nothing can be read from it, or it has fewer bytes than that.
  public init(
    _ descriptor: PassedDescriptor, length: Int64?, _ waits: DescriptorWaits, patience: Duration
  ) async throws(DescriptorError) {
    kind = descriptor.kind
    guard kind != .other else {
      throw .unusable("the descriptor is no pipe, connected stream socket, file or character device")
    }
    guard descriptor.isReadable else { throw .unusable("the descriptor is not open for reading") }
    self.descriptor = descriptor
    self.waits = waits
    self.patience = patience
    thread = BlockingThread()
    pipe = kind == .pipe ? try OwnPipe() : nil
    guard kind == .file || kind == .memoryFile else {
      (start, self.length) = (0, length)
      return
    }
    guard let (offset, size) = await thread.run({ Self.extent(of: descriptor) }) else { throw .exhausted }
    guard offset >= 0, size >= 0 else { throw .failed(errno: EIO) }
    let available = Int64(max(0, size - offset))
    if let length, length > available { throw .short(read: available, declared: length) }
    (start, self.length) = (offset, length ?? available)
  }

  /// Why it could not read to the end; nil: nothing was wrong.
  public var failure: DescriptorError? { state.withLock { $0.failure } }

  /// Reads the next bytes; none at the end, nil when that failed or the calling task was cancelled. One call at a time.
  @Sendable public func next() async -> [UInt8]? {
    do throws(DescriptorError) {
      let read = state.withLock { $0.bytes }
      let wanted = length.map { Int(clamping: min(Int64(Self.pieceBytes), $0 - read)) } ?? Self.pieceBytes
      guard wanted > 0 else { return [] }
      guard let bytes = try await readSome(wanted, at: start + off_t(read)) else { return nil }
      if bytes.isEmpty, let length { throw .short(read: read, declared: length) }
      state.withLock { $0.bytes += Int64(bytes.count) }
      return bytes
    } catch {
      state.withLock { $0.failure = error }
      return nil
    }
  }

  /// Starts again at the beginning; false when the descriptor is no file.
  @Sendable public func rewind() -> Bool {
    guard kind == .file || kind == .memoryFile else { return false }
    state.withLock { $0.bytes = 0 }
    return true
  }

  /// Reads what is there now, or waits until there is something; nil when the calling task was cancelled.
  private func readSome(_ count: Int, at offset: off_t) async throws(DescriptorError) -> [UInt8]? {
    while true {
      let step: Step
      switch kind {
      case .pipe: step = Self.step(count) { [pipe, descriptor] in pipe?.read(into: $0, from: descriptor) ?? 0 }
      case .socket: step = Self.step(count) { [descriptor] in descriptor.receive(into: $0) }
      case .memoryFile: step = Self.readFile(descriptor, count, at: offset)
      case .file, .device, .other:
        let isFile = kind == .file
        let call: @Sendable () -> Step = { [descriptor] in
          Self.readFile(descriptor, count, at: isFile ? offset : nil)
        }
        guard let result = await thread.run(call) else {
          if Task.isCancelled { return nil }
          throw .exhausted
        }
        step = result
      }
      switch step {
      case .bytes(let bytes): return bytes
      case .failed(EAGAIN):
        switch await waits.wait(for: .readable, of: descriptor, atMost: patience) {
        case .ready: continue
        case .timedOut: throw .silent
        case .cancelled: return nil
        case .impossible: throw .exhausted
        }
      case .failed(let errno): throw .failed(errno: errno)
      }
    }
  }

  private static func readFile(_ descriptor: PassedDescriptor, _ count: Int, at offset: off_t?) -> Step {
    step(count) { buffer in
      var read = 0
      repeat {
        read =
          offset.map { pread(descriptor.number, buffer.baseAddress, buffer.count, $0) }
          ?? Glibc.read(descriptor.number, buffer.baseAddress, buffer.count)
      } while read < 0 && errno == EINTR
      return read < 0 ? -Int(errno) : read
    }
  }

  /// Fills at most `count` bytes; `fill` returns their number, or the negative error number.
  private static func step(_ count: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Int) -> Step {
    var result = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      result = fill(UnsafeMutableRawBufferPointer(buffer))
      filled = max(0, result)
    }
    return result < 0 ? .failed(errno: CInt(-result)) : .bytes(bytes)
  }

  /// The current offset of a file and its size; negative where there is none.
  private static func extent(of descriptor: PassedDescriptor) -> (offset: off_t, size: off_t) {
    var status = stat()
    guard fstat(descriptor.number, &status) == 0 else { return (-1, -1) }
    return (lseek(descriptor.number, 0, SEEK_CUR), status.st_size)
  }
}
