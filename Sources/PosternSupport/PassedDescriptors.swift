import CPosternLinux
import Glibc

/// A file descriptor that a peer has passed over its connection (SCM_RIGHTS, unix(7)). It is closed when the last
/// reference to it goes, so that no call uses a number that means another file by then.
public final class PassedDescriptor: Sendable {
  /// The kind of a descriptor.
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
  fileprivate let registry: PassedDescriptors

  init(_ number: CInt, of uid: UInt32, _ registry: PassedDescriptors) {
    self.number = number
    self.uid = uid
    self.registry = registry
  }

  deinit { registry.close(number, of: uid) }

  /// The kind of the descriptor; never waits for a file system.
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
      _ = registry.take(UnsafeBufferPointer(rebasing: numbers[..<Int(count)]), of: uid)
      return length
    }
  }
}

/// The descriptors that peers have passed to this process: counts them for each uid, and closes them.
///
/// A close may block for as long as the descriptor's owner likes: a socket by SO_LINGER (socket(7)), a file by the
/// process behind its file system. So each uid's are closed by a thread of their own, one after the other, and only the
/// uid's own wait. A descriptor counts until its close returns, which bounds what a uid can make this process keep.
public final class PassedDescriptors: Sendable {
  /// A descriptor to be closed.
  private struct Closing {
    let number: CInt
    let onClosed: (@Sendable () -> Void)?
  }

  private struct State {
    /// How many each uid has, those to be closed included.
    var counts: SharedBudget
    /// Those to be closed, by uid; reversed, so that the next is the last.
    var closing: [UInt32: [Closing]] = [:]
    /// The uids with a thread.
    var threads: Set<UInt32> = []
  }

  /// Beyond so many of one uid's that wait to be closed, others are closed where they come up.
  private static let mostClosing = 1024

  /// The most descriptors of one uid.
  public let limit: Int
  private let state: Locked<State>

  /// No descriptors yet; at most `limit` for each uid, and `capacity` for all, of which none gets more than three times
  /// what is left.
  public init(limit: Int, capacity: Int = .max) {
    self.limit = limit
    state = Locked(State(counts: SharedBudget(capacity: capacity, capacityPerUID: limit)))
  }

  /// How many descriptors `uid` has, those that are being closed included.
  public func count(of uid: UInt32) -> Int { state.withLock { $0.counts.amount(of: uid) } }

  /// Whether `uid` has as many descriptors as it may have.
  public func isFull(for uid: UInt32) -> Bool { state.withLock { !$0.counts.allows(1, for: uid) } }

  /// Takes descriptors that `uid` has passed; nil, and they are closed, when it has too many then.
  public func take(_ numbers: UnsafeBufferPointer<CInt>, of uid: UInt32) -> [PassedDescriptor]? {
    guard !numbers.isEmpty else { return [] }
    let isAllowed = state.withLock { state in
      // They are there, allowed or not.
      defer { state.counts.add(numbers.count, for: uid) }
      return state.counts.allows(numbers.count, for: uid)
    }
    let taken = numbers.map { PassedDescriptor($0, of: uid, self) }
    return isAllowed ? taken : nil
  }

  /// Closes a uid's connection after the uid's other descriptors, where there are some to be closed, or where bytes are
  /// left unread, among which there may be descriptors. `onClosed` is called then, on any thread.
  public func closeConnection(
    _ number: CInt, of uid: UInt32, hasUnread: Bool, onClosed: @escaping @Sendable () -> Void
  ) {
    let isNow = state.withLock { state in
      let waiting = state.closing[uid]?.count ?? 0
      if waiting >= Self.mostClosing || waiting == 0 && !hasUnread && !state.threads.contains(uid) { return true }
      state.counts.add(1, for: uid)
      return false
    }
    guard isNow else { return add(Closing(number: number, onClosed: onClosed), of: uid) }
    Glibc.close(number)
    onClosed()
  }

  /// Closes `number` on the uid's thread.
  fileprivate func close(_ number: CInt, of uid: UInt32) { add(Closing(number: number, onClosed: nil), of: uid) }

  private func add(_ closing: Closing, of uid: UInt32) {
    let needsThread = state.withLock { state in
      state.closing[uid, default: []].insert(closing, at: 0)
      return state.threads.insert(uid).inserted
    }
    guard needsThread else { return }
    do throws(SystemThread.StartError) {
      try SystemThread.start("postern-close") { self.closeAll(of: uid) }
    } catch {
      // The next one tries again; until then they count.
      state.withLock { _ = $0.threads.remove(uid) }
    }
  }

  private func closeAll(of uid: UInt32) {
    while let next = next(of: uid) {
      Glibc.close(next.number)
      state.withLock { state in state.counts.giveBack(1, for: uid) }
      next.onClosed?()
    }
  }

  private func next(of uid: UInt32) -> Closing? {
    state.withLock { state in
      if let next = state.closing[uid]?.popLast() { return next }
      state.closing[uid] = nil
      state.threads.remove(uid)
      return nil
    }
  }
}

extension PassedDescriptor: ConciseStringConvertible {
  /// Number and uid.
  public var description: String { "descriptor \(number) of uid \(uid)" }
}

extension PassedDescriptors: ConciseStringConvertible {
  /// The limit.
  public var description: String { "at most \(Concise.count(limit, "descriptor"))" }
}
