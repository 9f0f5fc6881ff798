import Foundation
import Playground
import PlaygroundTestSupport
import PosternExamples
import PosternKit
import PosternURLLoading
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The code of the Swift guide, run against the playground over libcurl.
@Suite("The Swift guide", .timeLimit(.minutes(3)))
struct GuideTests {
  @Test("a configuration in the program fetches without a token, a file, or an issuer")
  func anonymous() async throws {
    let playground = try await PlaygroundServer.start()
    let text = try await Shop.anonymous(baseURL: playground.baseURL + "/open/")
    await playground.stop()
    #expect(!text.isEmpty)
  }

  @Test("the application's own token gets its orders, in each form of the body")
  func jobs() async throws {
    try await Shop.atPlayground { shop, _ in
      let response = try await shop.jobs()
      #expect(response.status == 200)
      #expect(try await shop.orderNumbers() == ["A-1001", "A-1002"])
      #expect(try await shop.header().hasPrefix("Bearer ey"))
    }
  }

  @Test("a user's fetch needs a login: catches a request that is sent without a token")
  func explained() async throws {
    try await Shop.atPlayground { shop, user in
      #expect(await shop.explained(nil) == "log in first")
      await #expect(throws: ResourceError.self) { try await shop.ownOrders() }
      let session = try await shop.login(user)
      #expect(session.subject == "user-1001" && session.kind == .user)
      #expect(await shop.explained(nil) == "log in first", "no session is chosen")
      #expect(await shop.explained(session.handle) == "status 200")
      #expect(try await shop.ownOrders().status == 200)
    }
  }

  @Test("a web application's login, the sessions, and a logout that also ends the session at the issuer")
  func webLogin() async throws {
    try await Shop.atPlayground({ configuration, _ in configuration.shopScope = "openid orders offline_access" }) {
      shop, user in
      try await user.announceLogins()
      let session = try await shop.webLogin { url in try await user.callback(of: url) }
      _ = try await shop.logout(session)
      #expect(try await shop.postern.sessions.all().isEmpty)
      #expect(await shop.explained(session.handle) == "log in first")
    }
  }

  @Test("a login on another device waits for its user's decision")
  func device() async throws {
    try await Shop.atPlayground { shop, user in
      let session = try await shop.deviceLogin { text in
        let code = String(text.split(separator: " ").last ?? "")
        try await user.control("device", ["userCode": .string(code), "user": "alice"])
      }
      #expect(session.subject == "user-1001")
    }
  }

  @Test("a known user gets what needs no login, by an implicit session of the same subject")
  func implicit() async throws {
    try await Shop.atPlayground { shop, user in
      let news = try await shop.news(for: try await shop.login(user))
      #expect(news.status == 200)
    }
  }

  @Test("an ID token is valid for its nonce and no other: catches a verdict that does not compare")
  func idTokens() async throws {
    try await Shop.atPlayground { shop, user in
      try await user.announceLogins()
      let token = try await user.idToken(nonce: "n-1")
      #expect(try await shop.subject(of: token, nonce: "n-1") == "user-1001")
      #expect(try await shop.subject(of: token, nonce: "n-2") == "nonce_mismatch in nonce")
    }
  }

  @Test("a tree logs the user in, and the access manager decides about their resources")
  func decisions() async throws {
    try await Shop.atPlayground { shop, _ in
      let session = try #require(try await shop.treeLogin())
      let lines = await shop.channels(session)
      #expect(lines.first == "https://shop.test/open/news: yes")
      #expect(lines.count == 2 && lines.last?.hasPrefix("https://shop.test/denied: ") == true)
      #expect(lines.last?.hasSuffix("yes") == false)
    }
  }

  @Test("a payment goes through when its user agrees, while the fetch waits and in two calls")
  func stepUp() async throws {
    try await Shop.atPlayground { shop, _ in
      let session = try #require(try await shop.treeLogin())
      let paid = try await shop.pay(session)
      #expect(paid.status == 200 && paid.advicesSatisfied.map(\.type) == ["TransactionConditionAdvice"])
      let later = try await shop.payLater(session)
      #expect(later.status == 200 && later.text?.contains("10 coins") == true)
      #expect(later.advicesSatisfied.map(\.type) == ["AuthenticateToServiceConditionAdvice"])
    }
  }

  @Test("a stronger login in the browser comes back to the port that waits, not to the configured one")
  func vault() async throws {
    try await Shop.atPlayground { shop, user in
      let session = try await shop.login(user)
      let vault = try await shop.vault(session.handle) { url in Task { try await user.browse(url) } }
      #expect(vault.status == 200 && vault.advicesSatisfied.count == 1)
    }
  }

  @Test("factory, chain and mutable request arrive as they were put together")
  func variations() async throws {
    try await Shop.atPlayground { shop, _ in
      let echoes = try await shop.variations().map { try $0.json() }
      #expect(echoes.map { $0["method"]?.stringValue } == ["POST", "POST", "PUT"])
      #expect(echoes[0]["headers"]?["x-flags"] == ["1000010"])
      #expect(echoes[0]["body"]?.stringValue?.contains(#"name="file"; filename="receipt.pdf""#) == true)
      #expect(echoes[1]["body"] == "username=foo%40bar.baz")
      #expect(echoes[2]["body"] == "raw" && echoes[2]["headers"]?["content-type"] == ["text/plain"])
    }
  }

  @Test("a body comes in pieces, as much of it as is taken; the rest is not even sent")
  func download() async throws {
    try await Shop.atPlayground { shop, _ in
      let size = Locked(0)
      let response = try await shop.download("bytes/3000000") { piece in
        size.withLock { $0 += piece.count }
        return true
      }
      #expect(
        response.status == 200 && response.isStreamed && response.body.isEmpty && size.withLock { $0 } == 3_000_000)
      let pieces = Locked(0)
      let error = await #expect(throws: ResourceError.self) {
        try await shop.download("bytes/500000000") { _ in
          pieces.withLock { pieces in
            pieces += 1
            return pieces < 3
          }
        }
      }
      #expect(error?.code == .requestCancelled && error?.outcome == .replied && pieces.withLock { $0 } == 3)
    }
  }

  @Test("a body is read while it is sent, to its end and in order")
  func upload() async throws {
    try await Shop.atPlayground { shop, _ in
      let pieces = Locked([Array("last".utf8), Array("then ".utf8), Array("first ".utf8)])
      let response = try await shop.upload(length: 15) { pieces.withLock { $0.popLast() ?? [] } }
      #expect(try response.json()["body"] == "first then last")
    }
  }

  @Test("a completion gets its one result, and its task has ended by then")
  func completion() async throws {
    try await Shop.atPlayground { shop, user in
      func show() async throws -> (String?, NetworkTask) {
        let shown = Locked<String?>(nil)
        let task = try shop.profile { text in shown.withLock { $0 = text } }
        _ = await eventually { shown.withLock { $0 } != nil }
        return (shown.withLock { $0 }, task)
      }
      let (before, rejected) = try await show()
      #expect(before == "log in first" && rejected.state == .completed)
      _ = try await shop.login(user)
      let (after, task) = try await show()
      #expect(after == "status 200" && task.response?.status == 200)
    }
  }

  @Test("a task pauses, continues and ends the fetch that it was given to")
  func tasks() async throws {
    try await Shop.atPlayground { shop, _ in
      let paused = try await shop.watched("bytes/100000") { task in
        task.suspend()
        task.resume()
      }
      #expect(paused.body.count == 100_000)
      let error = await #expect(throws: ResourceError.self) {
        try await shop.watched("slow?ms=60000") { task in task.cancel() }
      }
      #expect(error?.code == .requestCancelled && error?.outcome == .notSent)
    }
  }

  private struct Delegate: AuthorizationPolicyDelegate, TokenManagementPolicyDelegate {
    func onPolicyAdviseReceived(
      _ advices: [PolicyAdvice], session: SessionHandle?, continuation: String?
    ) async -> Bool? { false }

    func evaluateTokenRefresh(_ response: HTTPResponse) async -> Bool? { nil }
  }

  @Test("a URL session carries the user's token to the resource server, by itself and with the policies")
  func urlSession() async throws {
    try await Shop.atPlayground { shop, user in
      let url = try #require(URL(string: user.baseURL + "/resource/orders"))
      let anonymous = try shop.urlSession(of: nil)
      await #expect(throws: URLError.self) { _ = try await anonymous.data(from: url) }
      let alice = try await shop.login(user).handle
      await #expect(throws: URLError.self, "no session is chosen") { _ = try await anonymous.data(from: url) }
      for session in [try shop.urlSession(of: alice), try shop.urlSession(of: alice, delegate: Delegate())] {
        let (_, head) = try await session.data(from: url)
        #expect((head as? HTTPURLResponse)?.statusCode == 200)
      }
      PosternURLProtocol.resources = []
      PosternURLProtocol.tokenManagementPolicy = nil
      PosternURLProtocol.authorizationPolicy = nil
    }
  }

  @Test("a reload without a file keeps the configuration, and after the end nothing is sent")
  func reloaded() async throws {
    try await Shop.atPlayground { shop, _ in
      _ = await shop.reloaded()
      await #expect(throws: ResourceError.self) { try await shop.jobs() }
    }
  }

  @Test("the double transport sees the program's requests, with the token that the issuer's double gave")
  func double() async throws {
    let transport = RecordedTransport()
    let clock = ManualClock()
    let shop = try await Shop.inTest(over: transport, at: clock)
    #expect(try await shop.jobs().status == 200)
    #expect(transport.requests.last?.fields["Authorization"] == "Bearer at-1")
    #expect(transport.requests.count == 2)
    _ = try await shop.jobs()
    #expect(transport.requests.count == 3, "the token is kept")
    clock.advance(by: .seconds(3600))
    _ = try await shop.jobs()
    #expect(transport.requests.count == 5, "an expired token is replaced")
  }

  @Test("the engine without a configuration gets the application's orders")
  func engine() async throws {
    try await ResourceAccess.atPlayground { access, _ in
      let response = try await access.orders()
      #expect(response.status == 200)
    }
  }
}

extension Shop {
  /// A login in the browser, over the real loopback address.
  func login(_ user: PlayedUser) async throws -> Session {
    try await user.announceLogins()
    return try await postern.sessions.login { url in Task { try await user.browse(url) } }
  }
}

extension JSONObject {
  /// The scope of the guide's issuer.
  fileprivate var shopScope: String {
    get { self["issuers"]?["corp"]?["scope"]?.stringValue ?? "" }
    set {
      var issuers = self["issuers"]?.objectValue ?? [:]
      var issuer = issuers["corp"]?.objectValue ?? [:]
      issuer["scope"] = .string(newValue)
      issuers["corp"] = .object(issuer)
      self["issuers"] = .object(issuers)
    }
  }
}
