import PosternSupport

/// The places of one origin that are taken: by whom, and since when.
struct OriginPlaces: Sendable {
  /// For whom there is a place.
  enum Room {
    /// For whoever comes.
    case everybody
    /// For a uid that has none.
    case newcomers
    /// For nobody.
    case nobody
  }

  private var load = RequesterLoad()
  /// The earliest first.
  private var since: [MonotonicInstant] = []

  /// How many are taken.
  var count: Int { since.count }

  /// The turn of `requester`: smaller is earlier.
  func turn(of requester: Requester) -> (uid: Int, connection: Int) { load.turn(of: requester) }

  /// For whom there is a place. Those that were taken longer ago than anybody has to wait for (suspended tasks and
  /// streams without end, most of all) do not count for uids that have none.
  func room(_ limits: OriginLimits, at now: MonotonicInstant) -> Room {
    guard let bound = limits.concurrency, count >= bound else { return .everybody }
    guard let patience = limits.patience, let latest = since.suffix(max(bound, 0)).first else { return .nobody }
    return latest + patience <= now ? .newcomers : .nobody
  }

  /// Whether `requester` may have a place where there is `room`.
  func admits(_ requester: Requester, _ room: Room) -> Bool {
    switch room {
    case .everybody: true
    case .newcomers: turn(of: requester).uid == 0
    case .nobody: false
    }
  }

  /// `requester` takes one.
  mutating func take(_ requester: Requester, at now: MonotonicInstant) {
    load.add(requester)
    since.insert(now, at: since.lastIndex { $0 <= now }.map { $0 + 1 } ?? 0)
  }

  /// `requester` gives one back that it has had since `instant`.
  mutating func giveBack(_ requester: Requester, since instant: MonotonicInstant) {
    load.remove(requester)
    if let place = since.firstIndex(of: instant) { since.remove(at: place) }
  }
}
