import PosternObservability
package import PosternSupport

/// Everything counted in this process. Label values come from closed sets, so that no caller can make it grow.
package final class MetricsRegistry: Sendable {
  private struct Labels: Hashable, Sendable {
    /// A method, a kind of upstream exchange, or a resource.
    let subject: String
    let outcome: String
  }

  /// Histograms by their labels. The one that was observed last is found without hashing: most calls follow others of
  /// their kind.
  private struct Histograms: Sendable {
    private var positions: [Labels: Int] = [:]
    private var list: [(labels: Labels, histogram: Histogram)] = []
    private var last = 0

    /// All of them, in the order of their labels.
    var sorted: [(labels: Labels, histogram: Histogram)] {
      list.sorted { ($0.labels.subject, $0.labels.outcome) < ($1.labels.subject, $1.labels.outcome) }
    }

    mutating func observe(_ labels: Labels, _ duration: Duration) {
      if last >= list.count || list[last].labels != labels { last = position(of: labels) }
      list[last].histogram.observe(duration)
    }

    private mutating func position(of labels: Labels) -> Int {
      if let position = positions[labels] { return position }
      positions[labels] = list.count
      list.append((labels, Histogram()))
      return list.count - 1
    }
  }

  private struct Calls: Sendable {
    var ended = Histograms()
    var rejected: [String: UInt64] = [:]
    var waits = Histogram()
  }

  private struct Connections: Sendable {
    var opened: UInt64 = 0
    var rejected: [String: UInt64] = [:]
  }

  private struct State {
    var calls = Calls()
    var connections = Connections()
    var upstream = Histograms()
    var tokens: [String: UInt64] = [:]
    var refreshes: [String: UInt64] = [:]
    /// By provider, which the configuration bounds, and by what they are.
    var decisions: [String: [String: UInt64]] = [:]
    /// In seconds, by issuer: the configuration bounds them.
    var clockSkews: [String: Double] = [:]
    /// By resource, which the configuration bounds, and reason.
    var fetchesRejected: [Labels: UInt64] = [:]
    var reloads: [String: UInt64] = [:]

    /// The state without the series of what `scope` hides.
    func within(_ scope: PeerScope) -> State {
      guard !scope.isEverything else { return self }
      var own = self
      own.clockSkews = clockSkews.filter { scope.contains(issuer: $0.key) }
      own.fetchesRejected = fetchesRejected.filter { scope.contains(resource: $0.key.subject) }
      own.decisions = decisions.filter { scope.contains(decisionPoint: $0.key) }
      return own
    }
  }

  private let state = Locked(State())

  /// When the process started.
  let startedAt: Timestamp

  package init(startedAt: Timestamp) { self.startedAt = startedAt }

  /// A call ended: `outcome` is `result` or the error's reason.
  func callEnded(_ method: String, _ outcome: String, after duration: Duration) {
    state.withLock { $0.calls.ended.observe(Labels(subject: method, outcome: outcome), duration) }
  }

  /// Counts a request to an upstream server: `kind` is `resource`, `token`, `discovery`, `key_set`,
  /// `introspection` or `decision`.
  func upstreamEnded(_ kind: String, _ outcome: String, after duration: Duration) {
    state.withLock { $0.upstream.observe(Labels(subject: kind, outcome: outcome), duration) }
  }

  /// The token cache: `event` is `hit`, `miss`, `obtained`, `failed` or `rejected`.
  func tokenCache(_ event: String) { state.withLock { $0.tokens[event, default: 0] += 1 } }

  /// Counts a refresh of a session's token, or a failed proactive one: `outcome` is `renewed` or `failed`.
  func sessionRefresh(_ outcome: String) { state.withLock { $0.refreshes[outcome, default: 0] += 1 } }

  /// Counts a fetch that a resource's limits rejected, by `reason`.
  func fetchRejected(_ resource: String, _ reason: String) {
    state.withLock { $0.fetchesRejected[Labels(subject: resource, outcome: reason), default: 0] += 1 }
  }

  /// Counts the decisions of a preauthorization at `provider`; `local` of them came from the cache.
  package func decided(_ provider: String, permits: Int, denies: Int, faults: Int, local: Int) {
    state.withLock { state in
      for (what, count) in [("permit", permits), ("deny", denies), ("fault", faults), ("local", local)] where count > 0
      {
        state.decisions[provider, default: [:]][what, default: 0] += UInt64(count)
      }
    }
  }

  /// Counts cached decisions of `provider` that were refreshed before they expired.
  func decisionsRefreshed(_ provider: String, refreshed: Int, failed: Int) {
    state.withLock { state in
      for (what, count) in [("renewed", refreshed), ("failed", failed)] where count > 0 {
        state.decisions[provider, default: [:]][what, default: 0] += UInt64(count)
      }
    }
  }

  /// An issuer's clock was compared with this machine's.
  package func clockSkew(_ issuer: String, _ skew: Duration) {
    state.withLock { $0.clockSkews[issuer] = skew.inSeconds }
  }

  /// A connection was accepted.
  func connectionOpened() { state.withLock { $0.connections.opened += 1 } }

  /// Counts a rejected connection, by `reason`.
  func connectionRejected(_ reason: String) {
    state.withLock { $0.connections.rejected[reason, default: 0] += 1 }
  }

  /// Counts a call that a limit rejected, by `reason`: `rate`, `concurrency`, `queue`, `queue_time` or `connection`.
  func callRejected(_ reason: String) { state.withLock { $0.calls.rejected[reason, default: 0] += 1 } }

  /// Records how long a call waited for a slot.
  func callWaited(_ duration: Duration) { state.withLock { $0.calls.waits.observe(duration) } }

  /// The configuration was read again: `outcome` is `ok` or `failed`.
  package func reloaded(_ outcome: String) { state.withLock { $0.reloads[outcome, default: 0] += 1 } }

  /// The exposition of what `scope` shows; `openConnections`, `inFlight` and `waiting` are read at this moment.
  package func exposition(
    for scope: PeerScope = .everything, openConnections: Int, inFlight: Int, waiting: Int,
    version: String
  ) -> String {
    let state = state.withLock { $0.within(scope) }
    var families: [MetricFamily] = []
    // Metrics of all peers' use reveal that of others: they are left out where something is hidden.
    func family(
      _ name: String, _ kind: MetricFamily.Kind, _ help: String, isOfAllPeers: Bool = true,
      _ fill: (inout MetricFamily) -> Void
    ) {
      guard scope.isEverything || !isOfAllPeers else { return }
      var family = MetricFamily(name, kind, help)
      fill(&family)
      families.append(family)
    }
    family(
      "postern_build_info", .gauge, "Always 1; the labels name the release.",
      isOfAllPeers: false
    ) {
      $0.sample([("version", version)], 1)
    }
    family(
      "process_start_time_seconds", .gauge, "When the process started, in seconds since the epoch.",
      isOfAllPeers: false
    ) {
      $0.sample([], Double(startedAt.millisecondsSinceEpoch) / 1000)
    }
    family("postern_connections", .gauge, "Open connections.") { $0.sample([], openConnections) }
    family("postern_connections_opened_total", .counter, "Connections accepted.") {
      $0.sample([], state.connections.opened)
    }
    family("postern_connections_refused_total", .counter, "Connections rejected, by limit.") { family in
      for (reason, count) in state.connections.rejected.sorted(by: { $0.key < $1.key }) {
        family.sample([("reason", reason)], count)
      }
    }
    family("postern_rpc_in_flight", .gauge, "Calls being worked on.") { $0.sample([], inFlight) }
    family("postern_rpc_waiting", .gauge, "Calls that wait for a slot.") { $0.sample([], waiting) }
    family("postern_rpc_wait_seconds", .histogram, "Time that calls waited for a slot, of those that had to.") {
      $0.sample([], state.calls.waits)
    }
    family("postern_rpc_refused_total", .counter, "Calls that a limit rejected, by reason.") { family in
      for (reason, count) in state.calls.rejected.sorted(by: { $0.key < $1.key }) {
        family.sample([("reason", reason)], count)
      }
    }
    let calls = state.calls.ended.sorted
    family("postern_rpc_requests_total", .counter, "Calls by method and outcome: result, or the error's reason.") {
      for (key, histogram) in calls {
        $0.sample([("method", key.subject), ("outcome", key.outcome)], histogram.count)
      }
    }
    family("postern_rpc_duration_seconds", .histogram, "Time from a call's arrival to its answer.") {
      for (key, histogram) in calls { $0.sample([("method", key.subject), ("outcome", key.outcome)], histogram) }
    }
    let upstream = state.upstream.sorted
    family("postern_upstream_requests_total", .counter, "Exchanges with upstream servers by kind and outcome.") {
      for (key, histogram) in upstream {
        $0.sample([("kind", key.subject), ("outcome", key.outcome)], histogram.count)
      }
    }
    family("postern_upstream_duration_seconds", .histogram, "Time an upstream exchange took.") {
      for (key, histogram) in upstream { $0.sample([("kind", key.subject), ("outcome", key.outcome)], histogram) }
    }
    family("postern_token_cache_requests_total", .counter, "Tokens requested, by the cache's result.") { family in
      for (event, count) in state.tokens.sorted(by: { $0.key < $1.key }) { family.sample([("result", event)], count) }
    }
    family("postern_session_renewals_total", .counter, "Refreshes of sessions' tokens by outcome.") { family in
      for (outcome, count) in state.refreshes.sorted(by: { $0.key < $1.key }) {
        family.sample([("outcome", outcome)], count)
      }
    }
    family(
      "postern_issuer_clock_skew_seconds", .gauge, "How far an issuer's clock is ahead of this machine's.",
      isOfAllPeers: false
    ) {
      for (issuer, skew) in state.clockSkews.sorted(by: { $0.key < $1.key }) { $0.sample([("issuer", issuer)], skew) }
    }
    let rejected = state.fetchesRejected.sorted {
      ($0.key.subject, $0.key.outcome) < ($1.key.subject, $1.key.outcome)
    }
    family(
      "postern_resource_refused_total", .counter, "Requests that a resource's limits rejected, by reason.",
      isOfAllPeers: false
    ) {
      for (key, count) in rejected { $0.sample([("resource", key.subject), ("reason", key.outcome)], count) }
    }
    let decisions = state.decisions.sorted { $0.key < $1.key }
    family(
      "postern_decisions_total", .counter, "Decisions by decision point: permit, deny, or fault for none.",
      isOfAllPeers: false
    ) {
      for (provider, counts) in decisions {
        for what in ["deny", "fault", "permit"] {
          if let count = counts[what] { $0.sample([("provider", provider), ("decision", what)], count) }
        }
      }
    }
    family(
      "postern_decisions_remembered_total", .counter, "Decisions answered from the cache, by decision point.",
      isOfAllPeers: false
    ) {
      for (provider, counts) in decisions {
        if let count = counts["local"] { $0.sample([("provider", provider)], count) }
      }
    }
    family(
      "postern_decision_renewals_total", .counter, "Cached decisions refreshed before they expired, by outcome.",
      isOfAllPeers: false
    ) {
      for (provider, counts) in decisions {
        for what in ["failed", "renewed"] {
          if let count = counts[what] { $0.sample([("provider", provider), ("outcome", what)], count) }
        }
      }
    }
    family("postern_config_reloads_total", .counter, "Reloads of the configuration by outcome.") { family in
      for (outcome, count) in state.reloads.sorted(by: { $0.key < $1.key }) {
        family.sample([("outcome", outcome)], count)
      }
    }
    return families.map(\.text).joined()
  }
}
