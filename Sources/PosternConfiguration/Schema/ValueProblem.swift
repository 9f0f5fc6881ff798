/// Why a scalar is not the value its key wants.
struct ValueProblem: Error {
  /// In words, without quoting the value where it could be a secret.
  var message: String

  /// A problem in words.
  init(_ message: String) { self.message = message }
}
