/// One thing that is wrong with a configuration, or, among the warnings, that deserves a look.
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
  /// What is wrong and what to write instead. Never quotes a secret.
  public var message: String

  /// A problem at a place.
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
    var place = environmentVariable.map { "environment variable \($0)" } ?? file
    if let line { place += ":\(line)" }
    if line != nil, let column { place += ":\(column)" }
    return keyPath.isEmpty ? "\(place): \(message)" : "\(place): \(keyPath): \(message)"
  }
}
