import OAuthClient
import PosternSupport
import SessionRecords

extension AdobePassClients {
  /// How long a lease is asked for: longer than a registration can take.
  private static let leaseDuration = patience + .seconds(10)
  /// How long to wait between looks at what another process does.
  private static let leasePause = Duration.milliseconds(50)
  /// A client is not registered in place of a refused one more often than this: a server that refuses everything gets
  /// no flood of them.
  static let replacementPause = Duration.seconds(600)

  /// The client's credentials: those that are known, else those in the store, else new ones. Never those of the client
  /// `refused`.
  func registration(
    _ requests: AdobePassRequests, instead refused: String?
  ) async throws(AdobePassRefusal) -> AdobePassRegistration {
    let client = requests.client
    if let unsaved = state.withLock({ $0.unsaved[client.key] }) {
      return try await save(unsaved, of: client, nil)
    }
    if let known = state.withLock({ $0.registrations[client.key] }), known.clientID != refused { return known }
    if let stored = try await stored(client)?.registration, stored.clientID != refused { return stored }
    if refused != nil, let last = state.withLock({ $0.replacedAt[client.key] }),
      clock.monotonicNow - last < Self.replacementPause
    {
      throw .trouble("the decision point refuses the client, which has just been registered again")
    }
    return try await store.whileHeld({ Self.trouble("the client's credentials cannot be stored", $0) }) {
      () async throws(AdobePassRefusal) in try await registered(requests, instead: refused)
    }
  }

  /// Registers, unless somebody else does so first: one at a time, in all processes that share the store.
  private func registered(
    _ requests: AdobePassRequests, instead refused: String?
  ) async throws(AdobePassRefusal) -> AdobePassRegistration {
    let client = requests.client
    let lease = try await lease(client, instead: refused)
    let outcome: Result<AdobePassRegistration, AdobePassRefusal>
    do throws(AdobePassRefusal) {
      if let stored = try await stored(client)?.registration, stored.clientID != refused {
        outcome = .success(stored)
      } else {
        let made = try await requests.registration()
        if refused != nil { state.withLock { $0.replacedAt[client.key] = clock.monotonicNow } }
        requests.link.upstream.observer.observe(
          .clientRegistered(provider: requests.link.point.name, replacement: refused != nil))
        outcome = .success(try await save(Unsaved(registration: made, refused: refused), of: client, lease))
      }
    } catch {
      outcome = .failure(error)
    }
    if let lease { await store.release(lease) }
    return try outcome.get()
  }

  /// The lease; nil when there are other credentials meanwhile.
  private func lease(_ client: AdobePassClient, instead refused: String?) async throws(AdobePassRefusal) -> RecordLease?
  {
    let end = clock.monotonicNow + Self.leaseDuration
    while true {
      do throws(StoreError) {
        if let lease = try await store.lease(client.key, for: Self.leaseDuration) { return lease }
      } catch {
        throw Self.trouble("the client's credentials cannot be stored", error)
      }
      guard clock.monotonicNow < end else {
        throw .trouble("another process registers the client, and does not come to an end", retry: .after(nil))
      }
      try? await clock.sleep(for: Self.leasePause)
      if let stored = try await stored(client)?.registration, stored.clientID != refused { return nil }
    }
  }

  /// What the store has. What cannot be read is no reason to register again: that would cost the users their logins.
  private func stored(
    _ client: AdobePassClient
  ) async throws(AdobePassRefusal) -> (registration: AdobePassRegistration, version: UInt64)? {
    do throws(StoreError) {
      guard let record = try await store.record(for: client.key) else { return nil }
      guard let registration = AdobePassRegistration.current(record, of: client) else {
        throw StoreError(.corrupted, "\(client.key) is no registration of this format")
      }
      state.withLock { $0.registrations[client.key] = registration }
      return (registration, record.version)
    } catch {
      throw Self.trouble("the client's credentials cannot be read", error)
    }
  }

  /// Stores what was registered, which nobody uses before that: it would be lost with the process. Where others stored
  /// theirs meanwhile, those count.
  private func save(
    _ unsaved: Unsaved, of client: AdobePassClient, _ lease: RecordLease?
  ) async throws(AdobePassRefusal) -> AdobePassRegistration {
    let registration = unsaved.registration
    state.withLock { $0.unsaved[client.key] = unsaved }
    let stored = try await stored(client)
    if let stored, stored.registration.clientID != unsaved.refused {
      state.withLock { $0.unsaved[client.key] = nil }
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
      // Somebody else was there first: all use what is stored.
      state.withLock { $0.unsaved[client.key] = nil }
      if let stored = try await self.stored(client)?.registration { return stored }
      throw .trouble("the client's credentials were removed while they were stored", retry: .after(nil))
    }
    state.withLock { state in
      state.unsaved[client.key] = nil
      state.registrations[client.key] = registration
    }
    return registration
  }

  private static func trouble(_ what: String, _ error: StoreError) -> AdobePassRefusal {
    .trouble("\(what): \(error.description)", retry: error.isRetryable ? .after(error.retryAfter) : .never)
  }
}
