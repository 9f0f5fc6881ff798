import Glibc

/// Files that appear whole or not at all.
enum AtomicFile {
  /// Writes `bytes` to a file next to `path` and renames it, so that a program that waits for `path` never reads half
  /// of it.
  static func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o644) throws {
    let temporary = "\(path).\(getpid())"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw SystemError("cannot create \(temporary)") }
    do {
      defer { close(descriptor) }
      try StandardStreams.write(bytes, to: descriptor, named: temporary)
    } catch {
      unlink(temporary)
      throw error
    }
    guard rename(temporary, path) == 0 else {
      let error = SystemError("cannot rename \(temporary) to \(path)")
      unlink(temporary)
      throw error
    }
  }
}
