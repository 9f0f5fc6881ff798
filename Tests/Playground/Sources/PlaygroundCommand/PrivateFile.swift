import Glibc

/// A file for the owner's eyes.
enum PrivateFile {
  /// The most bytes in a key file.
  private static let limit = 64 << 10

  /// The file's bytes; nil when there is no such file.
  static func read(_ path: String) throws -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw SystemError("cannot open \(path)")
    }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer: [UInt8] = Array(repeating: 0, count: 4096)
    while bytes.count <= limit {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count == 0 { return bytes }
      if count > 0 {
        bytes += buffer[..<count]
      } else if errno != EINTR {
        throw SystemError("cannot read \(path)")
      }
    }
    errno = EFBIG
    throw SystemError("cannot read \(path)")
  }
}
