/// Numbers with units, in both directions.
package enum Units {
  /// Milliseconds of each unit of duration.
  package static let milliseconds: [String: Int64] = ["ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000]
  /// Bytes of each unit of size.
  package static let bytes: [String: Int] = ["": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30]

  /// The digits at the beginning and the letters behind them; nil when the text is anything else.
  package static func split(_ text: String) -> (number: String, unit: String)? {
    let number = text.prefix { ("0"..."9").contains($0) }
    let unit = text.dropFirst(number.count)
    guard !number.isEmpty, number.count <= 18, unit.utf8.allSatisfy({ (0x41...0x7A).contains($0) }) else { return nil }
    return (String(number), String(unit))
  }

  /// `duration` with the largest unit that makes it a whole number.
  package static func text(of duration: Duration) -> String {
    let total = duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
    guard total != 0 else { return "0s" }
    for unit in ["d", "h", "m", "s"] {
      if let length = milliseconds[unit], total % length == 0 { return "\(total / length)\(unit)" }
    }
    return "\(total)ms"
  }

  /// `size` with the largest unit that makes it a whole number; plain bytes without unit.
  static func sizeText(of size: Int) -> String {
    for unit in ["GiB", "MiB", "KiB"] {
      if let length = bytes[unit], size != 0, size % length == 0 { return "\(size / length)\(unit)" }
    }
    return "\(size)"
  }

  /// The ends of a range, always with a unit.
  static func sizeText(of range: ClosedRange<Int>) -> String {
    let ends = [range.lowerBound, range.upperBound].map { bound in
      let text = sizeText(of: bound)
      return Int(text) == nil ? text : "\(text)B"
    }
    return ends.joined(separator: " to ")
  }

  /// Reads a duration; the longest there is when it is too long to be counted.
  package static func duration(of text: String) throws(ValueProblem) -> Duration {
    guard let (number, unit) = split(text) else {
      throw ValueProblem("must be a whole number with a unit: 250ms, 30s, 5m, 1h or 1d")
    }
    guard !unit.isEmpty else {
      throw ValueProblem("a duration needs a unit: write \(number)s or \(number)ms (units: ms, s, m, h, d)")
    }
    guard let length = milliseconds[unit] else { throw ValueProblem("the unit must be one of ms, s, m, h, d") }
    let (total, overflow) = (Int64(number) ?? .max).multipliedReportingOverflow(by: length)
    return .milliseconds(overflow ? Int64.max : total)
  }

  /// Reads a number of bytes; nil when it is too large to be counted.
  package static func size(of text: String) throws(ValueProblem) -> Int? {
    guard let (number, unit) = split(text) else {
      throw ValueProblem("must be a number of bytes, or one with a unit: 64KiB, 16MiB, 1GiB")
    }
    guard let length = bytes[unit] else {
      throw ValueProblem("the unit must be one of B, KiB, MiB, GiB (powers of 1024)")
    }
    let (total, overflow) = (Int(number) ?? .max).multipliedReportingOverflow(by: length)
    return overflow ? nil : total
  }
}
