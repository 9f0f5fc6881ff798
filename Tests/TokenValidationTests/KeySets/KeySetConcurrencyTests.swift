import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternSupport
import PosternTestSupport
import Testing

@testable import TokenValidation

@Suite("Many callers of one key set")
struct KeySetConcurrencyTests {
  @Test("a hundred callers, one request")
  func load() async throws {
    let server = KeyServer()
    let source = try server.source()
    let gate = server.blockNext()
    try await withThrowingTaskGroup(of: [String].self) { group in
      for _ in 0..<100 { group.addTask { try await source.keyIDs() } }
      #expect(await eventually { gate.waiterCount == 1 })
      gate.open()
      for try await keyIDs in group { #expect(keyIDs == ["first"]) }
    }
    #expect(server.requests.count == 1)
  }

  @Test("a hundred callers whose one request fails all get its error, and no second request is made")
  func loadFails() async throws {
    let server = KeyServer()
    server.answer(.status(503))
    let source = try server.source()
    let gate = server.blockNext()
    await withTaskGroup(of: Int?.self) { group in
      for _ in 0..<100 { group.addTask { await source.failure()?.status } }
      #expect(await eventually { gate.waiterCount == 1 })
      gate.open()
      for await status in group { #expect(status == 503) }
    }
    #expect(server.requests.count == 1 && server.log.failures.count == 1)
  }

  @Test("a hundred tokens with an unknown kid, one request, and every one of them sees the new key")
  func refetch() async throws {
    let server = KeyServer()
    let source = try server.source()
    let old = try await source.keySet(in: CallScope())
    server.answer(.keys([.first, .third]))
    let gate = server.blockNext()
    try await withThrowingTaskGroup(of: [String]?.self) { group in
      for _ in 0..<100 { group.addTask { try await source.keySet(newerThan: old, in: CallScope())?.keyIDs } }
      #expect(await eventually { gate.waiterCount == 1 })
      gate.open()
      for try await keyIDs in group { #expect(keyIDs == ["first", "third"]) }
    }
    #expect(server.requests.count == 2)
  }

  @Test("a request that one user's unknown kid began before a rotation decides another's token under the new key")
  func olderRequest() async throws {
    let server = KeyServer()
    let source = try server.source()
    let old = try await source.keySet(in: CallScope())
    // The one under way brings what was published when it came: not yet the new key.
    let gate = server.blockNext()
    let first = look(source, old, "unknown", for: 1)
    #expect(await eventually { gate.waiterCount == 1 })
    server.answer(.keys([.first, .second]))
    let others = [look(source, old, "second", for: 2), look(source, old, "unknown", for: 3)]
    #expect(await eventually { source.refetches.waiterCount(for: source.name) == 3 })
    gate.open()
    #expect(try await first.value == ["first"], "nothing was fetched twice for the first caller")
    for other in others { #expect(try await other.value == ["first", "second"]) }
    #expect(server.requests.count == 3, "one more for both, which started after their calls")
  }

  @Test("a set that came before a caller's question decides that a key is unknown")
  func olderSet() async throws {
    let server = KeyServer()
    let source = try server.source()
    let old = try await source.keySet(in: CallScope())
    #expect(try await look(source, old, "unknown", for: 1).value == ["first"])
    server.answer(.keys([.first, .second]))
    #expect(try await look(source, old, "second", for: 2).value == ["first", "second"])
    #expect(try await look(source, old, "second", for: 1).value == ["first", "second"], "it is there: no request")
    #expect(server.requests.count == 3)
    server.answer(.keys([.third]))
    #expect(try await look(source, old, "third", for: 2).value == ["first", "second"], "the cool-down stays")
    #expect(server.requests.count == 3)
  }

  @Test("an older request that has the key is followed by another, or many callers of one user by one each")
  func olderRequestSuffices() async throws {
    let server = KeyServer()
    let source = try server.source()
    let old = try await source.keySet(in: CallScope())
    server.answer(.keys([.second]))
    let gate = server.blockNext()
    let first = look(source, old, "unknown", for: 1)
    #expect(await eventually { gate.waiterCount == 1 })
    let found = look(source, old, "second", for: 2)
    let lost = (0..<50).map { _ in look(source, old, "unknown", for: 1) }
    #expect(await eventually { source.refetches.waiterCount(for: source.name) == 52 })
    gate.open()
    #expect(try await found.value == ["second"])
    for caller in [first] + lost { #expect(try await caller.value == ["second"]) }
    #expect(server.requests.count == 2)
  }

  private func look(
    _ source: RemoteJWKSet, _ old: KeySetSnapshot, _ kid: String, for uid: UInt32
  ) -> Task<[String]?, any Error> {
    Task {
      try await source.keySet(
        newerThan: old, holding: { $0.keys.contains { $0.keyID == kid } }, in: .uid(uid))?.keyIDs
    }
  }

  @Test("a caller that is cancelled stops waiting; the request goes on for the others")
  func cancellation() async throws {
    let server = KeyServer()
    let source = try server.source()
    let gate = server.blockNext()
    let cancelled = Task { await source.failure()?.kind }
    #expect(await eventually { gate.waiterCount == 1 })
    let other = Task { try await source.keyIDs() }
    cancelled.cancel()
    #expect(await cancelled.value == .cancelled)
    gate.open()
    #expect(try await other.value == ["first"])
    #expect(try await source.keyIDs() == ["first"] && server.requests.count == 1)
  }

  @Test("a caller whose deadline passes stops waiting, in both kinds of wait; no deadline is needed for what is there")
  func deadline() async throws {
    let server = KeyServer()
    let source = try server.source()
    let deadline = Deadline(in: .seconds(1), on: server.clock)
    let gate = server.blockNext()
    let waiting = Task { () async -> KeySetError.Kind? in
      do throws(KeySetError) {
        _ = try await source.keySet(in: .uid(by: deadline))
        return nil
      } catch {
        return error.kind
      }
    }
    #expect(await eventually { gate.waiterCount == 1 && server.clock.sleeperCount == 1 })
    server.clock.advance(by: .seconds(1))
    #expect(await waiting.value == .deadlineExceeded)
    gate.open()
    let set = try await source.keySet(in: CallScope())
    #expect(try await source.keySet(in: .uid(by: deadline)).sequence == set.sequence)
    let late = await #expect(throws: KeySetError.self) {
      _ = try await source.keySet(newerThan: set, in: .uid(by: deadline))
    }
    #expect(late?.kind == .deadlineExceeded && server.requests.count == 1)
  }

  @Test("readers, refetches, rotations and health at once: sequences only ever grow")
  func mixed() async throws {
    let server = KeyServer()
    let source = try server.source(KeySetPolicy(cooldown: .zero))
    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<8 {
        group.addTask {
          var last: UInt64 = 0
          for round in 0..<200 {
            guard let set = try? await source.keySet(in: CallScope()) else { continue }
            #expect(set.sequence >= last)
            last = set.sequence
            if round % 10 == worker {
              server.answer(.keys(round % 20 < 10 ? [.first] : [.second, .third]))
              _ = try? await source.keySet(newerThan: set, in: CallScope())
            }
            if round % 25 == worker { server.clock.advance(by: .seconds(20)) }
            _ = server.store.ages()
          }
        }
      }
    }
    #expect(server.store.ages().first?.isUsable == true)
  }
}
