/// What becomes of environment variables that libraries heed on their own, past the configuration.
public struct EnvironmentRule: Sendable, Equatable {
  /// What is done about a variable that is set.
  public enum Treatment: String, Sendable {
    /// It is removed, and a warning says so: somebody may have expected something of it.
    case removedWithWarning = "removed, with a warning"
    /// It is removed, and nothing is said: it is set for other programs, and nothing changes.
    case removed
    /// It is too late to remove it: a warning says what it has done.
    case warning = "a warning: it is heeded before the program begins"
    /// It stays.
    case kept
  }

  /// The variables; a name that ends in `*` stands for all that begin so.
  public let names: [String]
  /// What is done.
  public let treatment: Treatment
  /// What heeds them and to what end, or why they stay.
  public let reason: String
  /// What does the same in the way that is supported.
  public let instead: String?

  init(_ names: [String], _ treatment: Treatment, _ reason: String, instead: String? = nil) {
    self.names = names
    self.treatment = treatment
    self.reason = reason
    self.instead = instead
  }

  func covers(_ variable: String) -> Bool {
    names.contains { name in
      name.utf8.last == UInt8(ascii: "*") ? variable.utf8.starts(with: name.utf8.dropLast()) : name == variable
    }
  }
}
