import AccessManagement
import PosternCrypto
import PosternSupport
import Sessions

/// Shares one question to the user among all fetches for which its answer is enough.
final class AdviceFlights: Sendable {
  /// Identifies the question: two fetches share it when session and advices are the same. A transaction belongs to one
  /// request, unless it is for the session's token.
  struct Name: Hashable, Sendable {
    private let session: SessionHandle?
    private let advices: Set<PolicyAdvice>
    private let own: [UInt8]

    init(_ stop: AdviceStop) {
      session = stop.session
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

  /// The answer to `ask`, which runs now or already runs for another fetch of the same session with the same advice.
  func answer(
    to name: Name, deadline: Deadline, _ ask: @escaping @Sendable () async -> Answer
  ) async throws(EndedWait) -> Answer {
    try await flights.value(for: name, deadline: deadline) { () async in await ask() }
  }

  /// How many fetches wait for that answer.
  func waiterCount(for name: Name) -> Int { flights.waiterCount(for: name) ?? 0 }
}
