import PosternSupport

/// Everything counted in this process. Label values come from closed sets, so that no caller can make it grow.
final class MetricsRegistry: Sendable {
  private struct MethodOutcome: Hashable, Sendable {
    let method: String
    let outcome: String
  }

  private struct Upstream: Hashable, Sendable {
    let kind: String
    let outcome: String
  }

  private struct State {
    var calls: [MethodOutcome: Histogram] = [:]
    var upstream: [Upstream: Histogram] = [:]
    var tokens: [String: UInt64] = [:]
    var renewals: [String: UInt64] = [:]
    /// By provider, which the configuration bounds, and by what they are.
    var decisions: [String: [String: UInt64]] = [:]
    /// In seconds, by issuer: the configuration bounds them.
    var clockSkews: [String: Double] = [:]
    /// By resource, which the configuration bounds, and reason.
    var fetchesRefused: [Upstream: UInt64] = [:]
    var opened: UInt64 = 0
    var refused: [String: UInt64] = [:]
    var reloads: [String: UInt64] = [:]
    var callsRefused: [String: UInt64] = [:]
    var waits = Histogram()

    /// The state without the series of what `scope` hides.
    func within(_ scope: PeerScope) -> State {
      guard !scope.isEverything else { return self }
      var own = self
      own.clockSkews = clockSkews.filter { scope.contains(issuer: $0.key) }
      own.fetchesRefused = fetchesRefused.filter { scope.contains(resource: $0.key.kind) }
      own.decisions = decisions.filter { scope.contains(decisionPoint: $0.key) }
      return own
    }
  }

  private let state = Locked(State())

  /// A call ended: `outcome` is `result` or the error's reason.
  func callEnded(_ method: String, _ outcome: String, after duration: Duration) {
    state.withLock { $0.calls[MethodOutcome(method: method, outcome: outcome), default: Histogram()].observe(duration) }
  }

  /// An exchange with somebody upstream ended: `kind` is `resource`, `token`, `discovery`, `key_set`,
  /// `introspection` or `decision`.
  func upstreamEnded(_ kind: String, _ outcome: String, after duration: Duration) {
    state.withLock { $0.upstream[Upstream(kind: kind, outcome: outcome), default: Histogram()].observe(duration) }
  }

  /// The token cache: `event` is `hit`, `miss`, `obtained`, `failed` or `rejected`.
  func tokenCache(_ event: String) { state.withLock { $0.tokens[event, default: 0] += 1 } }

  /// A session's token was renewed, or a renewal that nobody waited for failed: `outcome` is `renewed` or `failed`.
  func sessionRenewal(_ outcome: String) { state.withLock { $0.renewals[outcome, default: 0] += 1 } }

  /// A resource's limits let a fetch not go, for `reason`.
  func fetchRefused(_ resource: String, _ reason: String) {
    state.withLock { $0.fetchesRefused[Upstream(kind: resource, outcome: reason), default: 0] += 1 }
  }

  /// A preauthorization at `provider` ended with so many decisions; `local` of them were remembered.
  func decided(_ provider: String, permits: Int, denies: Int, faults: Int, local: Int) {
    state.withLock { state in
      for (what, count) in [("permit", permits), ("deny", denies), ("fault", faults), ("local", local)] where count > 0
      {
        state.decisions[provider, default: [:]][what, default: 0] += UInt64(count)
      }
    }
  }

  /// Remembered decisions of `provider` were to be renewed before they expire.
  func decisionsRenewed(_ provider: String, renewed: Int, failed: Int) {
    state.withLock { state in
      for (what, count) in [("renewed", renewed), ("failed", failed)] where count > 0 {
        state.decisions[provider, default: [:]][what, default: 0] += UInt64(count)
      }
    }
  }

  /// An issuer's clock was compared with this machine's.
  func clockSkew(_ issuer: String, _ skew: Duration) { state.withLock { $0.clockSkews[issuer] = skew.inSeconds } }

  /// A connection was accepted.
  func connectionOpened() { state.withLock { $0.opened += 1 } }

  /// A connection was refused, for `reason`.
  func connectionRefused(_ reason: String) { state.withLock { $0.refused[reason, default: 0] += 1 } }

  /// A limit let a call not go, for `reason`: `rate`, `concurrency`, `queue`, `queue_time` or `connection`.
  func callRefused(_ reason: String) { state.withLock { $0.callsRefused[reason, default: 0] += 1 } }

  /// A call waited for its turn.
  func callWaited(_ duration: Duration) { state.withLock { $0.waits.observe(duration) } }

  /// The configuration was read again: `outcome` is `ok` or `failed`.
  func reloaded(_ outcome: String) { state.withLock { $0.reloads[outcome, default: 0] += 1 } }

  /// The exposition of what `scope` shows; `openConnections`, `inFlight` and `waiting` are read at this moment.
  func exposition(
    for scope: PeerScope = .everything, openConnections: Int, inFlight: Int, waiting: Int, startedAt: Timestamp,
    version: String
  ) -> String {
    let state = state.withLock { $0.within(scope) }
    var families: [MetricFamily] = []
    // What counts everybody's use tells of others': it is left out where something is hidden.
    func family(
      _ name: String, _ kind: MetricFamily.Kind, _ help: String, isEverybodys: Bool = true,
      _ fill: (inout MetricFamily) -> Void
    ) {
      guard scope.isEverything || !isEverybodys else { return }
      var family = MetricFamily(name, kind, help)
      fill(&family)
      families.append(family)
    }
    family(
      "postern_build_info", .gauge, "Always 1; the labels say what is running.",
      isEverybodys: false
    ) {
      $0.sample([("version", version)], 1)
    }
    family(
      "process_start_time_seconds", .gauge, "When the process started, in seconds since the epoch.",
      isEverybodys: false
    ) {
      $0.sample([], Double(startedAt.millisecondsSinceEpoch) / 1000)
    }
    family("postern_connections", .gauge, "Open connections.") { $0.sample([], openConnections) }
    family("postern_connections_opened_total", .counter, "Connections accepted.") { $0.sample([], state.opened) }
    family("postern_connections_refused_total", .counter, "Connections refused, by limit.") { family in
      for (reason, count) in state.refused.sorted(by: { $0.key < $1.key }) {
        family.sample([("reason", reason)], count)
      }
    }
    family("postern_rpc_in_flight", .gauge, "Calls being worked on.") { $0.sample([], inFlight) }
    family("postern_rpc_waiting", .gauge, "Calls that wait for their turn.") { $0.sample([], waiting) }
    family("postern_rpc_wait_seconds", .histogram, "Time calls waited for their turn, of those that had to.") {
      $0.sample([], state.waits)
    }
    family("postern_rpc_refused_total", .counter, "Calls that a limit refused, by reason.") { family in
      for (reason, count) in state.callsRefused.sorted(by: { $0.key < $1.key }) {
        family.sample([("reason", reason)], count)
      }
    }
    let calls = state.calls.sorted { ($0.key.method, $0.key.outcome) < ($1.key.method, $1.key.outcome) }
    family("postern_rpc_requests_total", .counter, "Calls by method and outcome: result, or the error's reason.") {
      for (key, histogram) in calls {
        $0.sample([("method", key.method), ("outcome", key.outcome)], histogram.count)
      }
    }
    family("postern_rpc_duration_seconds", .histogram, "Time from a call's arrival to its answer.") {
      for (key, histogram) in calls { $0.sample([("method", key.method), ("outcome", key.outcome)], histogram) }
    }
    let upstream = state.upstream.sorted { ($0.key.kind, $0.key.outcome) < ($1.key.kind, $1.key.outcome) }
    family("postern_upstream_requests_total", .counter, "Exchanges with upstream servers by kind and outcome.") {
      for (key, histogram) in upstream { $0.sample([("kind", key.kind), ("outcome", key.outcome)], histogram.count) }
    }
    family("postern_upstream_duration_seconds", .histogram, "Time an upstream exchange took.") {
      for (key, histogram) in upstream { $0.sample([("kind", key.kind), ("outcome", key.outcome)], histogram) }
    }
    family("postern_token_cache_requests_total", .counter, "Tokens asked for, by how the cache answered.") { family in
      for (event, count) in state.tokens.sorted(by: { $0.key < $1.key }) { family.sample([("result", event)], count) }
    }
    family("postern_session_renewals_total", .counter, "Renewals of sessions' tokens by outcome.") { family in
      for (outcome, count) in state.renewals.sorted(by: { $0.key < $1.key }) {
        family.sample([("outcome", outcome)], count)
      }
    }
    family(
      "postern_issuer_clock_skew_seconds", .gauge, "How far an issuer's clock is ahead of this machine's.",
      isEverybodys: false
    ) {
      for (issuer, skew) in state.clockSkews.sorted(by: { $0.key < $1.key }) { $0.sample([("issuer", issuer)], skew) }
    }
    let refused = state.fetchesRefused.sorted { ($0.key.kind, $0.key.outcome) < ($1.key.kind, $1.key.outcome) }
    family(
      "postern_resource_refused_total", .counter, "Requests that a resource's limits let not go, by reason.",
      isEverybodys: false
    ) {
      for (key, count) in refused { $0.sample([("resource", key.kind), ("reason", key.outcome)], count) }
    }
    let decisions = state.decisions.sorted { $0.key < $1.key }
    family(
      "postern_decisions_total", .counter, "Decisions by decision point: permit, deny, or fault for none.",
      isEverybodys: false
    ) {
      for (provider, counts) in decisions {
        for what in ["deny", "fault", "permit"] {
          if let count = counts[what] { $0.sample([("provider", provider), ("decision", what)], count) }
        }
      }
    }
    family(
      "postern_decisions_remembered_total", .counter, "Decisions answered from memory, by decision point.",
      isEverybodys: false
    ) {
      for (provider, counts) in decisions {
        if let count = counts["local"] { $0.sample([("provider", provider)], count) }
      }
    }
    family(
      "postern_decision_renewals_total", .counter, "Remembered decisions renewed ahead of time, by outcome.",
      isEverybodys: false
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
