/// "Did you mean": the known name closest to a mistyped one.
enum Suggestion {
  /// The known name that `text` most likely stands for; nil when none is close.
  static func closest(to text: String, among names: some Sequence<String>) -> String? {
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

  /// The message for a value outside a closed set: the closest one, or all.
  static func message(for text: String, among values: [String]) -> String {
    let all = "must be one of \(values.joined(separator: ", "))"
    return closest(to: text, among: values).map { "\(all); did you mean \($0)?" } ?? all
  }

  /// Case, `_` and `-` do not count: `base_url` is `baseUrl`.
  private static func fold(_ text: String) -> [Character] {
    text.lowercased().filter { $0 != "_" && $0 != "-" }
  }

  /// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
  private static func distance(_ left: [Character], _ right: [Character]) -> Int {
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
