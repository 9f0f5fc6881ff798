import Testing

@Suite("URLs")
struct URLTests {
  private static func problems(baseURL: String, development: Bool = false) -> [String] {
    let yaml = """
      resources: { a: { auth: none, baseUrl: "\(baseURL)" } }
      development: { plainHTTPOnLoopback: \(development) }
      """
    return Fixture(yaml).problems.map { String($0.dropFirst("1:40: resources.a.baseUrl: ".count)) }
  }

  @Test(
    "What is a base URL",
    arguments: [
      "https://api.example.com", "https://api.example.com/", "https://api.example.com/a/b",
      "https://api.example.com:8443/a/",
      "HTTPS://API.example.com/", "https://192.0.2.1/", "https://[2001:db8::1]:8443/", "https://my_host/",
      "https://a.example/%20/",
    ])
  func good(url: String) {
    #expect(Self.problems(baseURL: url) == [])
  }

  @Test(
    "What is not",
    arguments: [
      ("ftp://a.example/", "must begin with https://"),
      ("api.example.com", "must be an absolute URL, as in https://example.com/"),
      ("https:/a.example", "must be an absolute URL, as in https://example.com/"),
      ("//a.example", "must be an absolute URL, as in https://example.com/"),
      ("https://", "the URL's host is not a host name, a dotted IPv4 address or an IPv6 address in brackets"),
      ("https://:443/", "the URL's host is not a host name, a dotted IPv4 address or an IPv6 address in brackets"),
      ("https://0x7f.1/", "the URL's host is not a host name, a dotted IPv4 address or an IPv6 address in brackets"),
      (
        "https://2130706433/", "the URL's host is not a host name, a dotted IPv4 address or an IPv6 address in brackets"
      ),
      (
        "https://127.0.0.01/", "the URL's host is not a host name, a dotted IPv4 address or an IPv6 address in brackets"
      ),
      (
        "https://[::1%25eth0]/",
        "the URL's host is not a host name, a dotted IPv4 address or an IPv6 address in brackets"
      ),
      (
        "https://a..example/", "the URL's host is not a host name, a dotted IPv4 address or an IPv6 address in brackets"
      ),
      ("https://a.example:0/", "the URL's port must be 1 to 65535"),
      ("https://a.example:65536/", "the URL's port must be 1 to 65535"),
      ("https://a.example:/", "the URL's port must be 1 to 65535"),
      ("https://a.example:99999999999999999999/", "the URL's port must be 1 to 65535"),
      ("https://user:secret@a.example/", "a URL must not hold a user name or password"),
      ("https://a.example/#x", "this URL must not have a fragment (#…)"),
      ("https://a.example/?x", "a base URL has no query"),
      ("https://a.example/%zz", "the URL has a % without two hexadecimal digits behind it"),
      (
        "https://a.example/ b",
        "a URL has no spaces, quotes, backslashes or characters beyond ASCII; percent-encode them"
      ),
      (
        "https://bücher.example/",
        "a URL has no spaces, quotes, backslashes or characters beyond ASCII; percent-encode them"
      ),
      (
        "http://a.example/",
        "must begin with https:// (http is for origins in outbound.plainHTTP, and for 127.0.0.0/8 and [::1] in development)"
      ),
      ("http://127.0.0.1/", "plain http needs development.plainHTTPOnLoopback: true"),
    ])
  func bad(url: String, message: String) {
    #expect(Self.problems(baseURL: url) == [message])
  }

  @Test(
    "The development switch allows plain http on loopback addresses only",
    arguments: [
      ("http://127.0.0.1:8080/", true), ("http://127.9.9.9/", true), ("http://[::1]:8080/", true),
      ("http://localhost/", false),
      ("http://10.0.0.1/", false), ("http://127.0.0.1.example.com/", false), ("http://a.example/", false),
    ])
  func development(url: String, isAllowed: Bool) {
    #expect(Self.problems(baseURL: url, development: true).isEmpty == isAllowed)
  }

  @Test("The switch counts wherever it is set, also in the environment")
  func switchFromEnvironment() {
    var fixture = Fixture("resources: { a: { auth: none, baseUrl: \"http://127.0.0.1/\" } }")
    fixture.environment = ["POSTERN__DEVELOPMENT__PLAINHTTPONLOOPBACK": "true"]
    #expect(fixture.problems == [])
    #expect(
      fixture.warnings == [
        "environment variable POSTERN__DEVELOPMENT__PLAINHTTPONLOOPBACK: development.plainHTTPOnLoopback: a development switch is on"
      ])
  }

  @Test(
    "Each kind of URL has its own rules",
    arguments: [
      ("validation: { jwksOrigins: [\"https://a.example\", \"https://a.example:8443\"] }", true),
      ("validation: { jwksOrigins: [\"https://a.example/\"] }", false),
      ("validation: { jwksOrigins: [\"https://a.example/keys\"] }", false),
      (
        "resources: { a: { auth: none, baseUrl: \"https://a.example\", additionalOrigins: [\"https://b.example\", \"https://b.example/x/\"] } }",
        true
      ),
      (
        "resources: { a: { auth: none, baseUrl: \"https://a.example\", additionalOrigins: [\"https://b.example/x\"] } }",
        false
      ),
      ("issuers: { a: { issuer: \"https://a.example/tenant\" } }", true),
      ("issuers: { a: { issuer: \"https://a.example/?tenant=1\" } }", false),
      (
        "issuers: { a: { issuer: \"https://a.example\", endpoints: { token: \"https://a.example/token?tenant=1\" } } }",
        true
      ),
      ("issuers: { a: { issuer: \"https://a.example\", endpoints: { token: \"https://a.example/token#x\" } } }", false),
      ("issuers: { a: { issuer: \"https://a.example\", clientId: a, redirectUri: \"https://b.example/cb\" } }", true),
      (
        "issuers: { a: { issuer: \"https://a.example\", clientId: a, redirectUri: \"http://127.0.0.1:8765/cb\" } }",
        true
      ),
      ("issuers: { a: { issuer: \"https://a.example\", clientId: a, redirectUri: \"com.example.app:/cb\" } }", true),
      ("issuers: { a: { issuer: \"https://a.example\", clientId: a, redirectUri: \"http://b.example/cb\" } }", false),
      (
        "issuers: { a: { issuer: \"https://a.example\", clientId: a, redirectUri: \"https://b.example/cb#x\" } }", false
      ),
      ("issuers: { a: { issuer: \"https://a.example\", clientId: a, redirectUri: \"javascript:alert(1)\" } }", false),
      ("store: { redis: { url: \"rediss://cache:6379/0\" } }", true),
      ("store: { redis: { url: \"redis://127.0.0.1\" } }", true),
      ("store: { redis: { url: \"https://cache\" } }", false),
      ("store: { redis: { url: \"rediss://:secret@cache/0\" } }", false),
      ("store: { redis: { url: \"rediss://cache/zero\" } }", false),
      ("http: { listen: \"127.0.0.1:9464\" }", true),
      ("http: { listen: \"[::1]:9464\" }", true),
      ("http: { listen: \"localhost:0\" }", true),
      ("http: { listen: \"0.0.0.0:9464\" }", false),
      ("http: { listen: \":9464\" }", false),
      ("http: { listen: \"9464\" }", false),
      ("http: { listen: \"127.0.0.1:65536\" }", false),
      ("http: { listen: \"127.0.0.1:\" }", false),
    ])
  func kinds(yaml: String, isGood: Bool) {
    #expect(Fixture(yaml).problems.isEmpty == isGood)
  }

  @Test("A URL with a password in it is never quoted in a message")
  func noPassword() {
    let yaml =
      "store: { redis: { url: \"rediss://:hunter2@cache/0\" } }\nresources: { a: { baseUrl: \"https://u:hunter2@a\" } }"
    #expect(!Fixture(yaml).problems.isEmpty)
    #expect(!Fixture(yaml).problems.joined().contains("hunter2"))
  }
}
