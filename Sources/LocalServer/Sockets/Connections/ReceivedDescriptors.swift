import CPosternLinux
import Glibc
import PosternSupport

/// Reads a peer's socket together with the descriptors that it passes. Read without them, the kernel would close them
/// in the thread that reads, which may block for as long as their owner likes.
struct SocketReader {
  let passed: PassedDescriptors
  let uid: UInt32
  /// The descriptors that are passed to the peer; nil: none are.
  var sent: SentDescriptors?

  /// A read of the socket.
  struct Outcome {
    /// The number of bytes, or the negative error number.
    let count: Int
    /// The descriptors that came along; nil when the uid has too many, or some were lost for want of numbers.
    let descriptors: [PassedDescriptor]?
  }

  /// Reads once without blocking.
  func read(_ socket: CInt, into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
    withUnsafeTemporaryAllocation(of: CInt.self, capacity: Int(CLINUX_MAX_DESCRIPTORS)) { numbers in
      var (count, isLossy): (CInt, CInt) = (0, 0)
      let length = clinux_receive(socket, buffer.baseAddress, buffer.count, numbers.baseAddress, &count, &isLossy)
      let taken = passed.take(UnsafeBufferPointer(rebasing: numbers[..<Int(count)]), of: uid)
      return Outcome(count: length, descriptors: isLossy == 0 ? taken : nil)
    }
  }

  /// Has the kernel deliver urgent data among the other bytes. Otherwise a read passes over them, and closes the
  /// descriptors that came with them.
  static func prepare(_ socket: CInt) {
    var on: CInt = 1
    setsockopt(socket, SOL_SOCKET, SO_OOBINLINE, &on, socklen_t(MemoryLayout<CInt>.size))
  }

  /// Closes the peer's socket, of which nothing is watched any more; calls `onClosed` when it is, on any thread.
  func close(_ socket: CInt, onClosed: @escaping @Sendable () -> Void) {
    // First, so that nothing more comes after the look.
    shutdown(socket, CInt(SHUT_RDWR))
    let close = { @Sendable [passed, uid] in
      passed.closeConnection(socket, of: uid, hasUnread: clinux_has_unread(socket) != 0, onClosed: onClosed)
    }
    guard let sent else { return close() }
    sent.close(socket, of: uid, close)
  }
}

/// The descriptors that a peer has passed on one connection and that no call has claimed yet, in their order.
final class UnclaimedDescriptors: Sendable {
  /// The most that may wait: who passes more has lost count.
  static let limit = 16

  private let waiting = Locked<[PassedDescriptor]>([])

  var isEmpty: Bool { waiting.withLock { $0.isEmpty } }

  /// Adds those that came with one read; false when there are too many.
  func add(_ descriptors: [PassedDescriptor]) -> Bool {
    waiting.withLock { waiting in
      waiting += descriptors
      return waiting.count <= Self.limit
    }
  }

  /// Takes the first `count`, or as many as there are.
  func take(_ count: Int) -> [PassedDescriptor] {
    waiting.withLock { waiting in
      let taken = Array(waiting.prefix(count))
      waiting.removeFirst(taken.count)
      return taken
    }
  }
}
