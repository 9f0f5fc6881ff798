import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternSupport
import PosternTestSupport
import Testing

@testable import TokenValidation

@Suite("Keeping a key set")
struct KeySetRefreshTests {
  @Test("a set is fetched once and served for its lifetime, whatever the wall clock does")
  func cached() async throws {
    let server = KeyServer()
    let source = try server.source()
    for _ in 0..<5 { _ = try await source.keyIDs() }
    server.clock.stepWall(by: .seconds(1_000_000))
    server.clock.advance(by: .seconds(239))
    #expect(try await source.keyIDs() == ["first"])
    #expect(server.requests.count == 1 && server.log.loadCount == 1)
  }

  @Test(
    "the response's lifetime counts, within the bounds",
    arguments: [("max-age=600", 600), ("max-age=1", 60), ("no-store", 60), ("max-age=99999999999999999999", 86_400)])
  func lifetime(control: String, seconds: Int) async throws {
    let server = KeyServer()
    server.answer(.keys([.first], ("Cache-Control", control)))
    let source = try server.source()
    _ = try await source.keySet(in: CallScope())
    #expect(server.store.ages().first?.isExpired == false)
    server.clock.advance(by: .seconds(seconds) - .nanoseconds(1))
    #expect(server.store.ages().first?.isExpired == false)
    server.clock.advance(by: .nanoseconds(1))
    #expect(server.store.ages().first?.isExpired == true)
    _ = try await source.keySet(in: CallScope())
    #expect(server.requests.count == 2)
  }

  @Test("before a set expires it is refreshed in the background: one request, and no caller waits")
  func refreshAhead() async throws {
    let server = KeyServer()
    let source = try server.source()
    _ = try await source.keySet(in: CallScope())
    server.clock.advance(by: .seconds(240))
    server.answer(.keys([.second]))
    let gate = server.blockNext()
    for _ in 0..<100 { #expect(try await source.keyIDs() == ["first"]) }
    #expect(await eventually { gate.waiterCount == 1 })
    for _ in 0..<100 { #expect(try await source.keyIDs() == ["first"]) }
    gate.open()
    #expect(await eventually { server.log.loadCount == 2 })
    #expect(try await source.keyIDs() == ["second"])
    #expect(server.requests.count == 2)
  }

  @Test("a refresh that fails is not repeated at once, and the next one is made when it is due")
  func refreshAheadFails() async throws {
    let server = KeyServer()
    let source = try server.source()
    _ = try await source.keySet(in: CallScope())
    server.clock.advance(by: .seconds(240))
    server.answer(.status(503))
    for (requests, pause) in [(2, 1), (3, 2), (4, 4), (5, 8)] {
      for _ in 0..<20 { #expect(try await source.keyIDs() == ["first"]) }
      #expect(await eventually { server.log.failures.count == requests - 1 })
      for _ in 0..<20 { #expect(try await source.keyIDs() == ["first"]) }
      #expect(server.requests.count == requests)
      // The background task resets its flag a moment after it has reported its failure.
      server.clock.advance(by: .seconds(pause))
      #expect(await eventuallyRefreshes(source, server, to: requests + 1))
    }
  }

  private func eventuallyRefreshes(_ source: RemoteJWKSet, _ server: KeyServer, to count: Int) async -> Bool {
    let end = ContinuousClock.now + .seconds(30)
    while server.requests.count < count, ContinuousClock.now < end {
      _ = try? await source.keySet(in: CallScope())
      await Task.yield()
    }
    return server.requests.count == count
  }

  @Test("an entity tag goes back to the location it came from, and 304 keeps the keys for another lifetime")
  func notModified() async throws {
    let server = KeyServer()
    server.answer(.keys([.first], ("ETag", #"W/"v1""#), ("Cache-Control", "max-age=100")))
    let source = try server.source()
    let first = try await source.keySet(in: CallScope())
    server.answer(.status(304, ("Cache-Control", "max-age=1000")))
    server.clock.advance(by: .seconds(100))
    let second = try await source.keySet(in: CallScope())
    #expect(server.requests.map { $0.fields["If-None-Match"] } == [nil, #"W/"v1""#])
    #expect(second.keyIDs == ["first"] && second.sequence == first.sequence && second.fetchedAt > first.fetchedAt)
    #expect(!second.isStale && server.log.rotations.isEmpty)
    server.clock.advance(by: .seconds(799))
    _ = try await source.keySet(in: CallScope())
    #expect(server.requests.count == 2)
  }

  @Test("what is no entity tag is not sent back", arguments: ["v1", "\"", "", "W/", #"w/"v1""#, "\"a\u{1}\""])
  func malformedEntityTag(tag: String) async throws {
    let server = KeyServer()
    server.answer(.keys([.first], ("ETag", tag)))
    let source = try server.source()
    _ = try await source.keySet(in: CallScope())
    server.clock.advance(by: .seconds(300))
    _ = try await source.keySet(in: CallScope())
    #expect(server.requests.map { $0.fields["If-None-Match"] } == [nil, nil])
  }

  static let outages: [HTTPResponse] = [
    .status(404), .status(401), .status(500), .status(302), .status(204), .json("<html>"), .json("{}"),
  ]

  @Test("no failing answer wipes good keys: they are used, within the bound and no longer", arguments: outages)
  func staleIfError(answer: HTTPResponse) async throws {
    let server = KeyServer()
    server.answer(.keys([.first], ("ETag", #""v""#)))
    let source = try server.source(KeySetPolicy(staleIfError: .seconds(600)))
    _ = try await source.keySet(in: CallScope())
    server.answer(answer)
    server.clock.advance(by: .seconds(300))
    let stale = try await source.keySet(in: CallScope())
    #expect(stale.keyIDs == ["first"] && stale.isStale)
    #expect(server.log.failures.map(\.servesOlderSet) == [true])
    server.clock.advance(by: .seconds(600) - .nanoseconds(1))
    #expect(try await source.keySet(in: CallScope()).isStale)
    // It was tried again behind this caller's back, and that is over: who comes later joins nothing.
    #expect(
      await eventually { server.log.failures.count == 2 && source.loads.waiterCount(for: source.name) == nil })
    server.clock.advance(by: .nanoseconds(1))
    #expect(await source.failure() != nil)
    server.answer(.keys([.second]))
    server.clock.advance(by: .seconds(30))
    #expect(try await source.keyIDs() == ["second"])
  }

  @Test("with no bound for stale sets, an expired one is not served")
  func noStale() async throws {
    let server = KeyServer()
    let source = try server.source(KeySetPolicy(staleIfError: .zero))
    _ = try await source.keySet(in: CallScope())
    server.state.withLock { $0.transportFailure = .serverUnreachable }
    server.clock.advance(by: .seconds(300))
    #expect(await source.failure()?.kind == .fetchFailed)
  }

  @Test("during an outage callers get the old set at once, even while a request hangs")
  func outageDoesNotDelay() async throws {
    let server = KeyServer()
    let source = try server.source()
    _ = try await source.keySet(in: CallScope())
    server.answer(.status(500))
    server.clock.advance(by: .seconds(300))
    #expect(try await source.keySet(in: CallScope()).isStale)
    server.clock.advance(by: .seconds(1))
    let gate = server.blockNext()
    for _ in 0..<50 { #expect(try await source.keySet(in: CallScope()).isStale) }
    #expect(await eventually { gate.waiterCount == 1 })
    #expect(try await source.keySet(in: CallScope()).isStale)
    gate.open()
  }

  @Test("a failing server without a set gets requests with growing delays, and callers meanwhile get its error")
  func firstLoadFails() async throws {
    let server = KeyServer()
    server.answer(.status(503))
    let source = try server.source()
    var expected = 0
    for pause in [1, 2, 4, 8, 16, 30, 30] {
      expected += 1
      for _ in 0..<10 { #expect(await source.failure()?.status == 503) }
      #expect(server.requests.count == expected)
      server.clock.advance(by: .seconds(pause) - .nanoseconds(1))
      #expect(await source.failure()?.status == 503)
      #expect(server.requests.count == expected)
      server.clock.advance(by: .nanoseconds(1))
    }
    server.answer(.keys([.first]))
    #expect(try await source.keyIDs() == ["first"])
  }

  @Test("other keys are reported as a rotation, with their thumbprints; the first load and the same keys are not")
  func rotation() async throws {
    let server = KeyServer()
    let source = try server.source()
    let policy = [[PublishedKey.first], [.first], [.second, .first], [.first, .second], [.second]]
    for keys in policy {
      server.answer(.keys(keys))
      _ = try await source.keySet(in: CallScope())
      server.clock.advance(by: .seconds(300))
    }
    let rotations = server.log.rotations
    #expect(rotations.count == 2)
    #expect(rotations.first?.added.count == 1 && rotations.first?.removed == [])
    #expect(rotations.last?.added == [] && rotations.last?.removed == [PublishedKey.firstThumbprint])
  }

  @Test("a set is as old as its request, so a slow answer does not look younger")
  func slowAnswer() async throws {
    let server = KeyServer()
    server.answer(.keys([.first], ("Cache-Control", "max-age=100")))
    let source = try server.source()
    let gate = server.blockNext()
    async let set = source.keySet(in: CallScope())
    #expect(await eventually { gate.waiterCount == 1 })
    let sentAt = server.clock.monotonicNow
    server.clock.advance(by: .seconds(4))
    gate.open()
    #expect(try await set.fetchedAt == sentAt)
    server.clock.advance(by: .seconds(96))
    #expect(server.store.ages().first?.isExpired == true && server.store.ages().first?.age == .seconds(100))
  }
}
