import Glibc

/// The descriptors that peers have passed to this process: counts them for each uid, and closes them.
///
/// A close may block for as long as the descriptor's owner likes: a socket by SO_LINGER (socket(7)), a file by the
/// process behind its file system. So each uid's are closed by a thread of their own, one after the other, and only the
/// uid's own wait. A descriptor counts until its close returns, which bounds what a uid can make this process keep.
public final class PassedDescriptors: Sendable {
  private struct State {
    /// How many each uid has, those to be closed included.
    var counts: [UInt32: Int] = [:]
    /// Those to be closed, of each uid with a thread.
    var closing: [UInt32: [CInt]] = [:]
  }

  /// The most descriptors of one uid.
  public let limit: Int
  private let state = Locked(State())

  /// No descriptors yet; at most `limit` for each uid.
  public init(limit: Int) { self.limit = limit }

  /// How many descriptors `uid` has, those that are being closed included.
  public func count(of uid: UInt32) -> Int { state.withLock { $0.counts[uid] ?? 0 } }

  /// Takes descriptors that `uid` has passed; nil, and they are closed, when it has too many then.
  public func take(_ numbers: UnsafeBufferPointer<CInt>, of uid: UInt32) -> [PassedDescriptor]? {
    guard !numbers.isEmpty else { return [] }
    let count = state.withLock { state in
      state.counts[uid, default: 0] += numbers.count
      return state.counts[uid, default: 0]
    }
    let taken = numbers.map { PassedDescriptor($0, of: uid, self) }
    return count <= limit ? taken : nil
  }

  /// Closes a descriptor that is not one of those taken, such as a connection with unread bytes, among which there may
  /// be descriptors.
  public func closeUncounted(_ number: CInt, of uid: UInt32) {
    state.withLock { $0.counts[uid, default: 0] += 1 }
    close(number, of: uid)
  }

  /// Closes `number` on the uid's thread.
  func close(_ number: CInt, of uid: UInt32) {
    let isFirst = state.withLock { state in
      defer { state.closing[uid, default: []].append(number) }
      return state.closing[uid] == nil
    }
    guard isFirst else { return }
    do throws(SystemThread.StartError) {
      try SystemThread.start("postern-close") { self.closeAll(of: uid) }
    } catch {
      // No thread: a close that may block is better than a descriptor that is never closed.
      closeAll(of: uid)
    }
  }

  private func closeAll(of uid: UInt32) {
    while let number = next(of: uid) {
      Glibc.close(number)
      state.withLock { state in
        let count = state.counts[uid, default: 1] - 1
        state.counts[uid] = count > 0 ? count : nil
      }
    }
  }

  private func next(of uid: UInt32) -> CInt? {
    state.withLock { state in
      guard var waiting = state.closing[uid], !waiting.isEmpty else {
        state.closing[uid] = nil
        return nil
      }
      let number = waiting.removeFirst()
      state.closing[uid] = waiting
      return number
    }
  }
}
