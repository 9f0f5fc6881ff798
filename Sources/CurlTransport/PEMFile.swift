import Glibc

/// Reads files of certificates and keys, on the loop's thread: local and bounded.
enum PEMFile {
  static let maxBytes = 64 << 10

  /// The file's bytes; nil when it cannot be read, is no regular file or too large.
  static func read(_ path: String, limit: Int = maxBytes) -> [UInt8]? {
    // Non-blocking, so that a pipe at that path cannot hang the loop.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= limit else {
      return nil
    }
    // All of its memory at once: a growing array would leave copies of a key behind.
    var bytes = [UInt8](repeating: 0, count: min(limit, max(maxBytes, Int(status.st_size))) + 1)
    var used = 0
    while used < bytes.count {
      let count = bytes.withUnsafeMutableBytes { buffer in
        buffer.baseAddress.map { Glibc.read(descriptor, $0 + used, buffer.count - used) } ?? -1
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        if count == 0 { break }
        wipe(&bytes)
        return nil
      }
      used += count
    }
    guard used < bytes.count else {
      wipe(&bytes)
      return nil
    }
    bytes.removeLast(bytes.count - used)
    return bytes
  }

  /// Overwrites what was a key.
  static func wipe(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { buffer in
      if let start = buffer.baseAddress { explicit_bzero(start, buffer.count) }
    }
  }
}
