import HTTPMessages
import JOSE
import Support
import Testing

@testable import AuthEngine

@Suite("The state of a key set")
struct KeySetStateTests {
  private let start = MonotonicInstant(nanoseconds: 0)
  private let url: HTTPURL
  private let keys: JWKSet

  init() throws {
    url = try HTTPURL("https://idp.test/jwks")
    keys = try JWKSet(text: Array(#"{"keys":[\#(PublishedKey.first.text)]}"#.utf8), origin: .remote)
  }

  private func state(_ attempt: UInt64, tag: String? = nil, ttl: Duration? = nil) -> KeySetState {
    var state = KeySetState(policy: KeySetPolicy())
    _ = state.take(.keys(keys, entityTag: tag, ttl: ttl), from: url, attempt: attempt, sentAt: start, at: start)
    return state
  }

  @Test("an older attempt's set and failure are dropped, a younger one's are taken")
  func order() {
    var state = state(5)
    let empty = KeySetRequest.Answer.keys(JWKSet([]), entityTag: nil, ttl: nil)
    #expect(state.take(empty, from: url, attempt: 4, sentAt: start, at: start) == nil)
    #expect(!state.fail(KeySetError(.invalid, ""), attempt: 4, at: start) && state.lastError == nil)
    #expect(state.held?.sequence == 5 && state.held?.thumbprints.count == 1)
    #expect(state.fail(KeySetError(.invalid, ""), attempt: 6, at: start) && state.lastError?.kind == .invalid)
    #expect(state.take(empty, from: url, attempt: 7, sentAt: start, at: start)?.removed.count == 1)
    #expect(state.held?.sequence == 7 && state.lastError == nil)
  }

  @Test("a confirmation of another set than the one held confirms nothing")
  func confirmation() throws {
    var state = state(1, tag: #""a""#)
    let later = start + .seconds(200)
    for (tag, place, attempt) in [
      (#""b""#, url, 2), (#""a""#, try HTTPURL("https://idp.test/other"), 2), (#""a""#, url, 0),
    ] as [(String, HTTPURL, UInt64)] {
      let answer = KeySetRequest.Answer.notModified(entityTag: tag, ttl: nil)
      #expect(state.take(answer, from: place, attempt: attempt, sentAt: later, at: later) == nil)
      #expect(state.held?.fetchedAt == start)
    }
    let answer = KeySetRequest.Answer.notModified(entityTag: #""a""#, ttl: nil)
    #expect(state.take(answer, from: url, attempt: 3, sentAt: later, at: later)?.isRotation == false)
    #expect(state.held?.fetchedAt == later && state.held?.sequence == 1 && state.held?.attempt == 3)
    #expect(state.entityTag(for: url) == #""a""#)
  }

  @Test("an expired set stands in for what could not be had, never for what was not tried")
  func standsIn() {
    var state = state(1)
    state.fail(KeySetError(.fetchFailed, ""), attempt: 2, at: start + .seconds(100))
    let expired = start + .seconds(300)
    guard case .fetch = state.read(at: expired) else {
      Issue.record("an old failure is no reason to serve an expired set")
      return
    }
    state.fail(KeySetError(.fetchFailed, ""), attempt: 3, at: expired)
    guard case .serve(let snapshot) = state.read(at: expired) else {
      Issue.record("the set does not stand in")
      return
    }
    #expect(snapshot.isStale)
    guard case .serveAndRefresh = state.read(at: expired + .seconds(2)) else {
      Issue.record("nobody tries again")
      return
    }
    guard case .serve = state.read(at: expired + .seconds(2)) else {
      Issue.record("two refreshes at once")
      return
    }
    guard case .refuse = stateBeyondBound(state).read(at: expired + .seconds(3601)) else {
      Issue.record("a set is served beyond the bound, or a failing server is asked without a pause")
      return
    }
  }

  @Test("a load that begins just after another one ended makes no request of its own, however that one ended")
  func settled() throws {
    var state = state(1)
    #expect(try state.settled(at: start + .seconds(239))?.get().sequence == 1)
    #expect(state.settled(at: start + .seconds(240)) == nil)
    state.fail(KeySetError(.fetchFailed, ""), attempt: 2, at: start + .seconds(240))
    #expect(try state.settled(at: start + .seconds(240))?.get().sequence == 1)
    #expect(state.settled(at: start + .seconds(241)) == nil)
    var empty = KeySetState(policy: KeySetPolicy())
    #expect(empty.settled(at: start) == nil)
    empty.fail(KeySetError(.invalid, ""), attempt: 1, at: start)
    let settled = empty.settled(at: start)
    #expect(throws: KeySetError.self) { try settled?.get() }
    #expect(empty.settled(at: start + .seconds(1)) == nil)
  }

  private func stateBeyondBound(_ state: KeySetState) -> MutableState {
    var state = state
    state.fail(KeySetError(.fetchFailed, ""), attempt: 9, at: start + .seconds(300 + 3600))
    return MutableState(state: state)
  }

  /// Lets a copy be read in an expression.
  private struct MutableState {
    let state: KeySetState

    func read(at now: MonotonicInstant) -> KeySetState.Reading {
      var copy = state
      return copy.read(at: now)
    }
  }

  @Test("the budget is a sliding window: it frees exactly what has left the window")
  func budget() {
    var budget = RequestBudget(limit: 2, window: .seconds(60))
    let takes = [(0, true), (30, true), (59, false), (60, true), (61, false), (89, false), (90, true), (91, false)]
    for (second, isTaken) in takes { #expect(budget.take(at: start + .seconds(second)) == isTaken, "\(second)") }
  }
}
