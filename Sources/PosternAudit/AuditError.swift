/// Why an audit log cannot be opened, written or read; for people.
public struct AuditError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong.
  public let description: String
  /// Whether it passes without anybody changing a setting: another process writes still, a disk is full.
  public let isPassing: Bool

  /// An error of that description.
  public init(_ description: String, isPassing: Bool = false) {
    self.description = description
    self.isPassing = isPassing
  }
}
