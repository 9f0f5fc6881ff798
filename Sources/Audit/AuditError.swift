/// Why an audit log cannot be opened, written or read; for people.
public struct AuditError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong.
  public let description: String

  /// An error of that description.
  public init(_ description: String) { self.description = description }
}
