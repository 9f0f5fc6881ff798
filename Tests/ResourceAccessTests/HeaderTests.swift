import AuthEngine
import EngineTestSupport
import HTTPMessages
import OAuthClient
import PosternSupport
import PosternTestSupport
import Testing

@Suite("A caller's headers are checked before anything is sent", .bothWays)
struct HeaderTests {
  static let rejectedHeaders: [(String, String, String)] = [
    ("Authorization", "Bearer x", "/headers/Authorization"), ("authorization", "x", "/headers/authorization"),
    ("AUTHORIZATION", "x", "/headers/AUTHORIZATION"), ("User-Agent", "x", "/headers/User-Agent"),
    ("Host", "evil.test", "/headers/Host"), ("Content-Length", "5", "/headers/Content-Length"),
    ("Transfer-Encoding", "chunked", "/headers/Transfer-Encoding"), ("Connection", "close", "/headers/Connection"),
    ("Proxy-Authorization", "x", "/headers/Proxy-Authorization"), ("proxy-anything", "x", "/headers/proxy-anything"),
    ("DPoP", "x", "/headers/DPoP"), ("dpop", "x", "/headers/dpop"), ("Upgrade", "h2c", "/headers/Upgrade"),
    ("TE", "trailers", "/headers/TE"), ("Expect", "100-continue", "/headers/Expect"),
    ("Proxy-Connection", "x", "/headers/Proxy-Connection"), (" ", "x", "/headers/ "), ("a(b)", "x", "/headers/a(b)"),
    ("x\u{7f}", "x", "/headers/x\u{7f}"), ("a\nb", "x", "/headers/a\nb"),
    ("X", "a\rb", "/headers/X"), ("X", "\r\n", "/headers/X"), ("X", "a\u{1}b", "/headers/X"),
    ("", "x", "/headers/"), ("X Y", "x", "/headers/X Y"), ("X:Y", "x", "/headers/X:Y"),
    ("X\r\nY", "x", "/headers/X\r\nY"),
    ("X/Y~Z", "x", "/headers/X~1Y~0Z"), ("Ü", "x", "/headers/Ü"), ("Authorization ", "x", "/headers/Authorization "),
    ("X", "a\r\nHost: evil", "/headers/X"), ("X", "a\n", "/headers/X"), ("X", "a\r", "/headers/X"),
    ("X", "a\u{0}b", "/headers/X"), ("X", "\u{1b}[31m", "/headers/X"), ("X", "\u{7f}", "/headers/X"),
    ("Cookie", "sso=1", "/headers/Cookie"), ("cookie", "a=1; SSO=2", "/headers/cookie"),
    ("Cookie", "a=1;sso = 2", "/headers/Cookie"), ("Cookie", "a=1, sso=2", "/headers/Cookie"),
    // One character each of the semicolon, the comma or the equals sign and a scalar next to it.
    ("Cookie", "a=b\u{600}; sso=2", "/headers/Cookie"), ("Cookie", "a=b;\u{301}x=1;sso=2", "/headers/Cookie"),
    ("Cookie", "a=b\u{600}, sso=2", "/headers/Cookie"), ("Cookie", "sso=\u{301}2", "/headers/Cookie"),
    ("Cookie", "a=b; sso=\u{FE0F}", "/headers/Cookie"), ("Cookie", "a=1; =sso=2", "/headers/Cookie"),
    ("Cookie", "\"sso\"=2", "/headers/Cookie"), ("Cookie", "$sso=2", "/headers/Cookie"),
    ("Cookie", "s%73o=2", "/headers/Cookie"), ("Cookie", "a=1 sso=2", "/headers/Cookie"),
    ("Cookie", "\u{A0}sso\u{A0}=2", "/headers/Cookie"), ("Cookie2", "sso=2", "/headers/Cookie2"),
    ("User_Agent", "x", "/headers/User_Agent"), ("Proxy_Authorization", "x", "/headers/Proxy_Authorization"),
  ]

  /// Fields that may make a server behind a gateway see another request than the gateway has seen.
  static let overriding = [
    "X-Original-URL", "x-original-url", "X_Original_URL", "X-Rewrite-URL", "X-Original-URI", "X-Forwarded-URI",
    "X-Envoy-Original-Path", "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Forwarded-Host",
    "X-Host", "X-Override-URL", "X-Script-Name", "SCRIPT_NAME", "Path-Info", "X-Forwarded-Script-Name",
  ]

  @Test("a header that overrides the request passes, or does not where the resource allows it", arguments: overriding)
  func overrides(name: String) async throws {
    let engine = Engine { _, _ in .status(204) }
    var server = try ResourceServer.testing(authentication: .none)
    let request = ResourceRequest(path: "x", headers: HTTPFields([.init(name: name, value: "/admin")]))
    let error = await #expect(throws: ResourceError.self) { try await engine.fetcher.fetch(request, from: server) }
    #expect(
      error?.code == .invalidHeaders && error?.path?.jsonPointer == "/headers/\(name)"
        && engine.transport.requests.isEmpty)
    server.allowedHeaders = [name]
    _ = try await engine.fetcher.fetch(request, from: server)
    #expect(engine.transport.requests.last?.fields[name] == "/admin")
  }

  @Test("Forwarded passes with a host, or not without one; what is reserved for good can be allowed")
  func forwarded() async throws {
    let engine = Engine { _, _ in .status(204) }
    var server = try ResourceServer.testing(authentication: .none)
    func fetch(_ name: String, _ value: String) async throws {
      let headers = HTTPFields([.init(name: name, value: value)])
      _ = try await engine.fetcher.fetch(ResourceRequest(path: "x", headers: headers), from: server)
    }
    try await fetch("Forwarded", "for=192.0.2.1;proto=https")
    try await fetch("X-Forwarded-For", "192.0.2.1")
    await #expect(throws: ResourceError.self) { try await fetch("Forwarded", "for=192.0.2.1;Host=evil.test") }
    server.allowedHeaders = ["forwarded", "Authorization", "Host"]
    try await fetch("Forwarded", "for=192.0.2.1;Host=evil.test")
    for name in ["Authorization", "Host"] {
      await #expect(throws: ResourceError.self) { try await fetch(name, "x") }
    }
  }

  @Test("A cookie's separator that is only equivalent to one cuts: its bytes are another character's")
  func equivalentSeparator() async throws {
    let engine = Engine { _, _ in .status(204) }
    var server = try ResourceServer.testing(authentication: .none)
    server.reservedCookies = ["sso"]
    let headers = HTTPFields([.init(name: "Cookie", value: "a=b\u{37E} notsso=2")])
    _ = try await engine.fetcher.fetch(ResourceRequest(path: "x", headers: headers), from: server)
    #expect(engine.transport.requests.first?.fields["Cookie"]?.utf8.elementsEqual("a=b\u{37E} notsso=2".utf8) == true)
    let fields: HTTPFields = ["Cookie": "a=b\u{37E} notsso=2"]
    #expect(fields != ["Cookie": "a=b; notsso=2"], "equal fields are not looked at again")
  }

  @Test("a reserved or malformed header is invalid_headers with its path", arguments: rejectedHeaders)
  func rejects(row: (String, String, String)) async throws {
    let engine = Engine { _, _ in .status(204) }
    var server = try ResourceServer.testing(authentication: .none)
    server.reservedCookies = ["sso"]
    let headers = HTTPFields([.init(name: "X-Fine", value: "1"), .init(name: row.0, value: row.1)])
    let error = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(ResourceRequest(path: "x", headers: headers), from: server)
    }
    #expect(error?.code == .invalidHeaders)
    #expect(error?.path?.jsonPointer == row.2)
    #expect(error?.outcome == .notSent)
    #expect(error?.detail.contains("Bearer") == false)
    #expect(engine.transport.requests.isEmpty)
  }

  @Test("what is allowed goes out as it came, repeated names and order kept, the sidecar's User-Agent added")
  func passes() async throws {
    let engine = Engine { _, _ in .status(204) }
    var server = try ResourceServer.testing(authentication: .none)
    server.reservedCookies = ["sso"]
    let headers = HTTPFields([
      .init(name: "X-A", value: "1"), .init(name: "x-a", value: " 2\t"), .init(name: "Cookie", value: "a=1; notsso=2"),
      .init(name: "X-Text", value: "grüße\tda"), .init(name: "X-Empty", value: ""),
      .init(name: "Accept-Encoding", value: "br"),
    ])
    _ = try await engine.fetcher.fetch(ResourceRequest(path: "x", headers: headers), from: server)
    let fields = try #require(engine.transport.requests.first).fields
    #expect(fields.values(of: "X-A") == ["1", "2"])
    #expect(fields["Cookie"] == "a=1; notsso=2")
    #expect(fields["X-Text"] == "grüße\tda")
    #expect(fields["X-Empty"] == "")
    #expect(fields["Accept-Encoding"] == nil, "codings are the transport's to negotiate and undo")
    #expect(fields.values(of: "User-Agent") == ["postern/test"])
    #expect(fields["Authorization"] == nil)
  }

  @Test("two Content-Types, too many headers and too large ones are rejected")
  func limits() async throws {
    let engine = Engine { _, _ in .status(204) }
    let tooMany = HTTPFields((0..<257).map { .init(name: "X-\($0)", value: "1") })
    let tooLarge = HTTPFields([.init(name: "X", value: String(repeating: "a", count: 70_000))])
    let twice = HTTPFields([.init(name: "Content-Type", value: "a/b"), .init(name: "content-type", value: "c/d")])
    for headers in [tooMany, tooLarge, twice] {
      let error = await #expect(throws: ResourceError.self) {
        try await engine.fetcher.fetch(
          ResourceRequest(path: "x", headers: headers), from: .testing(authentication: .none))
      }
      #expect(error?.code == .invalidHeaders)
    }
  }

  @Test(
    "what is no token, and what is never sent, is no method, in any case",
    arguments: ["TRACE", "Connect", "", "GET ", "G\u{0}ET", "A/B", "po\u{17F}t", "GET\u{301}"])
  func methods(name: String) async throws {
    let engine = Engine { _, _ in .status(204) }
    let error = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(
        ResourceRequest(path: "x", method: name), from: .testing(authentication: .none))
    }
    #expect(error?.code == .methodNotAllowed && error?.path?.jsonPointer == "/method")
  }

  /// Catches a closed list of methods: there is a registry, and servers have more.
  @Test(
    "a method that a server may know is not sent, or in another way",
    arguments: ["OPTIONS", "LIST", "query", "PROPFIND", "MKCALENDAR", "X-Own"])
  func otherMethods(name: String) async throws {
    let engine = Engine { _, _ in .status(204) }
    let request = ResourceRequest(path: "x", method: name)
    #expect(try await engine.fetcher.fetch(request, from: .testing(authentication: .none)).status == 204)
    #expect(engine.transport.requests.map(\.method) == [name.uppercased()])
  }

  @Test("the caller's trace goes out on every request, a trace header of its own goes first")
  func trace() async throws {
    let engine = Engine { request, _ in
      request.url.path == "/token" ? .token("t") : .status(200)
    }
    let options = FetchOptions(in: .uid(trace: TraceContext(parent: "00-aa-bb-01", state: "v=1")))
    _ = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .testing(), options: options)
    #expect(engine.transport.requests.map { $0.fields["traceparent"] } == ["00-aa-bb-01", "00-aa-bb-01"])
    #expect(engine.transport.requests.map { $0.fields["tracestate"] } == ["v=1", "v=1"])
    let own = HTTPFields([.init(name: "Traceparent", value: "00-cc-dd-01")])
    _ = try await engine.fetcher.fetch(ResourceRequest(path: "x", headers: own), from: .testing(), options: options)
    #expect(engine.transport.requests.last?.fields.values(of: "traceparent") == ["00-cc-dd-01"])
    #expect(TraceContext(parent: "a\r\nX: y") == nil)
  }
}
