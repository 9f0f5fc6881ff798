package import PosternSupport

/// The access rules of the configuration's `peers`. The first match applies; without a match nothing is allowed.
package struct AccessRules: Sendable {
  /// One rule.
  package struct Rule: Sendable {
    /// Matches this user; nil matches any.
    package let uid: UInt32?
    /// Matches members of this group, primary or supplementary; nil matches any.
    package let gid: UInt32?
    /// The methods allowed; nil means all.
    package let methods: Set<String>?
    /// The part of the configuration that it shows.
    package var scope = PeerScope.everything
    /// How often each uid it matches may call; nil: no limit.
    package var rate: RateLimit?
    /// How many calls of each uid it matches may be under way; nil: any number.
    package var concurrency: Int?

    package init(
      uid: UInt32?, gid: UInt32?, methods: Set<String>?, scope: PeerScope = .everything, rate: RateLimit? = nil,
      concurrency: Int? = nil
    ) {
      self.uid = uid
      self.gid = gid
      self.methods = methods
      self.scope = scope
      self.rate = rate
      self.concurrency = concurrency
    }

    func matches(_ peer: Peer) -> Bool {
      if let uid, uid != peer.uid { return false }
      if let gid, gid != peer.gid, !peer.groups.contains(gid) { return false }
      return true
    }
  }

  package let rules: [Rule]
  /// Ids that many have: they match no rule.
  package let unmapped: UnmappedIDs

  /// With no rules configured the sidecar's own user may do everything.
  package init(rules: [Rule]?, ownUID: UInt32, unmapped: UnmappedIDs = .none) {
    self.rules = rules ?? [Rule(uid: ownUID, gid: nil, methods: nil)]
    self.unmapped = unmapped
  }

  /// The rule for `peer`, or nil. Users who cannot be told apart would share their sessions, and so have none.
  package func rule(for peer: Peer) -> Rule? { index(for: peer).map { rules[$0] } }

  /// The position of the rule for `peer`, or nil.
  package func index(for peer: Peer) -> Int? {
    guard unmapped.uid != peer.uid else { return nil }
    return rules.firstIndex { !isOfMany($0) && $0.matches(peer) }
  }

  /// Why `peer` may not call `method`: which rule is missing, or what the rule that applies lacks.
  func missingRule(for peer: Peer, method: String) -> String {
    if peer.uid == unmapped.uid {
      return "uid \(peer.uid) may not call anything: this user namespace does not map it, and many users have it"
    }
    guard let rule = rule(for: peer) else {
      return "uid \(peer.uid) may not call anything: no rule of peers matches it or one of its groups"
    }
    let subject = rule.uid.map { "uid \($0)" } ?? rule.gid.map { "gid \($0)" } ?? "every user"
    return "uid \(peer.uid) may not call \(method): the rule of peers for \(subject) does not list it in methods"
  }

  /// Warnings about rules.
  package var notes: [String] {
    rules.filter { isOfMany($0) || $0.uid != nil && $0.uid == unmapped.uid }.map { rule in
      "peers: the rule for \(rule.uid.map { "uid \($0)" } ?? "gid \(rule.gid ?? 0)") matches no user: in this user namespace "
        + "all users that it does not map have that id"
    }
  }

  private func isOfMany(_ rule: Rule) -> Bool { rule.gid != nil && rule.gid == unmapped.gid }

  /// The scope of `peer`; nil: nothing.
  package func scope(of peer: Peer) -> PeerScope? { rule(for: peer)?.scope }
}

extension AccessRules.Rule {
  /// Whether it allows `method`.
  package func allows(method: String) -> Bool { methods?.contains(method) ?? true }
}
