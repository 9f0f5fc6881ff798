import AuthEngine
import HTTPMessages
import PosternConfiguration
import PosternJSON
import Testing

@testable import SidecarGateway

/// Which request of its client a front reports. What is accepted here decides what a proof of possession is about.
@Suite struct OriginalRequestTests {
  typealias Dialect = ProtectedAPIConfiguration.Dialect

  static func api(
    _ dialect: Dialect?, origin: String? = "https://orders.example",
    _ change: (inout ProtectedAPIConfiguration) -> Void = { _ in }
  ) -> ProtectedAPIConfiguration {
    var api = ProtectedAPIConfiguration(issuer: "corp", audience: "https://orders.example/")
    (api.dialect, api.origin) = (dialect, origin)
    change(&api)
    return api
  }

  static func request(_ lines: [(String, String)], method: String = "GET", path: String? = nil) -> ForwardedRequest {
    let lines = [("Authorization", "Bearer t")] + lines
    return ForwardedRequest(
      method: method, remainder: path, authority: "front.example",
      fields: HTTPFields(lines.map { HTTPFields.Field(name: $0.0, value: $0.1) }))
  }

  /// "METHOD URL", or the error's words.
  static func reading(_ request: ForwardedRequest, _ api: ProtectedAPIConfiguration) -> String {
    do throws(ForwardingError) {
      let params = try request.params(for: api)
      return "\(params["method"]?.stringValue ?? "") \(params["url"]?.stringValue ?? "")"
    } catch {
      return error.message
    }
  }

  static let nginx = [("X-Original-Method", "POST"), ("X-Original-URI", "/orders/7?a=b")]
  static let forwarded = [("X-Forwarded-Method", "POST"), ("X-Forwarded-Uri", "/orders/7?a=b")]
  static let hosts = [("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "shop.example:8443")]
  static let proof = [("Authorization", "DPoP t"), ("DPoP", "p")]

  // Would catch a front whose fields are read under other names, or whose own GET counts as the client's method.
  @Test(
    "each front's fields are the client's request",
    arguments: [
      (.nginx, nginx), (.apache, nginx), (.caddy, forwarded), (.traefik, forwarded), (.haproxy, forwarded),
      (nil, nginx), (nil, forwarded), (nil, nginx + forwarded),
      (.nginx, [("x-original-METHOD", "POST"), ("X-Original-Url", "https://orders.example/orders/7?a=b")]),
      (.nginx, [("X-Original-Method", "POST"), ("X-Original-URL", "https://ORDERS.example:443/orders/7?a=b")]),
    ] as [(Dialect?, [(String, String)])])
  func fields(dialect: Dialect?, lines: [(String, String)]) {
    #expect(Self.reading(Self.request(lines), Self.api(dialect)) == "POST https://orders.example/orders/7?a=b")
  }

  // Would catch an Envoy request judged as one for the endpoint's own path, and fields of the client that replace it.
  @Test("Envoy's own method and path are the client's")
  func envoy() {
    let request = Self.request(Self.forwarded + Self.nginx, method: "DELETE", path: "/a?b")
    #expect(Self.reading(request, Self.api(.envoy)) == "DELETE https://orders.example/a?b")
    #expect(
      Self.reading(Self.request([], method: "DELETE", path: "/"), Self.api(nil)) == "DELETE https://orders.example/")
    let proto = Self.request([("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "other.example")], path: "/a")
    #expect(Self.reading(proto, Self.api(.envoy, origin: nil)) == "GET https://front.example/a")
    #expect(
      Self.reading(Self.request([]), Self.api(.envoy)) == "the front does not send the path of the subrequest")
  }

  // Would catch a host of the client's choice that replaces the configured one, and one that is read as a path.
  @Test("without a configured origin it is that of X-Forwarded-Proto and X-Forwarded-Host")
  func origin() {
    func reading(_ lines: [(String, String)], _ dialect: Dialect? = .nginx) -> String {
      Self.reading(Self.request(Self.nginx + Self.proof.suffix(1) + lines), Self.api(dialect, origin: nil))
    }
    #expect(reading(Self.hosts) == "POST https://shop.example:8443/orders/7?a=b")
    #expect(reading([("X-Forwarded-Proto", "wss"), Self.hosts[1]]) == "POST https://shop.example:8443/orders/7?a=b")
    #expect(
      Self.reading(Self.request(Self.nginx + Self.hosts), Self.api(.nginx))
        == "POST https://orders.example/orders/7?a=b")
    #expect(reading(Array(Self.hosts.prefix(1))) == ForwardingError.unknownTarget.message)
    #expect(reading(Self.hosts + [Self.hosts[1]]) == "X-Forwarded-Host is given more than once")
    #expect(reading([Self.hosts[0]] + Self.hosts) == "X-Forwarded-Proto is given more than once")
    for host in [
      "a.example, b.example", "user@a.example", "a.example/x", "a.example?x", "a.example#", "", "a b", "a.example:0",
    ] {
      #expect(reading([Self.hosts[0], ("X-Forwarded-Host", host)]).contains("X-Forwarded-Host is no"), "\(host)")
    }
    for scheme in ["ftp", "https, http", "", "HTTPS"] {
      #expect(reading([("X-Forwarded-Proto", scheme), Self.hosts[1]]).contains("neither https nor http"), "\(scheme)")
    }
  }

  // Would catch the client's X-Forwarded-Uri that wins over the front's field (CVE-2026-40575), and a family that
  // is merged with another.
  @Test("fields of another family do not count where the front is configured, and contradict where it is not")
  func spoofing() {
    let spoofed = [("X-Forwarded-Method", "GET"), ("X-Forwarded-Uri", "/public"), ("X-Rewrite-Url", "/public")]
    let asNginx = Self.request(Self.nginx + spoofed, path: "/public")
    #expect(Self.reading(asNginx, Self.api(.nginx)) == "POST https://orders.example/orders/7?a=b")
    #expect(Self.reading(asNginx, Self.api(nil)) == "X-Original-URI and X-Forwarded-Uri contradict each other")
    let partly = Self.request([Self.nginx[1], ("X-Forwarded-Method", "POST")])
    #expect(Self.reading(partly, Self.api(nil)) == "X-Original-URI and X-Forwarded-Uri contradict each other")
    let asEnvoy = Self.request(Self.nginx, method: "POST", path: "/orders/7?a=c")
    #expect(
      Self.reading(asEnvoy, Self.api(nil)) == "X-Original-URI and the path of the subrequest contradict each other")
    let other = Self.request([Self.nginx[0], ("X-Original-URL", "https://evil.example/orders/7")])
    #expect(Self.reading(other, Self.api(.nginx)) == "X-Original-URL and the configured origin contradict each other")
    let both = Self.request(Self.nginx + [("X-Original-URL", "https://orders.example/orders/7?a=b")])
    #expect(Self.reading(both, Self.api(.nginx)) == "X-Original-URI and X-Original-URL contradict each other")
    // Names that servers with CGI variables take for the real ones.
    let similar = Self.request(Self.nginx + [("X_Original_URI", "/public"), ("X.Original.URI", "/public")])
    #expect(Self.reading(similar, Self.api(.nginx)) == "POST https://orders.example/orders/7?a=b")
  }

  // Would catch a field that the client adds to the front's, of which the first or the last one counts.
  @Test("a field that is given twice is an error, also with the same value", arguments: [nginx, forwarded])
  func duplicates(lines: [(String, String)]) {
    let dialect: Dialect = lines[0].0 == "X-Original-Method" ? .nginx : .caddy
    for line in lines {
      let doubled = Self.request(lines + [(line.0.lowercased(), line.1)])
      #expect(Self.reading(doubled, Self.api(dialect)) == "\(line.0) is given more than once")
      #expect(Self.reading(doubled, Self.api(nil)) == "\(line.0) is given more than once")
    }
  }

  // Would catch an acceptance by absence: a client removes the front's field by naming it in Connection.
  @Test("a field that the front always sends must be there")
  func missing() {
    #expect(Self.reading(Self.request([]), Self.api(.nginx)) == "the front does not send X-Original-URI")
    #expect(
      Self.reading(Self.request([Self.nginx[0]]), Self.api(.nginx)) == "the front does not send X-Original-URI")
    #expect(
      Self.reading(Self.request([Self.forwarded[1]]), Self.api(.caddy)) == "the front does not send X-Forwarded-Method")
    #expect(Self.reading(Self.request(Self.forwarded), Self.api(.nginx)) == "the front does not send X-Original-URI")
  }

  // Would catch a proof judged by a method or a URL that Postern has made up.
  @Test("without the original request a bearer token can be judged, and a proof cannot")
  func proofWithoutTarget() {
    #expect(Self.reading(Self.request([]), Self.api(nil)) == "GET https://orders.example/")
    #expect(Self.reading(Self.request([]), Self.api(nil, origin: nil)) == "GET https://unknown.invalid/")
    for line in Self.proof + [("Authorization", "dpop t"), ("dpop", "")] {
      for partly in [[], [Self.nginx[0]], [Self.nginx[1]]] {
        #expect(Self.reading(Self.request([line] + partly), Self.api(nil)) == ForwardingError.unknownTarget.message)
      }
      #expect(Self.reading(Self.request([line] + Self.nginx), Self.api(nil)).hasPrefix("POST https://orders.example/"))
    }
    let required = Self.api(nil) { $0.dpop = .required }
    #expect(Self.reading(Self.request([]), required) == ForwardingError.unknownTarget.message)
  }

  // Would catch a decision about another path than the one that the server behind the front acts on: CVE-2019-9901,
  // CVE-2021-29492, GHSA-68wm-pfjf-wqp6, GHSA-fvhj-4qfh-q2hm.
  @Test(
    "a path that servers read in different ways is an error",
    arguments: [
      "/public/../orders", "/public/%2e%2e/orders", "/public/.%2E/orders", "/public/%252e%252e/orders", "/orders/..",
      "/./orders", "/orders/.", "//orders", "/public//orders", "/orders%2F..", "/public/..%2forders",
      "/public/..%5corders", #"/public\..\orders"#, "/public;/../orders", "/public/..;/orders", "/public/..;x=1/orders",
      "/%2e%2e%2forders", "/public/%c0%ae%c0%ae/orders", "/orders%00.css", "/orders%0d%0aX:1", "/#/../orders",
      "/orders#x", "/orders%zz", "/orders%", "/orders/\u{e9}", "/a b", "/a?b c", "/a?\u{e9}", "orders", "*", "",
      "https://orders.example/",
      "/orders\u{7f}", "/LONG",
    ])
  func ambiguousPaths(path: String) {
    let path = path == "/LONG" ? "/" + String(repeating: "a", count: 8192) : path
    for (dialect, lines) in [
      (Dialect.nginx, [Self.nginx[0], ("X-Original-URI", path)]),
      (.traefik, [Self.forwarded[0], ("X-Forwarded-Uri", path)]),
    ] {
      let reading = Self.reading(Self.request(lines), Self.api(dialect))
      #expect(reading.hasPrefix("\(lines[1].0) "), "\(reading)")
    }
    let reading = Self.reading(Self.request([], path: path), Self.api(.envoy))
    #expect(reading.hasPrefix("the path of the subrequest "), "\(reading)")
  }

  // Would catch a rule that takes plain paths for tricks.
  @Test(
    "other paths pass as they are",
    arguments: [
      "/", "/?", "/orders", "/orders/", "/a/b?x=../..&y=//", "/projects/group%2Fname", "/a;v=1/b", "/%C3%A9", "/...",
      "/.well-known/x",
      "/a..b", "/~user", "/a%7Cb", "/a%20b", "/q?redirect=https%3A%2F%2Fx%2F..%2F", "/q?a=b|c&d={\"e\"}^`<f>[0]\\&%zz",
    ])
  func plainPaths(path: String) {
    let request = Self.request([Self.nginx[0], ("X-Original-URI", path)])
    #expect(Self.reading(request, Self.api(.nginx)) == "POST https://orders.example\(path)")
  }

  // Would catch a method that is two, or that ends a line.
  @Test("a method is one token", arguments: ["", "GET, POST", "GET POST", "GET\r\nX: 1", "GÉT"])
  func methods(method: String) {
    let request = Self.request([("X-Original-Method", method), Self.nginx[1]])
    #expect(Self.reading(request, Self.api(.nginx)) == "X-Original-Method is no method")
  }

  // Would catch requirements that are configured and not passed on, and credentials that are lost on the way: two lines
  // of Authorization must reach the rules that reject them.
  @Test("the params are those of validateRequest")
  func params() throws {
    let api = Self.api(.nginx) {
      $0.requiredScopes = ["a", "b"]
      $0.dpop = .required
      $0.maxAge = .seconds(900)
      $0.acrValues = ["mfa"]
    }
    let lines = Self.nginx + [("authorization", "DPoP u"), ("DPoP", "p"), ("X-User", "root"), ("Cookie", "c")]
    #expect(
      try JSONValue.object(Self.request(lines).params(for: api)) == [
        "issuer": "corp", "method": "POST", "url": "https://orders.example/orders/7?a=b",
        "headers": ["authorization": ["Bearer t", "DPoP u"], "dpop": ["p"]], "audience": "https://orders.example/",
        "requiredScopes": ["a", "b"], "dpop": "required", "maxAge": 900, "acrValues": ["mfa"],
      ])
  }
}
