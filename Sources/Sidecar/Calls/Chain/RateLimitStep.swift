import PosternJSON
import PosternJSONRPC
import PosternObservability
import PosternProtocol
import PosternSupport

/// Rejects a call when its user calls too often (`peers.[].rate`), or an endpoint that it came through has a rate.
package struct RateLimitStep: Sendable {
  package let limiter: PeerRateLimiter
  private let metrics: MetricsRegistry

  package init(limiter: PeerRateLimiter, metrics: MetricsRegistry) {
    self.limiter = limiter
    self.metrics = metrics
  }

  /// Whether calls of `method` are not counted: what gives rights up must be possible however busy an endpoint's child
  /// keeps its maker. Through an endpoint only `narrow` is free, as often on a connection as it can add a level.
  static func isFree(_ method: String, of caller: PeerConnection) -> Bool {
    method == Narrow.name && caller.hasFreeNarrow || method == RevokeEndpoint.name && caller.narrowing == nil
  }

  /// The same for a call that is carried out.
  static func takesFreeCall(_ method: String, of caller: PeerConnection) -> Bool {
    guard isFree(method, of: caller) else { return false }
    if method == Narrow.name { caller.countNarrow() }
    return true
  }

  private func isProbe(_ method: String) -> Bool { ProtocolMethods.traits(of: method).contains(.isProbe) }

  /// Counts a call of an endpoint at every level of its chain; throws when it is one too many.
  func admit(_ narrowing: Narrowing?, at now: MonotonicInstant) throws(RPCFault) {
    do throws(Narrowing.Limit) {
      try narrowing?.admit(at: now)
    } catch {
      metrics.callRejected(PeerRateLimiter.Rejection.rate.rawValue)
      throw error.fault
    }
  }

  /// Counts a call; throws when it is one too many.
  func admit(_ method: String, _ rule: AccessRules.Rule?, _ peer: Peer) throws(RPCFault) {
    guard let rule, rule.rate != nil, let wait = limiter.admit(rule, uid: peer.uid, isProbe: isProbe(method)) else {
      return
    }
    metrics.callRejected(PeerRateLimiter.Rejection.rate.rawValue)
    throw fault(method, wait)
  }

  /// The error that `admit` would throw; nil when it would count the call.
  func fault(_ method: String, _ rule: AccessRules.Rule, _ peer: Peer) -> RPCFault? {
    limiter.wait(rule, uid: peer.uid, isProbe: isProbe(method)).map { fault(method, $0) }
  }

  private func fault(_ method: String, _ wait: Duration) -> RPCFault {
    .overloaded(
      isProbe(method)
        ? "Too many calls of health and getInfo of this user in a short time"
        : "Too many calls of this user in a short time (rate of its rule in peers)", retryAfter: wait)
  }

  /// Whether `admit` would throw.
  func wouldReject(_ method: String, _ rule: AccessRules.Rule, _ peer: Peer) -> Bool {
    limiter.wait(rule, uid: peer.uid, isProbe: isProbe(method)) != nil
  }

  /// Counts a call that the connection rejected without reading it.
  func countUnread(_ rule: AccessRules.Rule?, _ peer: Peer, _ narrowing: Narrowing?, at now: MonotonicInstant) {
    metrics.callRejected("connection")
    guard (try? narrowing?.admit(at: now)) != nil || narrowing == nil else { return }
    if let rule { _ = limiter.admit(rule, uid: peer.uid, isProbe: false) }
  }
}

extension Narrowing.Limit {
  /// The error of a call that an endpoint's limit rejects.
  var fault: RPCFault {
    switch self {
    case .rate(let wait):
      return .overloaded(
        "Too many calls in a short time (rate of this endpoint, or of one that it was made through)", retryAfter: wait)
    case .concurrency(let limit):
      var fault = RPCFault.overloaded(
        "Too many calls under way (concurrency of this endpoint, or of one that it was made through)")
      fault.details["limit"] = .integer(Int64(limit))
      return fault
    }
  }
}
