import PosternSupport

/// Counts the bytes that are kept for the connections of one uid: responses that it does not read, or messages that it
/// does not complete. Not a `ConcurrencyLimiter`: bytes are counted after they have come, nothing can wait for them,
/// and beyond the limit the slowest connection is closed.
final class ByteLedger: Sendable {
  /// A connection reports changes of so many bytes: small answers to a peer that reads never get here.
  static let grain = 16 << 10

  private struct Entry {
    let connection: Connection
    var bytes = 0
    /// The count of steps at which it last took some, or began to have any waiting: the lowest is the slowest.
    var lastStep: UInt64
    /// It is being closed, and its bytes count no more.
    var isWrittenOff = false
  }

  private struct State {
    var total = 0
    var entries: [UInt64: Entry] = [:]
    var steps: UInt64 = 0
  }

  /// How many may be kept.
  let limit: Int
  private let state = Locked(State())

  /// A ledger for at most `limit` bytes, and one message beyond it.
  init(limit: Int) { self.limit = limit }

  /// How many bytes wait.
  var total: Int { state.withLock { $0.total } }

  /// Whether so much waits that no peer who has bytes waiting may cause more.
  var isStrained: Bool { state.withLock { $0.total > limit / 2 } }

  /// `change` more bytes wait for `connection`, or fewer. True when there are more and the limit was passed before: the
  /// caller then closes the slowest.
  func add(_ change: Int, of connection: Connection) -> Bool {
    state.withLock { state in
      state.steps += 1
      var entry = state.entries[connection.id] ?? Entry(connection: connection, lastStep: state.steps)
      guard !entry.isWrittenOff else { return false }
      let wasOver = state.total > limit
      entry.bytes += change
      state.total += change
      if change < 0 { entry.lastStep = state.steps }
      // Nothing is kept about a connection for which nothing waits.
      state.entries[connection.id] = entry.bytes > 0 ? entry : nil
      return wasOver && change > 0
    }
  }

  /// The connection that has taken nothing for longest, whose bytes count no more; nil when the limit is not passed any
  /// more.
  func takeSlowest() -> Connection? {
    state.withLock { state in
      guard state.total > limit else { return nil }
      let slowest = state.entries.filter { !$0.value.isWrittenOff }.min { $0.value.lastStep < $1.value.lastStep }
      guard let slowest else { return nil }
      state.total -= slowest.value.bytes
      state.entries[slowest.key]?.bytes = 0
      state.entries[slowest.key]?.isWrittenOff = true
      return slowest.value.connection
    }
  }

  /// `connection` is closed.
  func forget(_ connection: Connection) {
    state.withLock { state in
      guard let entry = state.entries.removeValue(forKey: connection.id) else { return }
      state.total -= entry.bytes
    }
  }
}
