import AuthEngine
import HTTPMessages
import JOSE
import PosternJSON
import PosternKit
import PosternSupport
import PosternTestSupport
import Testing

/// What belongs to one user of a program: cookies, decisions, and the folder of the store.
@Suite("Users of a program's own Postern")
struct UserTests {
  private let key: JWK
  private let transport: ScriptedTransport

  init() throws {
    let key = try JWK.generateRSA(keyID: "k")
    self.key = key
    let keys = JSONWriter().string(["keys": [.object(try #require(key.publicJSON()))]])
    transport = ScriptedTransport { request, _ throws(TransportError) in
      switch request.url.path {
      case "/token": Self.json(#"{"access_token":"own","token_type":"Bearer","expires_in":3600}"#)
      case "/jwks": Self.json(keys)
      case "/v1/data/shop": Self.json(#"{"result":{"a":true}}"#)
      case "/set": HTTPResponse(status: 200, fields: ["Set-Cookie": "basket=1; Path=/"])
      default: HTTPResponse(status: 200)
      }
    }
  }

  private static func json(_ text: String) -> HTTPResponse {
    HTTPResponse(status: 200, fields: ["Content-Type": "application/json"], body: Array(text.utf8))
  }

  private func postern(uid: UInt32 = 1000) async throws -> Postern {
    var options = Postern.Options()
    options.transport = transport
    options.environment = [:]
    options.storage = PosternEngine.SessionStorage(MemoryRecordStore())
    options.uid = uid
    return try await Postern(
      configuration: [
        "issuers": [
          "corp": [
            "issuer": "https://corp.test", "clientId": "shop", "clientSecret": "s3cret",
            "endpoints": [
              "token": "https://corp.test/token", "jwks": "https://corp.test/jwks",
              "revocation": "https://corp.test/revoke",
            ],
          ]
        ],
        "resources": [
          "open": ["baseUrl": "https://open.test/", "auth": "none", "cookies": ["store": true]],
          "orders": ["baseUrl": "https://orders.test/", "issuer": "corp", "auth": "user", "cookies": ["store": true]],
        ],
        "preauthorization": [
          "shop": ["kind": "opa", "baseUrl": "https://opa.test/", "path": "shop", "issuer": "corp"]
        ],
      ], options: options)
  }

  private func logIn(_ postern: Postern, _ subject: String = "alice") async throws -> SessionHandle {
    let now = SystemClock().wallNow.secondsSinceEpoch
    let claims: JSONObject = [
      "iss": "https://corp.test", "sub": .string(subject), "aud": "shop", "iat": .integer(now),
      "exp": .integer(now + 300),
    ]
    var given = SessionGrant.GivenTokens()
    given.accessToken = Secret("token-of-\(subject)")
    given.expiresIn = 3600
    given.idToken = try CompactJWS.sign(claims: claims, with: key, algorithm: .rs256)
    return try await postern.sessions.create(from: .tokens(given)).handle
  }

  /// The cookies of the latest request.
  private var sent: String? { transport.requests.last?.fields["Cookie"] }

  @Test("a resource's cookies are not kept, or one user gets another one's")
  func cookies() async throws {
    let postern = try await postern()
    for path in ["set", "next"] { _ = try await postern.fetch(path, from: "open") }
    #expect(sent == "basket=1")
    _ = try await postern.deviceClient(for: "open").sendUnauthenticatedRequest(ResourceRequest(path: "next"))
    #expect(sent == "basket=1")
    let (alice, bob) = (try await logIn(postern), try await logIn(postern, "bob"))
    for path in ["set", "next"] { _ = try await postern.fetch(path, from: "orders", session: alice) }
    #expect(sent == "basket=1")
    _ = try await postern.fetch("next", from: "orders", session: bob)
    #expect(sent == nil)
    _ = try await postern.userClient(for: "orders", session: alice).sendAuthenticatedRequest(
      ResourceRequest(path: "next"))
    #expect(sent == "basket=1")
    let others = try await self.postern(uid: 1001)
    _ = try await others.fetch("next", from: "open")
    #expect(sent == nil)
  }

  @Test("an enabler that was made before the login, or before a logout, does not follow the logins")
  func accessEnabler() async throws {
    let postern = try await postern()
    let enabler = try postern.accessEnabler(at: "shop")
    let request = PreauthorizeRequest(resources: ["a"])
    func isPermitted() async -> Bool { await enabler.preauthorize(request).decisions.first?.isAuthorized == true }
    let missing = await enabler.preauthorize(request)
    #expect(missing.outcome == .failure && missing.status?.code == "authentication_session_missing")
    for subject in ["alice", "bob"] {
      let session = try await logIn(postern, subject)
      #expect(await isPermitted())
      try await postern.sessions.end(session)
      #expect(await !isPermitted())
    }
    // Of two users an enabler that names neither decides for none.
    let session = try await logIn(postern, "alice")
    _ = try await logIn(postern, "bob")
    #expect(await !isPermitted())
    let own = try postern.accessEnabler(at: "shop", session: session)
    #expect(await own.preauthorize(request).decisions.first?.isAuthorized == true)
  }

  private static let places: [([String: String], String)] = [
    (["HOME": "HOME"], "HOME/.local/state/postern"), (["HOME": "HOME", "XDG_STATE_HOME": "HOME/s"], "HOME/s/postern"),
    (["HOME": "HOME", "XDG_STATE_HOME": "relative"], "HOME/.local/state/postern"),
    (["HOME": "HOME", "POSTERN__STORE__PATH": "HOME/named"], "HOME/named"),
  ]

  @Test("the store of a program is in a folder of the system, or not where its user's state is", arguments: places)
  func store(_ environment: [String: String], _ place: String) async throws {
    let folder = try Folder()
    func within(_ text: String) -> String {
      text.hasPrefix("HOME") ? folder.path + text.dropFirst("HOME".utf8.count) : text
    }
    var options = Postern.Options()
    options.transport = transport
    options.environment = environment.mapValues(within)
    let postern = try await Postern(configuration: Self.withUsers, options: options)
    _ = try await postern.sessions.all()
    await postern.close()
    #expect(folder.holds(within(place) + "/postern.key"))
  }

  @Test("without a home the store is in a folder of the system all the same")
  func homeless() async throws {
    var options = Postern.Options()
    options.transport = transport
    options.environment = [:]
    let given = options
    let error = await #expect(throws: ConfigurationProblems.self) {
      try await Postern(configuration: Self.withUsers, options: given)
    }
    #expect(error?.problems.map(\.keyPath) == ["store.path"])
  }

  private static let withUsers: JSONObject = [
    "issuers": ["corp": ["issuer": "https://corp.test", "clientId": "shop", "clientSecret": "s3cret"]],
    "resources": ["orders": ["baseUrl": "https://orders.test/", "issuer": "corp", "auth": "user"]],
  ]
}
