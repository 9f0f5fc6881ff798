import PosternJSON
import PosternYAML

extension ValueForm where Value == Duration {
  /// A whole number with its unit: `250ms`, `30s`, `5m`, `1h`, `1d`. A number without unit is rejected, zero included:
  /// guessing between seconds and milliseconds goes wrong silently.
  static func duration(_ range: ClosedRange<Duration>) -> Self {
    ValueForm(
      schema: ["type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$"],
      bounds: "\(Units.text(of: range.lowerBound)) to \(Units.text(of: range.upperBound))",
      placeholder: range.lowerBound,
      json: { .string(Units.text(of: $0)) },
      parse: { scalar, _ throws(ValueProblem) in
        guard let (number, unit) = Units.split(scalar.text) else {
          throw ValueProblem("must be a whole number with a unit: 250ms, 30s, 5m, 1h or 1d")
        }
        guard !unit.isEmpty else {
          throw ValueProblem("a duration needs a unit: write \(number)s or \(number)ms (units: ms, s, m, h, d)")
        }
        guard let milliseconds = Units.milliseconds[unit] else {
          throw ValueProblem("the unit must be one of ms, s, m, h, d")
        }
        let (total, overflow) = (Int64(number) ?? .max).multipliedReportingOverflow(by: milliseconds)
        let duration = Duration.milliseconds(overflow ? Int64.max : total)
        guard range.contains(duration) else {
          throw ValueProblem(
            "out of range: must be \(Units.text(of: range.lowerBound)) to \(Units.text(of: range.upperBound))")
        }
        return duration
      }
    )
  }

  /// Durations of whatever length fits the purpose of nearly every key.
  static func duration(upTo longest: Duration) -> Self { duration(.zero...longest) }
}

extension ValueForm where Value == Int {
  /// A number of bytes: `16MiB`, `64KiB`, `1GiB`, or plain bytes.
  static func size(_ range: ClosedRange<Int>) -> Self {
    ValueForm(
      schema: [
        "type": ["integer", "string"],
        "minimum": .integer(Int64(range.lowerBound)), "maximum": .integer(Int64(range.upperBound)),
        "pattern": "^[0-9]+(B|KiB|MiB|GiB)?$",
      ],
      bounds: Units.sizeText(of: range),
      placeholder: range.lowerBound,
      json: { value in
        let text = Units.sizeText(of: value)
        return Int64(text).map(JSONValue.integer) ?? .string(text)
      },
      parse: { scalar, _ throws(ValueProblem) in
        guard let (number, unit) = Units.split(scalar.text) else {
          throw ValueProblem("must be a number of bytes, or one with a unit: 64KiB, 16MiB, 1GiB")
        }
        guard let bytes = Units.bytes[unit] else {
          throw ValueProblem("the unit must be one of B, KiB, MiB, GiB (powers of 1024)")
        }
        let (total, overflow) = (Int(number) ?? .max).multipliedReportingOverflow(by: bytes)
        guard !overflow, range.contains(total) else {
          throw ValueProblem("out of range: must be \(Units.sizeText(of: range))")
        }
        return total
      }
    )
  }
}

extension ValueForm where Value == UInt32 {
  /// Permission bits in octal, as chmod(1) writes them: `"0660"`, also without quotes, also `0o660`. A bare `660` is
  /// rejected: other YAML tools convert 0660 to the decimal number 432 when they rewrite a file.
  static var mode: Self { octal(digits: 3...3, example: "0660", minimum: 0o600, placeholder: 0o600) }

  /// Permission bits of a directory: as `mode`, with a digit more for setgid, as in `"2770"`.
  static var directoryMode: Self { octal(digits: 3...4, example: "2770", minimum: 0o700, placeholder: 0o700) }

  private static func octal(
    digits count: ClosedRange<Int>, example: String, minimum: UInt32, placeholder: UInt32
  ) -> Self {
    ValueForm(
      schema: [
        "type": ["string", "integer"],
        "pattern": .string(
          "^0?o?[0-7]{\(Set([count.lowerBound, count.upperBound]).sorted().map(String.init).joined(separator: ","))}$"),
      ],
      placeholder: placeholder,
      json: { .string("0" + String($0, radix: 8)) },
      parse: { scalar, _ throws(ValueProblem) in
        var digits = scalar.text[...]
        let isMarked = digits.hasPrefix("0") && digits.count > 1
        if isMarked { digits = digits.dropFirst(digits.hasPrefix("0o") ? 2 : 1) }
        guard isMarked || scalar.style != .plain else {
          throw ValueProblem("write the mode in octal with a leading zero, as in \"\(example)\"")
        }
        guard count.contains(digits.count), digits.utf8.allSatisfy({ (0x30...0x37).contains($0) }),
          let mode = UInt32(digits, radix: 8)
        else {
          throw ValueProblem(
            "must be \(count.upperBound == 3 ? "three" : "three or four") octal digits with a leading zero, as in \"\(example)\""
          )
        }
        guard mode & minimum == minimum else {
          throw ValueProblem(
            "the owner must be able to \(minimum == 0o600 ? "read and write" : "read, write and enter"): \"0\(String(minimum, radix: 8))\" at least"
          )
        }
        return mode
      }
    )
  }
}
