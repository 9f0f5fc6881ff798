import Entitlements
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
    /// Whether it was the client that was rejected.
    var isUnknown = false
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

  let clock: any EngineClock
  private let state = Locked(State())
  /// Half of what the usual rate limit allows.
  private let replacements = TokenReplacementLimit<RecordKey>(25)
  private let flights: SingleFlight<RecordKey, AdobePassToken, DecisionFault>

  init(clock: any EngineClock) {
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
      guard
        replacements.wait(toReplace: current.generation, of: client.key, for: link.scope.uid, at: clock.monotonicNow)
          == nil
      else {
        throw DecisionFault(.replacedTooOften)
      }
    }
    while true {
      let token = try await flights.value(for: client.key, in: link.scope) {
        [self] run async throws(DecisionFault) in
        if let token = fresh(client, newerThan: generation) { return token }
        let requests = AdobePassRequests(
          client: client, device: device, link: link.forSharedRequest(timeout: Self.patience, in: run))
        return try await obtain(requests, instead: rejected, isUnknownClient: isUnknownClient)
      }
      // A run that another caller started may end with the very token that was rejected.
      if token.generation > generation { return token }
    }
  }

  private func fresh(_ client: AdobePassClient, newerThan generation: UInt64 = 0) -> AdobePassToken? {
    let now = clock.monotonicNow
    return self[client].token.flatMap { $0.usableUntil > now && $0.generation > generation ? $0 : nil }
  }

  /// Returns a token that another process stored, or requests one with the stored credentials; rejected ones are
  /// replaced once.
  private func obtain(
    _ requests: AdobePassRequests, instead rejected: AdobePassToken?, isUnknownClient: Bool
  ) async throws(DecisionFault) -> AdobePassToken {
    let client = requests.client
    let entry = self[client]
    let previous = entry.backoff
    if let error = previous?.error(at: clock.monotonicNow) { throw Self.fault(error, isUnknownClient: entry.isUnknown) }
    do throws(AdobePassClientError) {
      let registration = try await usable(requests, instead: isUnknownClient ? rejected?.clientID : nil)
      do throws(AdobePassClientError) {
        return try await token(requests, of: registration, instead: rejected)
      } catch {
        guard error.isUnknownClient, !isUnknownClient else { throw error }
        let newer = try await usable(requests, instead: registration.clientID)
        return try await token(requests, of: newer, instead: rejected)
      }
    } catch {
      switch error {
      case .endpoint(let error, let isUnknown):
        let backoff = TokenBackoff(after: error, previous: previous, now: clock.monotonicNow)
        if let backoff { change(client) { ($0.backoff, $0.isUnknown) = (backoff, isUnknown) } }
        throw Self.fault(error, isUnknownClient: isUnknown)
      case .fault(let fault): throw fault
      }
    }
  }

  private static func fault(_ error: TokenError, isUnknownClient: Bool) -> DecisionFault {
    let fault = DecisionFault(error)
    return isUnknownClient ? fault.suggesting("application-registration") : fault
  }

  /// Returns credentials with which the API can be used.
  private func usable(
    _ requests: AdobePassRequests, instead rejected: String?
  ) async throws(AdobePassClientError) -> AdobePassRegistration {
    let registration = try await registration(requests, instead: rejected)
    guard !registration.lacksScope else {
      throw .trouble("the software statement is not for the API: its scopes lack \(AdobePassRegistration.scope)")
    }
    return registration
  }

  /// Returns a token of `registration`: the one in the store, else a new one, which is stored before it is used. One of
  /// the processes that share the store requests it.
  private func token(
    _ requests: AdobePassRequests, of registration: AdobePassRegistration, instead rejected: AdobePassToken?
  ) async throws(AdobePassClientError) -> AdobePassToken {
    let client = requests.client
    let (store, uid) = (requests.link.records, requests.link.scope.uid)
    func stored() async -> AdobePassToken? {
      guard let record = try? await store.record(for: client.tokenKey, by: uid),
        let token = AdobePassToken.stored(
          record, of: registration.clientID, generation: 0, at: (clock.monotonicNow, clock.wallNow)),
        rejected.map({ !$0.value.reveal().hasSameBytes(as: token.value.reveal()) }) ?? true
      else { return nil }
      return token
    }
    var lease: RecordLease?
    let end = clock.monotonicNow + Self.leaseDuration
    while true {
      // Also after the lease has been granted: the process that had it before may have stored a token.
      if let token = await stored() {
        if let lease { await store.release(lease, by: uid) }
        return keep(token, client)
      }
      guard lease == nil, clock.monotonicNow < end, !Task.isCancelled else { break }
      do throws(StoreError) {
        lease = try await store.lease(client.tokenKey, for: Self.leaseDuration, by: uid)
      } catch {
        // A token that is not stored costs the next process a request, and nothing else.
        break
      }
      if lease == nil { try? await clock.sleep(for: Self.leasePause) }
    }
    let answer: Result<AdobePassRequests.Answer, AdobePassClientError>
    do throws(AdobePassClientError) {
      answer = .success(try await requests.token(for: registration))
    } catch {
      answer = .failure(error)
    }
    if let token = (try? answer.get()).map(Self.token) { await save(token, of: client, in: store, by: uid) }
    if let lease { await store.release(lease, by: uid) }
    return keep(Self.token(try answer.get()), client)
  }

  private static func token(_ answer: AdobePassRequests.Answer) -> AdobePassToken {
    AdobePassToken(
      value: answer.token, clientID: answer.clientID, generation: 0,
      usableUntil: answer.sent + (answer.life - AccessToken.margin(ofLifetime: answer.life)))
  }

  /// Stores the token; a failure costs the next process a request, and nothing else.
  private func save(_ token: AdobePassToken, of client: AdobePassClient, in store: any RecordStore, by uid: UInt32)
    async
  {
    guard let previous = try? await store.record(for: client.tokenKey, by: uid) as StoredRecord?? else { return }
    guard let record = token.record(of: client, after: previous, at: (clock.monotonicNow, clock.wallNow)) else {
      return
    }
    if previous == nil { try? await store.insert(record) } else { try? await store.replace(record, under: nil) }
  }

  private func keep(_ token: AdobePassToken, _ client: AdobePassClient) -> AdobePassToken {
    let generation = state.withLock { state in
      state.lastGeneration += 1
      return state.lastGeneration
    }
    var token = token
    token.generation = generation
    change(client) { [token] entry in
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
