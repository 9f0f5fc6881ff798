import Glibc

/// An open file, closed with the last reference.
final class FileDescriptor: Sendable {
  let number: Int32

  /// Takes over the descriptor.
  init(_ number: Int32) { self.number = number }

  deinit { if number >= 0 { close(number) } }

  /// The first bytes of the file, at most `limit`; fewer when they cannot be read.
  func read(atMost limit: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: limit)
    var used = 0
    while used < limit {
      let count = bytes.withUnsafeMutableBytes {
        pread(number, $0.baseAddress.map { $0 + used }, limit - used, off_t(used))
      }
      if count < 0, errno == EINTR { continue }
      if count <= 0 { break }
      used += count
    }
    return Array(bytes[..<used])
  }

  /// Writes all bytes; false when that fails.
  @discardableResult
  func write(_ bytes: [UInt8], at offset: Int) -> Bool {
    var used = 0
    while used < bytes.count {
      let count = bytes.withUnsafeBytes {
        pwrite(number, $0.baseAddress.map { $0 + used }, bytes.count - used, off_t(offset + used))
      }
      if count < 0, errno == EINTR { continue }
      if count <= 0 { return false }
      used += count
    }
    return true
  }
}
