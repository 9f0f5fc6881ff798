import PosternSupport

/// `postern help ERROR`: the cause of an error and its cure, as the page of errors has them, without the page.
struct ErrorHelp {
  let code: Int
  let reason: String
  let cause: String
  let cure: String

  init(_ code: Int, _ reason: String, _ cause: String, _ cure: String) {
    (self.code, self.reason, self.cause, self.cure) = (code, reason, cause, cure)
  }

  /// The width of a line.
  private static let columns = 80

  /// What to print for `postern help NAME`; nil: the name is no error's.
  static func text(for name: String) -> String? {
    let found = all.filter { $0.reason == name || String($0.code) == name }
    return found.isEmpty ? nil : found.map(\.text).joined(separator: "\n\n")
  }

  private var text: String {
    "\(reason) (\(code))\n\n" + Self.filled("Cause: \(cause)") + "\n\n" + Self.filled("Cure: \(cure)")
  }

  /// Text in lines.
  private static func filled(_ text: String) -> String {
    var lines = [""]
    for word in text.split(atByte: " ").map(String.init) {
      let line = lines[lines.count - 1]
      if line.isEmpty {
        lines[lines.count - 1] = word
      } else if line.count + 1 + word.count <= columns {
        lines[lines.count - 1] = "\(line) \(word)"
      } else {
        lines.append(word)
      }
    }
    return lines.joined(separator: "\n")
  }
}
