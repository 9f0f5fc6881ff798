import HTTPMessages
import PosternSupport

/// The exchanges that libcurl does not have yet: those paused before they started, and those that wait for a slot.
struct ExchangeQueue {
  private var slots: TransferSlots<HTTPURL.Origin, Exchange>
  private var paused: [Exchange] = []

  init(_ configuration: CurlTransport.Configuration) {
    // Where exchanges share connections they cannot be counted for them: then libcurl alone keeps the bounds.
    let shares = configuration.multiplexesHTTP2
    slots = TransferSlots(
      capacity: shares ? .max : configuration.maxConnections,
      capacityPerKey: shares ? .max : configuration.maxConnectionsPerHost)
  }

  /// The exchanges that wait for a slot, in no order.
  var waiting: some Collection<Exchange> { slots.waiting }
  var waitingCount: Int { slots.waitingCount }
  /// All exchanges, in no order.
  var exchanges: [Exchange] { paused + slots.waiting }

  /// Gives `exchange` a slot and returns true, or puts it into the queue.
  mutating func enter(_ exchange: Exchange) -> Bool {
    exchange.waiterID = slots.enter(exchange, exchange.request.url.origin, for: exchange.options.peerID)
    return exchange.waiterID == nil
  }

  /// Takes in an exchange whose control is paused.
  mutating func pause(_ exchange: Exchange) { paused.append(exchange) }

  /// Whether `exchange` was paused before it started.
  func isPaused(_ exchange: Exchange) -> Bool { paused.contains { $0 === exchange } }

  /// Takes an exchange out that was paused; false when it is not here.
  mutating func removePaused(_ exchange: Exchange) -> Bool {
    guard let index = paused.firstIndex(where: { $0 === exchange }) else { return false }
    paused.remove(at: index)
    return true
  }

  /// Takes an exchange out that waits for a slot; false when it does not.
  mutating func removeWaiting(_ exchange: Exchange) -> Bool {
    guard let waiterID = exchange.waiterID else { return false }
    return slots.remove(waiterID) != nil
  }

  /// Gives the next exchange that may start its slot; nil: none may.
  mutating func next() -> Exchange? { slots.next() }

  /// Gives the slot of `exchange` back, at the instant `end` where something of it goes on until then.
  mutating func releaseSlot(of exchange: Exchange, at end: MonotonicInstant? = nil) {
    let (origin, peerID) = (exchange.request.url.origin, exchange.options.peerID)
    if let end {
      slots.leave(origin, for: peerID, lingeringUntil: end)
    } else {
      slots.leave(origin, for: peerID)
    }
  }

  /// Gives a slot back whose exchange is gone.
  mutating func releaseSlot(_ origin: HTTPURL.Origin, for peerID: PeerID) { slots.leave(origin, for: peerID) }

  /// Gives those slots back whose time is over.
  mutating func releaseLingering(at now: MonotonicInstant) { slots.releaseLingering(at: now) }
}
