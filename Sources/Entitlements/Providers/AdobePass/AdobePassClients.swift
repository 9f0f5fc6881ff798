import HTTPMessages
import OAuthClient
import PosternSupport
import SessionRecords

/// Registered clients (RFC 7591) and their tokens: one registration for each, kept for good, one request for any number
/// of waiters.
///
/// A run belongs to nobody and goes to its end whoever waits: credentials that got lost would be orphans. The state is
/// behind a lock that is never held across a call.
final class AdobePassClients: Sendable {
  struct State: Sendable {
    var tokens = BoundedCache<RecordKey, AdobePassToken>(capacity: 256)
    var registrations = BoundedCache<RecordKey, AdobePassRegistration>(capacity: 256)
    /// Registered and not stored yet: written before anything else is done.
    var unsaved = BoundedCache<RecordKey, Unsaved>(capacity: 256)
    /// Pauses after refusals.
    var backoffs = BoundedCache<RecordKey, TokenBackoff>(capacity: 256)
    /// When a client was last registered in place of one that was refused.
    var replacedAt = BoundedCache<RecordKey, MonotonicInstant>(capacity: 256)
    var lastGeneration: UInt64 = 0
  }

  /// Credentials that no store has taken yet, and the client in whose place they are.
  struct Unsaved: Sendable {
    let registration: AdobePassRegistration
    let refused: String?
  }

  /// How long a run may take.
  static let patience = Duration.seconds(30)

  let store: any RecordStore
  let clock: any EngineClock
  let state = Locked(State())
  private let replacements = TokenReplacements<RecordKey>()
  private let flights: SingleFlight<RecordKey, AdobePassToken, DecisionFault>

  /// Clients whose credentials are in `store`.
  init(store: any RecordStore, clock: any EngineClock) {
    self.store = store
    self.clock = clock
    flights = SingleFlight(clock: clock, servesEverybody: true)
  }

  /// A token of `client`: newer than `rejected`, and of another registration than that one's where it `isForeign`,
  /// which the server said. Nobody has tokens replaced without end that others use.
  func token(
    of client: AdobePassClient, replacing rejected: AdobePassToken? = nil, isForeign: Bool = false,
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
      let token: AdobePassToken
      do throws(SingleFlightError<DecisionFault>) {
        token = try await flights.value(for: client.key, deadline: link.deadline) {
          [self] () async throws(DecisionFault) in
          if let token = fresh(client, newerThan: generation) { return token }
          let requests = AdobePassRequests(
            client: client, device: device, link: link.forEverybody(patience: Self.patience))
          return try await obtain(requests, refused: isForeign ? rejected?.clientID : nil)
        }
      } catch {
        switch error {
        case .failed(let fault): throw fault
        case .cancelled, .deadlineExceeded:
          throw DecisionFault(.networkError("the time ran out before there was an access token"))
        }
      }
      // A run that somebody began who was content with the token at hand may end with the very one that was refused.
      if token.generation > generation { return token }
    }
  }

  private func fresh(_ client: AdobePassClient, newerThan generation: UInt64 = 0) -> AdobePassToken? {
    let now = clock.monotonicNow
    return state.withLock { state in
      state.tokens[client.key].flatMap { $0.renewal > now && $0.generation > generation ? $0 : nil }
    }
  }

  /// A token by the stored credentials; those that are `refused`, or are now, are replaced once.
  private func obtain(
    _ requests: AdobePassRequests, refused: String?
  ) async throws(DecisionFault) -> AdobePassToken {
    let key = requests.client.key
    let previous = state.withLock { $0.backoffs[key] }
    if let refusal = previous?.refusal(at: clock.monotonicNow) { throw DecisionFault(refusal) }
    do throws(AdobePassRefusal) {
      let registration = try await registration(requests, instead: refused)
      do throws(AdobePassRefusal) {
        return keep(try await requests.token(for: registration), key)
      } catch {
        guard error.isForeign, refused == nil else { throw error }
        let newer = try await self.registration(requests, instead: registration.clientID)
        return keep(try await requests.token(for: newer), key)
      }
    } catch {
      switch error {
      case .endpoint(let refusal, _):
        let backoff = TokenBackoff(after: refusal, previous: previous, now: clock.monotonicNow)
        if let backoff { state.withLock { $0.backoffs[key] = backoff } }
        throw DecisionFault(refusal)
      case .fault(let fault): throw fault
      }
    }
  }

  private func keep(_ answer: AdobePassRequests.Answer, _ key: RecordKey) -> AdobePassToken {
    state.withLock { state in
      state.lastGeneration += 1
      let token = AdobePassToken(
        value: answer.token, clientID: answer.clientID, generation: state.lastGeneration,
        renewal: answer.sent + (answer.life - AccessToken.margin(ofLifetime: answer.life)))
      state.tokens[key] = token
      state.backoffs[key] = nil
      return token
    }
  }
}
