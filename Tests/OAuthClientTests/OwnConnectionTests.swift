import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternSupport
import PosternTestSupport
import Testing

/// Requests with shared results, or for tokens, use a connection without other requests: an unsolicited answer of a
/// server can then be taken for none of their answers (`Issuer.transferOptions`).
@Suite("Requests with a connection of their own")
struct OwnConnectionTests {
  /// The kinds of requests to an issuer's servers, by path.
  enum Kind: String, CaseIterable {
    case metadata = "/.well-known/openid-configuration"
    case token = "/token"
    case pushedAuthorizationRequest = "/par"
    case deviceAuthorization = "/device"
    case introspection = "/introspect"
    case revocation = "/revoke"
    case endSession = "/logout"
    case keySet = "/jwks"
    case callersKeySet = "/callers-jwks"
    case accessManagersCookieName = "/am/json/serverinfo/*"
    case singleSignOn = "/am/oauth2/realms/root/realms/alpha/authorize"
    case journey = "/am/json/realms/root/realms/alpha/authenticate"
    case singleSignOnEnd = "/am/json/realms/root/realms/alpha/sessions"
  }

  @Test("a kept connection brings a stray response to a request whose result is shared", arguments: Kind.allCases)
  func own(kind: Kind) async throws {
    let transport = try await Self.cause(kind)
    let requests = zip(transport.requests, transport.options).filter { $0.0.url.path == kind.rawValue }
    #expect(!requests.isEmpty, "no request for it")
    #expect(requests.allSatisfy { !$0.1.reusesConnections })
  }

  /// Has something done for which a request of that kind is needed; what it went over.
  private static func cause(_ kind: Kind) async throws -> ScriptedTransport {
    switch kind {
    case .metadata, .pushedAuthorizationRequest: try await pushed()
    case .token, .revocation, .endSession: try await endedSession()
    case .deviceAuthorization: try await device()
    case .introspection: try await introspection()
    case .keySet, .callersKeySet: try await keySets()
    case .accessManagersCookieName, .singleSignOn, .singleSignOnEnd: try await singleSignOn()
    case .journey: try await journey()
    }
  }

  private static func pushed() async throws -> ScriptedTransport {
    let bench = try DPoPBench(endpoints: [:])
    let request = AuthorizationRequest(redirectURI: "http://127.0.0.1/callback")
    _ = try await bench.sessions.beginAuthorization(request, at: bench.issuer, in: .uid(1))
    return bench.transport
  }

  private static func device() async throws -> ScriptedTransport {
    let bench = try DPoPBench(endpoints: [:])
    _ = try await bench.sessions.beginDeviceAuthorization(at: bench.issuer, scope: nil, in: .uid(1))
    return bench.transport
  }

  /// A server that accepts no POST at its logout endpoint gets a GET.
  private static func endedSession() async throws -> ScriptedTransport {
    let bench = try GrantBench()
    let issuer = try bench.issuer()
    let idToken = try bench.idToken()
    bench.answer("/token") { _, _ in
      .json(#"{"access_token":"a","token_type":"Bearer","expires_in":300,"id_token":"\#(idToken)"}"#)
    }
    bench.answer("/logout") { request, _ in .status(request.method == "POST" ? 405 : 200) }
    let session = try await bench.sessions.create(from: .refreshToken(Secret("r")), at: issuer, in: .uid(1))
    #expect(try await bench.sessions.end(session.handle, at: issuer, in: .uid(1)) == .ended)
    #expect(bench.transport.requests.count { $0.url.path == "/logout" } == 2)
    return bench.transport
  }

  private static func introspection() async throws -> ScriptedTransport {
    let engine = Engine { _, _ in .json(#"{"active":true}"#) }
    let introspector = TokenIntrospector(engine.services, discovery: engine.discovery)
    _ = try await introspector.verdict(
      on: Secret("opaque"), issuer: .testing(endpoints: [.introspection: "https://idp.test/introspect"]),
      expecting: .init(), configuration: IDTokenConfiguration(issuer: "https://idp.test"),
      keys: StaticJWKSet(JWKSet([])))
    return engine.transport
  }

  private static func keySets() async throws -> ScriptedTransport {
    let server = KeyServer()
    _ = try await server.source().keySet(in: CallScope())
    _ = try await server.store.source(at: HTTPURL("https://idp.test/callers-jwks"), for: 7).keySet(in: CallScope())
    return server.transport
  }

  private static func singleSignOn() async throws -> ScriptedTransport {
    let bench = try JourneyBench(cookieName: nil)
    let session = try await bench.session()
    _ = try await bench.grants.sessions.end(session.handle, at: bench.issuer, in: .uid(JourneyBench.uid))
    return bench.grants.transport
  }

  private static func journey() async throws -> ScriptedTransport {
    let bench = try JourneyBench()
    bench.thenPage()
    _ = try await bench.login()
    return bench.grants.transport
  }
}
