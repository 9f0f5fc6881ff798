import Glibc

/// Why a protection is not in force.
public struct ProtectionFault: Error, Sendable, Equatable {
  /// Whether the kernel, or what runs the container, does not offer it; otherwise it should have worked.
  public let isUnavailable: Bool
  /// In words, for people.
  public let message: String

  init(isUnavailable: Bool = false, _ message: String) {
    self.isUnavailable = isUnavailable
    self.message = message
  }

  /// What the system call answered: the codes of kernels that lack something, and of container engines that forbid it,
  /// mean that it is unavailable.
  init(_ call: String, _ code: Int32) {
    isUnavailable = [ENOSYS, EOPNOTSUPP, EPERM, EINVAL].contains(code)
    message = "\(call): \(String(cString: strerror(code)))"
  }
}
