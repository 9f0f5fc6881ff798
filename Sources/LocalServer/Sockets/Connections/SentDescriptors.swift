import CPosternLinux
import Glibc
import PosternSupport

/// The descriptors that were passed to peers, and that these have not taken yet.
///
/// The kernel counts them for the user of this process, and passes none any more where there are too many
/// (ETOOMANYREFS, unix(7)): so no uid may leave more than a few. It shows how much of what was sent on a socket is not
/// read; when that is nothing, everything that was passed on it has been taken. Where a connection is closed before,
/// its peer may still take them: the socket is kept until it has, or has closed too, and so is the connection's slot.
final class SentDescriptors: Sendable {
  /// The most of one uid.
  static let limit = 64

  /// A socket over which descriptors were passed.
  private struct Entry {
    var count = 0
    /// Something is being passed: nothing unread means nothing until that is done.
    var isPassing = false
    /// Closes the socket, when its connection is over.
    var close: (@Sendable () -> Void)?
  }

  /// By uid and socket.
  private let entries = Locked<[UInt32: [CInt: Entry]]>([:])

  /// Whether no more may be passed to `uid` now.
  func isFull(for uid: UInt32) -> Bool { has(uid, atLeast: Self.limit) }

  /// Passes descriptors over `socket` with `bytes`: the number of bytes, or the negative error number, which is that of
  /// the kernel where the uid has left too many.
  func pass(_ descriptors: [PassedDescriptor], with bytes: UnsafeRawBufferPointer, of uid: UInt32, over socket: CInt)
    -> Int
  {
    let count = descriptors.count
    // Those of one message may be more than the limit where there are no others.
    guard !has(uid, atLeast: max(1, Self.limit - count + 1)) else { return -Int(ETOOMANYREFS) }
    entries.withLock { entries in
      entries[uid, default: [:]][socket, default: Entry()].count += count
      entries[uid]?[socket]?.isPassing = true
    }
    let numbers = descriptors.map(\.number)
    let sent = withExtendedLifetime(descriptors) {
      clinux_send(socket, bytes.baseAddress, bytes.count, numbers, CInt(numbers.count))
    }
    entries.withLock { entries in
      entries[uid]?[socket]?.isPassing = false
      guard sent <= 0 else { return }
      entries[uid]?[socket]?.count -= count
      if entries[uid]?[socket]?.count == 0 { Self.remove([socket], of: uid, &entries) }
    }
    return sent
  }

  /// The connection of `socket` is over: it is closed by `close`, now or when its peer has taken everything.
  func close(_ socket: CInt, of uid: UInt32, _ close: @escaping @Sendable () -> Void) {
    let isKept = entries.withLock { entries in
      guard entries[uid]?[socket] != nil else { return false }
      entries[uid]?[socket]?.close = close
      return true
    }
    if isKept { sweep(uid) } else { close() }
  }

  /// Closes the sockets whose peers have taken everything since.
  func sweep() { for uid in entries.withLock({ Array($0.keys) }) { sweep(uid) } }

  /// Closes all sockets of connections that are over.
  func closeAll() {
    let kept = entries.withLock { entries in
      let kept = entries.values.flatMap(\.values).compactMap(\.close)
      for uid in Array(entries.keys) {
        Self.remove(Array((entries[uid] ?? [:]).filter { $0.value.close != nil }.keys), of: uid, &entries)
      }
      return kept
    }
    for close in kept { close() }
  }

  private func has(_ uid: UInt32, atLeast limit: Int) -> Bool {
    func total() -> Int { entries.withLock { $0[uid]?.values.reduce(0) { $0 + $1.count } ?? 0 } }
    guard total() >= limit else { return false }
    sweep(uid)
    return total() >= limit
  }

  private func sweep(_ uid: UInt32) {
    // Within the lock: a socket with an entry is closed by nothing else.
    let read = entries.withLock { entries in
      let read = (entries[uid] ?? [:]).filter { !$0.value.isPassing && clinux_is_unread_by_peer($0.key) == 0 }
      Self.remove(Array(read.keys), of: uid, &entries)
      return read.values
    }
    for entry in read { entry.close?() }
  }

  private static func remove(_ sockets: [CInt], of uid: UInt32, _ entries: inout [UInt32: [CInt: Entry]]) {
    for socket in sockets { entries[uid]?[socket] = nil }
    if entries[uid]?.isEmpty ?? false { entries[uid] = nil }
  }
}
