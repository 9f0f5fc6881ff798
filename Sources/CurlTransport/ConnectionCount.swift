import CPosternCurl
import Glibc
import PosternSupport

/// The connections libcurl holds: how many, for whom each was made, and by which descriptor. Kept by the loop, which
/// outlives every connection; `LoopWatch` shuts them down from outside.
///
/// libcurl announces the end of a socket only once it was in use: one that is given up while connecting is closed
/// without a word (7.88). So a socket counts from the moment a request is about to go over it.
final class ConnectionCount: Sendable {
  /// An open connection.
  struct Connection {
    let descriptor: Int32
    /// The uid for which it was made (`PeerID.process`'s for what the process does itself).
    let uid: UInt32
  }

  private struct State {
    var paths: [Int32: ConnectionPath] = [:]
    var connections: [ConnectionPath: Connection] = [:]
  }

  private let state = Locked(State())
  private let multi: MultiHandle?

  /// Reports connections to `multi`, which watches them while they are idle.
  init(_ multi: MultiHandle? = nil) { self.multi = multi }

  var open: Int { state.withLock { $0.paths.count } }

  /// Notes that one of the sockets opened for a transfer is the connection at `path`: the only one, or that with its
  /// local port. Nil when that is none of them.
  func add(_ candidates: [Int32], at path: ConnectionPath, uid: UInt32) -> Connection? {
    // The others lost the race between the server's addresses.
    let winner =
      candidates.count == 1 ? candidates[0] : candidates.first { Self.localPort(of: $0) == path.localPort }
    guard let winner else { return nil }
    let connection = Connection(descriptor: winner, uid: uid)
    state.withLock { state in
      state.paths[winner] = path
      state.connections[path] = connection
    }
    multi?.establish(winner)
    return connection
  }

  /// The connection at `path`; nil when none is known there.
  subscript(path: ConnectionPath) -> Connection? { state.withLock { $0.connections[path] } }

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
      for descriptor in state.paths.keys { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
  }

  private func remove(_ descriptor: Int32) {
    multi?.closed(descriptor)
    state.withLock { state in
      guard let path = state.paths.removeValue(forKey: descriptor) else { return }
      if state.connections[path]?.descriptor == descriptor { state.connections[path] = nil }
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
