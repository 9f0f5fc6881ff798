import PosternSupport

/// What a connection has in memory, of its uid's share.
extension HTTPConnection {
  /// The server learns of changes of so many bytes.
  private static let grain = 4 << 10

  private var heldBytes: Int {
    guard phase != .closed else { return 0 }
    return requestGuard.heldBytes + pending.capacity + (exchange?.heldBytes ?? 0) + socket.unwrittenBytes
  }

  /// Reports the memory that the connection holds now to the server.
  func countHeldBytes() {
    let change = heldBytes - countedBytes
    guard abs(change) >= Self.grain || change + countedBytes == 0 && change != 0 else { return }
    countedBytes += change
    let uid = uid
    server.held.withLock { held in
      if change > 0 { held.add(change, for: uid) } else { held.giveBack(-change, for: uid) }
    }
  }

  /// Whether the connections of the uid have as much in memory as they may: each goes on with one piece at a time.
  var isOverShare: Bool {
    let uid = uid
    return server.held.withLock { !$0.allows(0, for: uid) }
  }
}
