import AccessManagement
import PosternCrypto
import PosternSupport
import Sessions

/// Has the advice of many fetches satisfied once, where one satisfaction is enough for all.
final class AdviceFlights: Sendable {
  /// What makes two fetches' advice the same: session and advices. A transaction is one request's own, unless it is for
  /// the session's token.
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

  /// What came of asking.
  struct Answer: Sendable {
    /// Whether it was done; nil: nobody answered.
    let isSatisfied: Bool?
    /// Who was asked.
    let asked: UInt64?
  }

  private let flights: SingleFlight<Name, Answer, Never>

  /// By what the time of those who wait is measured.
  let clock: any EngineClock

  /// None under way. Nobody is asked once nobody waits.
  init(clock: any EngineClock) {
    self.clock = clock
    flights = SingleFlight(clock: clock, cancelsAbandonedRuns: true)
  }

  /// What comes of `ask`, run now or for another fetch of the same session that met the same advice.
  func answer(
    to name: Name, deadline: Deadline, _ ask: @escaping @Sendable () async -> Answer
  ) async throws(SingleFlightError<Never>) -> Answer {
    try await flights.value(for: name, deadline: deadline) { () async in await ask() }
  }

  /// How many fetches wait for that answer.
  func waiterCount(for name: Name) -> Int { flights.waiterCount(for: name) ?? 0 }
}
