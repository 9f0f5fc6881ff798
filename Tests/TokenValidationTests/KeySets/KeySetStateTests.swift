import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternSupport
import Testing

@testable import TokenValidation

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
    #expect(state.current?.sequence == 5 && state.current?.thumbprints.count == 1)
    #expect(state.fail(KeySetError(.invalid, ""), attempt: 6, at: start) && state.lastError?.kind == .invalid)
    #expect(state.take(empty, from: url, attempt: 7, sentAt: start, at: start)?.removed.count == 1)
    #expect(state.current?.sequence == 7 && state.lastError == nil)
  }

  @Test("a confirmation of another set than the one current confirms nothing")
  func confirmation() throws {
    var state = state(1, tag: #""a""#)
    let later = start + .seconds(200)
    for (tag, location, attempt) in [
      (#""b""#, url, 2), (#""a""#, try HTTPURL("https://idp.test/other"), 2), (#""a""#, url, 0),
    ] as [(String, HTTPURL, UInt64)] {
      let answer = KeySetRequest.Answer.notModified(entityTag: tag, ttl: nil)
      #expect(state.take(answer, from: location, attempt: attempt, sentAt: later, at: later) == nil)
      #expect(state.current?.fetchedAt == start)
    }
    let answer = KeySetRequest.Answer.notModified(entityTag: #""a""#, ttl: nil)
    #expect(state.take(answer, from: url, attempt: 3, sentAt: later, at: later)?.isRotation == false)
    #expect(state.current?.fetchedAt == later && state.current?.sequence == 1 && state.current?.attempt == 3)
    #expect(state.entityTag(for: url) == #""a""#)
  }

  @Test("an expired set replaces one that could not be fetched, never one that was not requested")
  func staleSet() {
    var state = state(1)
    state.fail(KeySetError(.fetchFailed, ""), attempt: 2, at: start + .seconds(100))
    let expired = start + .seconds(300)
    guard case .fetch = state.read(at: expired) else {
      Issue.record("an old failure is no reason to serve an expired set")
      return
    }
    state.fail(KeySetError(.fetchFailed, ""), attempt: 3, at: expired)
    guard case .serve(let snapshot) = state.read(at: expired) else {
      Issue.record("the expired set is not used")
      return
    }
    #expect(snapshot.isStale)
    guard case .serveAndRefresh = state.read(at: expired + .seconds(2)) else {
      Issue.record("no request is made again")
      return
    }
    guard case .serve = state.read(at: expired + .seconds(2)) else {
      Issue.record("two refreshes at once")
      return
    }
    guard case .fail = stateBeyondBound(state).read(at: expired + .seconds(3601)) else {
      Issue.record("a set is served beyond the bound, or a failing server gets a request without a delay")
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

  @Test("an error has the time without requests: the server's own delay when it is longer, within bounds")
  func waits() {
    for (stated, seconds) in [(nil, 1), (0, 1), (7, 7), (86_400, 30)] as [(Int?, Int)] {
      var state = KeySetState(policy: KeySetPolicy())
      state.fail(
        KeySetError(.fetchFailed, "", isRetryable: true, retryAfter: stated.map { .seconds($0) }), attempt: 1, at: start
      )
      guard case .fail(let error) = state.read(at: start + .milliseconds(250)) else {
        Issue.record("nothing to serve, and too early to ask: \(stated ?? -1)")
        continue
      }
      #expect(error.retryAfter == .seconds(seconds) - .milliseconds(250))
      guard case .fetch = state.read(at: start + .seconds(seconds)) else {
        Issue.record("after the stated time there must be a request: \(stated ?? -1)")
        continue
      }
    }
  }

  @Test(
    "a refetch waits for the cool-down and for the server's own delay; its error has the earlier of a refetch and a load"
  )
  func refetchWaits() {
    // The set is refreshed ahead after 240 s; the policy's cool-down is 30 s.
    let rows: [(refetch: Int?, failure: Int, stated: Int?, at: Int, allowed: Bool, reported: Int?)] = [
      (nil, 100, nil, 100, true, nil), (nil, 100, 20, 100, false, 20), (nil, 100, 20, 120, true, nil),
      (100, 100, nil, 101, false, 29), (100, 100, 5, 101, false, 29), (100, 100, 86_400, 101, false, 29),
      (230, 230, nil, 231, false, 9), (230, 239, nil, 239, false, 1), (100, 100, nil, 130, true, nil),
    ]
    for row in rows {
      var state = state(1)
      if let second = row.refetch { state.stampRefetch(at: start + .seconds(second), for: 1) }
      let error = KeySetError(.fetchFailed, "", isRetryable: true, retryAfter: row.stated.map { .seconds($0) })
      state.fail(error, attempt: 2, at: start + .seconds(row.failure))
      let now = start + .seconds(row.at)
      #expect(state.allowsRefetch(at: now, for: 1) == row.allowed, "\(row)")
      let reported = state.keyError(at: now, for: 1)?.retryAfter
      if !row.allowed { #expect(reported == row.reported.map { .seconds($0) }, "\(row)") }
    }
    var answered = state(1)
    answered.fail(KeySetError(.fetchFailed, "", retryAfter: .seconds(30)), attempt: 2, at: start)
    _ = answered.take(.keys(keys, entityTag: nil, ttl: nil), from: url, attempt: 3, sentAt: start, at: start)
    #expect(answered.allowsRefetch(at: start, for: 1) && answered.keyError(at: start, for: 1) == nil)
  }

  @Test("the budget is a sliding window: it frees exactly what has left the window")
  func budget() {
    var budget = RequestBudget(limit: 2, window: .seconds(60))
    let takes = [(0, true), (30, true), (59, false), (60, true), (61, false), (89, false), (90, true), (91, false)]
    for (second, isTaken) in takes { #expect(budget.take(at: start + .seconds(second)) == isTaken, "\(second)") }
    #expect(budget.wait(at: start + .seconds(91)) == .seconds(29) && budget.wait(at: start + .seconds(120)) == nil)
  }
}
