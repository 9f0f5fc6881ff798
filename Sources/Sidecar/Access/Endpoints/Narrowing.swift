package import PosternJSONRPC
package import PosternProtocol
package import PosternSupport

/// One level of a chain: an endpoint, or a `narrow` of a connection. A call has to pass every level up to the peer's
/// rule.
package final class Narrowing: Sendable {
  /// Why a level rejects a call.
  package enum Limit: Error, Sendable, Hashable {
    /// Too many calls in a short time; how long until there is one more.
    case rate(Duration)
    /// So many calls are under way.
    case concurrency(Int)
  }

  private struct State {
    var bucket: TokenBucket?
    var callsUnderWay = 0
    var isRevoked = false
  }

  /// How many levels a chain has at most.
  package static let maxDepth = 8
  private static let maxRate = 1_000_000

  /// The endpoint's handle, or that of the `narrow`; random, and no secret.
  package let id: String
  /// The maker's name for it.
  package let label: String?
  /// The level above; nil: the maker came on the main socket.
  package let parent: Narrowing?
  /// The lists and limits as they were given.
  package let limits: EndpointLimits
  /// The lists of this level.
  package let own: Restriction
  /// The lists of the chain down to this level: one of this level, where it has one, is within that of the level
  /// above.
  package let effective: Restriction
  /// The handle of the session that calls through it are for, unless they name another; nil: none.
  package let session: String?
  /// How many levels there are down to this one.
  package let depth: Int
  /// When it ends, no later than the level above; nil: it has no end of its own.
  package let expiry: MonotonicInstant?
  private let state: Locked<State>

  /// A level under `parent`, of a maker with that rule; throws for what is more than the maker has, and for limits that
  /// are none.
  package static func make(
    _ limits: EndpointLimits, id: String, label: String? = nil, session: String? = nil, under parent: Narrowing?,
    rule: AccessRules.Rule, expiry: MonotonicInstant? = nil, at now: MonotonicInstant
  ) throws(RPCFault) -> Narrowing {
    guard parent?.depth ?? 0 < maxDepth else {
      throw .invalidParams("A chain of endpoints has at most \(maxDepth) levels", path: "")
    }
    try check(limits)
    let own = try Restriction(limits)
    for method in own.methods ?? [] where !rule.allows(method: method) || parent?.allows(method: method) == false {
      throw Restriction.more("methods", method, limits.methods)
    }
    try own.check(limits, within: Restriction(resources: rule.scope.resources))
    let above = parent?.effective ?? Restriction()
    try own.check(limits, within: above)
    return Narrowing(
      limits, id: id, label: label, session: session, under: parent, own: own, effective: above.narrowed(by: own),
      expiry: expiry, at: now)
  }

  private init(
    _ limits: EndpointLimits, id: String, label: String?, session: String?, under parent: Narrowing?,
    own: Restriction, effective: Restriction, expiry: MonotonicInstant?, at now: MonotonicInstant
  ) {
    self.id = id
    self.label = label
    self.parent = parent
    self.limits = limits
    self.own = own
    self.effective = effective
    // A list of sessions that leaves the parent's out is not a reason to choose another one.
    self.session = session ?? parent?.session.flatMap { effective.allows(session: $0) ? $0 : nil }
    depth = (parent?.depth ?? 0) + 1
    self.expiry = [expiry, parent?.expiry].compactMap { $0 }.min()
    state = Locked(State(bucket: limits.rate.map { TokenBucket(RateLimit($0), at: now) }))
  }

  private static func check(_ limits: EndpointLimits) throws(RPCFault) {
    if let rate = limits.rate {
      guard rate.perSecond > 0, rate.perSecond <= Double(maxRate) else {
        throw .invalidParams("perSecond is over 0, and at most \(maxRate)", path: "/rate/perSecond")
      }
      guard (1...maxRate).contains(rate.burst) else {
        throw .invalidParams("burst is from 1 to \(maxRate)", path: "/rate/burst")
      }
    }
    guard limits.concurrency.map({ (1...maxRate).contains($0) }) ?? true else {
      throw .invalidParams("concurrency is from 1 to \(maxRate)", path: "/concurrency")
    }
  }
}

extension Narrowing {
  /// The levels from the peer's rule down to this one.
  package var chain: [Narrowing] { (parent?.chain ?? []) + [self] }

  /// The endpoint that the connection is at; nil: it is at none, and has narrowed itself.
  package var endpoint: String? { chain.last { EndpointHandle.isOne($0.id) }?.id }

  /// Whether `other` is this level, or one below.
  package func covers(_ other: Narrowing?) -> Bool {
    var level = other
    while let current = level {
      if current === self { return true }
      level = current.parent
    }
    return false
  }

  // MARK: - Its end

  /// Ends it, and with it all levels below.
  package func revoke() { state.withLock { $0.isRevoked = true } }

  /// Whether it, or a level above, has been revoked or has expired.
  package func isOver(at now: MonotonicInstant) -> Bool {
    if let expiry, expiry <= now { return true }
    return state.withLock { $0.isRevoked } || parent?.isOver(at: now) ?? false
  }

  // MARK: - What it allows

  /// Whether every level allows `method`.
  package func allows(method: String) -> Bool {
    own.allows(method: method) && parent?.allows(method: method) ?? true
  }

  /// The part of `scope`, that of the rule, which the chain leaves.
  package func scope(within scope: PeerScope) -> PeerScope {
    guard let own = effective.resources else { return scope }
    var scope = scope
    scope.resources = scope.resources.map { $0.intersection(own) } ?? own
    return scope
  }

  // MARK: - Its limits

  /// Counts a call at every level; throws when one has none left. This level comes first, so that what a level rejects
  /// costs those above nothing.
  package func admit(at now: MonotonicInstant) throws(Limit) {
    if let rate = limits.rate, let wait = state.withLock({ $0.bucket?.take(RateLimit(rate), at: now) }) {
      throw .rate(wait)
    }
    try parent?.admit(at: now)
  }

  /// Whether `admit` would throw.
  package func wouldReject(at now: MonotonicInstant) -> Bool {
    wait(at: now) != nil || parent?.wouldReject(at: now) ?? false
  }

  /// How long until this level has one more call, without counting any; nil: it has.
  package func wait(at now: MonotonicInstant) -> Duration? {
    guard let rate = limits.rate, var bucket = state.withLock({ $0.bucket }) else { return nil }
    return bucket.take(RateLimit(rate), at: now)
  }

  /// Counts a call that begins, at every level; throws, and counts nothing, when one has as many as it may. Some calls
  /// have to be possible however many there are: these are counted only. `more` returns how many more than its limit
  /// a level may have.
  package func begin(isBounded: Bool, more: (Narrowing) -> Int = { _ in 0 }) throws(Limit) {
    let limit = isBounded ? limits.concurrency.map { $0 + more(self) } : nil
    let isOneMore = state.withLock { state in
      guard limit.map({ state.callsUnderWay < $0 }) ?? true else { return false }
      state.callsUnderWay += 1
      return true
    }
    guard isOneMore else { throw .concurrency(limits.concurrency ?? 0) }
    do throws(Limit) {
      try parent?.begin(isBounded: isBounded, more: more)
    } catch {
      state.withLock { $0.callsUnderWay -= 1 }
      throw error
    }
  }

  /// Counts the end of such a call.
  package func end() {
    state.withLock { $0.callsUnderWay -= 1 }
    parent?.end()
  }

  /// How many calls are under way through it and the levels below.
  package var callsUnderWay: Int { state.withLock { $0.callsUnderWay } }
}

extension RateLimit {
  /// The rate of an endpoint.
  fileprivate init(_ rate: EndpointRate) { self.init(perSecond: rate.perSecond, burst: rate.burst) }
}
