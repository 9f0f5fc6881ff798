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
    tokens: String? = LoadingBench.policyURL, advice: String? = LoadingBench.policyURL, hasDelegate: Bool = true
  ) throws {
    let delegate = hasDelegate ? Delegate(satisfied: true) : nil
    PosternURLProtocol.tokenManagementPolicy = try tokens.map {
      TokenManagementPolicy(validatingURL: [try HTTPURL($0)], whenNoSession: .fail)
    }
    PosternURLProtocol.authorizationPolicy = try advice.map {
      AuthorizationPolicy(validatingURL: [try HTTPURL($0)], delegate: delegate)
    }
  }

  /// A session of the SDKs' fifth step, made without `makeSession`.
  private func outcome(_ bench: LoadingBench, _ url: String) async -> URLError? {
    switch await bench.outcome(LoadingBench.request(url)) {
    case .success: nil
    case .failure(let error): error
    }
  }

  /// One way to leave out a part of the SDKs' five steps.
  struct Omission: Sendable, CustomTestStringConvertible {
    var isMounted = true
    var hasSession = true
    var isLoggedIn = true
    var advice: AdviceRules? = AdviceRules()
    var accessManager: String? = "https://am.example.com/am"
    var tokens: String? = LoadingBench.policyURL
    var authorization: String? = LoadingBench.policyURL
    var url = "/pay"
    /// Words of the first request's error.
    let words: String
    var code = ErrorCode.invalidParams

    var testDescription: String { words }
  }

  private static let omissions: [Omission] = [
    Omission(isMounted: false, words: "no member of PosternURLProtocol.resources has that URL"),
    Omission(
      tokens: nil, authorization: "https://api.example.com/", url: "https://api.example.com/other",
      words: "authorizationPolicy has no effect at https://api.example.com/other"),
    Omission(
      tokens: "http://127.0.0.1:9/base/", authorization: nil, url: "http://127.0.0.1:9/base/x",
      words: "tokenManagementPolicy has no effect at http://127.0.0.1:9/base/x: the URL is plain http"),
    Omission(
      tokens: nil, authorization: "http://127.0.0.1:9/base/", url: "http://127.0.0.1:9/base/x",
      words: "allowsPlainHTTPOnLoopback"),
    Omission(url: "/a/%252e%252e/x?secret=1", words: "/a/%252e%252e/x: the URL"),
    Omission(accessManager: nil, words: "no access manager"),
    Omission(hasSession: false, words: "no session is named", code: .notAuthenticated),
    Omission(isLoggedIn: false, words: "no live user session", code: .notAuthenticated),
  ]

  @Test(
    "a set-up that lacks a part sends a request all the same, or its error does not name the part", arguments: omissions
  )
  func omission(_ row: Omission) async throws {
    let bench = try await LoadingBench(
      isLoggedIn: row.isLoggedIn, isMounted: row.isMounted, hasSession: row.hasSession, advice: row.advice,
      accessManager: row.accessManager
    ) { _ in LoadingBench.reply(200) }
    try setPolicies(tokens: row.tokens, advice: row.authorization)
    let error = try #require(await outcome(bench, row.url), "a request went out")
    #expect(error.resourceError?.code == row.code && error.resourceError?.outcome == .notSent)
    #expect(error.localizedDescription.contains(row.words), "\(error.localizedDescription)")
    #expect(!error.localizedDescription.contains("secret"))
    #expect(bench.transport.requests.isEmpty)
  }

  @Test("a policy of other URLs than the request's keeps it from being loaded as usual")
  func elsewhere() async throws {
    _ = try await LoadingBench(isMounted: false) { _ in LoadingBench.reply(200) }
    try setPolicies()
    for url in ["https://api.example.com/based", "https://other.invalid/", "https://api.example.com/"] {
      #expect(!PosternURLProtocol.canInit(with: LoadingBench.request(url)))
    }
    #expect(PosternURLProtocol.canInit(with: LoadingBench.request("/x")))
  }

  /// The SDKs' steps 1 to 5, word for word, with nothing but `resources` in addition.
  private func fiveSteps(
    _ bench: LoadingBench, tokens: Bool = false, authorization: Bool = false, delegate: Delegate
  ) throws -> URLSession {
    _ = URLProtocol.registerClass(PosternURLProtocol.self)
    defer { URLProtocol.unregisterClass(PosternURLProtocol.self) }
    let url = try #require(URL(string: LoadingBench.policyURL))
    if tokens {
      PosternURLProtocol.tokenManagementPolicy = try TokenManagementPolicy(
        validatingURL: [url], delegate: delegate)
    }
    if authorization {
      PosternURLProtocol.authorizationPolicy = try AuthorizationPolicy(
        validatingURL: [url], delegate: delegate)
    }
    let configuration = URLSessionConfiguration.default
    configuration.protocolClasses = [PosternURLProtocol.self]
    return URLSession(configuration: configuration)
  }

  @Test("the token policy's five steps put no token into requests, or require more than the resources")
  func tokenSteps() async throws {
    let bench = try await LoadingBench(advice: nil) { _ in LoadingBench.reply(200, "yes") }
    let session = try fiveSteps(bench, tokens: true, delegate: Delegate(satisfied: true))
    let (body, _) = try await session.data(for: LoadingBench.request("/x"))
    #expect(body == Data("yes".utf8))
    #expect(bench.transport.requests.map { $0.fields["Authorization"] } == ["Bearer user-token"])
  }

  @Test(
    "the authorization policy's five steps have no advice satisfied, or require a token policy or rules of the server",
    arguments: [true, false])
  func authorizationSteps(hasRules: Bool) async throws {
    let bench = try await LoadingBench(advice: hasRules ? AdviceRules() : nil) { request in
      guard request.url.query != "_txid=tx-1" else { return LoadingBench.reply(200, "paid") }
      return LoadingBench.reply(
        401, #"{"TransactionConditionAdvice":["tx-1"]}"#, ("Content-Type", "application/json"))
    }
    let delegate = Delegate(satisfied: true)
    let session = try fiveSteps(bench, authorization: true, delegate: delegate)
    let (body, _) = try await session.data(for: LoadingBench.request("/pay"))
    #expect(body == Data("paid".utf8) && delegate.requested.withLock { $0.map(\.txId) } == ["tx-1"])
    #expect(bench.transport.requests.allSatisfy { $0.fields["Authorization"] == "Bearer user-token" })
    #expect(throws: Never.self) { _ = try PosternURLProtocol.makeSession() }
  }

  @Test("a resource whose fetches have no delegate keeps the policy's own from its advice")
  func ownDelegate() async throws {
    let bench = try await LoadingBench { request in
      guard request.url.query != "_txid=tx-1" else { return LoadingBench.reply(200, "paid") }
      return LoadingBench.reply(401, #"{"TransactionConditionAdvice":["tx-1"]}"#, ("Content-Type", "application/json"))
    }
    var options = bench.resource.options
    options.advice = FetchAdvice(delegateID: nil)
    PosternURLProtocol.resources = [
      ProtectedResource(bench.resource.server, fetcher: bench.resource.fetcher, options: options)
    ]
    let delegate = Delegate(satisfied: true)
    let session = try fiveSteps(bench, authorization: true, delegate: delegate)
    let (body, _) = try await session.data(for: LoadingBench.request("/pay"))
    #expect(body == Data("paid".utf8) && delegate.requested.withLock { $0.map(\.txId) } == ["tx-1"])
  }

  @Test("without a user the SDKs send the request as it is: an opt-in of the token policy, never the default")
  func withoutUser() async throws {
    let bench = try await LoadingBench(isLoggedIn: false) { _ in LoadingBench.reply(200) }
    PosternURLProtocol.tokenManagementPolicy = TokenManagementPolicy(
      validatingURL: [try HTTPURL(LoadingBench.policyURL)], whenNoSession: .sendWithoutToken)
    let (_, head) = try await bench.outcome(LoadingBench.request("/x")).get()
    #expect(head.statusCode == 200 && bench.transport.requests.map { $0.fields["Authorization"] } == [nil])
  }

  @Test(
    "a request without a user's token leaves its advice unseen",
    arguments: [ResourceServer.Authentication.none, .user])
  func withoutToken(_ authentication: ResourceServer.Authentication) async throws {
    let bench = try await LoadingBench(isLoggedIn: false, authentication: authentication) { request in
      guard request.url.query != "_txid=tx-1" else { return LoadingBench.reply(200, "paid") }
      return LoadingBench.reply(401, #"{"TransactionConditionAdvice":["tx-1"]}"#)
    }
    let delegate = Delegate(satisfied: true)
    PosternURLProtocol.tokenManagementPolicy = TokenManagementPolicy(
      validatingURL: [try HTTPURL(LoadingBench.policyURL)], whenNoSession: .sendWithoutToken)
    PosternURLProtocol.authorizationPolicy = AuthorizationPolicy(
      validatingURL: [try HTTPURL(LoadingBench.policyURL)], delegate: delegate)
    let (body, _) = try await bench.outcome(LoadingBench.request("/pay")).get()
    #expect(body == Data("paid".utf8) && delegate.requested.withLock { $0.map(\.txId) } == ["tx-1"])
    #expect(bench.transport.requests.map { $0.fields["Authorization"] } == [nil, nil])
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
    _ = try await LoadingBench(accessManager: nil) { _ in LoadingBench.reply(200) }
    try setPolicies()
    #expect(rejection()?.contains("no access manager") == true)
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
