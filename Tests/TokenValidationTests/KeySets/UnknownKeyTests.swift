import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternSupport
import PosternTestSupport
import Testing

@Suite("Refetching for an unknown kid")
struct UnknownKeyTests {
  @Test("the first load starts no cool-down: a key published a moment later is found at once")
  func afterLoad() async throws {
    let server = KeyServer()
    let source = try server.source()
    let old = try await source.keySet(in: CallScope())
    server.answer(.keys([.first, .second]))
    let newer = try await source.keySet(newerThan: old, in: CallScope())
    #expect(newer?.keyIDs == ["first", "second"] && newer.map { $0.sequence > old.sequence } == true)
    #expect(try await source.keyIDs() == ["first", "second"], "and everybody else gets it too")
    #expect(server.requests.count == 2)
  }

  @Test("an older snapshot gets the newer set that is there already, without a request")
  func alreadyThere() async throws {
    let server = KeyServer()
    let source = try server.source()
    let old = try await source.keySet(in: CallScope())
    server.answer(.keys([.second]))
    _ = try await source.keySet(newerThan: old, in: CallScope())
    for _ in 0..<10 { #expect(try await source.keySet(newerThan: old, in: CallScope())?.keyIDs == ["second"]) }
    #expect(server.requests.count == 2)
  }

  static let endings: [HTTPResponse] = [
    .keys([.first]), .status(503), .status(404), .json("{}"), .status(304, ("ETag", #""x""#)),
  ]

  @Test("one refetch per cool-down, which begins before the attempt: failing ones count too", arguments: endings)
  func cooldown(answer: HTTPResponse) async throws {
    let server = KeyServer()
    server.answer(.keys([.first], ("ETag", #""x""#)))
    let source = try server.source(KeySetPolicy(cooldown: .seconds(30)))
    var set = try await source.keySet(in: CallScope())
    server.answer(answer)
    for round in 2...4 {
      for _ in 0..<20 { set = (try? await source.keySet(newerThan: set, in: CallScope())) ?? set }
      #expect(server.requests.count == round)
      server.clock.advance(by: .seconds(30) - .nanoseconds(1))
      #expect((try? await source.keySet(newerThan: set, in: CallScope())) == nil)
      #expect(server.requests.count == round)
      server.clock.advance(by: .nanoseconds(1))
    }
  }

  @Test("the cool-down runs from the moment the request is sent, not from its answer")
  func stampedBefore() async throws {
    let server = KeyServer()
    let source = try server.source()
    let old = try await source.keySet(in: CallScope())
    let gate = server.blockNext()
    async let refetched = source.keySet(newerThan: old, in: CallScope())
    #expect(await eventually { gate.waiterCount == 1 })
    server.clock.advance(by: .seconds(30))
    gate.open()
    let newer = try #require(try await refetched)
    _ = try await source.keySet(newerThan: newer, in: CallScope())
    #expect(server.requests.count == 3)
  }

  @Test("it is unknown whether an unknown kid exists while the request for it fails; the old set remains")
  func failing() async throws {
    let server = KeyServer()
    let source = try server.source()
    let old = try await source.keySet(in: CallScope())
    server.state.withLock { $0.transportFailure = .serverUnreachable }
    for _ in 0..<3 {
      await #expect(throws: KeySetError.self) { try await source.keySet(newerThan: old, in: CallScope()) }
    }
    #expect(server.requests.count == 2, "the failed look counts for the cool-down")
    #expect(try await source.keyIDs() == ["first"])
    server.state.withLock { $0.transportFailure = nil }
    server.clock.advance(by: .seconds(31))
    #expect(try await source.keySet(newerThan: old, in: CallScope())?.keyIDs == ["first"])
  }

  @Test("ten requests a minute, however short the cool-down")
  func budget() async throws {
    let server = KeyServer()
    let source = try server.source(KeySetPolicy(cooldown: .zero))
    var set = try await source.keySet(in: CallScope())
    for _ in 0..<50 { set = try await source.keySet(newerThan: set, in: CallScope()) ?? set }
    #expect(server.requests.count == 10, "the first load is one of them")
    server.clock.advance(by: .seconds(60))
    for _ in 0..<50 { set = try await source.keySet(newerThan: set, in: CallScope()) ?? set }
    #expect(server.requests.count == 20)
  }

  @Test("a user whose unknown kids keep a cool-down running keeps another's new key from being found")
  func eachUsers() async throws {
    let server = KeyServer()
    let source = try server.source(KeySetPolicy(cooldown: .seconds(30)))
    var set = try await source.keySet(in: CallScope())
    func look(_ uid: UInt32) async throws -> [String]? {
      let newer = try await source.keySet(newerThan: set, in: .uid(uid))
      if let newer { set = newer }
      return newer?.keyIDs
    }
    #expect(try await look(1) == ["first"])
    #expect(try await look(1) == nil)
    server.answer(.keys([.second]))
    #expect(try await look(1) == nil, "each user's own cool-down stays")
    #expect(try await look(2) == ["second"])
    #expect(server.requests.count == 3)
  }

  @Test("a user with the whole budget leaves another none, or very many users have no bound together")
  func commonBudget() async throws {
    let server = KeyServer()
    let source = try server.source(KeySetPolicy(cooldown: .zero))
    var set = try await source.keySet(in: CallScope())
    for uid in Array(repeating: 1, count: 40) + Array(2...50) {
      set = try await source.keySet(newerThan: set, in: .uid(UInt32(uid))) ?? set
      if uid == 1 { #expect(server.requests.count <= 10) }
    }
    #expect(server.requests.count == 30)
  }

  @Test("URLs of one origin share a budget, so that naming ever new ones is bounded; other origins have their own")
  func originBudget() async throws {
    let server = KeyServer()
    for index in 0..<30 {
      let source = server.store.source(at: try HTTPURL("https://keys.test/\(index)"))
      let error = await source.failure()
      #expect((error == nil) == (index < 10))
      if let error { #expect(error.kind == .fetchFailed && error.isRetryable) }
    }
    #expect(server.requests.count == 10)
    #expect(await server.store.source(at: try HTTPURL("https://other.test/a")).failure() == nil)
    #expect(await server.store.source(at: try HTTPURL("https://keys.test/1"), for: 2).failure() == nil, "another peer")
    #expect(await (try server.source()).failure() == nil)
  }

  @Test("the budget of one of many origins starts again, or one user's key sets take the connections of all users")
  func manyOrigins() async throws {
    let server = KeyServer()
    for path in 0..<40 {
      for origin in 0..<20 {
        let url = try HTTPURL("https://\(origin).keys.test/\(path)")
        _ = await server.store.source(at: url, for: 7, amongOrigins: 20).failure(in: .uid(7))
      }
    }
    #expect(server.requests.count == 20 * 10)
    #expect(server.options.withLock { $0.allSatisfy { $0.peerID.uid == 7 } })
  }

  @Test("an issuer's key set, which all users share, waits in the queue of the first user to need it")
  func everybodys() async throws {
    let server = KeyServer()
    let source = try server.source()
    _ = try await source.keySet(in: .uid(7))
    #expect(server.options.withLock { $0.map(\.peerID) } == [.process])
  }

  @Test("a slow refresh that was begun before the refetch does not overwrite what the refetch brought")
  func lateOlderAnswer() async throws {
    let server = KeyServer()
    let source = try server.source()
    let old = try await source.keySet(in: CallScope())
    server.clock.advance(by: .seconds(240))
    let gate = server.blockNext()
    _ = try await source.keySet(in: CallScope())
    #expect(await eventually { gate.waiterCount == 1 }, "the refresh in the background, with the old set as its answer")
    server.answer(.keys([.second]))
    #expect(try await source.keySet(newerThan: old, in: CallScope())?.keyIDs == ["second"])
    gate.open()
    #expect(await eventually { server.exchanges.events.count == 3 })
    for _ in 0..<1000 { await Task.yield() }
    #expect(try await source.keyIDs() == ["second"])
    #expect(server.log.rotations.count == 1 && server.log.loadCount == 2)
  }

  @Test("a slow refresh that fails after a refetch succeeded leaves no error behind")
  func lateOlderFailure() async throws {
    let server = KeyServer()
    let source = try server.source()
    let old = try await source.keySet(in: CallScope())
    server.clock.advance(by: .seconds(240))
    server.answer(.status(500))
    let gate = server.blockNext()
    _ = try await source.keySet(in: CallScope())
    #expect(await eventually { gate.waiterCount == 1 })
    server.answer(.keys([.second]))
    #expect(try await source.keySet(newerThan: old, in: CallScope())?.keyIDs == ["second"])
    gate.open()
    #expect(await eventually { server.exchanges.events.count == 3 })
    for _ in 0..<1000 { await Task.yield() }
    #expect(server.log.failures.isEmpty && server.store.ages().first?.lastError == nil)
  }
}
