import AuthEngine
import Foundation
import HTTPMessages
import PosternSupport
import PosternTestSupport
import PosternURLLoading
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A policy that cannot take effect is an error at once, never a request that looks right.
extension URLSessionTests {
  private func setPolicies(
    tokens: String? = LoadingBench.base, advice: String? = LoadingBench.base, hasDelegate: Bool = true
  ) throws {
    let delegate = hasDelegate ? Delegate(satisfied: true) : nil
    PosternURLProtocol.tokenManagementPolicy = try tokens.map {
      TokenManagementPolicy(validatingURL: [try HTTPURL($0)])
    }
    PosternURLProtocol.authorizationPolicy = try advice.map {
      AuthorizationPolicy(validatingURL: [try HTTPURL($0)], delegate: delegate)
    }
  }

  private func expectRejection(_ bench: LoadingBench, _ words: String) async {
    guard case .failure(let error) = await bench.outcome(LoadingBench.request("/pay")) else {
      Issue.record("a request went out though its policy has no effect")
      return
    }
    #expect(error.resourceError?.code == .invalidRequest && error.resourceError?.outcome == .notSent)
    #expect(error.localizedDescription.contains(words), "\(error.localizedDescription)")
    #expect(bench.transport.requests.isEmpty)
    let rejection = #expect(throws: ResourceError.self) { _ = try PosternURLProtocol.makeSession() }
    #expect(rejection?.code == .invalidRequest && rejection?.detail.contains(words) == true)
  }

  @Test("an authorization policy alone sends no token: the request fails, and no session is made")
  func policyAlone() async throws {
    let bench = try await LoadingBench { _ in LoadingBench.reply(200) }
    try setPolicies(tokens: nil)
    await expectRejection(bench, "tokenManagementPolicy")
  }

  @Test("an authorization policy for a server without rules for advice is an error, not silence")
  func noRules() async throws {
    let none = try await LoadingBench(advice: nil) { _ in LoadingBench.reply(200) }
    try setPolicies()
    await expectRejection(none, "no rules for advice")
    let empty = try await LoadingBench(accessManager: nil) { _ in LoadingBench.reply(200) }
    try setPolicies()
    await expectRejection(empty, "no access manager")
  }

  @Test(
    "an authorization policy for requests without a user's token is an error",
    arguments: [ResourceServer.Authentication.clientCredentials, .implicit, .none])
  func noUser(_ authentication: ResourceServer.Authentication) async throws {
    let bench = try await LoadingBench(authentication: authentication) { _ in LoadingBench.reply(200) }
    try setPolicies()
    await expectRejection(bench, "no user's token")
  }

  @Test("what has no effect is thrown when a session is made")
  func checks() async throws {
    func rejection() -> String? {
      #expect(throws: ResourceError.self) { _ = try PosternURLProtocol.makeSession() }?.detail
    }
    _ = try await LoadingBench(isMounted: false) { _ in LoadingBench.reply(200) }
    #expect(rejection()?.contains("resources is empty") == true)
    _ = try await LoadingBench { _ in LoadingBench.reply(200) }
    for url in ["https://api.example.com/bas", "https://other.invalid/", "http://api.example.com/base"] {
      try setPolicies(tokens: url)
      #expect(rejection()?.hasPrefix("tokenManagementPolicy has no effect at \(url)") == true)
      try setPolicies(advice: url)
      #expect(rejection()?.hasPrefix("authorizationPolicy has no effect at \(url)") == true)
    }
    try setPolicies(hasDelegate: false)
    #expect(rejection()?.contains("no delegate") == true)
    _ = try await LoadingBench(hasSession: false) { _ in LoadingBench.reply(200) }
    try setPolicies()
    #expect(rejection()?.contains("no session") == true)
  }

  @Test("a session that is made here uses the engine, whatever its configuration had; the caller's other classes stay")
  func madeSession() async throws {
    let bench = try await LoadingBench { _ in LoadingBench.reply(200, "yes") }
    try setPolicies(tokens: LoadingBench.base + "/a", advice: "https://api.example.com/")
    let configuration = URLSessionConfiguration.ephemeral
    let before = try #require(configuration.protocolClasses)
    let session = try PosternURLProtocol.makeSession(configuration: configuration)
    #expect(PosternURLProtocol.isInstalled(in: session))
    #expect(session.configuration.protocolClasses?.count == before.count + 1)
    let (body, _) = try await session.data(for: LoadingBench.request("/a"))
    #expect(body == Data("yes".utf8))
    #expect(bench.transport.requests.map { $0.fields["Authorization"] } == ["Bearer user-token"])
    #expect(try PosternURLProtocol.isInstalled(in: PosternURLProtocol.makeSession(configuration: configuration)))
    #expect(configuration.protocolClasses?.count == before.count + 1)
  }

  @Test(
    "registering the class has no effect on Linux, nor has a configuration's change after its session: both can be seen"
  )
  func registration() async throws {
    _ = try await LoadingBench { _ in LoadingBench.reply(200) }
    let configuration = URLSessionConfiguration.ephemeral
    let session = URLSession(configuration: configuration)
    configuration.protocolClasses = [PosternURLProtocol.self]
    #expect(!PosternURLProtocol.isInstalled(in: session) && !PosternURLProtocol.isInstalled(in: .shared))
    let warnings = Locked<[String]>([])
    let usual = PosternURLProtocol.warningHandler
    PosternURLProtocol.warningHandler = { text in warnings.withLock { $0.append(text) } }
    defer {
      PosternURLProtocol.warningHandler = usual
      URLProtocol.unregisterClass(PosternURLProtocol.self)
    }
    for _ in 0..<2 { #expect(PosternURLProtocol.registerClass(PosternURLProtocol.self)) }
    #expect(warnings.withLock { $0.count == 1 && $0[0].contains("makeSession") })
    let later = URLSession(configuration: .ephemeral)
    #expect(!PosternURLProtocol.isInstalled(in: later))
  }
}
