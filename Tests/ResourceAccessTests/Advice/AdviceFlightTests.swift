import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@testable import Sessions

/// One question for many fetches: which fetch sends it, which ones wait for it, and the effect of a fetch that leaves.
@Suite(.bothWays) struct AdviceFlightTests {
  private typealias Bench = AdviceBench

  /// A bench whose gateway wants `advice` until the gate of its delegate has been opened.
  private static func bench(_ advice: (type: String, value: String)) async throws -> (Bench, ScriptedDelegate, Gate) {
    let bench = try Bench()
    let gate = Gate()
    let isOpen = Locked(false)
    for number in 0..<50 {
      bench.answer("/shop/\(number)") { _, _ in
        isOpen.withLock { $0 } ? HTTPResponse(status: 200) : Bench.rejection(advice)
      }
    }
    let delegate = ScriptedDelegate(
      gate: gate,
      update: { _, _ in
        isOpen.withLock { $0 = true }
        return nil
      })
    return (bench, delegate, gate)
  }

  @Test("Fifty fetches with the same advice are more than one question, or two sessions' are one")
  func one() async throws {
    let (bench, delegate, gate) = try await Self.bench(Bench.service())
    let sessions = [try await bench.session(), try await bench.session()]
    await withTaskGroup(of: Int?.self) { group in
      for number in 0..<50 {
        group.addTask { try? await bench.fetch(sessions[number % 2], "\(number)", delegate: delegate).status }
      }
      for session in sessions { #expect(await bench.joined(25, session, Bench.service())) }
      gate.open()
      for await status in group { #expect(status == 200) }
    }
    #expect(Set(delegate.questions.compactMap(\.session)) == Set(sessions.map(\.handle)))
    #expect(delegate.questions.count == 2 && bench.stops.withLock { $0.isEmpty })
  }

  @Test("A transaction is shared: what a user agrees to for one request lets another through")
  func transactions() async throws {
    let (bench, delegate, gate) = try await Self.bench(Bench.transaction("t"))
    let session = try await bench.session()
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<10 { group.addTask { _ = try? await bench.fetch(session, "\(number)", delegate: delegate) } }
      #expect(await eventually { gate.waiterCount == 10 })
      gate.open()
    }
    #expect(delegate.questions.count == 10)
  }

  @Test("A fetch that leaves takes along the others' answer or the continuation already handed out")
  func leaderLeaves() async throws {
    let (bench, delegate, gate) = try await Self.bench(Bench.service())
    let session = try await bench.session()
    let leader = Task { await Bench.fault { _ = try await bench.fetch(session, "0", delegate: delegate) } }
    #expect(await eventually { gate.waiterCount == 1 })
    let follower = Task { try await bench.fetch(session, "1", delegate: delegate).status }
    #expect(await bench.joined(2, session, Bench.service()))
    leader.cancel()
    #expect(await leader.value?.code == .requestCancelled)
    let continuation = try #require(delegate.questions.first?.continuation)
    #expect(bench.stops.withLock { $0[continuation] != nil }, "the user may still be answering")
    gate.open()
    #expect(try await follower.value == 200)
    #expect(delegate.questions.count == 1 && bench.stops.withLock { $0.isEmpty })
  }

  @Test(
    "A question that no fetch waits for is still sent, and a later fetch waits for it",
    arguments: [true, false])
  func abandoned(isCancelled: Bool) async throws {
    let (bench, delegate, gate) = try await Self.bench(Bench.service())
    let session = try await bench.session()
    let first = Task {
      await Bench.fault { _ = try await bench.fetch(session, "0", delegate: delegate, timeout: .seconds(9)) }
    }
    #expect(await eventually { gate.waiterCount == 1 && bench.grants.clock.sleeperCount > 0 })
    if isCancelled { first.cancel() } else { bench.grants.clock.advance(by: .seconds(9)) }
    #expect(await first.value?.code == (isCancelled ? .requestCancelled : .deadlineExceeded))
    #expect(bench.stops.withLock { $0.isEmpty }, "no fetch continues with it")
    let second = ScriptedDelegate(update: { _, _ in nil })
    bench.answer("/shop/1") { number, _ in number == 1 ? Bench.rejection(Bench.service()) : HTTPResponse(status: 200) }
    #expect(try await bench.fetch(session, "1", delegate: second).status == 200)
    #expect(second.questions.count == 1)
    gate.open()
    for _ in 0..<50 { await Task.yield() }
    #expect(bench.stops.withLock { $0.isEmpty })
  }

  @Test("A caller that does not answer silences another one that would have answered")
  func silence() async throws {
    let (bench, delegate, _) = try await Self.bench(Bench.service())
    let session = try await bench.session()
    let gate = Gate()
    let silent = ScriptedDelegate([nil, nil], gate: gate)
    let first = Task { await Bench.fault { _ = try await bench.fetch(session, "0", delegateID: 7, delegate: silent) } }
    #expect(await eventually { gate.waiterCount == 1 })
    let same = Task { await Bench.fault { _ = try await bench.fetch(session, "1", delegateID: 7, delegate: silent) } }
    #expect(await bench.joined(2, session, Bench.service()))
    let talks = ScriptedDelegate(update: { _, _ in nil })
    bench.answer("/shop/2") { number, _ in number == 1 ? Bench.rejection(Bench.service()) : HTTPResponse(status: 200) }
    let other = Task { try await bench.fetch(session, "2", delegateID: 8, delegate: talks).status }
    #expect(await bench.joined(3, session, Bench.service()))
    gate.open()
    #expect(try await other.value == 200)
    let faults = [await first.value, await same.value]
    #expect(faults.allSatisfy { $0?.code == .adviceRequired })
    #expect(silent.questions.count == 1 && talks.questions.count == 1)
    let continuations = Set(faults.compactMap { $0?.stop?.continuation })
    #expect(continuations.count == 2 && continuations.contains(silent.questions.first?.continuation ?? ""))
    _ = delegate
  }

  @Test("A fetch that was in flight while another one's user agreed sends the question again")
  func newerToken() async throws {
    let bench = try Bench()
    let session = try await bench.session()
    let gate = bench.grants.hold("/shop/late")
    bench.answer("/shop/late") { _, request in
      request.fields["Authorization"] == "Bearer given" ? Bench.rejection(Bench.service()) : HTTPResponse(status: 200)
    }
    let call = Task { try await bench.fetch(session, "late") }
    #expect(await eventually { gate.waiterCount == 1 })
    bench.grants.answerTokens()
    // Whatever gave the session another token.
    let live = try await bench.grants.sessions.repository.live(session.handle, in: .uid(1))
    let answer = try await bench.grants.sessions.shared.requests.token(
      [(name: "grant_type", value: "x")], at: bench.issuer.issuer, key: nil, in: CallScope())
    try await bench.grants.sessions.stepUp.replaceTokens(of: live, with: answer, nil, bench.issuer, in: CallScope())
    gate.open()
    #expect(try await call.value.status == 200)
    #expect(bench.delegate.questions.isEmpty && bench.requests.count == 2)
  }
}
