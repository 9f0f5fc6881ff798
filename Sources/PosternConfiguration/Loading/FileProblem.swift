/// Why a file that the configuration names is of no use.
struct FileProblem: Error {
  /// In words.
  var message: String

  /// A problem in words.
  init(message: String) { self.message = message }

  /// A failure to read the file at `path`.
  init(path: String, failure: ConfigurationFile.Failure) {
    message = "\(ConfigurationPath.printable(path)): \(failure.message)"
  }
}
