/// A property that must hold for every input, found broken.
public struct InvariantViolation: Error, CustomStringConvertible {
  /// The violation.
  public let description: String
}

/// Throws an `InvariantViolation` unless `condition` holds.
func demand(_ condition: Bool, _ property: @autoclosure () -> String) throws {
  guard condition else { throw InvariantViolation(description: property()) }
}
