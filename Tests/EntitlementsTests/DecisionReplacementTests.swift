import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@testable import Entitlements

/// The sidecar's own credentials at a decision point that rejects them in one user's requests.
@Suite("Credentials at a decision point that one user has replaced")
struct DecisionReplacementTests {
  private func ask(_ engine: DecisionEngine, _ name: String, _ uid: UInt32, _ point: DecisionPoint) async -> Bool {
    await engine.ask([name], at: point, subject: DecisionSubject(id: "u\(uid)", uid: uid), uid: uid)
      .decisions.first?.isAuthorized == true
  }

  /// Requests decisions that the decision point answers with 401, far more often than a user may have the credentials
  /// replaced.
  private func poison(_ engine: DecisionEngine, _ point: DecisionPoint, tokens: Counter, limit: Int) async {
    for number in 0..<(4 * limit) { #expect(await !ask(engine, "poison-\(number)", 1, point)) }
    #expect(tokens.current == 1 + limit, "one, and as many in place of it as the limit is")
    #expect(await ask(engine, "a", 2, point) && tokens.current == 1 + limit)
    // Another one has his own replacements, and so has she after a while.
    #expect(await !ask(engine, "poison", 2, point) && tokens.current == 2 + limit)
    engine.clock.advance(by: .seconds(50))
    #expect(await !ask(engine, "poison", 1, point) && tokens.current == 3 + limit)
  }

  /// Would catch: a decision point that answers 401 to one user's requests, for which the shared token is replaced
  /// every time.
  @Test("the shared token at Adobe Pass is replaced as often as one user likes")
  func adobePass() async throws {
    let server = AdobePassServer { _, _, resources in
      resources.contains { $0.hasPrefix("poison") } ? .status(401) : .permits(resources)
    }
    await poison(server.engine(), try server.point(), tokens: server.tokens, limit: 25)
    #expect(server.registrations.current == 1)
  }

  /// Would catch: the same for the evaluator's login, where the newest session may end the one before.
  @Test("the evaluator logs in at an access manager as often as one user likes")
  func accessManager() async throws {
    let logins = Counter()
    let engine = DecisionEngine { request, _ in
      if request.url.path.hasSuffix("authenticate") { return .json(#"{"tokenId":"t\#(logins.next())"}"#) }
      let isPoison = String(decoding: request.body ?? [], as: UTF8.self).contains("poison")
      return isPoison ? .status(401) : .json(#"[{"resource":"a","actions":{"view":true}}]"#)
    }
    let settings = AccessManagerProvider.Settings(
      baseURL: try HTTPURL("https://am.test/am"), evaluator: .user(name: Secret("n"), password: Secret("p")))
    let point = DecisionPoint(
      name: "am", settings: .init(), provider: try AccessManagerProvider(settings, clock: engine.clock))
    await poison(engine, point, tokens: logins, limit: 5)
  }
}
