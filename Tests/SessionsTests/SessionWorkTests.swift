import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import Sessions

/// Background work is counted for the caller that caused it.
@Suite struct SessionWorkTests {
  /// A bench whose issuer returns ID tokens for another client, and never responds to revocations.
  private func bench() throws -> (GrantBench, Gate) {
    let bench = try GrantBench()
    bench.answerTokens(more: #","id_token":"\#(try bench.idToken(more: ["aud": "other"]))""#)
    return (bench, bench.hold("/revoke"))
  }

  private func fault(_ bench: GrantBench, uid: UInt32 = 1) async throws -> SessionError.Kind? {
    let issuer = try bench.issuer()
    let error = await GrantBench.fault {
      _ = try await bench.sessions.create(from: .refreshToken(Secret("r")), at: issuer, in: .uid(uid))
    }
    return error?.kind
  }

  @Test("logins that fail where revocations are never answered leave tasks without end, or delay others")
  func hangingRevocations() async throws {
    let (bench, gate) = try bench()
    for number in 0..<400 {
      switch try await fault(bench) {
      case .authorizationFailed: #expect(number < 256)
      case .overloaded: #expect(number >= 256)
      case let other: Issue.record("\(number): \(String(describing: other))")
      }
    }
    #expect(await eventually { gate.waiterCount == 256 })
    #expect(bench.sent().count == 256 && bench.events.names.isEmpty)
    guard case .authorizationFailed? = try await fault(bench, uid: 2) else {
      Issue.record("the other user has no slot")
      return
    }
    #expect(bench.patience.withLock { $0["/revoke"] } == .seconds(10))
    gate.open()
    #expect(await eventually { bench.sessions.tasks.isIdle })
    guard case .authorizationFailed? = try await fault(bench) else {
      Issue.record("there is no slot when all of them have been answered")
      return
    }
  }

  @Test("revocations that no login brings, of steps-up and refreshes, have no bound, or are left out without a word")
  func leftOut() async throws {
    let bench = try GrantBench()
    let gate = Gate()
    let ended = Counter()
    for _ in 0..<800 {
      bench.sessions.tasks.revoke(for: 1, at: "corp", in: .uid(1)) { _ in
        await gate.pass()
        _ = ended.next()
      }
    }
    #expect(bench.events.names.count == 800 - 256 && bench.events.names.allSatisfy { $0 == "troubled" })
    gate.open()
    #expect(await eventually { bench.sessions.tasks.isIdle })
    #expect(ended.next() == 257)
  }
}
