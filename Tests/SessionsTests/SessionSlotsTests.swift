import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@testable import Sessions

/// A session's tokens for several resources, all needed at once.
@Suite struct SessionSlotsTests {
  private func tokens(
    _ bench: SessionBench, _ session: Session, audiences: Range<Int>
  ) async -> [Result<String, SessionError>] {
    let gate = Gate()
    bench.gate.withLock { $0 = gate }
    return await withTaskGroup(of: Result<String, SessionError>.self) { group in
      for number in audiences {
        group.addTask {
          do throws(SessionError) {
            let token = try await bench.sessions.token(
              TokenNeed(audience: "https://api\(number).test"), of: session.handle, at: bench.issuer, in: .uid(1))
            return .success(token.value.reveal())
          } catch {
            return .failure(error)
          }
        }
      }
      let expected = audiences.count
      #expect(
        await eventually {
          gate.waiterCount == 1 && bench.sessions.refresher.flights.waiterCount(for: session.handle.key) == expected
        })
      gate.open()
      bench.gate.withLock { $0 = nil }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }

  @Test(
    "each of many resources gets a token of its own when all are requested at once: waiting for others' is no failure")
  func all() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    let values = try await tokens(bench, session, audiences: 0..<16).map { try $0.get() }
    #expect(Set(values).count == 16 && bench.refreshes.count == 17)
    #expect(bench.provider.withLock { $0.isReused } == false)
  }

  @Test("what is wrong with one resource's token keeps no other resource from its own")
  func oneRejected() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    bench.provider.withLock { $0.answers = [.json(#"{"error":"invalid_target"}"#, status: 400)] }
    let outcomes = await tokens(bench, session, audiences: 0..<4)
    let failures = outcomes.compactMap { outcome -> SessionError? in
      guard case .failure(let error) = outcome else { return nil }
      return error
    }
    #expect(failures.count == 1 && failures.first?.upstreamCode == "invalid_target")
  }

  @Test("an outage costs one request, whichever tokens are waited for")
  func outage() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    bench.provider.withLock { $0.failure = .serverUnreachable }
    let outcomes = await tokens(bench, session, audiences: 0..<8)
    #expect(outcomes.allSatisfy { (try? $0.get()) == nil } && bench.refreshes.count == 2)
  }
}
