import AuthEngine
import CurlTransport
import Glibc
import HTTPMessages
import PosternJSON
import PosternKit
import PosternSupport
import PosternTestSupport
import Testing

/// A browser: it opens the callback of the login at `url` with the parameters that `answer` makes of the login's state.
private struct PlayedBrowser: Sendable {
  let transport: CurlTransport
  /// The statuses of the pages it was shown.
  let pages = Locked<[Int]>([])

  /// Opens `callback` once for each of `queries`, in order; `STATE` stands for the login's state.
  func follow(_ url: String, _ queries: [String]) {
    let parameters = (try? HTTPURL(url))?.query.flatMap { FormEncoding.decode($0) } ?? []
    func parameter(_ name: String) -> String { parameters.first { $0.name == name }?.value ?? "" }
    let (callback, state) = (parameter("redirect_uri"), parameter("state"))
    Task {
      for query in queries {
        let query = query == "STATE" ? "code=abc&state=\(state)" : query
        guard let url = try? HTTPURL("\(callback)?\(query)") else { continue }
        let options = TransferOptions(to: ServerAccess(plainHTTP: PlainHTTPRule(allowsLoopback: true)))
        let page = try? await transport.send(HTTPRequest(method: "GET", url: url), options: options)
        pages.withLock { $0.append(page?.status ?? 0) }
      }
    }
  }
}

@Suite("Logins in the browser of this machine")
struct BrowserLoginTests {
  private static let configuration: JSONObject = [
    "issuers": [
      "corp": [
        "issuer": "https://corp.test", "clientId": "app", "clientSecret": "s3cret", "scope": "orders",
        "endpoints": ["token": "https://corp.test/token", "authorization": "https://corp.test/authorize"],
      ]
    ]
  ]

  private let issuer = ScriptedTransport { request, _ throws(TransportError) in
    HTTPResponse(
      status: 200, fields: ["Content-Type": "application/json"],
      body: Array(#"{"access_token":"at-1","token_type":"Bearer","expires_in":3600}"#.utf8))
  }

  private func postern() async throws -> Postern {
    var options = Postern.Options()
    options.transport = issuer
    options.environment = [:]
    options.storage = PosternEngine.SessionStorage()
    return try await Postern(configuration: Self.configuration, options: options)
  }

  @Test("a callback with another state is turned away, and the login goes on: catches one that any page can end")
  func strayCallback() async throws {
    let browser = PlayedBrowser(transport: try CurlTransport())
    let session = try await postern().sessions.login(timeout: .seconds(30)) { url in
      browser.follow(url, ["code=evil&state=wrong", "error=access_denied&state=wrong", "STATE"])
    }
    #expect(session.issuer == "corp" && issuer.requests.count == 1)
    while browser.pages.withLock({ $0.count }) < 3 { await Task.yield() }
    #expect(browser.pages.withLock { $0 } == [400, 400, 200])
  }

  @Test("the callback of another login under way does not end this one: catches a session of the wrong login")
  func otherLogin() async throws {
    let browser = PlayedBrowser(transport: try CurlTransport())
    let postern = try await postern()
    let session = try await postern.sessions.login(timeout: .seconds(30)) { url in
      Task {
        let redirect = FormEncoding.decode((try? HTTPURL(url))?.query ?? "")?.first { $0.name == "redirect_uri" }?.value
        let other = try await postern.sessions.beginAuthorization(redirectURI: redirect)
        browser.follow(url, ["code=other&state=\(other.state)", "STATE"])
      }
    }
    let codes = issuer.requests.map { String(decoding: $0.body ?? [], as: UTF8.self) }
    #expect(codes.count == 1 && codes[0].contains("code=abc"))
    #expect(try await postern.sessions.all().map(\.handle) == [session.handle])
  }

  @Test("a denied login ends with the issuer's code")
  func denied() async throws {
    let browser = PlayedBrowser(transport: try CurlTransport())
    let postern = try await postern()
    let error = await #expect(throws: SessionError.self) {
      try await postern.sessions.login(timeout: .seconds(30)) { url in
        let state = (try? HTTPURL(url))?.query.flatMap { FormEncoding.decode($0) }?.first { $0.name == "state" }?.value
        browser.follow(url, ["error=access_denied&state=\(state ?? "")"])
      }
    }
    guard case .authorizationFailed? = error?.kind else { return #expect(Bool(false), "\(String(describing: error))") }
    #expect(error?.upstreamCode == "access_denied" && issuer.requests.isEmpty)
    #expect(try await postern.sessions.all().isEmpty)
  }

  @Test("a login that is cancelled, or takes too long, ends: catches a port and a thread that stay behind")
  func cancelled() async throws {
    let postern = try await postern()
    let redirect = Locked("")
    let login = Task {
      try await postern.sessions.login { url in
        redirect.withLock { $0 = url }
      }
    }
    while redirect.withLock({ $0.isEmpty }) { await Task.yield() }
    login.cancel()
    let error = await #expect(throws: SessionError.self) { _ = try await login.value }
    guard case .cancelled? = error?.kind else { return #expect(Bool(false), "\(String(describing: error))") }
    let late = await #expect(throws: SessionError.self) {
      try await postern.sessions.login(timeout: .milliseconds(20)) { _ in }
    }
    guard case .deadlineExceeded? = late?.kind else { return #expect(Bool(false), "\(String(describing: late))") }
  }
}

@Suite("A configuration in a file")
struct ConfigurationFileTests {
  private static func folder() -> String {
    var template = Array("/tmp/posternkit.XXXXXX".utf8CString)
    return String(cString: mkdtemp(&template))
  }

  private static func write(_ text: String, to path: String) {
    let file = fopen(path, "w")
    fputs(text, file)
    fclose(file)
  }

  @Test("a reload brings the new configuration into force, and one with a mistake leaves the old one there")
  func reload() async throws {
    let folder = Self.folder()
    defer { _ = rmdir(folder) }
    let path = "\(folder)/postern.yaml"
    defer { unlink(path) }
    let transport = ScriptedTransport { _, _ throws(TransportError) in HTTPResponse(status: 200, fields: [:], body: [])
    }
    Self.write("resources: { time: { baseUrl: 'https://old.test/', auth: none } }", to: path)
    var options = Postern.Options()
    options.transport = transport
    options.environment = [:]
    let postern = try await Postern(configuration: path, options: options)
    Self.write("resources: { time: { baseUrl: 'https://new.test/', auth: none } }", to: path)
    try postern.reload()
    _ = try await postern.fetch("now")
    Self.write("resources: { time: { baseUrl: 'https://new.test/', auth: sometimes } }", to: path)
    #expect(throws: ConfigurationProblems.self) { try postern.reload() }
    _ = try await postern.fetch("now")
    #expect(transport.requests.map { "\($0.url)" } == ["https://new.test/now", "https://new.test/now"])
  }

  @Test("a file that is missing, and a store that cannot be opened, are errors of the start")
  func absent() async throws {
    let error = await #expect(throws: ConfigurationProblems.self) {
      try await Postern(configuration: "/nonexistent/postern.yaml")
    }
    #expect(error?.problems.first?.file == "/nonexistent/postern.yaml")
    await #expect(throws: StoreError.self) {
      try await Postern(configuration: [
        "issuers": ["corp": ["issuer": "https://corp.test", "clientId": "app", "clientSecret": "s"]],
        "resources": ["orders": ["baseUrl": "https://orders.test/", "issuer": "corp", "auth": "user"]],
        "store": ["kind": "file", "path": "/proc/none"],
      ])
    }
  }

  @Test("after close nothing is sent, and the file store can be opened by another process")
  func closed() async throws {
    let folder = Self.folder()
    defer { _ = rmdir(folder) }
    let configuration: JSONObject = [
      "issuers": ["corp": ["issuer": "https://corp.test", "clientId": "app", "clientSecret": "s"]],
      "resources": ["orders": ["baseUrl": "https://orders.test/", "issuer": "corp", "auth": "user"]],
      "store": ["kind": "file", "path": .string("\(folder)/store")],
    ]
    let first = try await Postern(configuration: configuration)
    var given = SessionGrant.GivenTokens()
    given.accessToken = Secret("user-token")
    given.expiresIn = 3600
    let session = try await first.sessions.create(from: .tokens(given))
    await first.close()
    await #expect(throws: ResourceError.self) { try await first.fetch("7", from: "orders", session: session.handle) }
    let second = try await Postern(configuration: configuration)
    #expect(try await second.sessions.all().map(\.handle) == [session.handle])
    await second.close()
    for name in ["store.db", "store.db-wal", "store.db-shm", "store.lock", "key"] { unlink("\(folder)/store/\(name)") }
    _ = rmdir("\(folder)/store")
  }
}
