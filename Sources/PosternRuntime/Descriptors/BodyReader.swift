import CPosternLinux
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

  private static let pieceBytes = 48 << 10

  /// How many bytes the body has; nil: that is known at its end only.
  public let length: Int64?
  private let source: Source
  private let thread: BodyThread
  private let state = Locked(State())

  /// A reader of `descriptor`, whose writer may send no byte for `patience`; of `length` bytes, nil: as many as there
  /// are.
  ///
  /// - Throws: when nothing can be read from it, or it has fewer bytes than that.
  public init(
    _ descriptor: PassedDescriptor, length: Int64?, patience: Duration
  ) async throws(DescriptorError) {
    thread = BodyThread(patience: patience)
    source = try await thread.result { _ in Source.make(descriptor) }.get()
    if let length, let available = source.available, length > available {
      throw .short(read: available, declared: length)
    }
    self.length = length ?? source.available
  }

  /// Why it could not read to the end; nil: nothing was wrong.
  public var failure: DescriptorError? { state.withLock { $0.failure } }

  /// Reads the next bytes; none at the end, nil when that failed or the calling task was cancelled. One call at a time.
  @Sendable public func next() async -> [UInt8]? {
    do throws(DescriptorError) {
      let read = state.withLock { $0.bytes }
      let wanted = length.map { Int(clamping: min(Int64(Self.pieceBytes), $0 - read)) } ?? Self.pieceBytes
      guard wanted > 0 else { return [] }
      let bytes = try await thread.result { [source] in source.read(wanted, at: read, on: $0) }.get()
      if bytes.isEmpty, let length { throw .short(read: read, declared: length) }
      state.withLock { $0.bytes += Int64(bytes.count) }
      return bytes
    } catch {
      state.withLock { $0.failure = Task.isCancelled ? nil : error }
      return nil
    }
  }

  /// Starts again at the beginning; false when the descriptor is no file.
  @Sendable public func rewind() -> Bool {
    guard source.available != nil else { return false }
    state.withLock { $0.bytes = 0 }
    return true
  }
}

/// A descriptor that a body is read from. On the body's thread.
private struct Source: Sendable {
  let descriptor: PassedDescriptor
  let kind: PassedDescriptor.Kind
  let pipe: OwnPipe?
  /// Where a file's body begins, and how many bytes are there; nil: it is no file.
  var extent: (start: off_t, bytes: Int64)?

  var available: Int64? { extent?.bytes }

  static func make(_ descriptor: PassedDescriptor) -> Result<Source, DescriptorError> {
    let kind = descriptor.kind
    guard kind != .other else { return .failure(.wrongKind) }
    guard descriptor.isReadable else {
      return .failure(.unusable("the descriptor is not open for reading"))
    }
    return Result { () throws(DescriptorError) in
      var source = Source(descriptor: descriptor, kind: kind, pipe: kind == .pipe ? try OwnPipe() : nil)
      guard kind == .file || kind == .memoryFile else { return source }
      var status = stat()
      let offset = lseek(descriptor.number, 0, SEEK_CUR)
      guard offset >= 0, fstat(descriptor.number, &status) == 0 else { throw .failed(errno: errno) }
      source.extent = (offset, Int64(max(0, status.st_size - offset)))
      return source
    }
  }

  /// Reads what is there, or waits until there is something; none at the end.
  func read(_ count: Int, at position: Int64, on thread: BodyThread.Core) -> Result<[UInt8], DescriptorError> {
    var result = 0
    while true {
      let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        result = readSome(into: UnsafeMutableRawBufferPointer(buffer), at: position)
        filled = max(0, result)
      }
      guard result < 0 else {
        thread.moved()
        return .success(bytes)
      }
      guard CInt(-result) == EAGAIN, extent == nil else { return .failure(.failed(errno: CInt(-result))) }
      guard thread.wait(for: descriptor, isWriting: false) else { return .failure(.silent) }
    }
  }

  /// One read: the number of bytes, 0 at the end, or the negative error number.
  private func readSome(into buffer: UnsafeMutableRawBufferPointer, at position: Int64) -> Int {
    if let pipe { return pipe.read(into: buffer, from: descriptor) }
    if kind == .socket { return descriptor.receive(into: buffer) }
    var read = 0
    repeat {
      read =
        extent.map { pread(descriptor.number, buffer.baseAddress, buffer.count, $0.start + off_t(position)) }
        ?? Glibc.read(descriptor.number, buffer.baseAddress, buffer.count)
    } while read < 0 && errno == EINTR
    return read < 0 ? -Int(errno) : read
  }
}
