/// Where a value of the configuration came from, for messages.
enum SourceOrigin: Sendable, Hashable {
  /// A place in the configuration file; both count from 1, columns in Unicode scalars.
  case file(line: Int, column: Int)
  /// An environment variable that overrides the file.
  case environment(String)
  /// Nowhere in particular: a key that is not there.
  case unknown
}
