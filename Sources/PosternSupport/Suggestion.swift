/// "Did you mean": the known name closest to a mistyped one.
///
/// Callers cause it at will, on the thread that reads their messages: its cost is bounded.
package enum Suggestion {
  /// Among more names none is suggested: that would take too long.
  package static let maxNames = 200
  /// Longer texts and names are not compared.
  private static let maxBytes = 64
  /// More differences are not a slip of the hand.
  private static let maxDistance = 3

  /// The known name that `text` most likely stands for; nil when none is close, or there are too many.
  package static func closest(to text: String, among names: some Sequence<String>) -> String? {
    guard text.utf8.count <= maxBytes else { return nil }
    let folded = fold(text)
    var limit = min(maxDistance, max(1, folded.count / 3))
    var best: (name: String, distance: Int)?
    var count = 0
    for name in names {
      count += 1
      guard count <= maxNames else { return nil }
      guard name.utf8.count <= maxBytes, let distance = distance(folded, fold(name), atMost: limit) else { continue }
      // The same one every time, in whatever order they come.
      if let best, best.distance == distance, best.name < name { continue }
      (best, limit) = ((name, distance), distance)
    }
    return best?.name
  }

  /// `message`, with the closest of `names` when one is close: of those that the reader of the message may see.
  package static func appended(to message: String, for text: String, among names: some Sequence<String>) -> String {
    closest(to: text, among: names).map { "\(message); did you mean \($0)?" } ?? message
  }

  /// The message for a value outside a closed set: the closest one, or all.
  package static func message(for text: String, among values: [String]) -> String {
    appended(to: "must be one of \(values.joined(separator: ", "))", for: text, among: values)
  }

  /// Case, `_` and `-` do not count: `base_url` is `baseUrl`.
  private static func fold(_ text: String) -> [UInt8] {
    text.lowercasedASCII().utf8.filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-") }
  }

  /// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment); nil when there are more
  /// than `limit`. Looks at the diagonals that so many can reach.
  private static func distance(_ left: [UInt8], _ right: [UInt8], atMost limit: Int) -> Int? {
    guard abs(left.count - right.count) <= limit else { return nil }
    let far = limit + 1
    var beforeLast = [Int](repeating: far, count: right.count + 1)
    var last = (0...right.count).map { min($0, far) }
    var current = beforeLast
    for row in 0..<left.count {
      let columns = max(0, row - limit)..<min(right.count, row + limit + 1)
      current[columns.lowerBound] = columns.lowerBound == 0 ? min(row + 1, far) : far
      var least = current[columns.lowerBound]
      for column in columns {
        let isSame = left[row] == right[column]
        var cost = min(last[column + 1] + 1, current[column] + 1, last[column] + (isSame ? 0 : 1), far)
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          cost = min(cost, beforeLast[column - 1] + 1)
        }
        current[column + 1] = cost
        least = min(least, cost)
      }
      if columns.upperBound < right.count { current[columns.upperBound + 1] = far }
      guard least <= limit else { return nil }
      (beforeLast, last, current) = (last, current, beforeLast)
    }
    return last[right.count] <= limit ? last[right.count] : nil
  }
}
