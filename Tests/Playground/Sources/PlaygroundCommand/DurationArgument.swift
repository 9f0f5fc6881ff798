import ArgumentParser

/// A duration as configuration files write it: `250ms`, `30s`, `5m`, `2h`.
struct DurationArgument: ExpressibleByArgument {
  /// The duration meant.
  let duration: Duration

  /// A default value.
  init(_ duration: Duration) { self.duration = duration }

  /// Parses whole numbers with a unit; nil for anything else.
  init?(argument: String) {
    let digits = argument.prefix { $0.isASCII && $0.isNumber }
    guard let count = Int64(digits), count <= 1_000_000_000 else { return nil }
    switch argument.dropFirst(digits.count) {
    case "ms": duration = .milliseconds(count)
    case "s": duration = .seconds(count)
    case "m": duration = .seconds(count * 60)
    case "h": duration = .seconds(count * 3600)
    default: return nil
    }
  }

  var defaultValueDescription: String { "\(duration.components.seconds)s" }
}
