import HTTPMessages
import PosternSupport
import Testing

@Suite("Outbound proxy: its URL, its exceptions, and servers without TLS")
struct OutboundProxyTests {
  // MARK: - Exceptions

  /// Would catch a suffix that matches the name itself or a look-alike, a network that matches a name, a port that is
  /// not compared, and case, dots and brackets that hide a match.
  @Test(
    "an exception means just what it is",
    arguments: [
      ("corp.example", "https://corp.example/", true), ("corp.example", "https://a.corp.example/", false),
      ("corp.example", "https://acorp.example/", false), ("CORP.Example.", "https://corp.EXAMPLE/", true),
      (".corp.example", "https://corp.example/", false), (".corp.example", "https://a.corp.example/", true),
      (".corp.example", "https://a.b.corp.example/", true), (".corp.example", "https://acorp.example/", false),
      (".Corp.example.", "https://a.corp.example/", true), (".corp.example", "https://corp.example.evil.test/", false),
      ("corp.example:8443", "https://corp.example:8443/", true), ("corp.example:8443", "https://corp.example/", false),
      ("corp.example:443", "https://corp.example/", true), ("corp.example:443", "http://corp.example/", false),
      (".corp.example:80", "http://a.corp.example/", true),
      ("10.0.0.0/8", "https://10.255.1.2/", true), ("10.0.0.0/8", "https://11.0.0.1/", false),
      ("10.0.0.0/8", "https://10.example/", false), ("10.0.0.0/8:8080", "http://10.1.1.1:8080/", true),
      ("10.0.0.0/8:8080", "http://10.1.1.1/", false), ("10.0.0.0/8", "https://[::ffff:10.1.2.3]/", true),
      ("192.0.2.0/31", "https://192.0.2.1/", true), ("192.0.2.0/31", "https://192.0.2.2/", false),
      ("0.0.0.0/0", "https://198.51.100.7/", true), ("0.0.0.0/0", "https://[2001:db8::1]/", false),
      ("0.0.0.0/0", "https://corp.example/", false),
      ("192.0.2.9", "https://192.0.2.9/", true), ("192.0.2.9", "https://192.0.2.90/", false),
      ("::1", "https://[::1]/", true), ("[::1]", "https://[0:0:0:0:0:0:0:1]/", true),
      ("[2001:DB8::1]:8443", "https://[2001:db8::1]:8443/", true),
      ("[2001:db8::1]:8443", "https://[2001:db8::1]/", false),
      ("2001:db8::/32", "https://[2001:db8:1::9]/", true), ("[2001:db8::]/32", "https://[2001:db9::]/", false),
      ("[2001:db8::/32]:443", "https://[2001:db8::2]/", true), ("[2001:db8::]/32:443", "https://[2001:db8::2]/", true),
      ("localhost", "https://localhost/", true), ("fe80::/10", "https://[fe80::1]/", true),
    ])
  func exceptions(rule: String, url: String, matches: Bool) throws {
    #expect(try ProxyExceptions([rule]).match(HTTPURL(url).origin) == matches)
  }

  /// Would catch a rule that is read as something else, or silently as nothing.
  @Test(
    "what is no exception is an error",
    arguments: [
      "", ".", "*", "*.corp.example", "corp.example:", "corp.example:0", "corp.example:65536", "corp.example:x",
      "https://corp.example", "corp.example/x", "a..b", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "10.0.0.1/8",
      "2001:db8::1/32", "[2001:db8::1", "[corp.example]", "[2001:db8::1]x", "10.0.0/8", "0x7f.1", "a b",
      "corp.example,b",
      ".10.0.0.1", "2001:db8::/129", "ü.example",
    ])
  func badExceptions(rule: String) {
    #expect(throws: ProxyExceptions.Problem.self) { try ProxyExceptions([rule]) }
  }

  @Test("one of several suffices, and none matches nothing")
  func several() throws {
    let exceptions = try ProxyExceptions(["a.test", ".b.test", "10.0.0.0/8"])
    #expect(exceptions.match(try HTTPURL("https://x.b.test/").origin))
    #expect(!exceptions.match(try HTTPURL("https://c.test/").origin))
    #expect(!ProxyExceptions.none.match(try HTTPURL("https://a.test/").origin))
  }

  // MARK: - The proxy's URL

  @Test(
    "a proxy has scheme, host and port",
    arguments: [
      ("http://proxy.test:3128", "http://proxy.test:3128"), ("https://PROXY.test:443", "https://proxy.test"),
      ("http://proxy.test:80/", "http://proxy.test"), ("http://[2001:db8::1]:3128", "http://[2001:db8::1]:3128"),
    ])
  func urls(url: String, origin: String) throws {
    #expect(try OutboundProxy(url).origin.description == origin)
  }

  /// Would catch libcurl's own reading: 1080 without a port, and a proxy of another kind. No message may quote the URL,
  /// which may hold a password.
  @Test(
    "any other URL is an error, which does not quote it",
    arguments: [
      "proxy.test:3128", "http://proxy.test", "https://proxy.test/", "socks5://proxy.test:1080",
      "http://me:hunter2@proxy.test:3128", "http://proxy.test:3128/path", "http://proxy.test:3128?q", "http://:3128",
      "http://proxy.test:3128#f", "http://proxy.test:0", "http://proxy.test:99999", "", "http://[::1]",
    ])
  func badURLs(url: String) throws {
    let problem = #expect(throws: OutboundProxy.Problem.self) { try OutboundProxy(url) }
    #expect(problem?.description.contains("hunter2") == false)
  }

  // MARK: - Routes

  /// Would catch a request to this machine, or to where a cloud gives its machines' credentials away, that goes to the
  /// proxy, which would reach its own.
  @Test(
    "loopback never goes through it, and neither does a metadata service",
    arguments: [
      ("https://api.test/", ProxyRoute.proxied), ("http://api.test:8080/", .proxied), ("https://127.0.0.1/", .direct),
      ("https://127.9.9.9:1/", .direct), ("http://[::1]/", .direct), ("https://localhost/", .direct),
      ("https://a.localhost/", .direct), ("https://[::ffff:127.0.0.1]/", .direct), ("https://alocalhost/", .proxied),
      ("https://excepted.test/", .direct), ("http://169.254.169.254/latest", .excluded),
      ("https://[fe80::1]/", .excluded), ("http://metadata.google.internal/", .excluded),
      ("https://METADATA.google.internal:8443/", .excluded), ("http://[fd00:ec2::254]/", .excluded),
      ("https://a.metadata.google.internal/", .proxied),
    ])
  func routes(url: String, route: ProxyRoute) throws {
    var proxy = try OutboundProxy("http://proxy.test:3128")
    proxy.exceptions = try ProxyExceptions(["excepted.test"])
    #expect(proxy.route(to: try HTTPURL(url).origin) == route)
  }

  @Test("a printed proxy shows neither name nor password")
  func printed() throws {
    var proxy = try OutboundProxy("http://proxy.test:3128")
    proxy.authentication = .basic(username: { .init("proxyuser") }, password: { .init("hunter2") })
    for text in ["\(proxy)", String(reflecting: proxy), "\(OutboundProxySetting(proxy))"] {
      #expect(text.contains("proxy.test") && !text.contains("hunter2") && !text.contains("proxyuser"))
    }
  }

  // MARK: - Servers without TLS

  /// Would catch an origin that stands for another port, another scheme or a name below it.
  @Test("an origin without TLS is compared exactly")
  func plainHTTP() throws {
    let rule = PlainHTTPRule(origins: [try HTTPURL("http://orders.test:8080").origin])
    #expect(rule.permits(try HTTPURL("http://orders.test:8080/a?b")))
    #expect(rule.permits(try HTTPURL("https://anything.test/")))
    for url in [
      "http://orders.test/", "http://orders.test:8081/", "http://a.orders.test:8080/", "http://orders.test.evil:8080/",
      "http://127.0.0.1/",
    ] {
      #expect(!rule.permits(try HTTPURL(url)), "\(url)")
    }
    #expect(PlainHTTPRule(allowsLoopback: true).permits(try HTTPURL("http://127.0.0.1:9/")))
    #expect(!PlainHTTPRule().allowsAny && rule.allowsAny)
  }
}
