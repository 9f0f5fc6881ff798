import CurlTransport
import Playground
import PosternExamples
import PosternKit
import Testing

/// The code of the articles in PosternKit.docc, with doubles of the servers.
@Suite("The articles of PosternKit")
struct TutorialsTests {
  private static let configuration: JSONObject = [
    "issuers": [
      "corp": [
        "issuer": "https://corp.test", "clientId": "shop", "clientSecret": "test", "scope": "orders",
        "redirectUri": "https://shop.example.com/callback",
        "endpoints": ["token": "https://corp.test/token", "authorization": "https://corp.test/authorize"],
      ]
    ],
    "resources": [
      "billing": ["baseUrl": "https://api.test/billing/", "issuer": "corp", "auth": "clientCredentials"],
      "bank": ["baseUrl": "https://api.test/", "issuer": "corp", "auth": "user"],
    ],
  ]

  /// Servers for which no login is strong enough.
  private struct StrictServers: HTTPTransport {
    func send(_ request: HTTPRequest, options: TransferOptions) async throws(TransportError) -> HTTPResponse {
      let challenge = #"Bearer error="insufficient_user_authentication", acr_values="mfa""#
      return HTTPResponse(status: 401, fields: ["WWW-Authenticate": challenge])
    }
  }

  /// Servers that are down.
  private struct NoServers: HTTPTransport {
    func send(_ request: HTTPRequest, options: TransferOptions) async throws(TransportError) -> HTTPResponse {
      throw TransportError(code: .serverUnreachable, outcome: .notSent, detail: "no connection")
    }
  }

  private func code(
    at servers: some HTTPTransport, report: @escaping @Sendable (String) -> Void = { _ in }
  ) async throws -> Tutorials {
    var options = Postern.Options()
    options.transport = servers
    options.storage = PosternEngine.SessionStorage()
    options.environment = [:]
    return Tutorials(try await Postern(configuration: Self.configuration, options: options), report: report)
  }

  @Test("the application's orders come through the double: catches code that needs a server")
  func orders() async throws {
    let code = try await Tutorials.withoutNetwork(Self.configuration)
    #expect(try await code.orders().map { $0["item"] } == ["coffee"])
    #expect(await code.ordersOrReason()?.status == 200)
  }

  @Test("servers that are down are an error with a text for the user: catches one that is taken for an empty list")
  func down() async throws {
    let texts = Locked<[String]>([])
    let code = try await code(at: NoServers()) { text in texts.withLock { $0.append(text) } }
    #expect(await code.ordersOrReason() == nil)
    #expect(texts.withLock { $0.count } == 1)
    await #expect(throws: ResourceError.self) { try await code.orders() }
  }

  @Test("a user with a session gets a response, and an error after the logout")
  func user() async throws {
    let code = try await Tutorials.withoutNetwork(Self.configuration)
    let session = try await code.givenSession()
    #expect(try await code.session().handle == session.handle, "a session that is there needs no login")
    #expect(try await code.balance(session) == "")
    try await code.postern.sessions.end(session.handle)
    await #expect(throws: ResourceError.self) { try await code.balance(session) }
  }

  @Test("the login of a web application ends with the session of its callback, once")
  func webApplication() async throws {
    let code = try await Tutorials.withoutNetwork(Self.configuration)
    let begun = try await code.loginOfWebApplication()
    let url = "https://shop.example.com/callback?code=c&state=\(begun.state)"
    #expect(try await code.callback(url, cookie: begun.state).issuer == "corp")
    await #expect(throws: SessionError.self) { try await code.callback(url, cookie: begun.state) }
  }

  /// Logs alice in at the playground, without a page, with authentication context `acr`; returns the callback's URL.
  private static func visit(_ url: String, at playground: String, acr: String, _ browser: CurlTransport) async throws
    -> String
  {
    var options = TransferOptions()
    options.access.plainHTTP.allowsLoopback = true
    let login = #"{"user": "alice", "acr": "\#(acr)", "times": 1}"#
    _ = try await browser.send(
      HTTPRequest(method: "POST", url: try HTTPURL("\(playground)/playground/login"), body: Array(login.utf8)),
      options: options)
    let page = try await browser.send(HTTPRequest(method: "GET", url: try HTTPURL(url)), options: options)
    return page.fields["Location"] ?? ""
  }

  @Test("a payment at the playground stops at advice, and is sent when its user has the stronger login")
  func stepUp() async throws {
    let playground = try await PlaygroundServer.start()
    let base = playground.baseURL
    let browser = try CurlTransport()
    var options = Postern.Options()
    options.storage = PosternEngine.SessionStorage()
    options.environment = [:]
    let code = Tutorials(
      try await Postern(
        configuration: [
          "issuers": [
            "corp": [
              "issuer": .string(playground.issuer), "clientId": "cli", "clientAuth": "none", "scope": "openid orders",
              "redirectUri": "http://127.0.0.1/callback",
            ]
          ],
          "resources": ["bank": ["baseUrl": .string("\(base)/resource/"), "issuer": "corp", "auth": "user"]],
          "development": ["plainHTTPOnLoopback": true],
        ], options: options))
    let begun = try await code.postern.sessions.beginAuthorization()
    let session = try await code.callback(
      try await Self.visit(begun.url, at: base, acr: "pwd", browser), cookie: begun.state)
    let payment = ResourceRequest(path: "transfers", method: "POST", parameters: ["to": "bob", "amount": 10])
    let stop = try #require(try await code.advice(of: payment, session))
    #expect(stop.first?.acrValues == ["mfa"])
    let confirmed = try await code.pay(session) { callback in
      guard var redirect = callback as? RedirectCallback else { return callback }
      redirect.callbackURL = (try? await Self.visit(redirect.redirectURL, at: base, acr: "mfa", browser)).map {
        Secret($0)
      }
      return redirect
    }
    #expect(try confirmed.json()["body"] == #"{"to":"bob","amount":10}"#)
    #expect(confirmed.advicesSatisfied.map(\.type) == ["insufficient_user_authentication"])
    #expect(try await code.payment(payment, after: stop).status == 200)
    await code.postern.close()
    browser.close()
    await playground.stop()
  }

  @Test("a payment whose user does nothing is not sent as confirmed")
  func noStepUp() async throws {
    let code = try await code(at: StrictServers())
    let session = try await code.givenSession()
    let error = await #expect(throws: ResourceError.self) { try await code.pay(session) { $0 } }
    #expect(error?.code == .adviceFailed)
  }
}
