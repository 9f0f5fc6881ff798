import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

extension ResourceServer {
  /// A resource that takes none but bound tokens, of an issuer that gives them.
  static func binding(
    additionalOrigins: [String] = [], authentication: Authentication = .clientCredentials,
    issuerHost: String = "idp.test"
  ) throws -> ResourceServer {
    var server = try testing(
      additionalOrigins: additionalOrigins, authentication: authentication,
      issuer: .testing(endpoints: [.token: "https://\(issuerHost)/token"], usesDPoP: true))
    server.senderConstraint = .dpop
    return server
  }
}

/// The requests for tokens, and their use.
@Suite struct DPoPTokenTests {
  @Test("a resource that wants bound tokens is sent nothing when the issuer gives a bearer token")
  func failsClosed() async throws {
    let engine = Engine { request, _ in request.url.path == "/token" ? .token("t") : .status(200) }
    let error = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .binding())
    }
    #expect(error?.code == .deviceNotAuthenticated && error?.upstream?.code == "token_not_bound")
    #expect(error?.outcome == .notSent && error?.retryable == false && error?.detail.contains("dpop") == true)
    #expect(engine.transport.requests(to: "https://api.test/").isEmpty)
  }

  @Test("a refresh that brings a bearer token is none: the rejection is the result")
  func failsClosedLater() async throws {
    let count = Counter()
    let engine = Engine { request, _ in
      guard request.url.path == "/token" else {
        return .status(401, ("WWW-Authenticate", #"DPoP error="invalid_token""#))
      }
      return count.next() == 1 ? .boundToken("t1") : .token("t2")
    }
    let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .binding())
    #expect(response.status == 401 && response.attempts == 1)
    #expect(engine.transport.requests(to: "https://api.test/").count == 1)
  }

  @Test("the token's type decides how it is used, whatever the resource states", arguments: ["DPoP", "dpop", "DPOP"])
  func typeDecides(type: String) async throws {
    let engine = Engine { request, _ in request.url.path == "/token" ? .boundToken("t", type: type) : .status(200) }
    var server = try ResourceServer.binding()
    server.senderConstraint = .none
    _ = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server)
    let request = try #require(engine.transport.requests.last)
    #expect(request.fields["Authorization"] == "DPoP t")
    #expect(try Proof(request)["htm"] == "GET")
  }

  @Test("a bearer token goes out as one to a resource that does not mind, without a proof")
  func bearer() async throws {
    let engine = Engine { request, _ in request.url.path == "/token" ? .token("t") : .status(200) }
    var server = try ResourceServer.binding()
    server.senderConstraint = .none
    _ = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server)
    let request = try #require(engine.transport.requests.last)
    #expect(request.fields["Authorization"] == "Bearer t" && request.fields["DPoP"] == nil)
    #expect(engine.tokenRequests.first?.fields["DPoP"] != nil)
  }

  @Test("without auth there is no proof, also where bound tokens are required")
  func anonymous() async throws {
    let engine = Engine { _, _ in .status(200) }
    _ = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .binding(authentication: .none))
    #expect(engine.transport.requests.map { $0.fields["DPoP"] } == [nil])
  }

  @Test(
    "a type that is not understood is not used (RFC 6749 section 7.1), nor a bound token that was not requested",
    arguments: [("mac", true), ("N_A", true), ("", true), ("DPoP ", true), ("Bearer,DPoP", true), ("DPoP", false)])
  func foreignTypes(type: String, usesDPoP: Bool) async throws {
    let engine = Engine { _, _ in .boundToken("t", type: type) }
    let issuer = try Issuer.testing(usesDPoP: usesDPoP)
    let error = await #expect(throws: TokenError.self) {
      try await engine.tokens.token(for: ClientCredentialsGrant(issuer: issuer))
    }
    guard case .malformed? = error?.kind else {
      Issue.record("\(String(describing: error?.kind))")
      return
    }
    #expect((engine.tokenRequests.first?.fields["DPoP"] != nil) == usesDPoP)
  }

  static let challenges: [(String, Bool)] = [
    (#"DPoP error="invalid_token""#, true), ("DPoP algs=\"ES256\"", true), (#"dpop error="invalid_token""#, true),
    (#"DPoP error="invalid_dpop_proof""#, false), (#"DPoP error="insufficient_scope""#, false),
    (#"DPoP error="insufficient_user_authentication""#, false), (#"DPoP error="use_dpop_nonce""#, false),
    (#"Bearer, DPoP error="invalid_dpop_proof""#, false), (#"Bearer, DPoP error="invalid_token""#, true),
    (#"Bearer error="invalid_token""#, true), ("Basic realm=x", false), ("DPoPx error=\"invalid_token\"", false),
  ]

  @Test("a bound token is refreshed for a challenge that a newer one can meet", arguments: challenges)
  func refresh(row: (String, Bool)) async throws {
    let count = Counter()
    let engine = Engine { request, _ in
      request.url.path == "/token" ? .boundToken("t\(count.next())") : .status(401, ("WWW-Authenticate", row.0))
    }
    let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .binding())
    #expect(response.status == 401 && (count.current == 2) == row.1)
  }

  @Test("one key for an issuer's device tokens, another for another issuer's")
  func keys() async throws {
    let count = Counter()
    let engine = Engine { _, _ in .boundToken("t\(count.next())") }
    for client in ["a", "b"] {
      let issuer = try Issuer.testing(clientID: client, usesDPoP: true)
      for scope in ["x", "y"] { _ = try await engine.tokens.token(for: .init(issuer: issuer, scope: scope)) }
    }
    let keys = try engine.tokenRequests.map { try Proof($0).thumbprint }
    #expect(keys[0] == keys[1] && keys[2] == keys[3] && keys[0] != keys[2])
  }
}
