/// Who may do what: the configuration's `peers`. First match wins; nobody matched, nothing allowed.
struct AccessRules: Sendable {
  /// One rule.
  struct Rule: Sendable {
    /// Matches this user; nil matches any.
    let uid: UInt32?
    /// Matches members of this group, primary or supplementary; nil matches any.
    let gid: UInt32?
    /// The methods allowed; nil means all.
    let methods: Set<String>?
    /// What of the configuration it shows.
    var scope = PeerScope.everything
    /// How often each uid it matches may call; nil: as often as it likes.
    var rate: Rate?
    /// How many calls of each uid it matches may be under way; nil: any number.
    var concurrency: Int?

    func matches(_ peer: Peer) -> Bool {
      if let uid, uid != peer.uid { return false }
      if let gid, gid != peer.gid, !peer.groups.contains(gid) { return false }
      return true
    }
  }

  /// How often somebody may call: a token bucket.
  struct Rate: Sendable, Hashable {
    /// Calls a second in the long run.
    let perSecond: Double
    /// Calls at once after a pause.
    let burst: Int
  }

  let rules: [Rule]
  /// Ids that many have: they match no rule.
  let unmapped: UnmappedIDs

  /// With no rules configured the sidecar's own user may do everything.
  init(rules: [Rule]?, ownUID: UInt32, unmapped: UnmappedIDs = .none) {
    self.rules = rules ?? [Rule(uid: ownUID, gid: nil, methods: nil)]
    self.unmapped = unmapped
  }

  /// The rule for `peer`, or nil. Users who cannot be told apart would share their sessions, and so have none.
  func rule(for peer: Peer) -> Rule? {
    guard unmapped.uid != peer.uid else { return nil }
    return rules.first { !isOfMany($0) && $0.matches(peer) }
  }

  /// What deserves a warning.
  var notes: [String] {
    rules.filter { isOfMany($0) || $0.uid != nil && $0.uid == unmapped.uid }.map { rule in
      "peers: the rule for \(rule.uid.map { "uid \($0)" } ?? "gid \(rule.gid ?? 0)") matches nobody: in this user namespace "
        + "whoever it does not map has that id"
    }
  }

  private func isOfMany(_ rule: Rule) -> Bool { rule.gid != nil && rule.gid == unmapped.gid }

  /// What `peer` may hear of; nil: nothing.
  func scope(of peer: Peer) -> PeerScope? { rule(for: peer)?.scope }
}

extension AccessRules.Rule {
  /// Whether it allows `method`.
  func allows(method: String) -> Bool { methods?.contains(method) ?? true }
}
