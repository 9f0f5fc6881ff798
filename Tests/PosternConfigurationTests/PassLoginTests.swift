import PosternConfiguration
import Testing

@Suite("The logins of adobe-pass")
struct PassLoginTests {
  private static func fixture(_ keys: String, baseURL: String = "https://b.example") -> Fixture {
    Fixture(
      """
      development: { plainHTTPOnLoopback: true }
      preauthorization:
        p: { kind: adobe-pass, baseUrl: "\(baseURL)", serviceProvider: a, softwareStatementFile: /s, \
      deviceIdFile: /d\(keys) }
      """, files: ["/s": "statement"])
  }

  @Test("without keys no redirectUrl, domain and further origin is allowed, and no MVPD is needed")
  func defaults() throws {
    let pass = try #require(try Self.fixture("").configuration().preauthorization["p"]).adobePass
    #expect(pass.mvpd == nil)
    #expect(pass.login.redirectURLs == [] && pass.login.domainNames == [] && pass.login.urlOrigins == [])
    #expect(pass.login.pollInterval == .seconds(5))
  }

  @Test("the keys arrive as they are written, an application's own scheme and a slash at the end among them")
  func values() throws {
    let keys = """
      , redirectUrls: ["https://a.example/", "app:/done"], domainNames: [a.example], urlOrigins: ["https://l.example"], \
      pollInterval: 3s
      """
    let login = try #require(try Self.fixture(keys).configuration().preauthorization["p"]).adobePass.login
    #expect(login.redirectURLs == ["https://a.example/", "app:/done"])
    #expect(login.domainNames == ["a.example"] && login.urlOrigins == ["https://l.example"])
    #expect(login.pollInterval == .seconds(3))
  }

  @Test(
    "origins that a browser must not be sent to, and polling that Adobe Pass does not allow, are errors",
    arguments: [
      (", urlOrigins: [\"http://127.0.0.1:81\"]", "p.urlOrigins[0]: must begin with https://, as baseUrl does"),
      (", urlOrigins: [\"https://l.example\", \"HTTP://127.0.0.1\"]", "p.urlOrigins[1]: must begin with https://"),
      (", urlOrigins: [\"https://l.example/path\"]", "p.urlOrigins[0]: must be an origin without a path"),
      (", urlOrigins: [\"http://l.example\"]", "p.urlOrigins[0]: must begin with https://"),
      (", pollInterval: 2s", "p.pollInterval: out of range"),
      (", redirectUrls: \"https://a.example\"", "p.redirectUrls: must be"),
    ])
  func problems(keys: String, problem: String) {
    let problems = Self.fixture(keys).problems
    #expect(problems.count == 1 && problems.first?.contains(problem) == true, "\(problems)")
  }

  @Test("an http origin next to an http baseUrl, as in development, is accepted")
  func plainOrigins() {
    let keys = ", urlOrigins: [\"http://127.0.0.1:81\"]"
    #expect(Self.fixture(keys, baseURL: "http://127.0.0.1:80/adobe").problems == [])
  }
}
