package import HTTPMessages
package import PosternSupport

/// A date in an HTTP field (RFC 9110 section 5.6.7), in all three forms, which recipients must accept.
package enum HTTPDate {
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Returns the instant of `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or
  /// `Sun Nov  6 08:49:37 1994`; nil when `text` is of no such form. The name of the day is not compared with the date.
  /// A year of two digits is in the future by at most 50 years, counted from `now`.
  package static func parse(_ text: String, at now: Timestamp? = nil) -> Timestamp? {
    let bytes = Array(text.utf8)
    let parts = bytes.split(separator: UInt8(ascii: " "))
    switch parts.count {
    case 6 where parts[0].last == UInt8(ascii: ",") && parts[0].count == 4 && string(parts[5]) == "GMT":
      guard parts[1].count == 2, parts[3].count == 4, let year = number(parts[3]) else { return nil }
      return instant(year, string(parts[2]), parts[1], parts[4])
    case 4 where parts[0].last == UInt8(ascii: ",") && string(parts[3]) == "GMT":
      let date = parts[1].split(separator: UInt8(ascii: "-"))
      guard date.count == 3, date[0].count == 2, date[2].count == 2, let year = number(date[2]) else { return nil }
      return instant(century(of: year, now), string(date[1]), date[0], parts[2])
    case 5 where parts[0].count == 3 && parts[4].count == 4:
      guard (1...2).contains(parts[2].count), let year = number(parts[4]) else { return nil }
      return instant(year, string(parts[1]), parts[2], parts[3])
    default: return nil
    }
  }

  private static func instant(
    _ year: Int, _ month: String, _ day: ArraySlice<UInt8>, _ time: ArraySlice<UInt8>
  ) -> Timestamp? {
    let clock = time.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard let month = months.firstIndex(of: month), let day = number(day), clock.count == 3,
      clock.allSatisfy({ $0.count == 2 }), let hour = number(clock[0]), let minute = number(clock[1]),
      let second = number(clock[2]), (1...31).contains(day), year >= 1900, hour < 24, minute < 60, second <= 60
    else { return nil }
    let seconds = daysSinceEpoch(year: year, month: month + 1, day: day) * 86_400 + hour * 3600 + minute * 60 + second
    return Timestamp(secondsSinceEpoch: Int64(seconds))
  }

  private static func century(of year: Int, _ now: Timestamp?) -> Int {
    // 365.2425 days a year; a day more or less changes nothing here.
    let current = now.map { 1970 + Int($0.secondsSinceEpoch / 31_556_952) } ?? 2000
    let candidate = current / 100 * 100 + year
    return candidate > current + 50 ? candidate - 100 : candidate
  }

  private static func string(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
    guard digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }

  /// Days from the epoch to a proleptic Gregorian date (Howard Hinnant's `days_from_civil`); `year` is not negative.
  private static func daysSinceEpoch(year: Int, month: Int, day: Int) -> Int {
    let shifted = month <= 2 ? year - 1 : year
    let yearOfEra = shifted % 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return shifted / 400 * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}

/// The difference between a server's clock and this machine's, by the `Date` of its answer (RFC 9110 section 6.6.1).
enum ClockSkew {
  /// Returns the skew: positive when the server is ahead; zero when the clocks may agree. Nil when the answer has no
  /// usable date.
  ///
  /// `Date` has whole seconds and was written between sending and receiving, so that only what lies outside of that
  /// interval is skew.
  static func of(_ response: HTTPResponse, sentAt: Timestamp, receivedAt: Timestamp) -> Duration? {
    // An answer from a cache is as old as its `Age`, or older.
    guard response.fields["Age"] == nil, let date = response.fields["Date"].flatMap({ HTTPDate.parse($0) }) else {
      return nil
    }
    let least = date - receivedAt
    let most = date + .seconds(1) - sentAt
    if least > .zero { return least }
    return most < .zero ? most : .zero
  }
}

/// The delay that a server requests in `Retry-After` (RFC 9110 section 10.2.3). The callers decide whether they comply.
package enum RetryAfter {
  /// Longer delays count as this.
  static let longest = Duration.seconds(86_400)

  /// Returns the delay from now on, `longest` at most; nil when the fields have no readable value, or contradict
  /// themselves.
  ///
  /// A date is compared with the server's own `Date`, so that both are of one clock; without one, with `now`.
  package static func of(_ fields: HTTPFields, at now: Timestamp? = nil) -> Duration? {
    let values = fields.values(of: "Retry-After")
    guard values.count == 1 else { return nil }
    let text = HTTPFieldRules.trimmed(values[0])
    let digits = text.utf8
    if !digits.isEmpty, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
      let seconds = digits.reduce(Int64(0)) { min(longest.components.seconds, $0 * 10 + Int64($1 - 0x30)) }
      return .seconds(seconds)
    }
    guard let end = HTTPDate.parse(text, at: now), let start = fields["Date"].flatMap({ HTTPDate.parse($0) }) ?? now
    else { return nil }
    return .seconds(max(0, min(end.secondsSinceEpoch - start.secondsSinceEpoch, longest.components.seconds)))
  }
}
