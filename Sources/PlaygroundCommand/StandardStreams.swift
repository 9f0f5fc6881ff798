import Glibc

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
    let box = Unmanaged.passRetained(Handler(handler))
    var thread = pthread_t()
    let status = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        let handler = Unmanaged<Handler>.fromOpaque(context).takeRetainedValue()
        var buffer: [UInt8] = Array(repeating: 0, count: 4096)
        while true {
          let count = read(STDIN_FILENO, &buffer, buffer.count)
          if count == 0 || (count < 0 && errno != EINTR) { break }
        }
        handler.call()
        return nil
      }, box.toOpaque())
    guard status == 0 else {
      box.release()
      throw SystemError("cannot watch the standard input")
    }
    pthread_detach(thread)
  }

  private final class Handler: Sendable {
    let call: @Sendable () -> Void
    init(_ call: @escaping @Sendable () -> Void) { self.call = call }
  }
}
