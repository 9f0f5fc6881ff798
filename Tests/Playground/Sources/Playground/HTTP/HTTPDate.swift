import Glibc
import PosternSupport

/// The date format of HTTP (RFC 9110 section 5.6.7).
enum HTTPDate {
  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// `Sun, 06 Nov 1994 08:49:37 GMT`; nil for a time that the calendar cannot express.
  static func string(_ time: Timestamp) -> String? {
    var seconds = time_t(time.secondsSinceEpoch)
    var parts = tm()
    guard gmtime_r(&seconds, &parts) != nil, days.indices.contains(Int(parts.tm_wday)),
      months.indices.contains(Int(parts.tm_mon))
    else { return nil }
    let date = "\(twoDigits(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(Int(parts.tm_year) + 1900)"
    let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map(twoDigits).joined(separator: ":")
    return "\(days[Int(parts.tm_wday)]), \(date) \(clock) GMT"
  }

  private static func twoDigits(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
}
