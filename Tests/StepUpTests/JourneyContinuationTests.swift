import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

/// Continuations: unguessable, valid once, for their peer, for the stated time, and bounded in number and bytes.
@Suite struct JourneyContinuationTests {
  @Test("A continuation can be guessed, used twice, or used by another peer")
  func binding() async throws {
    let bench = try JourneyBench()
    var seen: Set<String> = []
    for _ in 0..<64 {
      bench.thenPage()
      seen.insert(try #require(try await bench.login().step).continuation)
    }
    #expect(seen.count == 64 && seen.allSatisfy { $0.utf8.count == 43 })
    bench.thenPage()
    let step = try #require(try await bench.login().step)
    for text in ["", "x", String(repeating: "A", count: 43), step.continuation + "=", step.continuation.uppercased()] {
      #expect(await JourneyBench.word { try await bench.resume(text, step.callbacks) } == "unknown")
    }
    #expect(await JourneyBench.word { try await bench.resume(step, uid: 2) } == "unknown")
    bench.thenPage()
    let next = try #require(try await bench.resume(step).step)
    #expect(next.continuation != step.continuation)
    #expect(await JourneyBench.word { try await bench.resume(step) } == "unknown")
    // Of many who come at once one gets it.
    bench.thenPage()
    let words = await withTaskGroup(of: String.self) { group in
      for _ in 0..<16 { group.addTask { await JourneyBench.word { try await bench.resume(next) } } }
      return await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
    }
    #expect(words == ["callbacks": 1, "unknown": 15])
  }

  @Test(
    "A continuation ends before three minutes, before the access manager's own, or never",
    arguments: [(nil, 180), (60, 180), (900, 900), (1_000_000, 3600), (-5, 180)] as [(Int64?, Int64)])
  func expiry(life: Int64?, seconds: Int64) async throws {
    let bench = try JourneyBench()
    let clock = bench.grants.clock
    let end = life.map { clock.wallNow.secondsSinceEpoch + $0 }
    let payload = Base64URL.string(Array((end.map { #"{"exp":\#($0)}"# } ?? "{}").utf8))
    for early in [true, false] {
      clock.stepWall(by: .zero)
      bench.thenPage(authID: life == nil ? "no JWT" : "e30.\(payload).x")
      let step = try #require(try await bench.login().step)
      guard early || life == nil || life ?? 0 < 180 else { continue }
      #expect(step.expiresAt == clock.wallNow + .seconds(seconds))
      clock.advance(by: .seconds(seconds) - .milliseconds(early ? 1 : 0))
      bench.thenPage()
      #expect(await JourneyBench.word { try await bench.resume(step) } == (early ? "callbacks" : "unknown"))
    }
  }

  @Test(
    "A step that was sent to the access manager can be used twice, or one that was not is lost",
    arguments: [(TransportError.Outcome.notSent, true), (.sentNoReply, false), (.replied, false)])
  func faults(outcome: TransportError.Outcome, isKept: Bool) async throws {
    let bench = try JourneyBench()
    bench.thenPage()
    let step = try #require(try await bench.login().step)
    bench.then { _ throws(TransportError) in
      throw TransportError(code: .serverUnreachable, outcome: outcome, detail: "")
    }
    #expect(await JourneyBench.word { try await bench.resume(step) } == "unreachable \(outcome.rawValue)")
    #expect(bench.journeys.waitingCount == (isKept ? 1 : 0))
    bench.thenPage()
    #expect(await JourneyBench.word { try await bench.resume(step) } == (isKept ? "callbacks" : "unknown"))
  }

  @Test("A step lives on when what comes after it cannot be begun")
  func laterPhases() async throws {
    let bench = try JourneyBench()
    let session = try await bench.session()
    bench.thenPage()
    let step = try #require(
      try await bench.stepUp(
        session,
        [
          PolicyAdvice(type: PolicyAdvice.Name.service, value: "x"),
          PolicyAdvice(type: PolicyAdvice.Name.transaction, value: "t"),
        ]
      ).step)
    bench.thenToken(JourneyBench.newer)
    bench.then { _ throws(TransportError) in
      throw TransportError(code: .serverUnreachable, outcome: .notSent, detail: "")
    }
    #expect(await JourneyBench.word { try await bench.resume(step) } == "unreachable not_sent")
    #expect(await JourneyBench.word { try await bench.resume(step) } == "unknown")
    #expect(try await bench.token(session) == "a-2", "what was done before it stays done")
  }

  @Test("One peer's journeys take the capacity of another's, or the store of them grows without end")
  func number() async throws {
    let bench = try JourneyBench()
    var first: [JourneyStep] = []
    for uid in [UInt32(1), 2] {
      for number in 0...4096 {
        bench.thenPage()
        let step = try #require(try await bench.login(uid: uid).step)
        if number == 0 { first.append(step) }
      }
    }
    #expect(bench.journeys.waitingCount == 2 * 4096)
    for (step, uid) in zip(first, [UInt32(1), 2]) {
      #expect(await JourneyBench.word { try await bench.resume(step, uid: uid) } == "unknown")
    }
    bench.grants.clock.advance(by: .seconds(180))
    #expect(bench.journeys.waitingCount == 0)
    bench.thenPage()
    #expect(await JourneyBench.word { try await bench.login() } == "callbacks")
  }

  /// Would catch: a logged-in user of a web application, whose users are one uid, who keeps all others from stepping up
  /// by a page that requires it, loaded again and again.
  @Test("One session's journeys, or those of nobody's, keep out those of another")
  func sessions() async throws {
    let bench = try JourneyBench()
    let (mallory, bob) = (try await bench.session(), try await bench.session())
    func begin(_ session: Session) async throws -> JourneyStep {
      bench.thenPage()
      return try #require(try await bench.stepUp(session).step)
    }
    let bobs = try await begin(bob)
    var mallorys: [JourneyStep] = []
    for _ in 0..<300 { mallorys.append(try await begin(mallory)) }
    #expect(bench.journeys.waitingCount == 33)
    for _ in 0..<4200 {
      bench.thenPage()
      _ = try await bench.login()
    }
    #expect(bench.journeys.waitingCount == 4096)
    let second = try await begin(bob)
    for step in mallorys.prefix(268) {
      #expect(await JourneyBench.word { try await bench.resume(step) } == "unknown")
    }
    for step in [bobs, second] + mallorys.suffix(32) {
      bench.thenPage()
      #expect(await JourneyBench.word { try await bench.resume(step) } == "callbacks")
    }
  }

  @Test(
    "Pages of a hostile access manager take more memory than is counted",
    arguments: [
      // All of it outside of the callbacks; all of it in values that take many times their text.
      (#","description":"\#(String(repeating: "x", count: 240 << 10))""#, JourneyBench.password, 280),
      ("", #"{"type":"X","output":[\#(Array(repeating: "0", count: 120_000).joined(separator: ","))]}"#, 14),
    ])
  func bytes(more: String, callbacks: String, most: Int) async throws {
    let bench = try JourneyBench()
    for number in 0...most {
      bench.thenPage(callbacks, more: more)
      _ = await JourneyBench.word { try await bench.login(uid: UInt32(number / 200)) }
    }
    #expect((1...most).contains(bench.journeys.waitingCount))
  }
}
