package import AuthEngine
import PosternSupport
import SessionStore

/// Opens the session store of the configuration.
package struct StoreAssembly: Sendable {
  /// Takes the outcome of opening the store: a failure once, until it is another one.
  package typealias Report = @Sendable (Result<StoreConfiguration.Kind, StoreError>) -> Void

  /// How long the process before this one is given to leave a store in files: longer than it takes to, unless an issuer
  /// is slow.
  private static let patience = Duration.seconds(5)

  private let configuration: StoreConfiguration
  private let isNeeded: Bool
  private let key: StoreKey?
  private let previousKeys: [StoreKey]
  /// Takes what was changed about the store's files while it was opened, for the log.
  package var warn: @Sendable (String) -> Void = { _ in }

  /// Whether something is configured that keeps sessions.
  package static func isNeeded(by configuration: PosternConfiguration) -> Bool {
    configuration.store.kind == .redis
      || configuration.resources.values.contains { $0.tokens.auth == .user || $0.tokens.auth == .implicit }
  }

  /// Throws when a key is none: that must not be found out with the first session.
  package init(_ configuration: StoreConfiguration, isNeeded: Bool) throws(ConfigurationProblems) {
    self.configuration = configuration
    self.isNeeded = isNeeded
    guard configuration.kind != .memory else {
      (key, previousKeys) = (nil, [])
      return
    }
    key = try configuration.key.map { key throws(ConfigurationProblems) in try Self.key(key, "keyFile") }
    var previous: [StoreKey] = []
    for (index, key) in configuration.previousKeys.enumerated() {
      previous.append(try Self.key(key, "previousKeyFiles[\(index)]"))
    }
    previousKeys = previous
    // All replicas must have the same key, so that none can be made up here.
    guard configuration.kind != .redis || key != nil else { throw Self.problem("keyFile", "is needed by kind: redis") }
  }

  private static func key(
    _ secret: ConfiguredSecret<[UInt8]>, _ name: String
  ) throws(ConfigurationProblems) -> StoreKey {
    do throws(StoreError) {
      return try StoreKey(contents: secret.value.reveal())
    } catch {
      throw problem(name, "is not usable: \(error.detail)")
    }
  }

  private static func problem(_ name: String, _ message: String) -> ConfigurationProblems {
    ConfigurationProblems([ConfigurationProblem(file: "configuration", keyPath: "store.\(name)", message: message)])
  }

  /// Opened when it is first needed, or to see whether it can be if the configuration will need it: a
  /// sidecar that has nothing to do with sessions writes nothing anywhere. Nil: there is nothing to open.
  package func store(report: @escaping Report) -> DeferredRecordStore? {
    configuration.kind == .memory
      ? nil : DeferredRecordStore(clock: SystemClock(), isNeeded: isNeeded, open: opening(report: report))
  }

  /// How the store is opened.
  package func opening(report: @escaping Report) -> DeferredRecordStore.Opening {
    let remaining = Locked(Self.patience)
    let failure = Locked<StoreError?>(nil)
    return { () async throws(StoreError) in
      // Once: a process that keeps it for longer does not end, and then every call would wait.
      let patience = remaining.withLock { remaining in
        defer { remaining = .zero }
        return remaining
      }
      do throws(StoreError) {
        let store = try await open(patience)
        failure.withLock { $0 = nil }
        report(.success(configuration.kind))
        return store
      } catch {
        let isKnown = failure.withLock { failure in
          defer { failure = error }
          return failure == error
        }
        if !isKnown { report(.failure(error)) }
        throw error
      }
    }
  }

  private func open(_ patience: Duration) async throws(StoreError) -> any RecordStore {
    guard configuration.kind == .redis else {
      var file = FileRecordStore.Configuration(
        directory: configuration.path, key: key, previousKeys: previousKeys)
      file.stateDirectories = (ProcessEnvironment.current["STATE_DIRECTORY"] ?? "").split(atByte: ":").map(
        String.init)
      for note in FileRecordStore.closeToGroup(file) { warn("session store: \(note)") }
      return try await FileRecordStore.open(file, patience: patience)
    }
    guard let redis = configuration.redis, let key else { throw StoreError(.unusable, "store.redis is missing") }
    var target = RedisRecordStore.Configuration(url: redis.url, key: key)
    target.previousKeys = previousKeys
    target.username = redis.username
    target.password = redis.password?.value
    target.caFile = redis.caFile
    return try await RedisRecordStore.open(target)
  }
}
