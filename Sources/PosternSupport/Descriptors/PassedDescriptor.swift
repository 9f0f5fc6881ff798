import CPosternLinux

/// A file descriptor that a peer has passed over its connection (SCM_RIGHTS, unix(7)). It is closed when the last
/// reference to it goes, so that no call uses a number that means another file by then.
public final class PassedDescriptor: Sendable {
  /// What a descriptor is.
  public enum Kind: Sendable, Hashable {
    /// A pipe or FIFO.
    case pipe
    /// A connected stream socket.
    case socket
    /// A file in memory.
    case memoryFile
    /// Another file. Reading and writing may block.
    case file
    /// A character device. Reading and writing may block.
    case device
    /// Nothing that bytes can be read from or written to.
    case other
  }

  /// Its number in this process.
  public let number: CInt
  /// The uid that has passed it.
  public let uid: UInt32
  fileprivate let owner: PassedDescriptors

  init(_ number: CInt, of uid: UInt32, _ owner: PassedDescriptors) {
    self.number = number
    self.uid = uid
    self.owner = owner
  }

  deinit { owner.close(number, of: uid) }

  /// What it is; never waits for a file system.
  public var kind: Kind {
    switch clinux_kind(number) {
    case CLINUX_PIPE: .pipe
    case CLINUX_SOCKET: .socket
    case CLINUX_MEMORY_FILE: .memoryFile
    case CLINUX_FILE: .file
    case CLINUX_DEVICE: .device
    default: .other
    }
  }

  /// Whether it is open for reading.
  public var isReadable: Bool { clinux_is_readable(number) != 0 }

  /// Whether it is open for writing.
  public var isWritable: Bool { clinux_is_writable(number) != 0 }
}

extension PassedDescriptor {
  /// Reads from a socket without blocking: the number of bytes, 0 at the end, or the negative error number.
  /// Descriptors that come with them are closed as this one is.
  public func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    withUnsafeTemporaryAllocation(of: CInt.self, capacity: Int(CLINUX_MAX_DESCRIPTORS)) { numbers in
      var (count, isLossy): (CInt, CInt) = (0, 0)
      let length = clinux_receive(number, buffer.baseAddress, buffer.count, numbers.baseAddress, &count, &isLossy)
      _ = owner.take(UnsafeBufferPointer(rebasing: numbers[..<Int(count)]), of: uid)
      return length
    }
  }
}
