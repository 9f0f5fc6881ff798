import AuthEngine
import EngineTestSupport
import PosternSupport
import PosternTestSupport
import Testing

@testable import Sessions

/// The resource indicators of token requests (RFC 8707).
@Suite struct ResourceIndicatorTests {
  static let resource = "https://api.test/base"

  private func loggedIn(_ bench: DPoPBench) async throws -> Session {
    var request = AuthorizationRequest(redirectURI: "http://127.0.0.1/callback")
    request.resource = Self.resource
    request.scope = "orders"
    let begun = try await bench.sessions.beginAuthorization(request, at: bench.issuer, in: .uid(1))
    return try await bench.sessions.completeAuthorization(
      callback: "http://127.0.0.1/callback?code=c&state=\(begun.state)", state: begun.state,
      issuer: { _ throws(SessionError) in bench.issuer }, in: .uid(1))
  }

  @Test("the resource of an authorization is sent with its code and with every refresh of its own token")
  func authorization() async throws {
    let bench = try DPoPBench(usesDPoP: false, endpoints: [:])
    let session = try await loggedIn(bench)
    _ = try await bench.token(session, replacing: bench.token(session))
    #expect(bench.forms("par").map { $0["resource"] } == [Self.resource])
    #expect(bench.forms().map { $0["grant_type"] } == ["authorization_code", "refresh_token"])
    #expect(bench.forms().map { $0["resource"] } == [Self.resource, Self.resource])
  }

  @Test("a resource with an audience has a token of its own, requested with resource and audience and cached")
  func audiences() async throws {
    let bench = try DPoPBench(endpoints: [:])
    let session = try await loggedIn(bench)
    for audience in [Self.resource, "https://other.test", "https://other.test", "other"] {
      _ = try await bench.fetch(session, audience: audience)
    }
    #expect(bench.forms().map { $0["resource"] } == [Self.resource, Self.resource, "https://other.test", nil])
    #expect(bench.forms().map { $0["audience"] } == [nil, Self.resource, "https://other.test", "other"])
  }

  @Test("a session without a resource requests none")
  func none() async throws {
    let bench = try DPoPBench(usesDPoP: false)
    let session = try await bench.session()
    _ = try await bench.token(session, replacing: bench.token(session))
    #expect(bench.forms().map { $0["resource"] } == [nil, nil])
  }

  @Test(
    "a resource is an absolute URI without a fragment, or the authorization does not begin",
    arguments: ["", "api", "/x", "https://api.test/#f", "https://api.test/ x", ":x"])
  func invalid(resource: String) async throws {
    let bench = try DPoPBench(endpoints: [:])
    var request = AuthorizationRequest(redirectURI: "http://127.0.0.1/callback")
    request.resource = resource
    let error = await #expect(throws: SessionError.self) {
      try await bench.sessions.beginAuthorization(request, at: bench.issuer, in: .uid(1))
    }
    guard case .invalid(let path)? = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(path == ["resource"] && bench.transport.requests.isEmpty)
  }
}
