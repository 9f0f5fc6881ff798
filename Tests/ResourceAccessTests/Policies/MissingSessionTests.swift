import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// A request without a token: only where the policy permits it, and no session was ever made.
@Suite(.bothWays) struct MissingSessionTests {
  private let bench: GrantBench
  private let issuer: SessionIssuer

  init() throws {
    bench = try GrantBench()
    issuer = try bench.issuer(implicit: ImplicitAccess(grant: .clientCredentials))
    bench.answer("/base/x") { _, _ in .status(200) }
  }

  /// Fetches with a policy; the error's code.
  private func fetch(
    _ missing: TokenManagementPolicy.MissingSession?, _ authentication: ResourceServer.Authentication = .user,
    handle: SessionHandle? = nil, hasAccess: Bool = true
  ) async throws -> ErrorCode? {
    var server = try ResourceServer.testing(authentication: authentication, issuer: issuer.issuer)
    server.scope = nil
    var options = FetchOptions()
    if let handle {
      options.session = SessionRef(handle: handle, uid: 1, issuer: issuer, sessions: bench.sessions)
    } else if hasAccess {
      options.session = .only(of: 1, at: issuer, sessions: bench.sessions)
    }
    let urls = [server.baseURL]
    options.tokenPolicy = missing.map { TokenManagementPolicy(validatingURL: urls, whenNoSession: $0) }
    do throws(ResourceError) {
      _ = try await bench.fetcher.fetch(ResourceRequest(path: "x"), from: server, options: options)
      return nil
    } catch {
      return error.code
    }
  }

  /// The values of `Authorization` that came to the resource.
  private var sent: [String?] { bench.transport.requests(to: "https://api.test/").map { $0.fields["Authorization"] } }

  private func given(_ change: (inout SessionGrant.GivenTokens) -> Void) async throws -> Session {
    var tokens = SessionGrant.GivenTokens()
    tokens.accessToken = Secret("given")
    change(&tokens)
    return try await bench.sessions.create(from: .tokens(tokens), at: issuer, in: .uid(1))
  }

  @Test(
    "Without a session a request goes out although no policy permits that, or fails although one does",
    arguments: [true, false])
  func none(hasAccess: Bool) async throws {
    #expect(try await fetch(nil, hasAccess: hasAccess) == .notAuthenticated)
    #expect(try await fetch(.fail, hasAccess: hasAccess) == .notAuthenticated)
    let implicit: ErrorCode = hasAccess ? .notImplicitlyAuthenticated : .notAuthenticated
    #expect(try await fetch(.fail, .implicit, hasAccess: hasAccess) == implicit)
    #expect(sent.isEmpty)
    #expect(try await fetch(.sendWithoutToken, hasAccess: hasAccess) == nil)
    #expect(try await fetch(.sendWithoutToken, .implicit, hasAccess: hasAccess) == nil)
    #expect(sent == [nil, nil])
  }

  @Test("A session that is there, of another kind or not, is left out")
  func live() async throws {
    _ = try await bench.userSession(at: issuer)
    #expect(try await fetch(.sendWithoutToken) == nil)
    #expect(try await fetch(.sendWithoutToken, .implicit) == nil)
    #expect(sent == ["Bearer given", nil])
  }

  @Test("An expired session, several, one that is gone, or a failed refresh counts as none")
  func others() async throws {
    let gone = try await given { _ in }
    _ = try await bench.sessions.end(gone.handle, at: issuer, in: .uid(1))
    #expect(try await fetch(.sendWithoutToken, handle: gone.handle) == .sessionNotFound)
    let expired = try await given { $0.expiresIn = 60 }
    bench.clock.advance(by: .seconds(120))
    #expect(try await fetch(.sendWithoutToken) == .notAuthenticated)
    _ = try await bench.sessions.end(expired.handle, at: issuer, in: .uid(1))
    bench.answer("/token") { _, _ in .json(#"{"error":"server_error"}"#, status: 503) }
    let refreshing = try await given { tokens in
      tokens.expiresIn = 60
      tokens.refreshToken = Secret("r-1")
    }
    bench.clock.advance(by: .seconds(120))
    #expect(try await fetch(.sendWithoutToken) == .tokenEndpointError)
    let other = try await given { _ in }
    #expect(try await fetch(.sendWithoutToken) == .invalidParams, "which of the two?")
    for session in [refreshing, other] { _ = try await bench.sessions.end(session.handle, at: issuer, in: .uid(1)) }
    #expect(sent.isEmpty)
    #expect(try await fetch(.sendWithoutToken) == nil, "the user has logged out")
    #expect(sent == [nil])
  }
}
