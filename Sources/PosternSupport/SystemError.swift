public import Glibc

/// The errors of system calls.
public enum SystemError {
  /// The system's description of an error number, by default that of the call that just failed.
  public static func text(_ code: CInt = errno) -> String {
    // Unlike strerror(3), for any thread. The POSIX variant, which fills the buffer for unknown numbers as well.
    var buffer = [CChar](repeating: 0, count: 256)
    _ = strerror_r(code, &buffer, buffer.count)
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
