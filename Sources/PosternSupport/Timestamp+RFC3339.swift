extension Timestamp {
  /// The instant that `2026-01-02T03:04:05Z` names, in UTC to the second (RFC 3339); nil when `text` is not of that
  /// form.
  public init?(utc text: String) {
    let bytes = Array(text.utf8)
    let pattern = Array("0000-00-00T00:00:00Z".utf8)
    let zero = UInt8(ascii: "0")
    guard bytes.count == pattern.count,
      zip(bytes, pattern).allSatisfy({ $1 == zero ? (zero...UInt8(ascii: "9")).contains($0) : $0 == $1 })
    else { return nil }
    func number(_ range: Range<Int>) -> Int64 { bytes[range].reduce(0) { $0 * 10 + Int64($1 - zero) } }
    let (year, month, day) = (number(0..<4), number(5..<7), number(8..<10))
    let (hour, minute, second) = (number(11..<13), number(14..<16), number(17..<19))
    guard year >= 1970, (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second < 60 else {
      return nil
    }
    // Howard Hinnant's `days_from_civil`.
    let shifted = month <= 2 ? year - 1 : year
    let yearOfEra = shifted % 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let days = shifted / 400 * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    let instant = Timestamp(secondsSinceEpoch: days * 86_400 + hour * 3600 + minute * 60 + second)
    // The thirty-first of a shorter month would be another day.
    guard instant.rfc3339.startsWithBytes(of: text.dropLast()) else { return nil }
    self = instant
  }

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
