/// Why a configuration cannot be used: everything that is wrong with it, at once.
public struct ConfigurationProblems: Error, Sendable, Hashable {
  /// The errors, in the order of the file, then of the environment; never empty.
  public let problems: [ConfigurationProblem]
  /// The warnings.
  public let warnings: [ConfigurationProblem]

  /// The given problems.
  public init(_ problems: [ConfigurationProblem], warnings: [ConfigurationProblem] = []) {
    self.problems = problems
    self.warnings = warnings
  }
}

extension ConfigurationProblems: CustomStringConvertible {
  /// One problem a line.
  public var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// An error or a warning about a configuration.
public struct ConfigurationProblem: Sendable, Hashable {
  /// The configuration file.
  public var file: String
  /// The line in it, from 1; nil when no line is to blame.
  public var line: Int?
  /// The column, from 1, in Unicode scalars.
  public var column: Int?
  /// The environment variable to blame instead of a line.
  public var environmentVariable: String?
  /// The key, as in `resources.billing.baseUrl` or `peers[0].uid`; empty for the whole file.
  public var keyPath: String
  /// The message: the error, and what to write instead. Never quotes a secret.
  public var message: String

  /// A problem at a position.
  public init(
    file: String, line: Int? = nil, column: Int? = nil, environmentVariable: String? = nil, keyPath: String = "",
    message: String
  ) {
    self.file = file
    self.line = line
    self.column = column
    self.environmentVariable = environmentVariable
    self.keyPath = keyPath
    self.message = message
  }
}

extension ConfigurationProblem: CustomStringConvertible {
  /// `postern.yaml:3:7: limits.depth: out of range…`, the form editors jump to.
  public var description: String {
    var position = environmentVariable.map { "environment variable \($0)" } ?? file
    if let line { position += ":\(line)" }
    if line != nil, let column { position += ":\(column)" }
    return keyPath.isEmpty ? "\(position): \(message)" : "\(position): \(keyPath): \(message)"
  }
}
