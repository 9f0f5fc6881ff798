/// Where a chain is broken, and how; for people.
public struct AuditBreak: Error, Sendable, Hashable, CustomStringConvertible {
  /// The file.
  public let file: String
  /// The line, from 1; 0: the file as a whole.
  public let line: Int
  /// What is wrong there.
  public let reason: String

  /// `FILE:LINE: what is wrong`.
  public var description: String { line > 0 ? "\(file):\(line): \(reason)" : "\(file): \(reason)" }
}
