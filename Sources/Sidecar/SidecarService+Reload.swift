import AuthEngine
import Logging
import PosternConfiguration
import PosternJSON
import PosternProtocol
import PosternSupport

extension SidecarService {
  /// Whether a reload is at work, and whether another was asked for meanwhile.
  struct Reloading {
    var isBusy = false
    var again = false
    /// What was wrong when the configuration was last read.
    var problems: [String] = []
    /// It is to be tried again when there are descriptors.
    var isRetryDue = false
  }

  /// Reads the configuration again, as SIGHUP asks. While another reload is at work one more follows it, however many
  /// ask for it.
  public func requestReload() {
    let isFirst = reloading.withLock { reloading in
      guard reloading.isBusy else {
        reloading.isBusy = true
        return true
      }
      reloading.again = true
      return false
    }
    if isFirst { _ = reloadUntilDone(for: nil) }
  }

  /// Reads the configuration again: checked whole before anything changes. Returns the keys that differ. Where a caller
  /// asks for it, `uid`, the log says so only now and then, but for what changes.
  public func reload(for uid: UInt32? = nil) throws(ReloadFailure) -> [String] {
    let isFirst = reloading.withLock { reloading in
      defer { reloading.isBusy = true }
      return !reloading.isBusy
    }
    guard isFirst else { throw .busy }
    return try reloadUntilDone(for: uid).get()
  }

  /// The outcome of the first: whoever asked meanwhile does not wait for an answer.
  private func reloadUntilDone(for uid: UInt32?) -> Result<[String], ReloadFailure> {
    let outcome = reloadOnce(for: uid)
    while reloading.withLock({ reloading in
      defer { reloading.again = false }
      reloading.isBusy = reloading.again
      return reloading.again
    }) {
      _ = reloadOnce(for: nil)
    }
    return outcome
  }

  private func reloadOnce(for uid: UInt32?) -> Result<[String], ReloadFailure> {
    surroundings.onReload(.began)
    do throws(ConfigurationProblems) {
      let changed = try takeConfiguration(for: uid)
      metrics.reloaded("ok")
      surroundings.onReload(.succeeded)
      return .success(changed)
    } catch {
      metrics.reloaded("failed")
      health.configurationFailed()
      publishHealthChange()
      let problems = error.problems.map(\.description)
      if let metadata = metadata(ofReload: "configuration not reloaded", for: uid, changes: false, problems) {
        for problem in problems { logger.error("configuration not reloaded: \(problem)", metadata: metadata) }
      }
      surroundings.onReload(.failed(error.problems.first?.description ?? "the configuration has problems"))
      if surroundings.areDescriptorsOut() { retryReload() }
      return .failure(.problems(error))
    }
  }

  /// What goes along with the log lines about a reload; nil when there are to be none: a caller may ask for it without
  /// end. Always told is what the operator asks for, what changes something, and what comes out in another way than the
  /// last one.
  private func metadata(
    ofReload text: String, for uid: UInt32?, changes: Bool, _ problems: [String]
  ) -> Logger.Metadata? {
    let isNew = reloading.withLock { reloading in
      defer { reloading.problems = problems }
      return changes || reloading.problems != problems
    }
    guard let uid, !isNew else { return [:] }
    return callersLog.admit(text, of: uid).map { BoundedLog.metadata([:], $0) }
  }

  /// How long after a reload that could not read the files it is tried again.
  static let reloadPause = Duration.seconds(1)

  /// Tries again later: nothing is known to be wrong with files that could not be opened.
  private func retryReload() {
    let isFirst = reloading.withLock { reloading in
      defer { reloading.isRetryDue = true }
      return !reloading.isRetryDue
    }
    guard isFirst else { return }
    logger.warning("the configuration is read again when there are file descriptors")
    Task { [weak self, clock] in
      try? await clock.sleep(for: Self.reloadPause)
      self?.reloading.withLock { $0.isRetryDue = false }
      self?.requestReload()
    }
  }

  private func takeConfiguration(for uid: UInt32?) throws(ConfigurationProblems) -> [String] {
    let loaded = try surroundings.loadConfiguration()
    let before = runtime
    let next = try ConfigurationSnapshot(
      loaded.configuration, identity, clock: clock, after: before, replacements: surroundings.replacements,
      http2Transport: surroundings.http2Transport)
    let useStore = try surroundings.storage.prepare?(loaded.configuration.store)
    let changed = loaded.configuration.changedKeys(from: before.configuration)
    use(next)
    gate.use(next.callLimits)
    useStore?()
    // All of them have just been read, and are of use.
    surroundings.replacements.filesAreWell()
    forget(what: changed, from: before, to: next)
    health.configurationLoaded(
      issuers: loaded.configuration.issuers.keys.sorted(),
      decisionPoints: loaded.configuration.preauthorization.keys.sorted(),
      changed: (
        issuers: Set(
          loaded.configuration.issuers.filter { Self.isElsewhere($0.value, before.configuration.issuers[$0.key]) }.keys),
        decisionPoints: Set(next.decisionPoints.filter { before.decisionPoints[$0.key] !== $0.value }.keys)
      ))
    publishHealthChange()
    if var metadata = metadata(ofReload: "configuration reloaded", for: uid, changes: !changed.isEmpty, []) {
      metadata["changed"] = .string(changed.joined(separator: ", "))
      for warning in loaded.warnings { logger.warning("\(warning.description)") }
      logNotes(next)
      logger.info("configuration reloaded", metadata: metadata)
      for key in loaded.configuration.keysThatTakeARestart(from: before.configuration) {
        logger.warning("\(key) has changed: what of it is read at start only takes a restart")
      }
    }
    publishReload(changed)
    return changed
  }

  /// Whether what was seen of an issuer says nothing about it now: it is another server, or is spoken to in another
  /// way.
  private static func isElsewhere(_ issuer: IssuerConfiguration, _ before: IssuerConfiguration?) -> Bool {
    guard let before else { return true }
    return issuer.issuer != before.issuer || issuer.endpoints != before.endpoints || issuer.tls != before.tls
      || issuer.clientID != before.clientID
  }

  /// What rests on something that is no longer configured; everything else stays true, and is kept.
  private func forget(what changed: [String], from before: ConfigurationSnapshot, to next: ConfigurationSnapshot) {
    if !Set(changed).isDisjoint(with: ["issuers", "validation", "development"]) { engine.verdicts.removeAll() }
    engine.fetcher.cookies.forgetAll(but: next.cookies)
    for (name, point) in before.decisionPoints where next.decisionPoints[name] !== point {
      var selection = DecisionSelection()
      selection.provider = name
      _ = engine.preauthorizer.forget(selection)
    }
  }
}
