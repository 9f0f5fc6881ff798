import Glibc

/// A system call that failed, with what it was for.
struct SystemError: Error, CustomStringConvertible {
  let description: String

  /// The current `errno`, told together with `purpose`.
  init(_ purpose: String) { description = "\(purpose): \(String(cString: strerror(errno)))" }
}
