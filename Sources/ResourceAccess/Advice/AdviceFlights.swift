import OAuthClient
import PosternCrypto
import PosternSupport
import Sessions

/// Shares one question to the user among all fetches of one level for which its answer is enough.
final class AdviceFlights: Sendable {
  /// Identifies the question: two fetches share it when session, advices and level are the same. A transaction belongs
  /// to one request, unless it is for the session's token.
  struct Name: Hashable, Sendable {
    private let session: SessionHandle?
    /// A program behind a narrower endpoint neither answers nor delays the question of a wider one.
    private let level: String?
    private let advices: Set<PolicyAdvice>
    private let own: [UInt8]

    init(_ stop: AdviceStop, level: String?) {
      session = stop.session
      self.level = level
      advices = Set(stop.advices)
      let isOwn = stop.advices.contains(where: \.isTransaction) && !stop.progress.isForToken
      own = stop.session == nil || isOwn ? SecureRandom.bytes(16) : []
    }
  }

  /// The delegate's answer.
  struct Answer: Sendable {
    /// Whether the user satisfied it; nil: there was no answer.
    let isSatisfied: Bool?
    /// The connection whose delegate answered.
    let delegate: UInt64?
  }

  private let flights: SingleFlight<Name, Answer, EndedWait>

  /// The clock of the deadlines of fetches that wait.
  let clock: any EngineClock

  /// No question is under way. A question that no fetch waits for any more is abandoned.
  init(clock: any EngineClock) {
    self.clock = clock
    flights = SingleFlight(clock: clock, cancelsAbandonedRuns: true) { $0 }
  }

  /// The answer to `ask`, which runs now or already runs for another fetch with the same name.
  func answer(
    to name: Name, in scope: CallScope, _ ask: @escaping @Sendable () async -> Answer
  ) async throws(EndedWait) -> Answer {
    try await flights.value(for: name, in: scope) { _ async in await ask() }
  }

  /// How many fetches wait for that answer.
  func waiterCount(for name: Name) -> Int { flights.waiterCount(for: name) ?? 0 }
}

/// The question that one fetch puts to the user for all fetches that wait for the answer, with its continuation: valid
/// as long as a caller may use it.
final class AdviceQuestion: Sendable {
  private struct State {
    var continuation: String?
    var hasLeft = false
    var isOver = false
  }

  private let state = Locked(State())

  /// The continuation of the fetch that put the question; nil before that, and when it is no longer valid.
  var continuation: String? { state.withLock { $0.continuation } }

  /// The question is put to the user now.
  func begin(_ continuation: String?) { state.withLock { $0.continuation = continuation } }

  /// There is an answer, or there will be none. Returns the continuation to release, where the fetch does not need it.
  func end(isAnswered: Bool) -> String? {
    state.withLock { state in
      state.isOver = true
      return isAnswered || state.hasLeft ? state.continuation.take() : nil
    }
  }

  /// The fetch no longer waits. Returns the continuation to release, unless others still wait for the answer.
  func leave(isWanted: Bool) -> String? {
    state.withLock { state in
      state.hasLeft = true
      return state.isOver || !isWanted ? state.continuation.take() : nil
    }
  }
}
