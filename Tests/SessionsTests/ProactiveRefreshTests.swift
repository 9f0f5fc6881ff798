import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@testable import Sessions

/// The upkeep of sessions without a call.
@Suite struct ProactiveRefreshTests {
  /// Runs the upkeep while `body` moves the clock.
  private func keepingFresh(
    _ bench: SessionBench, _ body: (_ pass: (Duration) async -> Void) async throws -> Void
  ) async throws {
    let upkeep = Task { await bench.sessions.keepFresh { $0 == bench.issuer.issuer.name ? bench.issuer : nil } }
    defer { upkeep.cancel() }
    try await body { time in
      // In steps, each when the upkeep sleeps again and what it began is done: both look at the clock.
      func settles() async -> Bool {
        await eventually {
          bench.clock.sleeperCount > 0
            && bench.sessions.repository.schedules.refreshes.underWay
              + bench.sessions.repository.schedules.endNotices.underWay == 0
        }
      }
      var left = time
      while left > .zero {
        #expect(await settles())
        let step = min(left, UserSessions.backgroundPause.idle)
        bench.clock.advance(by: step)
        left -= step
      }
      #expect(await settles())
    }
  }

  @Test("a token in use is refreshed before it expires: its next user does not wait for the issuer")
  func ahead() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    _ = try await bench.token(session)
    try await keepingFresh(bench) { pass in
      await pass(.seconds(200))
      #expect(bench.refreshes == ["r-0"])
      await pass(.seconds(68))
      #expect(await eventually { bench.refreshes == ["r-0", "r-1"] })
      #expect(await eventually { bench.events.names.contains("refreshed") })
      bench.provider.withLock { $0.failure = .serverUnreachable }
      let token = try await bench.token(session)
      #expect(token.value.reveal() == "a-2")
    }
  }

  @Test("a session that has ended leaves its announcement, or a refresh, in the schedule")
  func forgotten() async throws {
    let bench = try SessionBench()
    var given = SessionGrant.GivenTokens()
    given.accessToken = Secret("given")
    given.expiresIn = 6000
    let announced = try await bench.sessions.create(from: .tokens(given), at: bench.issuer, in: .uid(1))
    let refreshed = try await bench.session()
    _ = try await bench.token(refreshed)
    #expect(
      !bench.sessions.repository.schedules.endNotices.isEmpty && !bench.sessions.repository.schedules.refreshes.isEmpty)
    for handle in [announced.handle, refreshed.handle] {
      _ = try await bench.sessions.end(handle, at: nil, in: .uid(1))
    }
    #expect(
      bench.sessions.repository.schedules.endNotices.isEmpty && bench.sessions.repository.schedules.refreshes.isEmpty)
  }

  @Test("a token that no call used is left to expire: the sidecar alone keeps no session alive")
  func idle() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    _ = try await bench.token(session)
    try await keepingFresh(bench) { pass in
      await pass(.seconds(900))
      #expect(await eventually { bench.refreshes == ["r-0", "r-1"] })
      await pass(.seconds(900))
      #expect(bench.refreshes == ["r-0", "r-1"])
    }
  }

  @Test("while the issuer is out of reach the refresh is retried, and the token used to its end")
  func outage() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    _ = try await bench.token(session)
    try await keepingFresh(bench) { pass in
      bench.provider.withLock { $0.failure = .serverUnreachable }
      await pass(.seconds(266))
      #expect(await eventually { bench.events.names.contains("refreshFailed") })
      bench.provider.withLock { $0.failure = nil }
      await pass(.seconds(21))
      #expect(await eventually { bench.provider.withLock { $0.number } == 2 })
      #expect(bench.provider.withLock { $0.isReused } == false)
    }
  }

  @Test("no refresh comes for a session that was ended meanwhile")
  func ended() async throws {
    let bench = try SessionBench()
    let session = try await bench.session()
    _ = try await bench.token(session)
    _ = try await bench.sessions.end(session.handle, at: bench.issuer, in: .uid(1))
    try await keepingFresh(bench) { pass in
      await pass(.seconds(300))
      #expect(bench.refreshes == ["r-0"])
    }
  }

  @Test("who owns a session that cannot be refreshed hears of its end once, a tenth of its life before")
  func announcement() async throws {
    let bench = try SessionBench()
    var given = SessionGrant.GivenTokens()
    given.accessToken = Secret("opaque")
    given.expiresIn = 600
    let session = try await bench.sessions.create(from: .tokens(given), at: bench.issuer, in: .uid(1))
    try await keepingFresh(bench) { pass in
      await pass(.seconds(530))
      #expect(bench.events.names.isEmpty)
      await pass(.seconds(15))
      #expect(await eventually { bench.events.names == ["expiring"] })
      _ = try await bench.sessions.session(session.handle, in: .uid(1))
      await pass(.seconds(60))
      #expect(bench.events.names == ["expiring"])
    }
  }

  /// Runs the upkeep past `end` while no request is answered, in which owner 1 has far more sessions to refresh than
  /// there are slots.
  private func stalled(
    _ bench: SessionBench, until end: Duration, _ prepare: () async throws -> Void,
    _ body: (_ gate: Gate) async throws -> Void
  ) async throws {
    bench.provider.withLock { $0.rotates = false }
    for _ in 0..<40 { _ = try await bench.token(bench.session()) }
    bench.clock.advance(by: .seconds(100))
    try await prepare()
    let gate = Gate()
    bench.gate.withLock { $0 = gate }
    let upkeep = Task { await bench.sessions.keepFresh { $0 == bench.issuer.issuer.name ? bench.issuer : nil } }
    defer {
      upkeep.cancel()
      gate.open()
    }
    var left = end - .seconds(100)
    while left > .zero {
      #expect(await eventually { bench.clock.sleeperCount > 0 })
      bench.clock.advance(by: .seconds(1))
      left -= .seconds(1)
    }
    try await body(gate)
  }

  @Test("a user whose sessions all wait for a slow issuer leaves no slot for another's refresh")
  func refreshesOfOthers() async throws {
    let bench = try SessionBench()
    try await stalled(bench, until: .seconds(270)) {
      _ = try await bench.token(bench.session(uid: 2), uid: 2)
    } _: { gate in
      #expect(await eventually { gate.waiterCount == 12 })
      #expect(bench.sessions.repository.schedules.refreshes.underWay == 12)
      for _ in 0..<100 {
        #expect(await eventually { bench.clock.sleeperCount > 0 })
        bench.clock.advance(by: .seconds(1))
      }
      #expect(await eventually { gate.waiterCount == 13 })
    }
  }

  @Test("the end of a user's session is announced when another's refreshes are done")
  func announcementsOfOthers() async throws {
    let bench = try SessionBench()
    var given = SessionGrant.GivenTokens()
    given.accessToken = Secret("opaque")
    given.expiresIn = 250
    try await stalled(bench, until: .seconds(330)) {
      _ = try await bench.sessions.create(from: .tokens(given), at: bench.issuer, in: .uid(2))
    } _: { gate in
      #expect(await eventually { bench.events.names == ["expiring"] })
      #expect(await eventually { gate.waiterCount == 12 })
    }
  }

  @Test("a session that was read again after a restart is announced too, and one whose time has come is not")
  func announcementAfterRestart() async throws {
    let bench = try SessionBench()
    var given = SessionGrant.GivenTokens()
    given.accessToken = Secret("opaque")
    given.expiresIn = 600
    let session = try await bench.sessions.create(from: .tokens(given), at: bench.issuer, in: .uid(1))
    let next = try SessionBench(alongside: bench)
    _ = try await next.sessions.session(session.handle, in: .uid(1))
    try await keepingFresh(next) { pass in
      await pass(.seconds(550))
      #expect(await eventually { next.events.names == ["expiring"] })
    }
  }
}
