import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@Suite("A resource's own credential is in its requests, and nowhere else", .bothWays)
struct StaticCredentialTests {
  private static let secret = "s3cr+t/&=#%"

  private func server(
    _ form: StaticCredential.Form, value: String = secret, origins: [String] = [],
    authentication: ResourceServer.Authentication = .credential
  ) throws -> ResourceServer {
    var server = try ResourceServer.testing(additionalOrigins: origins, authentication: authentication)
    server.issuer = nil
    server.credential = try StaticCredential(form, value: Secret(value))
    return server
  }

  // MARK: - Forms

  static let headers: [(StaticCredential.Form, String, String, String)] = [
    (.header(name: "X-Api-Key"), "k", "X-Api-Key", "k"),
    (.header(name: "Authorization", prefix: "Bearer "), "k1", "Authorization", "Bearer k1"),
    (.header(name: "Authorization", prefix: "Token token="), "k", "Authorization", "Token token=k"),
    (.header(name: "PRIVATE-TOKEN"), "a b", "private-token", "a b"),
    (.basic(username: "Aladdin"), "open sesame", "Authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
    (.basic(username: "test"), "123\u{A3}", "Authorization", "Basic dGVzdDoxMjPCow=="),
    (.basic(username: "u"), "a:b", "Authorization", "Basic dTphOmI="),
  ]

  @Test("a credential in a header arrives in other bytes than configured, or with a token", arguments: headers)
  func header(row: (StaticCredential.Form, String, String, String)) async throws {
    let engine = Engine { _, _ in .status(200) }
    let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server(row.0, value: row.1))
    let request = try #require(engine.transport.requests.first)
    #expect(request.fields.values(of: row.2) == [row.3] && engine.transport.requests.count == 1)
    #expect(response.url.description == "https://api.test/base/x")
  }

  @Test("a credential in the query is not encoded, joins no other parameter, or is in what callers and reports see")
  func query() async throws {
    let engine = Engine { _, _ in .status(200) }
    for (path, sent, shown) in [
      ("x", "?key=s3cr%2Bt%2F%26%3D%23%25", "?key=***"),
      ("x?a=1", "?a=1&key=s3cr%2Bt%2F%26%3D%23%25", "?a=1&key=***"),
    ] {
      let server = try server(.query(name: "key"))
      var options = FetchOptions()
      let task = NetworkTask(request: ResourceRequest(path: path), clock: engine.clock)
      options.task = task
      let response = try await engine.fetcher.fetch(ResourceRequest(path: path), from: server, options: options)
      #expect(engine.transport.requests.last?.url.description == "https://api.test/base/x\(sent)")
      #expect(response.url.description == "https://api.test/base/x\(shown)")
      #expect(task.url?.description == "https://api.test/base/x\(shown)")
      #expect(engine.transport.requests.last?.fields["Authorization"] == nil)
    }
    for case .exchange(let exchange) in engine.observer.events {
      #expect(exchange.url.query?.hasSuffix("key=***") == true)
    }
  }

  @Test("a call that chooses another authentication gets the credential, or may use its name")
  func otherAuthentication() async throws {
    let engine = Engine { _, _ in .status(200) }
    let server = try server(.query(name: "key"))
    let options = FetchOptions(authentication: ResourceServer.Authentication.none)
    let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server, options: options)
    #expect(response.url.query == nil && engine.transport.requests.last?.url.query == nil)
    await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(ResourceRequest(path: "x?key=1"), from: server, options: options)
    }
  }

  @Test("a resource without a credential is fetched without one when a call chooses it")
  func absent() async throws {
    let engine = Engine { _, _ in .status(200) }
    let error = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(
        ResourceRequest(path: "x"), from: .testing(), options: FetchOptions(authentication: .credential))
    }
    #expect(error?.code == .deviceNotAuthenticated && error?.outcome == .notSent && error?.retryable == false)
    #expect(engine.transport.requests.isEmpty)
  }

  @Test("a rejected credential goes out twice, or a token is requested for it", arguments: [200, 401, 403])
  func rejected(status: Int) async throws {
    let engine = Engine { _, _ in .status(status, ("WWW-Authenticate", "Bearer")) }
    let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server(.header(name: "X-Api-Key")))
    #expect(response.status == status && response.attempts == 1 && !response.tokenRefreshed)
    #expect(engine.transport.requests.count == 1)
  }

  @Test("a replaced secret is not used by the next request, or one that cannot be sent is")
  func replaced() async throws {
    let engine = Engine { _, _ in .status(200) }
    let values = Locked(["a", "b", "line\nbreak", ""])
    var server = try ResourceServer.testing(authentication: .credential)
    server.credential = try StaticCredential(
      .header(name: "X-Api-Key"), current: { Secret(values.withLock { $0.removeFirst() }) })
    for value in ["a", "b"] {
      _ = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server)
      #expect(engine.transport.requests.last?.fields["X-Api-Key"] == value)
    }
    for _ in 0..<2 {
      let error = await #expect(throws: ResourceError.self) {
        try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server)
      }
      #expect(error?.code == .deviceNotAuthenticated && error?.outcome == .notSent)
      #expect(error?.description.contains("line") == false)
    }
    #expect(engine.transport.requests.count == 2)
  }

  // MARK: - Redirects

  @Test(
    "a credential crosses origins by a redirect, or comes back with the way back",
    arguments: [
      StaticCredential.Form.header(name: "X-Api-Key"), .basic(username: "u"),
      .query(name: "key"),
    ])
  func redirects(form: StaticCredential.Form) async throws {
    let origins = [
      "https://api.test:8443/", "https://sub.api.test/", "https://other.test/", "http://127.0.0.1:80/",
    ]
    for other in origins {
      let engine = Engine { request, _ in
        switch request.url.withoutQuery.description {
        case "https://api.test/base/x": .status(307, ("Location", "y"))
        case "https://api.test/base/y": .status(307, ("Location", "\(other)a"))
        case "\(other)a", "\(other)b":
          .status(307, ("Location", request.url.path == "/a" ? "b" : "https://api.test/base/z"))
        default: .status(200)
        }
      }
      let response = try await engine.fetcher.fetch(
        ResourceRequest(path: "x", method: "POST", body: Array("b".utf8)), from: server(form, origins: [other]))
      let requests = engine.transport.requests
      // Plain http is not gone to from https, whatever is configured.
      #expect(requests.count == (other.hasPrefix("http:") ? 2 : 5))
      for (index, request) in requests.enumerated() {
        #expect(Self.hasCredential(request) == (index < 2), "\(request.url)")
      }
      #expect(response.url.query == (requests.count == 2 && form == .query(name: "key") ? "key=***" : nil))
    }
  }

  private static func hasCredential(_ request: HTTPRequest) -> Bool {
    request.fields["X-Api-Key"] != nil || request.fields["Authorization"] != nil
      || request.url.query?.contains("s3cr") == true
  }

  @Test("a request to an additional origin has no credential")
  func additionalOrigin() async throws {
    let engine = Engine { _, _ in .status(200) }
    _ = try await engine.fetcher.fetch(
      ResourceRequest(path: "https://cdn.test/a"),
      from: server(.header(name: "X-Api-Key"), origins: ["https://cdn.test/"]))
    #expect(engine.transport.requests.first?.fields["X-Api-Key"] == Self.secret)
  }

  @Test("a server that copies the query into its redirect gets the credential twice, or passes it to another origin")
  func repeatedQuery() async throws {
    let engine = Engine { request, _ in
      switch request.url.path {
      case "/base/x": .status(302, ("Location", "y?\(request.url.query ?? "")"))
      case "/base/y": .status(302, ("Location", "https://cdn.test/a?b=1&\(request.url.query ?? "");KEY=2&%6bey[]=3"))
      default: .status(200)
      }
    }
    let response = try await engine.fetcher.fetch(
      ResourceRequest(path: "x?n=1"), from: server(.query(name: "key"), origins: ["https://cdn.test/"]))
    let sent = "key=s3cr%2Bt%2F%26%3D%23%25"
    #expect(
      engine.transport.requests.map(\.url.description) == [
        "https://api.test/base/x?n=1&\(sent)", "https://api.test/base/y?n=1&\(sent)", "https://cdn.test/a?b=1&n=1",
      ])
    #expect(response.url.description == "https://cdn.test/a?b=1&n=1")
  }

  @Test("a redirect that is not followed shows the credential, or another URL is changed")
  func shownRedirect() async throws {
    let engine = Engine { request, _ in
      request.url.path == "/base/x"
        ? .status(302, ("Location", "https://far.test/a?b=1&\(request.url.query ?? "")&c#d"))
        : .status(201, ("Location", "/base/y?key=other&&a#?\(request.url.query ?? "")"))
    }
    let server = try server(.query(name: "key"))
    let redirect = try await engine.fetcher.fetch(ResourceRequest(path: "x?n=1"), from: server)
    #expect(redirect.fields["Location"] == "https://far.test/a?b=1&n=1&key=***&c#d")
    let created = try await engine.fetcher.fetch(ResourceRequest(path: "z"), from: server)
    #expect(created.fields["Location"] == "/base/y?key=other&&a#?key=***")
  }

  static let echoes: [(name: String, value: String, shown: String)] = [
    ("Link", "</y?key=s3cr%2Bt%2F%26%3D%23%25&p=2>; rel=next", "</y?key=***&p=2>; rel=next"),
    ("Refresh", "0; url=/y?key=s3cr%2bt%2f%26%3d%23%25", "0; url=/y?key=***"),
    ("Content-Location", "/y#key=s3cr+t/&=#%", "/y#key=***"),
    ("Location", "/login?next=%2Fy%3Fkey%3Ds3cr%252Bt%252F%2526%253D%2523%2525", "/login?next=%2Fy%3Fkey%3D***"),
    (
      "Location", "/a?b=%2Fc%3Fd%3D%252Fy%253Fkey%253Ds3cr%25252Bt%25252F%252526%25253D%252523%252525",
      "/a?b=%2Fc%3Fd%3D%252Fy%253Fkey%253D***"
    ),
    ("Set-Cookie", "k=s3cr%2Bt%2F%26%3D%23%25; Path=/", "k=***; Path=/"), ("X-Anything", "s3cr+t/&=#%", "***"),
    ("X-Token", "s3cr%2Bt%2F%26%3D%23%25s3cr+t/&=#%", "******"),
    ("WWW-Authenticate", "Key \"s3cr+t/&=#%\"", "Key \"***\""),
  ]

  static let echoForms: [StaticCredential.Form] = [
    .query(name: "key"), .header(name: "X-Api-Key"), .basic(username: "u"),
  ]

  /// Catches a credential that a server's copy of its request gives to every caller of the resource.
  @Test("a field of a response has the credential in some spelling", arguments: echoes, echoForms)
  func echoed(row: (name: String, value: String, shown: String), form: StaticCredential.Form) async throws {
    let engine = Engine { request, options in
      let response = HTTPResponse(
        status: 201, reason: "made s3cr+t/&=#%", fields: [row.name: row.value, "X-Other": "s3cr"])
      guard let control = options.control else { return response }
      _ = control.begins(
        HTTPResponseHead(status: 201, reason: response.reason, url: request.url, fields: response.fields))
      return response
    }
    let server = try server(form)
    let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server)
    #expect(response.fields == [row.name: row.shown, "X-Other": "s3cr"] && response.reason == "made ***")
    // And the head that comes before the body of a stream.
    let heads = Locked<[HTTPResponseHead]>([])
    var options = FetchOptions()
    options.deliver = { _ in true }
    options.deliverHead = { head in
      heads.withLock { $0.append(head) }
      return true
    }
    _ = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server, options: options)
    let head = try #require(heads.withLock { $0.first })
    #expect(head.fields == [row.name: row.shown, "X-Other": "s3cr"] && head.reason == "made ***")
  }

  @Test("what Basic sends comes back, or a short secret is found where it is not")
  func otherEchoes() async throws {
    let basic = Engine { _, _ in .status(200, ("X-Seen", "Basic dTpzM2NyK3QvJj0jJQ==")) }
    let seen = try await basic.fetcher.fetch(ResourceRequest(path: "x"), from: server(.basic(username: "u")))
    #expect(seen.fields["X-Seen"] == "Basic ***")
    let short = Engine { _, _ in .status(200, ("Location", "/k?key=k"), ("K", "k")) }
    let query = try await short.fetcher.fetch(ResourceRequest(path: "x"), from: server(.query(name: "key"), value: "k"))
    #expect(query.fields == ["Location": "/k?key=***", "K": "k"])
    let header = try await short.fetcher.fetch(
      ResourceRequest(path: "x"), from: server(.header(name: "X-Key"), value: "k"))
    #expect(header.fields == ["Location": "/k?key=k", "K": "k"])
    let named = Engine { _, _ in .status(200, ("X-long-secret-1", "1"), ("X", "LONG%2dsecret-1")) }
    let name = try await named.fetcher.fetch(
      ResourceRequest(path: "x"), from: server(.header(name: "X-Key"), value: "long-secret-1"))
    #expect(name.fields == ["X-***": "1", "X": "***"])
  }

  @Test("a cookie with the credential is kept as it is masked, so that the server gets another one")
  func echoInCookie() async throws {
    let engine = Engine { _, _ in .status(200, ("Set-Cookie", "k=long-secret-1")) }
    var server = try server(.header(name: "X-Key"), value: "long-secret-1")
    server.cookies = CookiePolicy()
    var options = FetchOptions()
    options.cookieScope = CookieScope(uid: 1)
    let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server, options: options)
    #expect(response.fields["Set-Cookie"] == "k=***")
    _ = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server, options: options)
    #expect(engine.transport.requests.last?.fields["Cookie"] == "k=long-secret-1")
  }

  @Test("cookies that came with one credential go with another")
  func cookies() async throws {
    let engine = Engine { _, _ in .status(200, ("Set-Cookie", "a=1")) }
    let value = Locked("one")
    var server = try ResourceServer.testing(authentication: .credential)
    server.cookies = CookiePolicy()
    server.credential = try StaticCredential(
      .header(name: "X-Api-Key"), current: { Secret(value.withLock { $0 }) })
    func fetch() async throws -> String? {
      var options = FetchOptions()
      options.cookieScope = CookieScope(uid: 1)
      _ = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server, options: options)
      return engine.transport.requests.last?.fields["Cookie"]
    }
    _ = try await fetch()
    #expect(try await fetch() == "a=1")
    value.withLock { $0 = "two" }
    #expect(try await fetch() == nil)
    value.withLock { $0 = "one" }
    #expect(try await fetch() == "a=1")
  }

  // MARK: - Reserved names

  @Test(
    "a caller sends the credential's header in another spelling",
    arguments: ["X-Api-Key", "x-api-key", "X_API_KEY", "x.api.key", "X-API_key"])
  func reservedHeader(name: String) async throws {
    let engine = Engine { _, _ in .status(200) }
    let request = ResourceRequest(path: "x", headers: HTTPFields([.init(name: name, value: "mine")]))
    let error = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(request, from: self.server(.header(name: "X-Api-Key")))
    }
    #expect(error?.code == .invalidHeaders && error?.path?.jsonPointer == "/headers/\(name)")
    #expect(engine.transport.requests.isEmpty)
    _ = try await engine.fetcher.fetch(request, from: server(.query(name: "key")))
    #expect(engine.transport.requests.last?.fields[name] == "mine")
  }

  static let queries: [(String, Bool)] = [
    ("api.key=1", true), ("api_key=1", true), ("API_KEY=1", true), ("a=1&api_key=2", true), ("a=1;api_key=2", true),
    ("%61pi_key=1", true), ("api%5Fkey=1", true), ("api_key", true), ("api_key[]=1", true), ("api_key%5Ba%5D=1", true),
    ("+api_key=1", true), ("%20api_key=1", true), ("api_key%00x=1", true), ("&&api_key=", true), ("api-key=1", true),
    ("%ff=1", true), ("a=api_key", false), ("api_keys=1", false), ("my_api_key=1", false), ("apikey=1", false),
    ("a[api_key]=1", false), ("", false), ("=api_key", false),
  ]

  @Test("a caller's parameter passes for the credential's, or a harmless one does not pass", arguments: queries)
  func reservedParameter(row: (String, Bool)) async throws {
    let engine = Engine { _, _ in .status(200) }
    let server = try server(.query(name: "api_key"))
    do throws(ResourceError) {
      _ = try await engine.fetcher.fetch(ResourceRequest(path: "x?\(row.0)"), from: server)
      #expect(!row.1)
    } catch {
      #expect(row.1 && error.code == .invalidURL && error.path?.jsonPointer == "/path" && error.outcome == .notSent)
    }
    #expect(engine.transport.requests.isEmpty == row.1)
  }

  @Test("parameters that go into the query have the credential's")
  func parameters() async throws {
    let engine = Engine { _, _ in .status(200) }
    let server = try server(.query(name: "key"))
    for parameters: JSONObject in [["key": "1"], ["KEY": ["a": 1]], ["key": [1, 2]], ["key": .null]] {
      let error = await #expect(throws: ResourceError.self) {
        try await engine.fetcher.fetch(ResourceRequest(path: "x", parameters: parameters), from: server)
      }
      #expect(error?.code == .invalidURL && error?.path?.jsonPointer == "/parameters")
    }
    #expect(engine.transport.requests.isEmpty)
  }

  // MARK: - Configuration

  static let forms: [(StaticCredential.Form, StaticCredentialError.Part?)] = [
    (.header(name: "X-Api-Key"), nil), (.header(name: "authorization", prefix: "Bearer "), nil),
    (.header(name: "api-key"), nil), (.header(name: "Ocp-Apim-Subscription-Key"), nil),
    (.header(name: ""), .name), (.header(name: "X Y"), .name), (.header(name: "X:"), .name),
    (.header(name: "X\r\nY"), .name), (.header(name: "Host"), .name), (.header(name: "content-length"), .name),
    (.header(name: "Content-Type"), .name), (.header(name: "Cookie"), .name), (.header(name: "Connection"), .name),
    (.header(name: "Transfer_Encoding"), .name), (.header(name: "Proxy-Authorization"), .name),
    (.header(name: "DPoP"), .name), (.header(name: "User-Agent"), .name), (.header(name: "TE"), .name),
    (.header(name: "X-Forwarded-Host"), .name), (.header(name: "X-HTTP-Method-Override"), .name),
    (.header(name: "Accept"), .name), (.header(name: "traceparent"), .name), (.header(name: "If-Match"), .name),
    (.header(name: "Set-Cookie"), .name), (.header(name: "Forwarded"), .name), (.header(name: "Upgrade"), .name),
    (.header(name: "X-K", prefix: "a\n"), .prefix), (.header(name: "X-K", prefix: " a"), .prefix),
    (.header(name: "X-K", prefix: "é "), .prefix),
    (.query(name: "key"), nil), (.query(name: "api.key-1_~"), nil), (.query(name: ""), .name),
    (.query(name: "a b"), .name), (.query(name: "a=b"), .name), (.query(name: "a&b"), .name),
    (.query(name: "a%62"), .name), (.query(name: "key[]"), .name), (.query(name: "é"), .name),
    (.basic(username: "app"), nil), (.basic(username: "ü@x"), nil), (.basic(username: ""), .username),
    (.basic(username: "a:b"), .username), (.basic(username: "a\nb"), .username), (.basic(username: "a\0"), .username),
  ]

  @Test("a form that would break requests, or replace a field of another purpose, is accepted", arguments: forms)
  func formRules(row: (StaticCredential.Form, StaticCredentialError.Part?)) {
    var found: StaticCredentialError.Part?
    do throws(StaticCredentialError) {
      _ = try StaticCredential(row.0, value: Secret("k"))
    } catch {
      found = error.part
    }
    #expect(found == row.1)
  }

  static let values: [(String, Bool, Bool)] = [
    ("k", true, true), ("a b", true, true), ("~!@#$%^&*()", true, true), ("", false, false), (" a", false, true),
    ("a ", false, true), ("a\r\nX: y", false, false), ("a\n", false, false), ("a\0b", false, false),
    ("a\tb", false, false), ("\u{7F}", false, false), ("\u{85}", false, false), ("é", false, true),
    (String(repeating: "k", count: 8192), true, true), (String(repeating: "k", count: 8193), false, false),
  ]

  @Test("a secret that would break requests is accepted, or the error quotes it", arguments: values)
  func valueRules(row: (value: String, isSecret: Bool, isPassword: Bool)) {
    for (form, isValid) in [
      (StaticCredential.Form.header(name: "X-K"), row.isSecret), (.query(name: "k"), row.isSecret),
      (.basic(username: "u"), row.isPassword),
    ] {
      let fault = StaticCredential.fault(in: row.value, as: form)
      #expect((fault == nil) == isValid, "\(form)")
      if row.value.count > 2 { #expect(fault?.description.contains(row.value) != true) }
    }
  }

  @Test("a URL that the credential makes too long is sent, or the error has the secret")
  func tooLong() async throws {
    let engine = Engine { _, _ in .status(200) }
    let path = "x?" + String(repeating: "a", count: HTTPURL.maxBytes - 20)
    let error = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(ResourceRequest(path: path), from: self.server(.query(name: "key")))
    }
    #expect(error?.code == .invalidURL && error?.description.contains("s3cr") == false)
    #expect(engine.transport.requests.isEmpty)
  }
}
