package import PosternSupport

/// The dates in `Expires`, of whatever form servers write (RFC 6265 section 5.1.1).
package enum CookieDate {
  private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

  /// Nil for what is no date.
  package static func parse(_ text: String) -> Timestamp? {
    var time: [Int]?
    var day: Int?
    var month: Int?
    var year: Int?
    for token in text.utf8.split(whereSeparator: isDelimiter) {
      if time == nil, let found = clock(token) {
        time = found
      } else if day == nil, let found = number(token, 1...2) {
        day = found
      } else if month == nil, let found = monthNumber(token) {
        month = found
      } else if year == nil, let found = number(token, 2...4) {
        year = found
      }
    }
    guard let time, let day, let month, var year else { return nil }
    if (70...99).contains(year) { year += 1900 } else if (0...69).contains(year) { year += 2000 }
    guard (1...31).contains(day), year >= 1601, time[0] <= 23, time[1] <= 59, time[2] <= 59 else { return nil }
    let days = daysSinceEpoch(year, month, day)
    guard isOfMonth(day, month, year) else { return nil }
    return Timestamp(secondsSinceEpoch: Int64(days * 86_400 + time[0] * 3600 + time[1] * 60 + time[2]))
  }

  private static func isDelimiter(_ byte: UInt8) -> Bool {
    byte == 0x09 || (0x20...0x2F).contains(byte) || (0x3B...0x40).contains(byte) || (0x5B...0x60).contains(byte)
      || (0x7B...0x7E).contains(byte)
  }

  /// A number of that many digits at the beginning, not followed by another digit.
  private static func number(_ token: some Collection<UInt8>, _ count: ClosedRange<Int>) -> Int? {
    let digits = token.prefix { (0x30...0x39).contains($0) }
    guard count.contains(digits.count) else { return nil }
    return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }

  private static func clock(_ token: some Collection<UInt8>) -> [Int]? {
    let parts = token.split(separator: 0x3A, omittingEmptySubsequences: false)
    guard parts.count >= 3 else { return nil }
    // Only the text after the seconds may be something else.
    guard parts[0].allSatisfy({ (0x30...0x39).contains($0) }), parts[1].allSatisfy({ (0x30...0x39).contains($0) }),
      let hour = number(parts[0], 1...2), let minute = number(parts[1], 1...2), let second = number(parts[2], 1...2)
    else { return nil }
    return [hour, minute, second]
  }

  private static func monthNumber(_ token: some Collection<UInt8>) -> Int? {
    let name = String(decoding: token.prefix(3), as: UTF8.self).lowercasedASCII()
    return months.firstIndex(of: name).map { $0 + 1 }
  }

  private static func isOfMonth(_ day: Int, _ month: Int, _ year: Int) -> Bool {
    let next = month == 12 ? daysSinceEpoch(year + 1, 1, 1) : daysSinceEpoch(year, month + 1, 1)
    return daysSinceEpoch(year, month, day) < next
  }

  /// Days of the Gregorian calendar, counted from March so that the leap day comes last.
  private static func daysSinceEpoch(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let era = year / 400
    let ofEra = year - era * 400
    let ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
  }
}
