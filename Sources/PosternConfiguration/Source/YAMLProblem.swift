/// Why a text is not a usable YAML document. The message never quotes the text: it may hold secrets.
struct YAMLProblem: Error, Sendable, Hashable {
  /// The line, from 1.
  var line: Int
  /// The column, from 1.
  var column: Int
  /// The keys that lead there, where known.
  var path = ConfigurationPath()
  /// What is wrong.
  var message: String
}
