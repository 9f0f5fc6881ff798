/// The way from the top of the configuration to a value.
struct ConfigurationPath: Sendable, Hashable, CustomStringConvertible {
  /// One step.
  enum Step: Sendable, Hashable {
    /// Into a key of a section, or a name of a map.
    case key(String)
    /// Into an item of a list, from 0.
    case index(Int)
  }

  /// The steps from the top.
  var steps: [Step] = []

  /// The path of a key below this one.
  func key(_ name: String) -> ConfigurationPath { ConfigurationPath(steps: steps + [.key(name)]) }

  /// The path of an item below this one.
  func index(_ index: Int) -> ConfigurationPath { ConfigurationPath(steps: steps + [.index(index)]) }

  /// The last key, for messages.
  var lastKey: String? {
    for case .key(let name) in steps.reversed() { return name }
    return nil
  }

  /// `resources.billing.tls.pins[0]`; names with other characters than letters, digits, `-` and `_` stand in quotes.
  var description: String {
    steps.reduce(into: "") { text, step in
      switch step {
      case .index(let index): text += "[\(index)]"
      case .key(let name):
        if !text.isEmpty { text += "." }
        text += Self.isBare(name) ? name : "\"\(Self.printable(name))\""
      }
    }
  }

  private static func isBare(_ name: String) -> Bool {
    !name.isEmpty && name.unicodeScalars.allSatisfy(YAMLText.mayNameAnchor)
  }

  /// `name` without control characters and of bounded length, so that a message stays one line.
  static func printable(_ name: String) -> String {
    let scalars = name.unicodeScalars.prefix(80).map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 }
    return String(String.UnicodeScalarView(scalars)) + (name.unicodeScalars.count > 80 ? "…" : "")
  }
}
