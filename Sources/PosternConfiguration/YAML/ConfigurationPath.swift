/// The path from the top of the configuration to a value.
package struct ConfigurationPath: Sendable, Hashable, CustomStringConvertible {
  /// One step.
  package enum Step: Sendable, Hashable {
    /// Into a key of a section, or a name of a map.
    case key(String)
    /// Into an item of a list, from 0.
    case index(Int)
  }

  /// The steps from the top.
  package var steps: [Step] = []

  package init(steps: [Step] = []) { self.steps = steps }

  /// The path of a key below this one.
  package func key(_ name: String) -> ConfigurationPath { ConfigurationPath(steps: steps + [.key(name)]) }

  /// The path of an item below this one.
  package func index(_ index: Int) -> ConfigurationPath { ConfigurationPath(steps: steps + [.index(index)]) }

  /// `resources.billing.tls.pins[0]`; names with other characters than letters, digits, `-` and `_` are in quotes.
  package var description: String {
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
  package static func printable(_ name: String) -> String {
    let scalars = name.unicodeScalars.prefix(80).map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 }
    return String(String.UnicodeScalarView(scalars)) + (name.unicodeScalars.count > 80 ? "…" : "")
  }
}
