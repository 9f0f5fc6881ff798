import Entitlements
import OAuthClient
import PosternSupport
import SessionRecords

extension AdobePassClients {
  /// The duration of a lease: longer than a registration can take.
  static let leaseDuration = patience + .seconds(10)
  /// The time between two look-ups of what another process has stored.
  static let leasePause = Duration.milliseconds(50)
  /// The shortest time between two replacements of a rejected client: a server that rejects everything gets no flood of
  /// registrations.
  static let replacementPause = Duration.seconds(600)

  /// Returns the client's credentials: cached ones, else those in the store, else new ones. Never those of the client
  /// `rejected`.
  func registration(
    _ requests: AdobePassRequests, instead rejected: String?
  ) async throws(AdobePassClientError) -> AdobePassRegistration {
    let client = requests.client
    if let unsaved = self[client].unsaved {
      return try await save(unsaved, of: client, in: requests.link.records, nil, by: requests.link.scope.uid)
    }
    if let known = self[client].registration, known.clientID != rejected { return known }
    let (store, uid) = (requests.link.records, requests.link.scope.uid)
    if let stored = try await stored(client, in: store, by: uid)?.registration, stored.clientID != rejected {
      return stored
    }
    if rejected != nil, let last = self[client].replacedAt,
      clock.monotonicNow - last < Self.replacementPause
    {
      throw .trouble("the decision point rejects the client, which has just been registered again")
    }
    return try await store.whileRetained({ Self.trouble("the client's credentials cannot be stored", $0) }) {
      () async throws(AdobePassClientError) in try await registered(requests, instead: rejected)
    }
  }

  /// Returns the id under which the client is registered; nil where it is not.
  func clientID(of client: AdobePassClient, in store: any RecordStore, by uid: UInt32) async throws(StoreError)
    -> String?
  {
    if let known = self[client].registration { return known.clientID }
    guard let record = try await store.record(for: client.key, by: uid),
      let registration = AdobePassRegistration.current(record, of: client)
    else { return nil }
    change(client) { $0.registration = $0.registration ?? registration }
    return registration.clientID
  }

  /// Registers the client, unless another caller does so first: one at a time, in all processes that share the store.
  private func registered(
    _ requests: AdobePassRequests, instead rejected: String?
  ) async throws(AdobePassClientError) -> AdobePassRegistration {
    let client = requests.client
    let (store, uid) = (requests.link.records, requests.link.scope.uid)
    let lease = try await lease(client, in: store, instead: rejected, by: uid)
    let outcome: Result<AdobePassRegistration, AdobePassClientError>
    do throws(AdobePassClientError) {
      if let stored = try await stored(client, in: store, by: uid)?.registration, stored.clientID != rejected {
        outcome = .success(stored)
      } else {
        let made = try await requests.registration()
        if rejected != nil { change(client) { $0.replacedAt = clock.monotonicNow } }
        requests.link.services.observer.observe(
          .clientRegistered(provider: requests.link.point.name, replacement: rejected != nil),
          in: requests.link.scope)
        outcome = .success(
          try await save(Unsaved(registration: made, rejected: rejected), of: client, in: store, lease, by: uid))
      }
    } catch {
      outcome = .failure(error)
    }
    if let lease { await store.release(lease, by: uid) }
    return try outcome.get()
  }

  /// Returns the lease; nil when there are other credentials meanwhile.
  private func lease(
    _ client: AdobePassClient, in store: any RecordStore, instead rejected: String?, by uid: UInt32
  ) async throws(AdobePassClientError) -> RecordLease? {
    let end = clock.monotonicNow + Self.leaseDuration
    while true {
      do throws(StoreError) {
        if let lease = try await store.lease(client.key, for: Self.leaseDuration, by: uid) { return lease }
      } catch {
        throw Self.trouble("the client's credentials cannot be stored", error)
      }
      guard clock.monotonicNow < end else {
        throw .trouble("another process is registering the client and does not finish", retry: .after(nil))
      }
      try? await clock.sleep(for: Self.leasePause)
      if let stored = try await stored(client, in: store, by: uid)?.registration, stored.clientID != rejected {
        return nil
      }
    }
  }

  /// Returns the credentials in the store. An unreadable record is no reason to register again: that would cost the
  /// users their logins.
  private func stored(
    _ client: AdobePassClient, in store: any RecordStore, by uid: UInt32
  ) async throws(AdobePassClientError) -> (registration: AdobePassRegistration, version: UInt64)? {
    do throws(StoreError) {
      guard let record = try await store.record(for: client.key, by: uid) else { return nil }
      guard let registration = AdobePassRegistration.current(record, of: client) else {
        throw StoreError(.corrupted, "\(client.key) is no registration of this format")
      }
      change(client) { $0.registration = registration }
      return (registration, record.version)
    } catch {
      throw Self.trouble("the client's credentials cannot be read", error)
    }
  }

  /// Stores new credentials, which are not used before that: they would be lost with the process. Where another process
  /// stored its own meanwhile, those count.
  private func save(
    _ unsaved: Unsaved, of client: AdobePassClient, in store: any RecordStore, _ lease: RecordLease?, by uid: UInt32
  ) async throws(AdobePassClientError) -> AdobePassRegistration {
    let registration = unsaved.registration
    change(client) { $0.unsaved = unsaved }
    let stored = try await stored(client, in: store, by: uid)
    if let stored, stored.registration.clientID != unsaved.rejected {
      change(client) { $0.unsaved = nil }
      return stored.registration
    }
    guard let record = registration.record(for: client, version: (stored?.version ?? 0) + 1) else {
      throw .trouble("the client's credentials cannot be written down")
    }
    do throws(StoreError) {
      if stored == nil { try await store.insert(record) } else { try await store.replace(record, under: lease) }
    } catch {
      guard error.kind == .conflict || error.kind == .leaseLost else {
        throw Self.trouble("the client's credentials cannot be stored", error)
      }
      // Another process was first: all use the stored credentials.
      change(client) { $0.unsaved = nil }
      if let stored = try await self.stored(client, in: store, by: uid)?.registration { return stored }
      throw .trouble("the client's credentials were removed while they were stored", retry: .after(nil))
    }
    change(client) { entry in
      entry.unsaved = nil
      entry.registration = registration
    }
    return registration
  }

  private static func trouble(_ what: String, _ error: StoreError) -> AdobePassClientError {
    .trouble("\(what): \(error.description)", retry: error.isRetryable ? .after(error.retryAfter) : .never)
  }
}
