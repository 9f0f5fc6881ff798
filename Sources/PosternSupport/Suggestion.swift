/// "Did you mean": the known name closest to a mistyped one.
package enum Suggestion {
  /// The known name that `text` most likely stands for; nil when none is close.
  package static func closest(to text: String, among names: some Sequence<String>) -> String? {
    guard text.utf8.count <= 64 else { return nil }
    let folded = fold(text)
    var best: (name: String, distance: Int)?
    for name in names {
      let distance = distance(folded, fold(name))
      if distance < best?.distance ?? .max { best = (name, distance) }
    }
    guard let best, best.distance <= max(1, folded.count / 3) else { return nil }
    return best.name
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

  /// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
  private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    guard !left.isEmpty, !right.isEmpty else { return max(left.count, right.count) }
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for row in 1...left.count {
      var current = [row]
      for column in 1...right.count {
        let isSame = left[row - 1] == right[column - 1]
        var cost = min(last[column] + 1, current[column - 1] + 1, last[column - 1] + (isSame ? 0 : 1))
        if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
          cost = min(cost, beforeLast[column - 2] + 1)
        }
        current.append(cost)
      }
      (beforeLast, last) = (last, current)
    }
    return last[right.count]
  }
}
