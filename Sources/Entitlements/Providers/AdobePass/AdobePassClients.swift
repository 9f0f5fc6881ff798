import HTTPMessages
import OAuthClient
import PosternSupport
import SessionRecords

/// Registered clients (RFC 7591) and their tokens: one registration for each, kept for good, and token requests in
/// single-flight.
///
/// A run belongs to no single call and is not cancelled with it: lost credentials would be orphans. The state is behind
/// a lock, which is released before every call to another object.
final class AdobePassClients: Sendable {
  /// The state of one client.
  struct Entry: Sendable {
    var token: AdobePassToken?
    var registration: AdobePassRegistration?
    /// Credentials that are not stored yet: they are stored before anything else is done.
    var unsaved: Unsaved?
    /// The backoff after a rejection.
    var backoff: TokenBackoff?
    /// The time of the last replacement of the client.
    var replacedAt: MonotonicInstant?
  }

  private struct State: Sendable {
    var entries = BoundedCache<RecordKey, Entry>(capacity: 256)
    var lastGeneration: UInt64 = 0
  }

  /// Credentials that are not stored yet, and the id of the client that they replace.
  struct Unsaved: Sendable {
    let registration: AdobePassRegistration
    let rejected: String?
  }

  /// The timeout of a run.
  static let patience = Duration.seconds(30)

  let store: any RecordStore
  let clock: any EngineClock
  private let state = Locked(State())
  private let replacements = TokenReplacementLimit<RecordKey>()
  private let flights: SingleFlight<RecordKey, AdobePassToken, DecisionFault>

  /// Clients whose credentials are in `store`.
  init(store: any RecordStore, clock: any EngineClock) {
    self.store = store
    self.clock = clock
    flights = SingleFlight(clock: clock, servesEverybody: true) {
      DecisionFault(endOf: $0, beforeThereWas: "an access token")
    }
  }

  /// Returns a token of `client`: newer than `rejected`, and of another registration where `isUnknownClient`, that is
  /// where the server does not know the client. How often a user may have the shared token replaced is limited.
  func token(
    of client: AdobePassClient, replacing rejected: AdobePassToken? = nil, isUnknownClient: Bool = false,
    device: AdobePassDevice, over link: DecisionClient
  ) async throws(DecisionFault) -> AdobePassToken {
    let generation = rejected?.generation ?? 0
    if let current = fresh(client) {
      guard current.generation <= generation else { return current }
      guard replacements.wait(toReplace: current.generation, of: client.key, at: clock.monotonicNow) == nil else {
        throw DecisionFault(.replacedTooOften)
      }
    }
    while true {
      let token = try await flights.value(for: client.key, deadline: link.deadline) {
        [self] () async throws(DecisionFault) in
        if let token = fresh(client, newerThan: generation) { return token }
        let requests = AdobePassRequests(
          client: client, device: device, link: link.forSharedRequest(timeout: Self.patience))
        return try await obtain(requests, rejected: isUnknownClient ? rejected?.clientID : nil)
      }
      // A run that another caller started may end with the very token that was rejected.
      if token.generation > generation { return token }
    }
  }

  private func fresh(_ client: AdobePassClient, newerThan generation: UInt64 = 0) -> AdobePassToken? {
    let now = clock.monotonicNow
    return self[client].token.flatMap { $0.usableUntil > now && $0.generation > generation ? $0 : nil }
  }

  /// Requests a token with the stored credentials; rejected ones are replaced once.
  private func obtain(
    _ requests: AdobePassRequests, rejected: String?
  ) async throws(DecisionFault) -> AdobePassToken {
    let client = requests.client
    let previous = self[client].backoff
    if let error = previous?.error(at: clock.monotonicNow) { throw DecisionFault(error) }
    do throws(AdobePassClientError) {
      let registration = try await registration(requests, instead: rejected)
      do throws(AdobePassClientError) {
        return keep(try await requests.token(for: registration), client)
      } catch {
        guard error.isUnknownClient, rejected == nil else { throw error }
        let newer = try await self.registration(requests, instead: registration.clientID)
        return keep(try await requests.token(for: newer), client)
      }
    } catch {
      switch error {
      case .endpoint(let error, _):
        let backoff = TokenBackoff(after: error, previous: previous, now: clock.monotonicNow)
        if let backoff { change(client) { $0.backoff = backoff } }
        throw DecisionFault(error)
      case .fault(let fault): throw fault
      }
    }
  }

  private func keep(_ answer: AdobePassRequests.Answer, _ client: AdobePassClient) -> AdobePassToken {
    let generation = state.withLock { state in
      state.lastGeneration += 1
      return state.lastGeneration
    }
    let token = AdobePassToken(
      value: answer.token, clientID: answer.clientID, generation: generation,
      usableUntil: answer.sent + (answer.life - AccessToken.margin(ofLifetime: answer.life)))
    change(client) { entry in
      entry.token = token
      entry.backoff = nil
    }
    return token
  }

  /// The state of `client`.
  subscript(client: AdobePassClient) -> Entry { state.withLock { $0.entries[client.key] } ?? Entry() }

  /// Changes the state of `client`.
  func change(_ client: AdobePassClient, _ body: (inout Entry) -> Void) {
    state.withLock { state in
      var entry = state.entries[client.key] ?? Entry()
      body(&entry)
      state.entries[client.key] = entry
    }
  }
}
