import HTTPMessages
import OAuthClient
import PosternSupport

/// How long a response may be kept by what its fields say (RFC 9111 sections 4.2 and 5.2.2), before any clamping.
enum ResponseLifetime {
  /// Beyond this every policy has clamped; keeps arithmetic far from overflow.
  private static let maxSeconds: Int64 = 1 << 31

  /// The lifetime that is left; nil when the fields say nothing. `no-store` and `no-cache` are zero.
  static func of(_ fields: HTTPFields, at now: Timestamp) -> Duration? {
    guard let total = total(of: fields, at: now) else { return nil }
    let age = fields["Age"].flatMap(seconds) ?? 0
    return .seconds(max(0, total - age))
  }

  private static func total(of fields: HTTPFields, at now: Timestamp) -> Int64? {
    var maxAge: Int64?
    for directive in directives(of: fields) {
      switch directive.name {
      case "no-store", "no-cache": return 0
      case "max-age":
        // Repeated or unreadable: the shorter life, as RFC 9111 section 4.2.1 wants it.
        maxAge = min(maxAge ?? maxSeconds, directive.value.flatMap(seconds) ?? 0)
      default: break
      }
    }
    if let maxAge { return maxAge }
    guard let expires = fields["Expires"] else { return nil }
    guard let end = HTTPDate.parse(expires) else { return 0 }
    let start = fields["Date"].flatMap(HTTPDate.parse) ?? now
    return min(max(0, end.secondsSinceEpoch - start.secondsSinceEpoch), maxSeconds)
  }

  private static func directives(of fields: HTTPFields) -> [(name: String, value: String?)] {
    fields.values(of: "Cache-Control").flatMap { $0.split(atByte: ",") }.prefix(64).map { part in
      let pieces = part.split(atByte: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = HTTPFieldRules.trimmed(String(pieces[0])).lowercasedASCII()
      return (name, pieces.count == 2 ? HTTPFieldRules.trimmed(String(pieces[1])) : nil)
    }
  }

  /// `delta-seconds`, quoted or not; what is too large counts as very long (RFC 9111 section 1.2.2).
  private static func seconds(_ text: String) -> Int64? {
    var digits = text.utf8[...]
    if digits.count >= 2, digits.first == UInt8(ascii: "\""), digits.last == UInt8(ascii: "\"") {
      digits = digits.dropFirst().dropLast()
    }
    guard !digits.isEmpty, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    return digits.reduce(into: Int64(0)) { value, digit in
      value = min(maxSeconds, value * 10 + Int64(digit - 0x30))
    }
  }
}
