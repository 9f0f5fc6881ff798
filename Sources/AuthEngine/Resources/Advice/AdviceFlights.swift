import Crypto
import Support

/// Has the advice of many fetches satisfied once, where one satisfaction is enough for all.
final class AdviceFlights: Sendable {
  /// What makes two fetches' advice the same: session and advices. A transaction is one request's own.
  private struct Name: Hashable, Sendable {
    let session: SessionHandle?
    let advices: Set<PolicyAdvice>
    let own: [UInt8]
  }

  private let flights: SingleFlight<Name, Bool?, Never>

  init(clock: any EngineClock) { flights = SingleFlight(clock: clock) }

  /// What comes of `satisfy`, run now or for another fetch of the same session that met the same advice.
  func outcome(
    of advices: [PolicyAdvice], session: SessionHandle?, deadline: Deadline,
    _ satisfy: @escaping @Sendable () async -> Bool?
  ) async throws(SingleFlightError<Never>) -> Bool? {
    let isOwn = session == nil || advices.contains { $0.isTransaction }
    let name = Name(
      session: session, advices: Set(advices), own: isOwn ? SecureRandom.bytes(16) : [])
    return try await flights.value(for: name, deadline: deadline) { () async in await satisfy() }
  }
}
