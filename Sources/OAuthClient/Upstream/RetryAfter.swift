package import HTTPMessages
package import PosternSupport

/// How long a server asks to be left alone (RFC 9110 section 10.2.3): advice to whoever asked, which nothing here obeys
/// by itself.
package enum RetryAfter {
  /// Longer waits count as this.
  static let longest = Duration.seconds(86_400)

  /// The wait from now on, `longest` at most; nil when the fields say nothing that can be read, or contradict
  /// themselves.
  ///
  /// A date is held against the server's own `Date`, so that it does not matter whose clock is right; without one
  /// against `now`.
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
