import Glibc

/// A path as `sun_path` can hold it.
struct UnixAddress: Sendable, Hashable {
  /// `sun_path` has 108 bytes, one of them for the NUL.
  static let maximumLength = 107

  let path: String
  /// What stands before the last slash; `.` when there is none.
  let directory: String
  /// What stands after it.
  let name: String

  /// Checks `path` and takes it apart.
  init(path: String) throws(SocketServerError) {
    let bytes = Array(path.utf8)
    guard !bytes.isEmpty, !bytes.contains(0), bytes.last != UInt8(ascii: "/") else { throw .pathUnusable }
    guard bytes.count <= Self.maximumLength else { throw .pathTooLong(path: path, length: bytes.count) }
    self.path = path
    if let slash = bytes.lastIndex(of: UInt8(ascii: "/")) {
      directory = slash == 0 ? "/" : String(decoding: bytes[..<slash], as: UTF8.self)
      name = String(decoding: bytes[(slash + 1)...], as: UTF8.self)
    } else {
      directory = "."
      name = path
    }
  }

  /// Calls `body`, one of bind and connect, with the address.
  func withSockaddr(_ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { target in
      target.copyBytes(from: path.utf8.prefix(Self.maximumLength))
    }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}
