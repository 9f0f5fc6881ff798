import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@Suite("Cookies of fetches", .bothWays)
struct CookieFetchTests {
  private func server(_ policy: CookiePolicy?, origins: [String] = []) throws -> ResourceServer {
    var server = try ResourceServer.testing(additionalOrigins: origins, authentication: .none)
    server.cookies = policy
    server.reservedCookies = ["SSO"]
    return server
  }

  private func options(_ uid: UInt32 = 1, _ session: SessionHandle? = nil) -> FetchOptions {
    var options = FetchOptions()
    options.cookieScope = CookieScope(uid: uid, session: session)
    return options
  }

  @Test("no cookie is kept unless the resource is configured so and the cookie has a user")
  func offByDefault() async throws {
    let engine = Engine { _, _ in .status(200, ("Set-Cookie", "a=1")) }
    for (policy, options) in [(nil, options()), (CookiePolicy(), FetchOptions())] {
      for _ in 0..<2 {
        _ = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server(policy), options: options)
      }
    }
    #expect(engine.transport.requests.allSatisfy { $0.fields["Cookie"] == nil })
  }

  @Test("one owner's cookies never go with another's request, another session's, kind's or resource's")
  func owners() async throws {
    let engine = Engine { _, _ in .status(200, ("Set-Cookie", "a=1")) }
    let server = try server(CookiePolicy())
    let session = SessionHandle.random()
    func fetch(_ server: ResourceServer, _ options: FetchOptions) async throws -> String? {
      _ = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server, options: options)
      return engine.transport.requests.last?.fields["Cookie"]
    }
    _ = try await fetch(server, options(1, session))
    #expect(try await fetch(server, options(1, session)) == "a=1")
    #expect(try await fetch(server, options(2, session)) == nil)
    #expect(try await fetch(server, options(1, .random())) == nil)
    #expect(try await fetch(server, options(1)) == nil)
    #expect(try await fetch(self.server(CookiePolicy()), options(1, session)) == nil)
  }

  @Test("a kept cookie is sent next to the caller's of the same name, where a scalar hides the caller's")
  func hiddenName() async throws {
    let engine = Engine { _, _ in .status(200, ("Set-Cookie", "a=1")) }
    let server = try server(CookiePolicy())
    for own in ["x=y; a=mine", "x=y\u{600}; a=mine", "x=y;\u{301}z; a=mine"] {
      for _ in 0..<2 {
        let headers = HTTPFields([.init(name: "Cookie", value: own)])
        _ = try await engine.fetcher.fetch(
          ResourceRequest(path: "x", headers: headers), from: server, options: options())
      }
      #expect(engine.transport.requests.last?.fields["Cookie"]?.utf8.elementsEqual(own.utf8) == true)
    }
  }

  @Test("a session's cookies go when it ends, and a policy's when it is replaced")
  func forgetting() async throws {
    let engine = Engine { _, _ in .status(200, ("Set-Cookie", "a=1")) }
    let server = try server(CookiePolicy())
    let session = SessionHandle.random()
    func fetch() async throws -> String? {
      _ = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server, options: options(1, session))
      return engine.transport.requests.last?.fields["Cookie"]
    }
    let observer = CookieForgetting(from: engine.fetcher.cookies, then: Deaf())
    _ = try await fetch()
    observer.observe(.ended(.random(), issuer: "corp", uid: 1), in: CallScope())
    #expect(try await fetch() == "a=1")
    observer.observe(.ended(session, issuer: "corp", uid: 1), in: CallScope())
    #expect(try await fetch() == nil)
    engine.fetcher.cookies.forgetAll(but: [])
    #expect(try await fetch() == nil)
  }

  private struct Deaf: SessionObserver {
    func observe(_ event: SessionEvent, in scope: CallScope) {}
  }

  @Test("the caller's cookies come first and win by name; the single sign-on cookie is neither kept nor sent")
  func merging() async throws {
    let engine = Engine { _, _ in
      .status(200, ("Set-Cookie", "a=1"), ("Set-Cookie", "b=1; Max-Age=60"), ("Set-Cookie", "sso=token"))
    }
    var server = try server(CookiePolicy())
    func fetch(_ cookies: String...) async throws -> [String] {
      let headers = HTTPFields(cookies.map { .init(name: "cookie", value: $0) })
      _ = try await engine.fetcher.fetch(
        ResourceRequest(path: "x", headers: headers), from: server, options: options())
      return engine.transport.requests.last?.fields.values(of: "Cookie") ?? []
    }
    _ = try await fetch()
    #expect(try await fetch() == ["a=1; b=1"])
    #expect(try await fetch("a=mine; c=3") == ["a=mine; c=3; b=1"])
    #expect(try await fetch("a=mine", "b=mine") == ["a=mine", "b=mine"], "nothing to add, nothing touched")
    #expect(try await fetch("A=mine") == ["A=mine; a=1; b=1"])
    server.reservedCookies = ["B"]
    #expect(try await fetch() == ["a=1"], "a name that is reserved by now")
    engine.clock.advance(by: .seconds(61))
    server.reservedCookies = []
  }

  @Test("within the origin redirects take and set cookies; behind another origin none goes along and none is kept")
  func redirects() async throws {
    let engine = Engine { request, _ in
      switch request.url.description {
      case "https://api.test/base/x": .status(302, ("Location", "/base/y"), ("Set-Cookie", "a=1"))
      case "https://api.test/base/y":
        .status(302, ("Location", "https://cdn.api.test/z"), ("Set-Cookie", "b=1; Domain=api.test; Path=/"))
      case "https://cdn.api.test/z":
        .status(302, ("Location", "https://api.test/base/w"), ("Set-Cookie", "c=1; Domain=api.test; Path=/"))
      default: .status(200)
      }
    }
    let server = try server(CookiePolicy(), origins: ["https://cdn.api.test"])
    func sent() async throws -> [String?] {
      let before = engine.transport.requests.count
      _ = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server, options: options())
      return engine.transport.requests.dropFirst(before).map { $0.fields["Cookie"] }
    }
    #expect(try await sent() == [nil, "a=1", nil, nil])
    #expect(try await sent() == ["a=1; b=1", "a=1; b=1", nil, nil])
    _ = try await engine.fetcher.fetch(
      ResourceRequest(path: "https://cdn.api.test/v"), from: server, options: options())
    #expect(
      engine.transport.requests.last?.fields["Cookie"] == "b=1", "a direct request is for the resource's own host")
  }

  @Test("thousands of Set-Cookie fields are no way to use up memory")
  func floods() async throws {
    let lines = (0..<5000).map { HTTPFields.Field(name: "Set-Cookie", value: "n\($0)=1") }
    let engine = Engine { _, _ in HTTPResponse(status: 200, fields: HTTPFields(lines), body: []) }
    let server = try server(CookiePolicy(maxCookies: 10))
    for _ in 0..<2 {
      _ = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server, options: options())
    }
    #expect(engine.transport.requests.last?.fields["Cookie"]?.split(separator: ";").count == 10)
  }
}
