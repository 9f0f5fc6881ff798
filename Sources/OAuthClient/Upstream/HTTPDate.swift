package import HTTPMessages
package import PosternSupport

/// A date in an HTTP field (RFC 9110 section 5.6.7): the fixed-length form, which is the only one senders may use.
///
/// The two obsolete forms count as unreadable; for `Expires` that means "already expired" (RFC 9111 section 5.3).
package enum HTTPDate {
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Returns the instant of a date such as `Sun, 06 Nov 1994 08:49:37 GMT`; nil when `text` is not of that form.
  package static func parse(_ text: String) -> Timestamp? {
    let bytes = Array(text.utf8)
    guard bytes.count == 29, hasSeparators(bytes), let month = months.firstIndex(of: string(bytes[8..<11])),
      let day = number(bytes[5..<7]), let year = number(bytes[12..<16]), let hour = number(bytes[17..<19]),
      let minute = number(bytes[20..<22]), let second = number(bytes[23..<25]),
      (1...31).contains(day), year >= 1900, hour < 24, minute < 60, second <= 60
    else { return nil }
    let seconds = daysSinceEpoch(year: year, month: month + 1, day: day) * 86_400 + hour * 3600 + minute * 60 + second
    return Timestamp(secondsSinceEpoch: Int64(seconds))
  }

  private static func hasSeparators(_ bytes: [UInt8]) -> Bool {
    string(bytes[3..<5]) == ", " && bytes[7] == UInt8(ascii: " ") && bytes[11] == UInt8(ascii: " ")
      && bytes[16] == UInt8(ascii: " ") && bytes[19] == UInt8(ascii: ":") && bytes[22] == UInt8(ascii: ":")
      && string(bytes[25..<29]) == " GMT"
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
    guard response.fields["Age"] == nil, let date = response.fields["Date"].flatMap(HTTPDate.parse) else { return nil }
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
    guard let end = HTTPDate.parse(text), let start = fields["Date"].flatMap(HTTPDate.parse) ?? now else { return nil }
    return .seconds(max(0, min(end.secondsSinceEpoch - start.secondsSinceEpoch, longest.components.seconds)))
  }
}
