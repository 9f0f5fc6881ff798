import AuthEngine
import HTTPMessages
import JOSE
import PosternSupport
import PosternTestSupport
import Testing

@testable import OAuthClient
@testable import TokenValidation

/// For whom an issuer's servers are asked: connections are shared out by uid.
@Suite("Whose requests to issuers are")
struct IssuerRequesterTests {
  @Test("a token that everybody uses is requested in the name of the first user to need it, and waits in their line")
  func requester() async throws {
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
    _ = try await Requesting.$uid.withValue(7) {
      try await engine.tokens.token(for: ClientCredentialsGrant(issuer: issuer))
    }
    let (token, metadata) = seen.withLock { ($0["POST"], $0["GET"]) }
    #expect(token?.requester == .process && token?.reusesConnections == false)
    #expect(metadata?.requester == .process && metadata?.reusesConnections == false)
  }

  @Test("what is asked for one user is asked in nobody's name, so that one user's requests take the places of all")
  func ownRequests() async throws {
    let seen = Locked<[UInt32]>([])
    let gate = Gate()
    let engine = Engine { _, options in
      seen.withLock { $0.append(options.requester.uid) }
      await gate.pass()
      return .json(#"{"active":true}"#)
    }
    let introspector = TokenIntrospector(
      transport: engine.transport, clock: engine.clock, observer: engine.observer, userAgent: "postern/test",
      discovery: engine.discovery)
    let issuer = try Issuer.testing(endpoints: [.introspection: "https://idp.test/introspect"])
    // The same question of two users is asked for each: neither waits in the other's line.
    await withTaskGroup(of: Void.self) { group in
      for uid: UInt32 in [7, 8] {
        group.addTask {
          await Requesting.$uid.withValue(uid) {
            _ = try? await introspector.verdict(
              on: Secret("opaque"), issuer: issuer, expecting: .init(),
              configuration: IDTokenConfiguration(issuer: "https://idp.test"), keys: StaticJWKSet(JWKSet([])))
          }
        }
      }
      #expect(await eventually { gate.waiterCount == 2 })
      gate.open()
    }
    #expect(seen.withLock { $0.sorted() } == [7, 8])
  }

  @Test("a decision point's metadata are requested in the name of whoever is first to need them")
  func decisionMetadata() async throws {
    let seen = Locked<[String: TransferOptions]>([:])
    let decisions = DecisionEngine { request, options in
      seen.withLock { $0[request.method] = options }
      return request.method == "GET" ? .status(404) : .decisions([true])
    }
    let point = try decisions.point()
    let response = await decisions.ask(["a"], at: point)
    #expect(response.decisions.first?.isAuthorized == true)
    let (metadata, question) = seen.withLock { ($0["GET"], $0["POST"]) }
    #expect(metadata?.requester == .process && question?.requester.uid == 1)
  }
}
