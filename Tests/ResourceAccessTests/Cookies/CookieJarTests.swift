import AuthEngine
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@testable import ResourceAccess
@testable import Sessions

@Suite("Jars keep cookies in bounds")
struct CookieJarTests {
  static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)

  private struct Jar {
    var jar: CookieJar
    var now = CookieJarTests.now

    init(_ policy: CookiePolicy = CookiePolicy()) { jar = CookieJar(policy: policy) }

    mutating func keep(_ line: String, from text: String = "https://example.com/") throws {
      let url = try HTTPURL(text)
      guard let parsed = CookieLine(line),
        let cookie = Cookie(parsed, from: url, hosts: ["example.com", "www.example.com"], now: now)
      else { return }
      jar.keep(cookie, from: url, now: now)
    }

    mutating func sent(to text: String = "https://example.com/") throws -> String {
      jar.pairs(for: try HTTPURL(text), now: now).map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }
  }

  @Test("a cookie of the same name, domain and path replaces the other, and keeps its position")
  func replacement() throws {
    var jar = Jar()
    for line in ["a=1", "b=1", "a=2", "a=3; Path=/x", "a=4; Domain=example.com"] { try jar.keep(line) }
    #expect(try jar.sent() == "a=2; b=1; a=4")
    #expect(try jar.sent(to: "https://example.com/x/y") == "a=3; a=2; b=1; a=4", "longer paths first")
    try jar.keep("a=; Max-Age=0")
    #expect(try jar.sent() == "b=1; a=4")
  }

  @Test("time takes cookies away")
  func time() throws {
    var jar = Jar()
    try jar.keep("a=1; Max-Age=60")
    try jar.keep("b=1")
    jar.now = jar.now + .seconds(59)
    #expect(try jar.sent() == "a=1; b=1")
    jar.now = jar.now + .seconds(1)
    #expect(try jar.sent() == "b=1" && jar.jar.count == 1)
  }

  @Test("over the limit of count or bytes the cookie used longest ago is removed")
  func bounds() throws {
    var jar = Jar(CookiePolicy(maxCookies: 3))
    for name in ["a", "b", "c"] { try jar.keep("\(name)=1; Path=/\(name)") }
    #expect(try jar.sent(to: "https://example.com/a") == "a=1")
    try jar.keep("d=1")
    #expect(try jar.sent(to: "https://example.com/b") == "d=1" && jar.jar.count == 3)
    #expect(try jar.sent(to: "https://example.com/a") == "a=1; d=1")
    var small = Jar(CookiePolicy(maxBytes: 200))
    try small.keep("a=" + String(repeating: "x", count: 100))
    try small.keep("b=" + String(repeating: "x", count: 100))
    #expect(try small.sent().hasPrefix("b=") && small.jar.count == 1 && small.jar.byteCount <= 200)
    try small.keep("c=" + String(repeating: "x", count: 300))
    #expect(small.jar.count == 1, "one that fits into no jar does not empty it")
  }

  @Test("an answer in the open cannot overlay a cookie that is kept out of the open")
  func shadowing() throws {
    var jar = Jar()
    try jar.keep("a=1; Secure; Domain=example.com", from: "https://www.example.com/")
    try jar.keep("a=evil", from: "http://www.example.com/")
    try jar.keep("a=evil; Max-Age=0", from: "http://example.com/")
    #expect(try jar.sent() == "a=1")
    try jar.keep("b=2", from: "http://example.com/")
    #expect(try jar.sent(to: "http://example.com/") == "b=2")
  }

  @Test("a user with very many jars, or large ones, makes another one lose theirs")
  func jarsOfOthers() throws {
    let jars = CookieJars()
    let url = try HTTPURL("https://example.com/")
    let policy = CookiePolicy()
    func key(_ uid: UInt32) -> CookieJars.Key {
      let scope = CookieScope(uid: uid, session: .random())
      return CookieJars.Key(store: policy.store, scope: scope, authentication: .user)
    }
    func cookie(_ text: String) throws -> Cookie {
      let line = try #require(CookieLine(text))
      return try #require(Cookie(line, from: url, hosts: [], now: Self.now))
    }
    let other = key(1)
    jars.keep([try cookie("a=1")], other, policy: policy, from: url, now: Self.now)
    let (small, large) = (try cookie("b=1"), try cookie("b=" + String(repeating: "x", count: 4000)))
    for _ in 0...CookieJars.maxJars { jars.keep([small], key(2), policy: policy, from: url, now: Self.now) }
    #expect(jars.count == CookieJars.maxJars)
    #expect(jars.pairs(other, for: url, now: Self.now).count == 1)
    let lines = try (0..<20).map { number in try cookie("c\(number)=" + String(repeating: "x", count: 3000)) }
    for _ in 0..<700 { jars.keep(lines + [large], key(3), policy: policy, from: url, now: Self.now) }
    #expect(jars.pairs(other, for: url, now: Self.now).count == 1)
  }

  @Test("all jars together have bounds too, and forgetting leaves no bytes behind")
  func allJars() throws {
    let jars = CookieJars()
    let url = try HTTPURL("https://example.com/")
    let policy = CookiePolicy()
    let session = SessionHandle.random()
    func key(_ uid: UInt32, _ session: SessionHandle? = nil) -> CookieJars.Key {
      CookieJars.Key(store: policy.store, scope: CookieScope(uid: uid, session: session), authentication: .user)
    }
    let line = try #require(CookieLine("a=1"))
    let cookie = try #require(Cookie(line, from: url, hosts: [], now: Self.now))
    jars.keep([cookie], key(0, session), policy: policy, from: url, now: Self.now)
    for uid in 1...UInt32(CookieJars.maxJars) {
      jars.keep([cookie], key(uid), policy: policy, from: url, now: Self.now)
    }
    #expect(jars.count == CookieJars.maxJars)
    #expect(jars.pairs(key(0, session), for: url, now: Self.now).isEmpty, "the oldest has gone")
    jars.keep([cookie], key(7, session), policy: policy, from: url, now: Self.now)
    #expect(jars.pairs(key(7, session), for: url, now: Self.now).count == 1)
    jars.forget(session: session)
    #expect(jars.pairs(key(7, session), for: url, now: Self.now).isEmpty)
    jars.forgetAll(but: [policy])
    #expect(jars.count > 0)
    jars.forgetAll(but: [CookiePolicy()])
    #expect(jars.count == 0)
  }
}
