/// Why a configuration cannot be used: everything that is wrong with it, at once.
public struct ConfigurationProblems: Error, Sendable, Hashable {
  /// What is wrong, in the order of the file, then of the environment; never empty.
  public let problems: [ConfigurationProblem]
  /// What deserves a look besides.
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
