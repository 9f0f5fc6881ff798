import PosternExamples
import PosternKit
import Testing

/// The code of the articles in PosternKit.docc, with doubles of the servers.
@Suite("The articles of PosternKit")
struct TutorialsTests {
  private static let configuration: JSONObject = [
    "issuers": [
      "corp": [
        "issuer": "https://corp.test", "clientId": "shop", "clientSecret": "test",
        "redirectUri": "https://shop.example.com/callback",
        "endpoints": ["token": "https://corp.test/token", "authorization": "https://corp.test/authorize"],
      ]
    ],
    "resources": [
      "billing": ["baseUrl": "https://api.test/billing/", "issuer": "corp", "auth": "clientCredentials"],
      "bank": ["baseUrl": "https://api.test/", "issuer": "corp", "auth": "user"],
    ],
  ]

  /// Servers that reject what a login with a password alone may not do, until the user has another token.
  private struct StrictServers: HTTPTransport {
    func send(_ request: HTTPRequest, options: TransferOptions) async throws(TransportError) -> HTTPResponse {
      guard request.url.path != "/token" else {
        return HTTPResponse(
          status: 200, fields: ["Content-Type": "application/json"],
          body: Array(#"{"access_token": "strong", "token_type": "Bearer", "expires_in": 60}"#.utf8))
      }
      guard request.fields["Authorization"] != "Bearer strong" else { return HTTPResponse(status: 201) }
      let challenge = #"Bearer error="insufficient_user_authentication", acr_values="mfa""#
      return HTTPResponse(status: 401, fields: ["WWW-Authenticate": challenge])
    }
  }

  private func strict(_ report: @escaping @Sendable (String) -> Void = { _ in }) async throws -> Tutorials {
    var options = Postern.Options()
    options.transport = StrictServers()
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

  @Test("a server's rejection is a response and no error, and reports nothing")
  func rejection() async throws {
    let texts = Locked<[String]>([])
    let code = try await strict { text in texts.withLock { $0.append(text) } }
    #expect(await code.ordersOrReason()?.status == 201)
    #expect(texts.withLock { $0.isEmpty })
    await code.postern.close()
  }

  @Test("a user without a session gets nil, with one a response, and none after the logout")
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
    #expect(try await code.callback(url).issuer == "corp")
    await #expect(throws: SessionError.self) { try await code.callback(url) }
  }

  @Test("a payment stops at advice, and continues when the user has a stronger login: catches one that is sent without")
  func stepUp() async throws {
    let code = try await strict()
    _ = try await code.givenSession()
    let payment = ResourceRequest(path: "payments", method: "POST", parameters: ["to": "bob", "amount": 10])
    let stop = try #require(try await code.advice(of: payment))
    #expect(stop.first?.acrValues == ["mfa"])
    let confirmed = try await code.pay { callback in
      guard var redirect = callback as? RedirectCallback else { return callback }
      let url = try? HTTPURL(redirect.redirectURL)
      let state = url?.query?.split(separator: "&").first { $0.hasPrefix("state=") } ?? ""
      redirect.callbackURL = Secret("https://shop.example.com/callback?code=c&\(state)")
      return redirect
    }
    #expect(confirmed.status == 201)
    #expect(try await code.payment(payment, after: stop).status == 201)
  }

  @Test("a payment whose user does nothing is not sent as confirmed")
  func noStepUp() async throws {
    let code = try await strict()
    _ = try await code.givenSession()
    let error = await #expect(throws: ResourceError.self) { try await code.pay { $0 } }
    #expect(error?.code == .adviceFailed)
  }
}
