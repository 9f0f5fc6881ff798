import AuthEngine
import HTTPMessages
import Logging
import PosternConfiguration
import PosternSupport

extension SidecarService {
  /// How often the store is looked at.
  private static let storeInterval = Duration.seconds(3)
  /// How often it is seen who is due, and whether there was a reload.
  private static let lookInterval = Duration.milliseconds(500)
  /// How long one attempt to get an issuer's keys may take.
  private static let patience = Duration.seconds(15)

  /// `watch` will run: until it has found out that something works, it counts as not working.
  public func prepareWatch() {
    interest.prepare()
    if interest.isFollowed { health.watch(runtime.configuration.health.askIssuers) }
    if (surroundings.storage.store as? DeferredRecordStore)?.isNeeded == true { health.awaitStore() }
  }

  /// Somebody wants to know whether the sidecar is ready.
  func wantReadiness() {
    interest.show()
    // Before anything is said: what has not been looked at counts from now on.
    if interest.isFollowed { health.watch(runtime.configuration.health.askIssuers) }
  }

  /// Sees to it that the sidecar becomes ready, and stays so, also while nobody calls: looks at the store, and, from
  /// the first question for readiness on, asks every issuer for its keys until it has given them, and then for newer
  /// ones in time. `health` tells what that showed, and asks nobody itself. Until the calling task is cancelled.
  public func watch() async {
    await withTaskGroup { group in
      group.addTask { await self.watchIssuers() }
      group.addTask { await self.watchStore() }
    }
  }

  private func watchIssuers() async {
    await interest.wait()
    let agenda = Locked(KeyPrefetchSchedule())
    var seen: ConfigurationSnapshot?
    var wasSettled = false
    while !Task.isCancelled {
      let runtime = runtime
      let isReloaded = seen.map { $0 !== runtime } ?? false
      seen = runtime
      let isAsking = runtime.configuration.health.askIssuers
      health.watch(isAsking)
      // What was not said while it was about to be known.
      let isSettled = health.isSettled
      if isReloaded || isSettled != wasSettled { publishHealthChange() }
      wasSettled = isSettled
      let now = clock.monotonicNow
      let names = isAsking ? Array(runtime.issuers.keys) : []
      let (due, generation) = agenda.withLock {
        ($0.due(of: names, at: now, isReloaded: isReloaded), $0.generation)
      }
      for name in due {
        Task {
          let hasSucceeded = await askForKeys(name, runtime)
          let now = clock.monotonicNow
          agenda.withLock { $0.ended(name, hasSucceeded: hasSucceeded, at: now, generation: generation) }
        }
      }
      guard (try? await clock.sleep(for: Self.lookInterval)) != nil else { return }
    }
  }

  /// Whether the issuer's keys are there, or it has answered and needs none.
  private func askForKeys(_ name: String, _ runtime: ConfigurationSnapshot) async -> Bool {
    guard let issuer = runtime.issuers[name] else { return true }
    do throws(KeySetError) {
      _ = try await runtime.keys(of: issuer, in: engine.keySets).keySet(
        deadline: Deadline(in: Self.patience, on: clock))
      // The set may be older than what is known of the issuer: kept over a reload, or failed to come for the
      // configuration before.
      if self.runtime === runtime, !health.showsKeys(of: name) {
        health.keys(of: name, fault: nil)
        publishHealthChange()
      }
      return true
    } catch {
      // An authorization server that only gives tokens has no keys to publish, and no metadata perhaps.
      guard !error.isRetryable, error.kind == .discoveryFailed, issuer.issuer.endpoints[.token] != nil,
        issuer.issuer.endpoints[.jwks] == nil
      else { return false }
      health.publishesNoKeys(name)
      publishHealthChange()
      return true
    }
  }

  private func watchStore() async {
    var wait = Self.storeInterval
    while !Task.isCancelled {
      wait = await lookAtStore() ? Self.storeInterval : min(wait * 2, .seconds(30))
      // Whether writing works again only a write can tell, and perhaps nobody tries. It tells by itself how it went.
      if health.isStoreUnwritable { _ = try? await watchedStore.checkWriting() }
      // Here and not when a write succeeds: where small writes succeed and large ones fail, that alternates with each
      // call.
      if !health.isStoreUnwritable { await writeUnsavedSessions() }
      guard (try? await clock.sleep(for: wait)) != nil else { return }
    }
  }

  /// Whether the store can be used, as far as that shows without writing.
  private func lookAtStore() async -> Bool {
    defer { publishHealthChange() }
    do throws(StoreError) {
      try await surroundings.storage.store.check()
      let isOpen = (surroundings.storage.store as? DeferredRecordStore)?.isOpen ?? true
      let isMemory = surroundings.storage.store is MemoryRecordStore
      health.store(fault: nil, detail: isMemory ? "memory" : isOpen ? nil : "not needed yet")
      return true
    } catch {
      health.store(fault: "\(error)")
      return false
    }
  }

  /// A write into the store failed, or works again.
  func storeWritten(fault: StoreError?) {
    guard health.storeWritten(fault: fault.map { "a write failed: \($0)" }) else { return }
    if let fault { logger.error("the session store cannot be written: \(fault)") }
    publishHealthChange()
    // What was found out about the store before may be over, too.
    if fault == nil { Task { _ = await lookAtStore() } }
  }
}
