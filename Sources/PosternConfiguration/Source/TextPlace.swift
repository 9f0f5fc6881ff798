/// A place in a text file; line and column count from 1, columns in Unicode scalars.
struct TextPlace: Sendable, Hashable {
  /// The line.
  var line: Int
  /// The column.
  var column: Int
}
