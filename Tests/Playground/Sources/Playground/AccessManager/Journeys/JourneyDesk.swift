import PosternSupport

/// Journeys on their way, and which trees the sessions have gone through.
final class JourneyDesk: Sendable {
  private let walks: ExpiringStore<JourneyWalk>
  private let stopped: ExpiringStore<JourneyWalk>
  /// By `sid`.
  private let trees: ExpiringStore<Set<String>>
  private let settings: AccessManagerSettings

  init(settings: AccessManagerSettings, clock: any EngineClock) {
    self.settings = settings
    walks = ExpiringStore(clock: clock)
    stopped = ExpiringStore(clock: clock)
    trees = ExpiringStore(clock: clock)
  }

  /// Keeps a journey until its next page is submitted; nil when there are too many.
  func keep(_ walk: JourneyWalk) -> String? {
    let id = "\(RandomText.next()).\(RandomText.next()).x"
    return walks.insert(walk, under: id, for: settings.values.journeyLife) ? id : nil
  }

  /// Takes a journey: each page is good once.
  func take(_ authID: String) -> JourneyWalk? { walks.take(authID) }

  /// Stops a journey until a link is followed.
  func suspend(_ walk: JourneyWalk) { _ = stopped.insert(walk, under: RandomText.next(), for: .seconds(300)) }

  /// A journey whose link was followed.
  func resume(_ id: String) -> JourneyWalk? { stopped.take(id) }

  /// The links that e-mails would hold.
  var suspended: [String] { stopped.all.keys.sorted() }

  /// Which trees that session has gone through.
  func trees(of sessionID: String) -> Set<String> { trees.value(sessionID) ?? [] }

  /// Notes what a session has gone through.
  func note(_ names: Set<String>, of sessionID: String) {
    _ = trees.take(sessionID)
    _ = trees.insert(names, under: sessionID, for: SSOSessions.lifetime)
  }

  /// Forgets all journeys.
  func removeAll() {
    walks.removeAll()
    stopped.removeAll()
    trees.removeAll()
  }
}
