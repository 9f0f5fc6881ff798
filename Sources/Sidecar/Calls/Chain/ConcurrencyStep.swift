import PosternJSON
package import PosternJSONRPC
import PosternObservability
import PosternProtocol
package import PosternSupport

/// Bounds how many calls run at a time: for each peer by its rule (`peers.[].concurrency`), for each
/// endpoint, and for all together, where calls wait in a queue (`limits.inFlight`, `limits.queue`).
package struct ConcurrencyStep: Sendable {
  /// The slot of a call, to be given back.
  struct Slot: Sendable {
    fileprivate let peerSlot: PeerRateLimiter.Slot?
    fileprivate let exemption: LimitExemption?
    fileprivate let uid: UInt32
    /// The chain at whose levels it is counted.
    fileprivate let narrowing: Narrowing?
  }

  /// Why a call needs no slot.
  fileprivate enum LimitExemption {
    /// No call of its method does.
    case always
    /// Another call waits for the result of this one.
    case answering
    /// The call waits for its user, and works little.
    case waiting
  }

  private let peers: PeerRateLimiter
  package let limiter: ConcurrencyLimiter
  private let hub: EventHub
  private let metrics: MetricsRegistry

  package init(peers: PeerRateLimiter, limiter: ConcurrencyLimiter, hub: EventHub, metrics: MetricsRegistry) {
    self.peers = peers
    self.limiter = limiter
    self.hub = hub
    self.metrics = metrics
  }

  /// Takes a slot of every level of the chain and of the peer; throws when one has none left.
  func takeSlot(
    for method: String, _ params: JSONTree?, _ rule: AccessRules.Rule, _ caller: PeerConnection,
    _ narrowing: Narrowing?
  ) throws(RPCFault) -> Slot {
    let traits = ProtocolMethods.traits(of: method)
    do throws(Narrowing.Limit) {
      let isAnswer = traits.contains(.answersQuestion)
      try narrowing?.begin(isBounded: !traits.contains(.needsNoSlot)) { isAnswer ? questionCount(through: $0) : 0 }
    } catch {
      metrics.callRejected(PeerRateLimiter.Rejection.concurrency.rawValue)
      throw error.fault
    }
    do throws(RPCFault) {
      return try takeSlotOfPeer(for: method, traits, params, rule, caller, narrowing)
    } catch {
      narrowing?.end()
      throw error
    }
  }

  private func takeSlotOfPeer(
    for method: String, _ traits: MethodTraits, _ params: JSONTree?, _ rule: AccessRules.Rule,
    _ caller: PeerConnection, _ narrowing: Narrowing?
  ) throws(RPCFault) -> Slot {
    let uid = caller.peer.uid
    if method == PassProfileMethods.ListProfiles.name, PassProfileMethods.ListProfiles.waits(params) {
      guard peers.beginWaiting(uid: uid) else {
        metrics.callRejected(PeerRateLimiter.Rejection.concurrency.rawValue)
        throw .overloaded("Too many calls of this user wait for a login")
      }
      return Slot(peerSlot: nil, exemption: .waiting, uid: uid, narrowing: narrowing)
    }
    if let exemption = exemption(of: traits, uid) {
      return Slot(peerSlot: nil, exemption: exemption, uid: uid, narrowing: narrowing)
    }
    switch peers.begin(rule, uid: uid) {
    case .success(let peerSlot): return Slot(peerSlot: peerSlot, exemption: nil, uid: uid, narrowing: narrowing)
    case .failure(let reached):
      metrics.callRejected(PeerRateLimiter.Rejection.concurrency.rawValue)
      throw Self.fault(reached.limit)
    }
  }

  private static func fault(_ limit: Int) -> RPCFault {
    var fault = RPCFault.overloaded("Too many calls of this user under way (concurrency of its rule in peers)")
    fault.details["limit"] = .integer(Int64(limit))
    return fault
  }

  /// The use of the limits of a call, for explanations.
  struct Standing: Sendable {
    /// How many calls of the peer have a slot.
    let inFlight: Int
    /// The error that `takeSlot` would throw.
    let fault: RPCFault?
    /// How many of all calls run, and how many wait.
    let all: (inFlight: Int, waiting: Int)
  }

  /// The use of the limits of a call, which is not counted; nil when it needs no slot.
  func standing(of method: String, _ rule: AccessRules.Rule, _ caller: PeerConnection) -> Standing? {
    guard ProtocolMethods.traits(of: method).isDisjoint(with: [.needsNoSlot, .answersQuestion]) else { return nil }
    let inFlight = peers.inFlight(rule, uid: caller.peer.uid)
    return Standing(
      inFlight: inFlight, fault: rule.concurrency.flatMap { inFlight >= $0 ? Self.fault($0) : nil },
      all: (limiter.inFlightCount, limiter.waitingCount))
  }

  /// Gives the slot back.
  func giveBack(_ slot: Slot) {
    slot.narrowing?.end()
    peers.end(slot.peerSlot)
    switch slot.exemption {
    case .answering: peers.endAnswering(uid: slot.uid)
    case .waiting: peers.endWaiting(uid: slot.uid)
    case .always, nil: break
    }
  }

  /// Takes a slot of all calls, if one is free now; `leave` must follow then. A call that needs none has one.
  func tryEnter(_ caller: PeerConnection, _ slot: Slot) -> Bool {
    slot.exemption != nil || limiter.tryEnter(caller.peerID)
  }

  /// Gives back what `tryEnter` took.
  func leave(_ caller: PeerConnection, _ slot: Slot) {
    if slot.exemption == nil { limiter.leave(caller.peerID) }
  }

  /// Runs `body` when a slot of all calls is free; at once when it needs none.
  func whenFree(
    _ context: CallContext, _ slot: Slot, _ body: () async -> Result<RPCResult, RPCFault>
  ) async -> Result<RPCResult, RPCFault> {
    guard slot.exemption == nil else { return await body() }
    let peer = context.caller.peerID
    do throws(ConcurrencyLimiter.Rejection) {
      let waited = try await limiter.enter(peer, until: context.deadline)
      if waited > .zero { metrics.callWaited(waited) }
    } catch {
      if let reason = error.metricsReason { metrics.callRejected(reason) }
      return .failure(error.fault())
    }
    defer { limiter.leave(peer) }
    return await body()
  }

  /// For each unanswered question that the sidecar has sent to the uid, one call needs no slot.
  private func exemption(of traits: MethodTraits, _ uid: UInt32) -> LimitExemption? {
    if traits.contains(.needsNoSlot) { return .always }
    guard traits.contains(.answersQuestion) else { return nil }
    return peers.beginAnswering(uid: uid, among: questionCount(of: uid)) ? .answering : nil
  }

  /// How many questions to connections through `level` are not answered: the calls behind them are counted there.
  private func questionCount(through level: Narrowing) -> Int {
    hub.connections.reduce(0) { $0 + (level.covers($1.narrowing) ? $1.conversation?.openQuestionCount ?? 0 : 0) }
  }

  /// How many questions to the uid's connections are not answered.
  private func questionCount(of uid: UInt32) -> Int {
    hub.connections.reduce(0) { $0 + ($1.peer.uid == uid ? $1.conversation?.openQuestionCount ?? 0 : 0) }
  }
}

extension ConcurrencyLimiter.Rejection {
  /// The label of the metrics; nil for what is not counted as rejected.
  fileprivate var metricsReason: String? {
    switch self {
    case .queueFull: "queue"
    case .queueTimeExceeded: "queue_time"
    case .deadlineExceeded, .cancelled: nil
    }
  }

  /// The error of a call that was rejected; `message` is for one that met another limit than that of all calls.
  package func fault(_ message: String? = nil) -> RPCFault {
    switch self {
    case .cancelled: RPCFault(.requestCancelled)
    case .deadlineExceeded: RPCFault(.deadlineExceeded, outcome: .notSent, isRetryable: true)
    case .queueFull:
      .overloaded(message ?? "Too many calls under way (limits.inFlight), and too many wait (limits.queue)")
    case .queueTimeExceeded:
      .overloaded(message ?? "Too many calls under way (limits.inFlight): this one waited for limits.queueTime")
    }
  }
}

extension RPCFault {
  /// The delay before a retry when the end of the overload cannot be predicted.
  private static let pause = Duration.milliseconds(100)

  /// The error `overloaded` of a call that has done nothing.
  package static func overloaded(_ message: String, retryAfter wait: Duration? = nil) -> RPCFault {
    RPCFault(
      .overloaded, message, outcome: .notSent, isRetryable: true, retryAfter: max(.milliseconds(1), wait ?? pause))
  }
}
