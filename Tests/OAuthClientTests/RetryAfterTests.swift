import AuthEngine
import HTTPMessages
import PosternSupport
import Testing

@testable import OAuthClient

/// `Retry-After` in both its forms, from servers that mean well and from those that do not.
@Suite struct RetryAfterTests {
  private static let now = Timestamp(secondsSinceEpoch: 784_111_777)  // Sun, 06 Nov 1994 08:49:37 GMT

  private static func fields(_ values: [String], date: String? = nil) -> HTTPFields {
    HTTPFields(
      values.map { .init(name: "Retry-After", value: $0) } + (date.map { [.init(name: "Date", value: $0)] } ?? []))
  }

  static let rows: [([String], Int?)] = [
    (["0"], 0), (["120"], 120), ([" 7 "], 7), (["007"], 7), (["86400"], 86_400), (["86401"], 86_400),
    (["99999999999999999999999"], 86_400), (["Sun, 06 Nov 1994 08:49:47 GMT"], 10),
    (["Sun, 06 Nov 1994 08:49:27 GMT"], 0), (["Sun, 06 Nov 2094 08:49:37 GMT"], 86_400),
    ([], nil), ([""], nil), (["-1"], nil), (["+1"], nil), (["1.5"], nil), (["1s"], nil), (["soon"], nil),
    (["1", "2"], nil), (["1, 2"], nil), (["Sunday, 06-Nov-94 08:49:47 GMT"], 10), (["٣"], nil),
  ]

  @Test("seconds and dates, bounded; unreadable values are ignored", arguments: rows)
  func values(row: ([String], Int?)) {
    #expect(RetryAfter.of(Self.fields(row.0), at: Self.now) == row.1.map { .seconds($0) })
  }

  @Test("a date is compared with the server's own clock where the answer has it, and with none where there is none")
  func dates() {
    let end = "Sun, 06 Nov 1994 09:00:30 GMT"
    #expect(
      RetryAfter.of(Self.fields([end], date: "Sun, 06 Nov 1994 09:00:00 GMT"), at: Self.now) == .seconds(30))
    #expect(RetryAfter.of(Self.fields([end])) == nil)
    #expect(RetryAfter.of(Self.fields([end], date: "yesterday"), at: Self.now) == .seconds(653))
  }
}
