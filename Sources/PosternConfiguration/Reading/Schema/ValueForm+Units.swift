import PosternJSON

extension ValueForm where Value == Duration {
  /// A whole number with its unit: `250ms`, `30s`, `5m`, `1h`, `1d`. A number without unit is rejected, zero included:
  /// guessing between seconds and milliseconds goes wrong silently.
  package static func duration(_ range: ClosedRange<Duration>) -> Self {
    ValueForm(
      schema: { ["type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$"] },
      bounds: { "\(Units.text(of: range.lowerBound)) to \(Units.text(of: range.upperBound))" },
      placeholder: range.lowerBound,
      json: { .string(Units.text(of: $0)) },
      parse: { scalar, _ throws(ValueProblem) in
        let duration = try Units.duration(of: scalar.text)
        guard range.contains(duration) else {
          throw ValueProblem(
            "out of range: must be \(Units.text(of: range.lowerBound)) to \(Units.text(of: range.upperBound))")
        }
        return duration
      }
    )
  }

  /// Durations of whatever length fits the purpose of nearly every key.
  package static func duration(upTo longest: Duration) -> Self { duration(.zero...longest) }
}

extension ValueForm where Value == Int {
  /// A number of bytes: `16MiB`, `64KiB`, `1GiB`, or plain bytes.
  package static func size(_ range: ClosedRange<Int>) -> Self {
    ValueForm(
      schema: {
        [
          "type": ["integer", "string"], "minimum": .integer(Int64(range.lowerBound)),
          "maximum": .integer(Int64(range.upperBound)), "pattern": "^[0-9]+(B|KiB|MiB|GiB)?$",
        ]
      },
      bounds: { Units.sizeText(of: range) },
      placeholder: range.lowerBound,
      json: { value in
        let text = Units.sizeText(of: value)
        return Int64(text).map(JSONValue.integer) ?? .string(text)
      },
      parse: { scalar, _ throws(ValueProblem) in
        let size = try Units.size(of: scalar.text)
        guard let size, range.contains(size) else {
          throw ValueProblem("out of range: must be \(Units.sizeText(of: range))")
        }
        return size
      }
    )
  }
}

extension ValueForm where Value == UInt32 {
  /// Permission bits in octal, as chmod(1) writes them: `"0660"`, also without quotes, also `0o660`. A bare `660` is
  /// rejected: other YAML tools convert 0660 to the decimal number 432 when they rewrite a file.
  package static var mode: Self { mode(.file) }

  /// Permission bits of a directory: as `mode`, with a digit more for setgid, as in `"2770"`.
  package static var directoryMode: Self { mode(.directory) }

  private static func mode(_ bits: PermissionBits) -> Self {
    ValueForm(
      schema: { ["type": ["string", "integer"], "pattern": .string(bits.pattern)] },
      placeholder: bits.minimum,
      json: { .string("0" + String($0, radix: 8)) },
      parse: { scalar, _ throws(ValueProblem) in try bits.parse(scalar) }
    )
  }
}
