import Glibc

/// A descriptor that is closed when its owner lets it go, unless it is handed on.
struct Descriptor: ~Copyable {
  let number: CInt

  /// Takes what a system call returned, or throws its `errno`.
  init(_ call: String, _ number: CInt) throws(SocketServerError) {
    guard number >= 0 else { throw .system(call: call, errno: errno) }
    self.number = number
  }

  deinit { close(number) }

  /// Hands the descriptor to somebody else, who closes it.
  consuming func release() -> CInt {
    let number = number
    discard self
    return number
  }
}
