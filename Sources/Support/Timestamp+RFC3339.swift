extension Timestamp {
  /// RFC 3339 in UTC with milliseconds, as every `…At` member on the wire: `2026-01-02T03:04:05.678Z`.
  public var rfc3339: String {
    let clamped = min(max(millisecondsSinceEpoch, -62_135_596_800_000), 253_402_300_799_999)
    let millisecondsPerDay: Int64 = 86_400_000
    var day = clamped / millisecondsPerDay
    var rest = clamped % millisecondsPerDay
    if rest < 0 {
      rest += millisecondsPerDay
      day -= 1
    }
    let (year, month, dayOfMonth) = Self.civil(fromDay: day)
    var text: [UInt8] = []
    text.reserveCapacity(24)
    func append(_ value: Int64, digits: Int) {
      var divisor: Int64 = 1
      for _ in 1..<digits { divisor *= 10 }
      while divisor > 0 {
        text.append(UInt8(48 + (value / divisor) % 10))
        divisor /= 10
      }
    }
    append(year, digits: 4)
    text.append(UInt8(ascii: "-"))
    append(month, digits: 2)
    text.append(UInt8(ascii: "-"))
    append(dayOfMonth, digits: 2)
    text.append(UInt8(ascii: "T"))
    append(rest / 3_600_000, digits: 2)
    text.append(UInt8(ascii: ":"))
    append(rest / 60_000 % 60, digits: 2)
    text.append(UInt8(ascii: ":"))
    append(rest / 1000 % 60, digits: 2)
    text.append(UInt8(ascii: "."))
    append(rest % 1000, digits: 3)
    text.append(UInt8(ascii: "Z"))
    return String(decoding: text, as: UTF8.self)
  }

  /// Days since the epoch to a proleptic Gregorian date (Howard Hinnant's `civil_from_days`).
  private static func civil(fromDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }
}
