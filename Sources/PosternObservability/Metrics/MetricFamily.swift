/// Writes one metric family in the Prometheus text format 0.0.4.
package struct MetricFamily {
  /// The kinds used here.
  package enum Kind: String {
    case counter, gauge, histogram
  }

  package private(set) var text: String
  private let name: String

  package init(_ name: String, _ kind: Kind, _ help: String) {
    self.name = name
    text = "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
  }

  package mutating func sample(_ labels: [(String, String)] = [], _ value: some CustomStringConvertible) {
    text += "\(name)\(Self.render(labels)) \(value)\n"
  }

  package mutating func sample(_ labels: [(String, String)], _ histogram: Histogram) {
    var cumulative: UInt64 = 0
    for (bound, count) in zip(Histogram.latencyBounds, histogram.counts) {
      cumulative += count
      text += "\(name)_bucket\(Self.render(labels + [("le", "\(bound)")])) \(cumulative)\n"
    }
    text += "\(name)_bucket\(Self.render(labels + [("le", "+Inf")])) \(histogram.count)\n"
    text += "\(name)_sum\(Self.render(labels)) \(histogram.sum)\n"
    text += "\(name)_count\(Self.render(labels)) \(histogram.count)\n"
  }

  private static func render(_ labels: [(String, String)]) -> String {
    guard !labels.isEmpty else { return "" }
    return "{" + labels.map { "\($0)=\"\(escape($1))\"" }.joined(separator: ",") + "}"
  }

  /// Label values: backslash, quote and line feed are escaped.
  private static func escape(_ value: String) -> String {
    value.reduce(into: "") { result, character in
      switch character {
      case "\\": result += "\\\\"
      case "\"": result += "\\\""
      case "\n": result += "\\n"
      default: result.append(character)
      }
    }
  }
}
