import CPosternCurl
import Glibc
import HTTPMessages
import PosternSupport

/// The connections libcurl holds: how many, what each was made for, and by which descriptor. Kept by the loop, which
/// outlives every connection; `LoopWatch` shuts them down from outside.
///
/// A uid may keep so many to an origin: its uses of them are not bounded, and libcurl would close another uid's
/// connections for a new one. The one that was left unused for longest makes way.
///
/// libcurl announces the end of a socket only once it was in use: one that is given up while connecting is closed
/// without a word (7.88). So a socket counts from the moment a request is about to go over it.
final class ConnectionCount: Sendable {
  /// An open connection.
  // Sendable because what changes is looked at and changed inside the count's lock only.
  final class Connection: @unchecked Sendable {
    let path: ConnectionPath
    let descriptor: Int32
    /// The exchanges for which it was made.
    let use: ConnectionUse
    let origin: HTTPURL.Origin
    /// How many exchanges it has.
    fileprivate var exchanges = 1
    /// When it was left by the last one, as a number that grows.
    fileprivate var leftAt: UInt64 = 0
    /// Whether it makes way for others, and libcurl is about to notice.
    fileprivate var isGivenUp = false
    fileprivate var isClosed = false

    fileprivate init(at path: ConnectionPath, _ descriptor: Int32, for use: ConnectionUse, to origin: HTTPURL.Origin) {
      self.path = path
      self.descriptor = descriptor
      self.use = use
      self.origin = origin
    }

    fileprivate var isKept: Bool { exchanges == 0 && !isGivenUp }
  }

  private struct State {
    var byDescriptor: [Int32: Connection] = [:]
    var byPath: [ConnectionPath: Connection] = [:]
    private var lastNumber: UInt64 = 0

    mutating func nextNumber() -> UInt64 {
      lastNumber += 1
      return lastNumber
    }

    /// The connections that `uid` keeps to `origin`.
    func kept(for uid: UInt32, to origin: HTTPURL.Origin) -> [Connection] {
      byPath.values.filter { $0.isKept && $0.use.uid == uid && $0.origin == origin }
    }
  }

  private let state = Locked(State())
  private let multi: MultiHandle?
  private let maxKept: Int

  /// Reports connections to `multi`, which watches them while they are idle. A uid keeps `maxKept` to one origin.
  init(_ multi: MultiHandle? = nil, maxKept: Int = .max) {
    self.multi = multi
    self.maxKept = maxKept
  }

  var open: Int { state.withLock { $0.byDescriptor.count } }

  /// Notes that one of the sockets opened for a transfer is the connection at `path`: the only one, or that with its
  /// local port. Nil when that is none of them.
  func add(
    _ candidates: [Int32], at path: ConnectionPath, for use: ConnectionUse, to origin: HTTPURL.Origin
  ) -> Connection? {
    // The others lost the race between the server's addresses.
    let winner =
      candidates.count == 1 ? candidates[0] : candidates.first { Self.localPort(of: $0) == path.localPort }
    guard let winner else { return nil }
    let connection = Connection(at: path, winner, for: use, to: origin)
    state.withLock { state in
      state.byDescriptor[winner] = connection
      state.byPath[path] = connection
    }
    multi?.establish(winner)
    return connection
  }

  /// The connection at `path`, which has one more exchange from now on; nil when none is known there.
  func enter(_ path: ConnectionPath) -> Connection? {
    state.withLock { state in
      let connection = state.byPath[path]
      connection?.exchanges += 1
      return connection
    }
  }

  /// An exchange of the connection has ended; where that leaves too many unused, the oldest of them ends.
  func leave(_ connection: Connection) {
    state.withLock { state in
      guard !connection.isClosed else { return }
      connection.exchanges -= 1
      connection.leftAt = state.nextNumber()
      guard state.byPath.count > maxKept else { return }
      let kept = state.kept(for: connection.use.uid, to: connection.origin)
      guard kept.count > maxKept, let oldest = kept.min(by: { $0.leftAt < $1.leftAt }) else { return }
      oldest.isGivenUp = true
      // libcurl notices before its next use of it, and closes it.
      shutdown(oldest.descriptor, Int32(SHUT_RDWR))
    }
  }

  /// Has the ends of the connections that `easy` makes reported; they may come long after its transfer.
  func attach(to easy: UnsafeMutableRawPointer, in settings: inout Settings) {
    settings.set(CURLOPT_CLOSESOCKETDATA, pointer: Unmanaged.passUnretained(self).toOpaque())
    let result = postern_curl_set_close_socket(easy) { pointer, descriptor in
      if let pointer { Unmanaged<ConnectionCount>.fromOpaque(pointer).takeUnretainedValue().remove(descriptor) }
      return close(descriptor)
    }
    settings.note(result, CURLOPT_CLOSESOCKETFUNCTION)
  }

  /// Ends all of them for both sides; libcurl notices at its next read, and closes them. From any thread: what is
  /// closed meanwhile is removed first, so that no other file is met that has taken its descriptor.
  func shutDownAll() {
    state.withLock { state in
      for descriptor in state.byDescriptor.keys { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
  }

  private func remove(_ descriptor: Int32) {
    multi?.closed(descriptor)
    state.withLock { state in
      guard let connection = state.byDescriptor.removeValue(forKey: descriptor) else { return }
      connection.isClosed = true
      if state.byPath[connection.path] === connection { state.byPath[connection.path] = nil }
    }
  }

  private static func localPort(of descriptor: Int32) -> Int32? {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutableBytes(of: &address) { bytes -> Int32? in
      guard let start = bytes.baseAddress,
        getsockname(descriptor, start.assumingMemoryBound(to: sockaddr.self), &length) == 0
      else { return nil }
      // The port is at the same offset for both families.
      return Int32(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
    }
  }
}
