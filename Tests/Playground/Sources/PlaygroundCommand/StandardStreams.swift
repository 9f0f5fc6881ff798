import Glibc
import PosternSupport

/// The process's standard input and output, unbuffered.
enum StandardStreams {
  /// Writes all of `bytes` to the standard output.
  static func writeToOutput(_ bytes: [UInt8]) throws {
    try write(bytes, to: STDOUT_FILENO, named: "the standard output")
  }

  /// Writes all of `bytes` to `descriptor`.
  static func write(_ bytes: [UInt8], to descriptor: Int32, named name: String) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written >= 0 {
        rest = rest.dropFirst(written)
      } else if errno != EINTR {
        throw SystemError("cannot write to \(name)")
      }
    }
  }

  /// Reads the standard input on a thread of its own, throws away what comes, and calls `handler` at its end.
  static func onInputEnd(_ handler: @escaping @Sendable () -> Void) throws {
    do throws(SystemThread.StartError) {
      try SystemThread.start("playground-end") {
        var buffer: [UInt8] = Array(repeating: 0, count: 4096)
        while true {
          let count = read(STDIN_FILENO, &buffer, buffer.count)
          if count == 0 || (count < 0 && errno != EINTR) { break }
        }
        handler()
      }
    } catch {
      errno = error.code
      throw SystemError("cannot watch the standard input")
    }
  }
}
