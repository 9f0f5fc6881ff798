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
    /// The resources allowed; nil means all.
    let resources: Set<String>?
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

  /// With no rules configured the sidecar's own user may do everything.
  init(rules: [Rule]?, ownUID: UInt32) {
    self.rules = rules ?? [Rule(uid: ownUID, gid: nil, methods: nil, resources: nil)]
  }

  /// The rule for `peer`, or nil.
  func rule(for peer: Peer) -> Rule? { rules.first { $0.matches(peer) } }
}

extension AccessRules.Rule {
  /// Whether it allows `method`.
  func allows(method: String) -> Bool { methods?.contains(method) ?? true }

  /// Whether it allows every resource, so that what belongs to none is allowed too.
  var allowsEveryResource: Bool { resources == nil }

  /// Whether it allows `resource`.
  func allows(resource: String) -> Bool { resources?.contains(resource) ?? true }
}
