import AuthEngine
import HTTPMessages
import PosternSupport
import Testing

@testable import OAuthClient
@testable import TokenValidation

@Suite("How long a response may be kept")
struct ResponseLifetimeTests {
  typealias Fields = [(String, String)]

  static let lifetimes: [(Fields, Int64?)] = [
    ([], nil), ([("Cache-Control", "public")], nil), ([("Cache-Control", "max-age=600")], 600),
    ([("cache-control", "public, MAX-AGE=600, must-revalidate")], 600), ([("Cache-Control", "max-age=\"600\"")], 600),
    ([("Cache-Control", "max-age=600, max-age=60")], 60),
    ([("Cache-Control", "max-age=600"), ("Cache-Control", "max-age=60")], 60),
    ([("Cache-Control", "max-age=600, no-store")], 0), ([("Cache-Control", "no-cache")], 0),
    ([("Cache-Control", "max-age=-1")], 0), ([("Cache-Control", "max-age=")], 0), ([("Cache-Control", "max-age")], 0),
    ([("Cache-Control", "max-age=1e9")], 0), ([("Cache-Control", "max-age=+5")], 0),
    ([("Cache-Control", "s-maxage=600")], nil), ([("Cache-Control", "max-ages=600")], nil),
    ([("Cache-Control", "max-age=18446744073709551616")], 1 << 31),
    ([("Cache-Control", "max-age=\(String(repeating: "9", count: 10_000))")], 1 << 31),
    ([("Cache-Control", "max-age=600"), ("Age", "100")], 500), ([("Cache-Control", "max-age=600"), ("Age", "900")], 0),
    ([("Cache-Control", "max-age=600"), ("Age", "-9")], 600), ([("Cache-Control", "max-age=600"), ("Age", "x")], 600),
    ([("Expires", "Fri, 15 Jan 2027 08:10:00 GMT")], 600), ([("Expires", "Fri, 15 Jan 2027 07:00:00 GMT")], 0),
    ([("Expires", "0")], 0), ([("Expires", "-1")], 0), ([("Expires", "")], 0),
    ([("Expires", "Fri, 15 Jan 9999 08:10:00 GMT")], 1 << 31),
    ([("Expires", "Fri, 15 Jan 2027 08:10:00 GMT"), ("Date", "Fri, 15 Jan 2027 08:05:00 GMT")], 300),
    ([("Expires", "Fri, 15 Jan 2027 08:10:00 GMT"), ("Date", "yesterday")], 600),
    ([("Expires", "Fri, 15 Jan 2027 08:10:00 GMT"), ("Cache-Control", "max-age=5")], 5),
  ]

  @Test("the fields are read as RFC 9111 requires, and nothing overflows", arguments: lifetimes)
  func lifetime(fields: Fields, seconds: Int64?) {
    let fields = HTTPFields(fields.map { HTTPFields.Field(name: $0.0, value: $0.1) })
    let now = Timestamp(secondsSinceEpoch: 1_800_000_000)
    #expect(ResponseLifetime.of(fields, at: now) == seconds.map { .seconds($0) })
  }

  static let dates: [(String, Int64?)] = [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_200), ("Fri, 15 Jan 2027 08:00:00 GMT", 1_800_000_000),
    ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777), ("Sun Nov  6 08:49:37 1994", 784_111_777), ("", nil),
    ("Friday, 15-Jan-27 08:00:00 GMT", 1_800_000_000), ("Fri Jan 15 08:00:00 2027", 1_800_000_000),
    ("Friday, 15-Jan-2027 08:00:00 GMT", nil), ("Fri Jan 15 08:00 2027", nil), ("Fri Jan 15 08:00:00 27", nil),
    ("Sun, 06 Nov 1994 08:49:37 UTC", nil), ("Sun, 00 Nov 1994 08:49:37 GMT", nil),
    ("Sun, 06 Nop 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 24:49:37 GMT", nil),
    ("Sun, 06 Nov 1994 08:60:37 GMT", nil), ("Sun, 06 Nov 1994 08:49:61 GMT", nil),
    ("Sun, -6 Nov 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 0000 08:49:37 GMT", nil),
    ("Sun, 06 Nov 1994 08:49:37 GMTX", nil), ("Sün, 06 Nov 1994 08:49:37GMT", nil),
  ]

  @Test("the three forms of a date are read, and no other text", arguments: dates)
  func date(text: String, seconds: Int64?) {
    #expect(HTTPDate.parse(text)?.secondsSinceEpoch == seconds)
  }

  static let clamped: [(Duration?, Duration)] = [
    (nil, .seconds(300)), (.zero, .seconds(60)), (.seconds(59), .seconds(60)), (.seconds(61), .seconds(61)),
    (.seconds(86_400), .seconds(86_400)), (.seconds(86_401), .seconds(86_400)),
  ]

  @Test("lifetimes are clamped; saying nothing means five minutes", arguments: clamped)
  func clamping(stated: Duration?, expected: Duration) {
    #expect(KeySetPolicy().lifetime(stated) == expected)
  }

  @Test("a policy that contradicts itself or is negative is made sound, not trusted")
  func policy() {
    let odd = KeySetPolicy(minTTL: .seconds(90), maxTTL: .seconds(30), cooldown: .seconds(-1), staleIfError: .zero)
    #expect(odd.lifetime(nil) == .seconds(90) && odd.maxTTL == .seconds(90) && odd.cooldown == .zero)
    #expect(KeySetPolicy(minTTL: .seconds(-5)).lifetime(.zero) == .seconds(1))
    #expect(KeySetPolicy(minTTL: .seconds(600)).lifetime(nil) == .seconds(600), "the default is clamped too")
  }
}
