import Foundation
import HTTPMessages
import PlaygroundTestSupport
import PosternKit
import PosternSupport
import Testing

@testable import PosternExamples

private typealias Lines = Locked<[String]>

extension Lines {
  fileprivate var all: [String] { withLock { $0 } }

  @Sendable fileprivate func add(_ line: Any) { withLock { $0.append("\(line)") } }
}

/// An issuer with an access manager, a resource server whose transfers require a transaction, and an OPA.
private func answers(_ request: HTTPRequest) -> HTTPResponse {
  func json(_ text: String, _ status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: status, fields: ["Content-Type": "application/json"], body: Array(text.utf8))
  }
  let body = String(decoding: request.body ?? [], as: UTF8.self)
  switch request.url.path {
  case "/token": return json(#"{"access_token":"device-token","token_type":"Bearer","expires_in":3600}"#)
  case "/revoke": return json("{}")
  case "/am/json/serverinfo/*": return json(#"{"cookieName":"sso"}"#)
  case "/am/json/realms/root/realms/alpha/authenticate":
    guard body.contains("authId") else {
      return json(
        #"{"authId":"id","callbacks":["#
          + #"{"type":"NameCallback","output":[{"name":"prompt","value":"Name"}],"input":[{"name":"IDToken1","value":""}]},"#
          + #"{"type":"PasswordCallback","output":[{"name":"prompt","value":"Password"}],"#
          + #""input":[{"name":"IDToken2","value":""}]}]}"#)
    }
    return body.contains("alice") && body.contains("hunter2")
      ? json(#"{"tokenId":"sso-1","successUrl":"/","realm":"/alpha"}"#) : json(#"{"code":401,"message":"no"}"#, 401)
  case "/transfers":
    return request.url.query == "_txid=tx-1"
      ? json(#"{"id":1}"#) : json(#"{"TransactionConditionAdvice":["tx-1"]}"#, 401)
  case "/v1/data/shop": return json(#"{"result":{"resource_1":true,"resource_2":false,"resource_3":true}}"#)
  case "/missing": return json(#"{"error":"none"}"#, 404)
  default: return json(#"{"username":"alice"}"#)
  }
}

private let configuration: JSONObject = [
  "issuers": [
    "am": [
      "issuer": "https://idp.test", "clientId": "app", "clientSecret": "s3cret",
      "redirectUri": "https://shop.test/callback",
      "endpoints": [
        "token": "https://idp.test/token", "revocation": "https://idp.test/revoke",
        "authorization": "https://idp.test/authorize",
      ],
      "accessManager": ["baseUrl": "https://am.test/am", "realm": "alpha"],
    ]
  ],
  "resources": [
    "users": ["baseUrl": "https://api.test/", "issuer": "am", "auth": "user"],
    "billing": ["baseUrl": "https://billing.test/", "issuer": "am", "auth": "user"],
  ],
  "preauthorization": ["channels": ["kind": "opa", "baseUrl": "https://opa.test/", "path": "shop"]],
  "tokens": ["leaveTheSidecar": true],
]

/// The code of the migration pages, run.
@Suite("The migration pages", .timeLimit(.minutes(1)))
struct MigrationTests {
  private let transport = ScriptedTransport { request, _ throws(TransportError) in answers(request) }

  private func postern() async throws -> Postern {
    var options = Postern.Options()
    options.transport = transport
    options.environment = [:]
    options.storage = PosternEngine.SessionStorage()
    return try await Postern(configuration: configuration, options: options)
  }

  /// A user who has logged in, with a token and a single sign-on.
  private func logIn(_ postern: Postern) async throws -> Session {
    var given = SessionGrant.GivenTokens()
    given.accessToken = Secret("user-token")
    given.ssoToken = Secret("sso-1")
    given.expiresIn = 3600
    return try await postern.sessions.create(from: .tokens(given))
  }

  private func tokens(to prefix: String) -> [String?] {
    transport.requests(to: prefix).map { $0.fields["Authorization"] }
  }

  // MARK: ForgeRock

  private let alice = MigrationForgeRock.JourneyUser(name: "alice", password: Secret("hunter2"))

  private func forgeRock(_ postern: Postern) throws -> MigrationForgeRock {
    MigrationForgeRock(
      billingURL: try #require(URL(string: "https://billing.test/")),
      delegate: MigrationForgeRock.BillingDelegate(postern: postern, user: alice))
  }

  @Test("a login by nodes is not completed by the loop over callbacks, or a wrong password completes it")
  func nodes() async throws {
    let postern = try await postern()
    let page = try forgeRock(postern)
    let mallory = MigrationForgeRock.JourneyUser(name: "mallory", password: Secret("guess"))
    #expect(try await !page.login(postern, user: mallory))
  }

  @Test("a fetch that requires a transaction is not retried after the user has confirmed it, or is without that")
  func stepUp() async throws {
    let postern = try await postern()
    let session = try await logIn(postern)
    let page = try forgeRock(postern)
    let response = try await page.fetch(postern, user: alice)
    #expect(
      response.status == 200 && tokens(to: "https://billing.test/") == ["Bearer user-token", "Bearer user-token"])
    let mallory = MigrationForgeRock.JourneyUser(name: "mallory", password: Secret("guess"))
    let error = await #expect(throws: ResourceError.self) { try await page.fetch(postern, user: mallory) }
    #expect(error?.code == .adviceFailed && transport.requests(to: "https://billing.test/").count == 3)
    let advice = try await postern.fetch("missing", from: "billing", session: session.handle)
    #expect(try page.advices(postern, in: advice).isEmpty)
  }

  @Test("the delegate decides about other statuses than 401, steps up without the user, or names the transaction twice")
  func delegate() async throws {
    let postern = try await postern()
    let session = try await logIn(postern)
    let delegate = MigrationForgeRock.BillingDelegate(postern: postern, user: alice)
    let request = HTTPRequest(method: "GET", url: try HTTPURL("https://billing.test/transfers"))
    func event(_ status: Int) -> PolicyEvent {
      PolicyEvent(request: request, response: HTTPResponse(status: status, body: []), session: session.handle)
    }
    #expect(await delegate.evaluateTokenRefresh(event(401)) == true)
    #expect(await delegate.evaluateTokenRefresh(event(403)) == false)
    let advices = [PolicyAdvice(type: PolicyAdvice.Name.transaction, value: "tx-1")]
    #expect(await delegate.onPolicyAdviseReceived(advices, event: event(401), continuation: nil) == true)
    #expect(await delegate.updateRequest(event(401), txId: "tx-1") == RequestUpdate(headers: ["X-Transaction": "tx-1"]))
    #expect(await delegate.updateRequest(event(401), txId: nil) == nil)
  }

  @Test("a resource for URL sessions has no token, or another one than the session's")
  func protectedResource() async throws {
    let postern = try await postern()
    let anonymous = try postern.protectedResource("billing")
    let session = try await logIn(postern)
    let rejected = await #expect(throws: ResourceError.self, "no session is chosen") {
      try await anonymous.fetcher.fetch(
        ResourceRequest(path: "x"), from: anonymous.server, options: anonymous.options)
    }
    #expect(rejected?.code == .notAuthenticated && transport.requests.isEmpty)
    let resource = try postern.protectedResource("billing", session: session.handle)
    _ = try await resource.fetcher.fetch(
      ResourceRequest(path: "x"), from: resource.server, options: resource.options)
    #expect(tokens(to: "https://billing.test/") == ["Bearer user-token"])
  }

  @Test("the current user's token is another one, or the user is still logged in after the logout")
  func currentUser() async throws {
    let postern = try await postern()
    _ = try await logIn(postern)
    #expect(try await forgeRock(postern).currentUser(postern).value.reveal() == "user-token")
    #expect(try await postern.sessions.all().isEmpty)
  }

  // MARK: Onegini

  private let onegini = MigrationOnegini()

  @Test("a kind of request has another kind's token, or is sent without a token that it requires")
  func kinds() async throws {
    let postern = try await postern()
    let (user, device) = try onegini.clients(postern)
    let error = await #expect(throws: ResourceError.self) { try await onegini.kinds(user, device) }
    #expect(error?.code == .notAuthenticated && transport.requests.isEmpty)
    _ = try await logIn(postern)
    let request = ResourceRequest(path: "api/users")
    let implicit = await #expect(throws: ResourceError.self) { try await user.sendImplicitRequest(request) }
    #expect(implicit?.code == .notImplicitlyAuthenticated)
    _ = try await user.sendAuthenticatedRequest(request)
    _ = try await device.sendAuthenticatedRequest(request)
    _ = try await device.sendUnauthenticatedRequest(request)
    #expect(tokens(to: "https://api.test/") == ["Bearer user-token", "Bearer device-token", nil])
  }

  @Test("requests of the factory, the builder and the mutable one arrive as others than they were made")
  func construction() async throws {
    let (_, device) = try onegini.clients(try await postern())
    let others = [
      onegini.builder(), onegini.multipart(Data([0x25, 0x50])), try onegini.foundation(["username": "foo@bar.baz"]),
    ]
    for request in onegini.construction() + others {
      _ = try await device.sendUnauthenticatedRequest(request)
    }
    let sent = transport.requests
    #expect(sent.map(\.method) == ["POST", "GET", "GET", "POST", "POST"])
    #expect(sent[0].body == Array(#"{"username":"foo@bar.baz"}"#.utf8) && sent[0].fields["X-Flags"] == "1000010")
    #expect(sent[1].url.query == "username=foo%40bar.baz" && sent[1].fields["X-Flags"] == "1000010")
    #expect(sent[2].url.query == "username=foo%40bar.baz")
    #expect(sent[4].body == sent[0].body)
    #expect(sent[3].fields["Content-Type"]?.hasPrefix("multipart/form-data") == true)
    #expect(String(decoding: sent[3].body ?? [], as: UTF8.self).contains(#"filename="receipt.pdf""#))
  }

  @Test("a status of 404 is an error, a JSON body is not read, or a missing user is not distinguished")
  func responses() async throws {
    let postern = try await postern()
    let (user, _) = try onegini.clients(postern)
    let lines = Lines([])
    await onegini.failure(user, ResourceRequest(path: "me"), print: lines.add)
    #expect(lines.all == ["the user is not authenticated"])
    _ = try await logIn(postern)
    await onegini.failure(user, ResourceRequest(path: "me"), print: lines.add)
    try await onegini.response(user, ResourceRequest(path: "missing"), print: lines.add)
    #expect(lines.all.dropFirst() == ["200", #"404: {"error":"none"}"#])
    try await onegini.response(user, ResourceRequest(path: "me"), print: lines.add)
    #expect(lines.all.last?.contains("alice") == true)
    #expect(
      try onegini.decoded(await user.sendAuthenticatedRequest(ResourceRequest(path: "me"))).username == "alice")
    onegini.completion(user, print: lines.add)
    #expect(await eventually { lines.all.count == 5 } && lines.all.last == "200")
    onegini.parts(user, print: lines.add)
    #expect(await eventually { lines.all.count == 6 } && lines.all.last == "200")
  }

  @Test("a task is not suspended and resumed, or a cancelled one has no error")
  func task() async throws {
    let gate = Gate()
    var options = Postern.Options()
    options.transport = ScriptedTransport { request, _ throws(TransportError) in
      await gate.pass()
      return answers(request)
    }
    options.environment = [:]
    options.storage = PosternEngine.SessionStorage()
    let postern = try await Postern(configuration: configuration, options: options)
    _ = try await logIn(postern)
    let lines = Lines([])
    let task = onegini.task(try onegini.clients(postern).0, ResourceRequest(path: "me"), print: lines.add)
    #expect(lines.all.first == "\(task.identifier) is suspended: me")
    #expect(task.state == .cancelled && task.error?.code == .requestCancelled)
    gate.open()
    #expect(await eventually { lines.all.count == 2 } && lines.all.last?.hasPrefix("request_cancelled") == true)
  }

  // MARK: Adobe Pass

  @Test("Adobe's sample gets other decisions than those of the service, or a denial without a reason")
  func sample() async throws {
    let postern = try await postern()
    let (shown, printed) = (Lines([]), Lines([]))
    let page = MigrationAdobePass(
      show: { shown.add("\($0) \($1)") }, logIn: { printed.add("log in") }, print: { printed.add($0) })
    let enabler = try postern.accessEnabler(at: "channels", subject: DecisionSubject(id: "alice"))
    await page.sample(enabler).value
    #expect(shown.all == ["resource_1 true", "resource_2 false", "resource_3 true"])
    #expect(printed.all.count == 1 && printed.all[0].hasPrefix("authorization_denied: "))
    page.labelled(
      enabler, PreauthorizeRequest(resources: ["resource_1"]),
      AccessEnablerCallback(
        onResponse: { _ in printed.add("response") }, onFailure: { _ in printed.add("failure") }))
    #expect(await eventually { printed.all.count == 2 } && printed.all.last == "response")
    // Without a subject nothing is decided: the user has to log in.
    await page.async(postern)
    #expect(shown.all.count == 3)
    page.onFailureCallback(result: await postern.preauthorize(["resource_1"], at: "channels"))
    #expect(printed.all.last == "log in")
  }

  // MARK: ID tokens

  @Test("an absent token is valid, or the outcome of a mock is not the program's")
  func idTokens() async throws {
    let lines = Lines([])
    let page = MigrationIDTokens(idToken: nil, code: nil, nonce: "n")
    let postern = try await postern()
    #expect(try await page.subject(postern, print: lines.add) == nil)
    #expect(lines.all.first?.hasPrefix("missing_token: ") == true)
    let (url, rules) = (try HTTPURL("https://idp.test/jwks"), IDTokenConfiguration(issuer: "https://idp.test"))
    for claims in [["sub": "alice"], nil] as [JSONObject?] {
      await page.outcome(of: MigrationIDTokens.ValidationManagerMock(claims: claims), url, rules, print: lines.add)
    }
    #expect(lines.all.dropFirst() == ["alice", "not a valid token: token_expired"])
    #expect(MigrationIDTokens.TenantCheck(tenant: "a").fault(claims: ["tenant": "a"], header: [:]) == nil)
    #expect(MigrationIDTokens.TenantCheck(tenant: "a").fault(claims: [:], header: [:])?.code.rawValue == "wrong_tenant")
  }
}
