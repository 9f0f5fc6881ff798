import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// `UserClient` and `DeviceClient`: four kinds of requests, each with its token, in two forms.
@Suite struct ResourceClientTests {
  private let bench: GrantBench
  private let issuer: SessionIssuer
  private let authorizations = Locked<[String?]>([])

  init() throws {
    bench = try GrantBench()
    issuer = try bench.issuer(implicit: ImplicitAccess(grant: .clientCredentials))
    bench.answerTokens()
    bench.answer("/base/x") { [authorizations] request, _ in
      authorizations.withLock { $0.append(request.fields["Authorization"]) }
      return .status(204)
    }
  }

  private func server() throws -> ResourceServer {
    var server = try ResourceServer.testing(issuer: issuer.issuer)
    server.scope = nil
    return server
  }

  private func user(
    _ session: SessionHandle? = nil, implicit: SessionHandle? = nil, uid: UInt32 = 1
  ) throws -> UserClient {
    UserClient(
      fetcher: bench.fetcher, server: try server(), sessions: bench.sessions, issuer: issuer, uid: uid,
      session: session, implicitSession: implicit)
  }

  enum Kind: CaseIterable { case user, implicit, device, none }

  /// Sends in both forms; the error's code, which must be the same in both.
  private func send(
    _ kind: Kind, _ user: UserClient, options: FetchOptions = FetchOptions()
  ) async throws -> ErrorCode? {
    let request = ResourceRequest(path: "x")
    let device = DeviceClient(fetcher: bench.fetcher, server: try server())
    let outcomes = Outcomes()
    let task =
      switch kind {
      case .user: user.sendAuthenticatedRequest(request, options: options) { outcomes.take($0) }
      case .implicit: user.sendImplicitRequest(request, options: options) { outcomes.take($0) }
      case .device: device.sendAuthenticatedRequest(request, options: options) { outcomes.take($0) }
      case .none: device.sendUnauthenticatedRequest(request, options: options) { outcomes.take($0) }
      }
    let outcome = try #require(await outcomes.only)
    #expect(task.state == .completed && task.response?.status == outcome.success?.status)
    #expect(task.error?.code == outcome.failure?.code && task.request.path == "x" && !task.identifier.isEmpty)
    do throws(ResourceError) {
      let response =
        switch kind {
        case .user: try await user.sendAuthenticatedRequest(request, options: options)
        case .implicit: try await user.sendImplicitRequest(request, options: options)
        case .device: try await device.sendAuthenticatedRequest(request, options: options)
        case .none: try await device.sendUnauthenticatedRequest(request, options: options)
        }
      #expect(response.status == outcome.success?.status)
    } catch {
      #expect(error.code == outcome.failure?.code)
    }
    return outcome.failure?.code
  }

  @Test("each kind carries its own token, whatever the options say")
  func tokens() async throws {
    try await bench.userSession(at: issuer)
    _ = try await bench.sessions.create(from: .implicit(profile: "user-1"), at: issuer, in: .uid(1))
    let options = FetchOptions(authentication: ResourceServer.Authentication.none)
    for kind in Kind.allCases { #expect(try await send(kind, user(), options: options) == nil) }
    let expected: [String?] = ["Bearer given", "Bearer a-1", "Bearer a-2", nil].flatMap { [$0, $0] }
    #expect(authorizations.withLock { $0 } == expected)
  }

  @Test("what is missing has the code of its kind: 1001, 1002, 1003; without a token nothing is missing")
  func missing() async throws {
    bench.answer("/token") { _, _ in .json(#"{"error":"invalid_client"}"#, status: 401) }
    for (kind, code) in [
      (Kind.user, ErrorCode.notAuthenticated), (.implicit, .notImplicitlyAuthenticated),
      (.device, .deviceNotAuthenticated), (.none, nil),
    ] {
      #expect(try await send(kind, user()) == code)
    }
    #expect(authorizations.withLock { $0 } == [nil, nil])
  }

  @Test("a client uses its own owner's sessions: a given one, or the only one there is when it sends")
  func sessions() async throws {
    let client = try user()
    #expect(try await send(.user, client) == .notAuthenticated)
    let first = try await bench.userSession(at: issuer)
    #expect(try await send(.user, client) == nil)
    #expect(try await send(.user, user(uid: 2)) == .notAuthenticated)
    #expect(try await send(.user, user(first.handle, uid: 2)) == .sessionNotFound)
    try await bench.userSession(at: issuer)
    #expect(try await send(.user, client) == .invalidParams, "which of the two?")
    #expect(try await send(.user, user(first.handle)) == nil)
    #expect(try await send(.implicit, user(implicit: first.handle)) == .notImplicitlyAuthenticated)
    _ = try await bench.sessions.end(first.handle, at: issuer, in: .uid(1))
    #expect(try await send(.user, user(first.handle)) == .sessionNotFound)
    #expect(try await send(.user, client) == nil)
  }

  @Test("a session that is named has cookies of its own, where the resource keeps any")
  func cookies() async throws {
    let seen = Locked<[String?]>([])
    bench.answer("/base/c") { request, _ in
      seen.withLock { $0.append(request.fields["Cookie"]) }
      return .status(204, ("Set-Cookie", "a=1"))
    }
    var server = try server()
    server.cookies = CookiePolicy()
    let (first, second) = (try await bench.userSession(at: issuer), try await bench.userSession(at: issuer))
    for session in [first, second, first] {
      let client = UserClient(
        fetcher: bench.fetcher, server: server, sessions: bench.sessions, issuer: issuer, uid: 1,
        session: session.handle)
      _ = try await client.sendAuthenticatedRequest(ResourceRequest(path: "c"))
    }
    #expect(seen.withLock { $0 } == [nil, nil, "a=1"])
  }

  @Test("the completion is never called from within the call that sends")
  func notReentrant() async throws {
    for _ in 0..<50 {
      let lock = Locked(false)
      let outcomes = Outcomes()
      let client = DeviceClient(fetcher: bench.fetcher, server: try server())
      // Called from within, it would wait for the lock that its own caller holds.
      lock.withLock { _ in
        _ = client.sendUnauthenticatedRequest(ResourceRequest(path: "//")) { result in
          lock.withLock { $0 = true }
          outcomes.take(result)
        }
      }
      #expect(await outcomes.only?.failure?.code == .invalidURL)
    }
  }
}
