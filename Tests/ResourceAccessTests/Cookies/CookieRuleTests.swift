import AuthEngine
import HTTPMessages
import PosternSupport
import Testing

@testable import ResourceAccess

@Suite("Which cookies are kept and where they go (RFC 6265)")
struct CookieRuleTests {
  static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)
  /// The resource is `example.com`, `www.example.com` and `api.example.com`.
  static let hosts: Set<String> = ["example.com", "www.example.com", "api.example.com", "[::1]", "10.0.0.1"]

  private func cookie(_ line: String, from url: String = "https://www.example.com/a/b") throws -> Cookie? {
    try CookieLine(line).flatMap { Cookie($0, from: try HTTPURL(url), hosts: Self.hosts, now: Self.now) }
  }

  @Test(
    "the grammar is the tolerant one of section 5.2; what has no name or strange characters is no cookie",
    arguments: [
      ("a=b", "a", "b"), (" a = b ; Path=/", "a", "b"), ("a=", "a", ""), ("a=b=c", "a", "b=c"),
      ("a=\"b c\"", "a", "\"b c\""),
      ("a\t=\tb", "a", "b"), ("a b=c", "a b", "c"), ("=b", nil, nil), ("b", nil, nil), ("", nil, nil),
      (";a=b", nil, nil),
      (" =b", nil, nil), ("a=b\u{1}", nil, nil), ("a=b\rSet: c", nil, nil), ("a=\u{7F}", nil, nil), ("a=ü", nil, nil),
      ("a=b\tc", nil, nil), ("a=b; Path=\u{0}", nil, nil),
    ] as [(String, String?, String?)])
  func grammar(row: (String, String?, String?)) {
    let line = CookieLine(row.0)
    #expect(line?.name == row.1 && line?.value == row.2)
  }

  @Test("names and values have a bound, attributes too, which go alone")
  func sizes() throws {
    #expect(CookieLine("a=" + String(repeating: "x", count: 4095)) != nil)
    #expect(CookieLine("a=" + String(repeating: "x", count: 4096)) == nil)
    let long = try #require(CookieLine("a=b; Path=/" + String(repeating: "x", count: 1024)))
    #expect(long.attributes["path"] == nil)
    let many = try #require(CookieLine("a=b" + String(repeating: "; Path=/x", count: 100_000)))
    #expect(many.attributes == ["path": "/x"])
  }

  @Test(
    "Domain: the host itself or a host of the resource above it, at a dot",
    arguments: [
      (nil, "www.example.com", true), ("", "www.example.com", true), (".", "www.example.com", true),
      ("www.example.com", "www.example.com", false), ("WWW.Example.COM", "www.example.com", false),
      (".example.com", "example.com", false), ("example.com", "example.com", false),
      ("api.example.com", nil, false), ("com", nil, false), (".com", nil, false), ("ample.com", nil, false),
      ("..example.com", nil, false), ("example.com.", nil, false), ("a.www.example.com", nil, false),
      ("evil.test", nil, false), ("example.com:443", nil, false), ("10.0.0.1", nil, false),
    ] as [(String?, String?, Bool)])
  func domains(row: (String?, String?, Bool)) throws {
    let cookie = try cookie("a=b" + (row.0.map { "; Domain=\($0)" } ?? ""))
    #expect(cookie?.domain == row.1)
    if let cookie { #expect(cookie.isHostOnly == row.2) }
  }

  @Test(
    "an address is never a domain of something below it",
    arguments: [
      ("https://10.0.0.1/", "10.0.0.1", true), ("https://10.0.0.1/", "0.0.1", false), ("https://[::1]/", "[::1]", true),
    ])
  func addresses(row: (String, String, Bool)) throws {
    let cookie = try cookie("a=b; Domain=\(row.1)", from: row.0)
    #expect((cookie != nil) == row.2)
    if let cookie { #expect(cookie.isHostOnly) }
    #expect(!Cookie.domainMatches("1.0.0.1", "0.0.1") && !Cookie.domainMatches("[::1]", "1]"))
  }

  @Test(
    "a cookie goes where domain, path and Secure let it",
    arguments: [
      ("a=b", "https://www.example.com/a/c", true), ("a=b", "https://www.example.com/a", true),
      ("a=b", "https://www.example.com/ab", false), ("a=b", "https://www.example.com/", false),
      ("a=b", "https://x.www.example.com/a/", false), ("a=b", "https://example.com/a/", false),
      ("a=b; Domain=example.com", "https://example.com/a/", true),
      ("a=b; Domain=example.com", "https://api.example.com/a/", true),
      ("a=b; Domain=example.com", "https://badexample.com/a/", false),
      ("a=b; Domain=example.com", "https://example.com.evil.test/a/", false),
      ("a=b; Path=/", "https://www.example.com/", true), ("a=b; Path=/a/", "https://www.example.com/a", false),
      ("a=b; Path=/a/", "https://www.example.com/a/x", true), ("a=b; Path=a", "https://www.example.com/a/x", true),
      ("a=b; Path=/x; Path=/a", "https://www.example.com/a/x", true),
      ("a=b; Path", "https://www.example.com/a/x", true),
      ("a=b; Path=/A", "https://www.example.com/a", false), ("a=b; Path=/a%2Fb", "https://www.example.com/a/b", false),
      ("a=b", "http://www.example.com/a/", true), ("a=b; Secure", "http://www.example.com/a/", false),
      ("a=b; secure=no", "http://www.example.com/a/", false), ("a=b; Secure", "https://www.example.com/a/", true),
      ("a=b; HttpOnly; SameSite=Strict", "https://www.example.com/a/", true),
      ("a=b", "https://www.example.com:8443/a/", true),
    ])
  func destinations(row: (String, String, Bool)) throws {
    let cookie = try #require(try cookie(row.0))
    #expect(cookie.goes(to: try HTTPURL(row.1)) == row.2)
  }

  @Test(
    "the default path is the folder of the request",
    arguments: [("/", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b", "/a"), ("/a/b/", "/a/b"), ("/a/b?c=/d", "/a")])
  func defaultPaths(row: (String, String)) throws {
    #expect(try cookie("a=b", from: "https://example.com" + row.0)?.path == row.1)
  }

  @Test(
    "Secure without TLS, and names with prefixes whose rules are broken, are rejected",
    arguments: [
      ("a=b; Secure", "http", false), ("a=b", "http", true), ("__Secure-a=b", "https", false),
      ("__Secure-a=b; Secure", "https", true), ("__Secure-a=b; Secure", "http", false),
      ("__secure-a=b", "https", false),
      ("__Host-a=b; Secure; Path=/", "https", true), ("__Host-a=b; Secure", "https", false),
      ("__Host-a=b; Path=/", "https", false), ("__Host-a=b; Secure; Path=/a", "https", false),
      ("__Host-a=b; Secure; Path=/; Domain=www.example.com", "https", false),
      ("__Host-a=b; Secure; Path=/; Domain=", "https", false), ("__HOST-a=b; Path=/", "https", false),
      ("__Hosta=b", "https", true),
    ])
  func prefixes(row: (String, String, Bool)) throws {
    #expect((try cookie(row.0, from: "\(row.1)://www.example.com/") != nil) == row.2)
  }

  @Test(
    "Max-Age takes precedence over Expires; nonsense is ignored; no cookie lives longer than 400 days",
    arguments: [
      ("a=b", nil), ("a=b; Max-Age=60", 60), ("a=b; Max-Age=0", .min), ("a=b; Max-Age=-1", .min),
      ("a=b; Max-Age=-99999999999999999999", .min), ("a=b; Max-Age=99999999999999999999", 400 * 86_400),
      ("a=b; Max-Age=1e3", nil), ("a=b; Max-Age=", nil), ("a=b; Max-Age=+5", nil), ("a=b; Max-Age=-", nil),
      ("a=b; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", 60),
      ("a=b; Max-Age=x; Expires=Thu, 01 Jan 1970 00:00:00 GMT", -1_800_000_000),
      ("a=b; Expires=Fri, 15 Jan 2027 08:01:00 GMT", 60), ("a=b; Expires=Fri, 31 Dec 9999 23:59:59 GMT", 400 * 86_400),
      ("a=b; Expires=soon", nil), ("a=b; Max-Age=5; Max-Age=60", 60),
    ] as [(String, Int64?)])
  func expiry(row: (String, Int64?)) throws {
    let expiry = try #require(try cookie(row.0)).expiry
    switch row.1 {
    case nil: #expect(expiry == nil)
    case Int64.min: #expect(expiry?.millisecondsSinceEpoch == .min)
    case let seconds?: #expect(expiry?.secondsSinceEpoch == Self.now.secondsSinceEpoch + seconds)
    }
  }

  @Test(
    "dates in every form that section 5.1.1 takes, and in none other",
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
      ("Sun Nov  6 08:49:37 1994", 784_111_777), ("06 Nov 1994 8:49:37", 784_111_777),
      ("1994 November 6 8:49:37 PM", 784_111_777),
      ("Thu, 01-Jan-1970 00:00:00 GMT", 0), ("29 Feb 2024 00:00:00", 1_709_164_800), ("29 Feb 2023 00:00:00", nil),
      ("01 Jan 69 00:00:00", 3_124_224_000), ("01 Jan 70 00:00:00", 0), ("31 Dec 1600 00:00:00", nil),
      ("01 Jan 1601 00:00:00", -11_644_473_600), ("32 Jan 2020 00:00:00", nil), ("00 Jan 2020 00:00:00", nil),
      ("31 Apr 2020 00:00:00", nil), ("01 Jan 2020 24:00:00", nil), ("01 Jan 2020 00:60:00", nil),
      ("01 Jan 2020 00:00:60", nil),
      ("01 Jan 2020", nil), ("Jan 2020 00:00:00", nil), ("01 2020 00:00:00", nil), ("01 Jan 00:00:00", nil), ("", nil),
      ("01 Jan 99999 00:00:00", nil), ("01 Jan 2020 00:00", nil), ("999999999999999999999 Jan 2020 00:00:00", nil),
    ] as [(String, Int64?)])
  func dates(row: (String, Int64?)) {
    #expect(CookieDate.parse(row.0)?.secondsSinceEpoch == row.1)
  }
}
