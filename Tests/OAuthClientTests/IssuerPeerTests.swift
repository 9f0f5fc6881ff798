import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternSupport
import PosternTestSupport
import Testing

@testable import OAuthClient
@testable import TokenValidation

/// The peers in whose names requests are sent to issuers: connections are shared out by uid.
@Suite("Whose requests to issuers are")
struct IssuerPeerTests {
  @Test("a shared token is requested in the name of the first user to need it, and waits in their queue")
  func peerID() async throws {
    let issuer = try Issuer(
      name: "corp", identifier: "https://idp.test", clientID: "c",
      clientAuthentication: ClientSecretBasic(secret: Secret("s")))
    let seen = Locked<[String: TransferOptions]>([:])
    let engine = Engine { request, options in
      seen.withLock { $0[request.method] = options }
      guard request.method == "POST" else {
        return .json(#"{"issuer":"https://idp.test","token_endpoint":"https://idp.test/token"}"#)
      }
      return .token("t")
    }
    _ = try await engine.tokens.token(for: ClientCredentialsGrant(issuer: issuer), in: .uid(7))
    let (token, metadata) = seen.withLock { ($0["POST"], $0["GET"]) }
    #expect(token?.peerID == .process && token?.reusesConnections == false)
    #expect(metadata?.peerID == .process && metadata?.reusesConnections == false)
  }

  @Test("a request for one user is sent in no user's name, so that one user's requests take the connections of all")
  func ownRequests() async throws {
    let seen = Locked<[UInt32]>([])
    let gate = Gate()
    let engine = Engine { _, options in
      seen.withLock { $0.append(options.peerID.uid) }
      await gate.pass()
      return .json(#"{"active":true}"#)
    }
    let introspector = TokenIntrospector(engine.services, discovery: engine.discovery)
    let issuer = try Issuer.testing(endpoints: [.introspection: "https://idp.test/introspect"])
    // The same request is sent for each of two users: neither waits in the other's queue.
    await withTaskGroup(of: Void.self) { group in
      for uid: UInt32 in [7, 8] {
        group.addTask {
          _ = try? await introspector.verdict(
            on: Secret("opaque"), issuer: issuer, expecting: .init(),
            configuration: IDTokenConfiguration(issuer: "https://idp.test"), keys: StaticJWKSet(JWKSet([])),
            in: .uid(uid))
        }
      }
      #expect(await eventually { gate.waiterCount == 2 })
      gate.open()
    }
    #expect(seen.withLock { $0.sorted() } == [7, 8])
  }
}
