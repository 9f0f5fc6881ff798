import AuthEngine
import EngineTestSupport
import PosternSupport
import PosternTestSupport
import Testing

@testable import Sessions

@Suite("Sessions that several processes refresh")
struct SessionProcessesTests {
  @Test("what was refreshed is in the store: another process goes on with the newest refresh token")
  func handedOver() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    let first = try await bench.token(session)
    _ = try await bench.token(session, replacing: first)
    let successor = try SessionBench(alongside: bench)
    #expect(try await successor.token(session).value.reveal() == "a-2")
    let token = try await successor.token(session)
    #expect(try await successor.token(session, replacing: token).value.reveal() == "a-3")
    #expect(bench.provider.withLock { $0.isReused } == false)
  }

  @Test("a refresh that comes too late goes on with the tokens of the faster process, and ends no session")
  func overtaken() async throws {
    let first = try SessionBench()
    let session = try await first.session()
    let old = try await first.token(session)
    let second = try SessionBench(alongside: first)
    let gate = Gate()
    first.gate.withLock { $0 = gate }
    let late = Task { try await first.token(session, replacing: old) }
    #expect(await eventually { gate.waiterCount == 1 })
    let theirs = try await second.token(session)
    #expect(try await second.token(session, replacing: theirs).value.reveal() == "a-2")
    gate.open()
    #expect(try await late.value.value.reveal() == "a-2")
    #expect(first.events.names.isEmpty)
  }

  @Test("a rotated refresh token outlives the rejection that another process got for the old one")
  func rejectionOfTheOldToken() async throws {
    let store = TroubledStore()
    let first = try SessionBench(store: store)
    let session = try await first.session()
    let old = try await first.token(session)
    let second = try SessionBench(store: store, alongside: first)
    let theirs = try await second.token(session)
    let gate = Gate()
    store.blockNextReplacement(at: gate)
    let slow = Task { try await first.token(session, replacing: old) }
    #expect(await eventually { gate.waiterCount == 1 })
    await #expect(throws: SessionError.self) { try await second.token(session, replacing: theirs) }
    gate.open()
    let token = try await slow.value
    #expect(token.value.reveal() == "a-2")
    first.provider.withLock { $0.answers = [] }
    #expect(try await first.token(session, replacing: token).value.reveal() == "a-3")
  }
}
