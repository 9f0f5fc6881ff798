import Glibc

/// A system call that failed, with what it was for.
struct SystemError: Error, CustomStringConvertible {
  let description: String

  /// The current `errno` with the `purpose` of the call.
  init(_ purpose: String) { description = "\(purpose): \(String(cString: strerror(errno)))" }
}
