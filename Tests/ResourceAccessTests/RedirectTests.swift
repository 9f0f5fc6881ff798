import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@Suite("Redirects are followed by the engine's own rules", .bothWays)
struct RedirectTests {
  static let methods: [(String, Int, String)] = [
    ("GET", 301, "GET"), ("GET", 302, "GET"), ("GET", 303, "GET"), ("GET", 307, "GET"), ("GET", 308, "GET"),
    ("HEAD", 301, "HEAD"), ("HEAD", 302, "HEAD"), ("HEAD", 303, "HEAD"), ("HEAD", 307, "HEAD"), ("HEAD", 308, "HEAD"),
    ("POST", 301, "GET"), ("POST", 302, "GET"), ("POST", 303, "GET"), ("POST", 307, "POST"), ("POST", 308, "POST"),
    ("PUT", 301, "PUT"), ("PUT", 302, "PUT"), ("PUT", 303, "GET"), ("PUT", 307, "PUT"), ("PUT", 308, "PUT"),
    ("PATCH", 301, "PATCH"), ("PATCH", 303, "GET"), ("PATCH", 307, "PATCH"),
    ("DELETE", 302, "DELETE"), ("DELETE", 303, "GET"), ("DELETE", 308, "DELETE"),
  ]

  @Test("the method after each status; a dropped body takes its Content fields along", arguments: methods)
  func methodsAfter(row: (String, Int, String)) async throws {
    let engine = Engine { request, _ in
      request.url.path == "/base/x" ? .status(row.1, ("Location", "y")) : .status(200)
    }
    let hasBody = ["POST", "PUT", "PATCH"].contains(row.0)
    let headers = HTTPFields([.init(name: "X-Own", value: "1"), .init(name: "Content-Language", value: "de")])
    let response = try await engine.fetcher.fetch(
      ResourceRequest(path: "x", method: row.0, parameters: hasBody ? ["a": 1] : nil, headers: headers),
      from: .testing(authentication: .none))
    #expect(response.status == 200 && response.url.path == "/base/y")
    let next = try #require(engine.transport.requests.last)
    #expect(engine.transport.requests.count == 2)
    #expect(next.method == row.2)
    #expect((next.body != nil) == (hasBody && row.2 == row.0))
    #expect((next.fields["Content-Type"] != nil) == (hasBody && row.2 == row.0))
    #expect((next.fields["Content-Language"] != nil) == (row.2 == row.0))
    #expect(next.fields["X-Own"] == "1", "the origin is the same")
  }

  @Test(
    "a redirect to a URL that is not allowed, or without a URL, is the result",
    arguments: [
      "https://evil.test/", "https://api.test/other", "/other", "../other", "//evil.test/base/x",
      "http://api.test/base/y",
      "ftp://api.test/base/y", "javascript:alert(1)", "https://user@api.test/base/y", "..%2fother", "y%5c..",
      "https://cdn.test:444/", "y\r\nX: z", "y z", "\\\\evil.test", "https://", "é",
    ])
  func notFollowed(location: String) async throws {
    let engine = Engine { _, _ in .status(302, ("Location", location), ("X-Other", "1")) }
    let response = try await engine.fetcher.fetch(
      ResourceRequest(path: "x"), from: .testing(additionalOrigins: ["https://cdn.test"], authentication: .none))
    #expect(response.status == 302)
    #expect(response.fields["Location"] == location)
    #expect(response.url.description == "https://api.test/base/x")
    #expect(engine.transport.requests.count == 1)
  }

  @Test("no Location, two of them, a status that is no such redirect, or followRedirects off: the answer is the result")
  func otherResults() async throws {
    let answers: [HTTPResponse] = [
      .status(302), .status(302, ("Location", "y"), ("Location", "z")), .status(300, ("Location", "y")),
      .status(304, ("Location", "y")), .status(305, ("Location", "y")), .status(201, ("Location", "y")),
    ]
    for answer in answers {
      let engine = Engine { _, _ in answer }
      let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .testing(authentication: .none))
      #expect(response.status == answer.status && engine.transport.requests.count == 1)
    }
    let engine = Engine { _, _ in .status(302, ("Location", "y")) }
    let response = try await engine.fetcher.fetch(
      ResourceRequest(path: "x"), from: .testing(authentication: .none), options: FetchOptions(followsRedirects: false))
    #expect(response.status == 302)
  }

  @Test("across origins only harmless fields go along, never credentials, and they do not come back with the way back")
  func crossOrigin() async throws {
    let engine = Engine { request, _ in
      switch request.url.description {
      case "https://idp.test/token": .token("secret-token")
      case "https://api.test/base/x": .status(307, ("Location", "https://cdn.test/a"))
      case "https://cdn.test/a": .status(307, ("Location", "/b"))
      case "https://cdn.test/b": .status(307, ("Location", "https://api.test/base/y"))
      default: .status(200)
      }
    }
    let headers = HTTPFields([
      .init(name: "Accept", value: "a/b"), .init(name: "Accept-Language", value: "de"),
      .init(name: "X-Key", value: "k"),
      .init(name: "Cookie", value: "c=1"), .init(name: "Content-Type", value: "text/plain"),
      .init(name: "Referer", value: "https://api.test/base/secret"), .init(name: "If-Match", value: "e"),
    ])
    let options = FetchOptions(in: .uid(trace: TraceContext(parent: "00-aa-bb-01")))
    let response = try await engine.fetcher.fetch(
      ResourceRequest(path: "x", method: "POST", body: [1, 2, 3], headers: headers),
      from: .testing(additionalOrigins: ["https://cdn.test"]), options: options)
    #expect(response.status == 200 && response.url.description == "https://api.test/base/y")
    let requests = engine.transport.requests.dropFirst()
    #expect(requests.first?.fields["Authorization"] == "Bearer secret-token")
    for request in requests.dropFirst() {
      #expect(
        Set(request.fields.lines.map { $0.name.lowercased() })
          == ["accept", "accept-language", "content-type", "user-agent", "traceparent"])
      #expect(request.method == "POST" && request.body == [1, 2, 3])
    }
  }

  @Test("within one origin the token stays")
  func sameOrigin() async throws {
    let engine = Engine { request, _ in
      switch request.url.path {
      case "/token": .token("t")
      case "/base/x": .status(302, ("Location", "/base/y"))
      default: .status(200)
      }
    }
    _ = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .testing())
    #expect(engine.transport.requests.last?.fields["Authorization"] == "Bearer t")
  }

  @Test("an absolute URL to an additional origin carries the token: that is what the list is for")
  func additionalOriginDirectly() async throws {
    let engine = Engine { request, _ in request.url.path == "/token" ? .token("t") : .status(200) }
    _ = try await engine.fetcher.fetch(
      ResourceRequest(path: "https://cdn.test/x"), from: .testing(additionalOrigins: ["https://cdn.test"]))
    #expect(engine.transport.requests.last?.fields["Authorization"] == "Bearer t")
  }

  @Test("a 401 behind a redirect to another origin refreshes no token: none was sent there")
  func unauthorizedElsewhere() async throws {
    let engine = Engine { request, _ in
      switch request.url.origin.host {
      case "idp.test": .token("t")
      case "api.test": .status(302, ("Location", "https://cdn.test/"))
      default: .unauthorized
      }
    }
    let response = try await engine.fetcher.fetch(
      ResourceRequest(path: "x"), from: .testing(additionalOrigins: ["https://cdn.test"]))
    #expect(response.status == 401 && response.attempts == 1 && engine.tokenRequests.count == 1)
  }

  @Test("a 401 behind a 303 retries the rejected request, not the one accepted before it")
  func unauthorizedAfterSeeOther() async throws {
    let tokens = Counter()
    let engine = Engine { request, _ in
      switch request.url.path {
      case "/token": .token("t\(tokens.next())")
      case "/base/x": .status(303, ("Location", "/base/y"))
      default: request.fields["Authorization"] == "Bearer t2" ? .status(200) : .unauthorized
      }
    }
    let response = try await engine.fetcher.fetch(
      ResourceRequest(path: "x", method: "POST", body: []), from: .testing())
    #expect(response.status == 200 && response.attempts == 2 && response.tokenRefreshed)
    #expect(engine.transport.requests(to: "https://api.test/").map(\.method) == ["POST", "GET", "GET"])
  }

  @Test("ten redirects are followed, the eleventh is a protocol error")
  func limit() async throws {
    for (count, passes) in [(10, true), (11, false)] {
      let answers = Counter()
      let engine = Engine { _, _ in answers.next() <= count ? .status(302, ("Location", "x")) : .status(200) }
      do {
        let response = try await engine.fetcher.fetch(
          ResourceRequest(path: "x"), from: .testing(authentication: .none))
        #expect(passes && response.status == 200 && response.attempts == 1)
      } catch {
        let error = try #require(error as? ResourceError)
        #expect(!passes && error.code == .protocolError && error.outcome == .replied)
      }
    }
  }

  @Test("nothing that began with https goes on with http, also where http is allowed")
  func neverDown() async throws {
    let engine = Engine { request, _ in
      request.url.origin.scheme == "https" ? .status(302, ("Location", "http://127.0.0.1:81/")) : .status(200)
    }
    let server = try ResourceServer.testing(
      baseURL: "https://127.0.0.1:80/", additionalOrigins: ["http://127.0.0.1:81"], authentication: .none,
      allowsPlainHTTPOnLoopback: true)
    let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server)
    #expect(response.status == 302)
  }

  @Test("a fault behind a redirect reports that a request was answered")
  func outcomeAfterRedirect() async throws {
    let engine = Engine { request, _ throws(TransportError) in
      if request.url.path == "/base/x" { return .status(303, ("Location", "y")) }
      throw TransportError(code: .serverUnreachable, outcome: .notSent, detail: "refused")
    }
    let error = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(
        ResourceRequest(path: "x", method: "POST"), from: .testing(authentication: .none))
    }
    #expect(error?.outcome == .replied && error?.code == .serverUnreachable && error?.retryable == false)
  }
}
