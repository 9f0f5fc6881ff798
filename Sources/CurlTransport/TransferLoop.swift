import CPosternCurl
import Glibc
import HTTPMessages
import PosternSupport

/// The life of the transport's thread: take the inbox, start and end exchanges, let libcurl work, wait.
///
/// Lives on that thread alone and owns every easy handle. It ends exchanges, each once, and never inside the inbox's
/// lock.
final class TransferLoop {
  /// How many connections may be discarded under one exchange before it fails.
  private static let maxDiscards = 2
  /// The longest that glibc looks for a name with the defaults of resolv.conf(5): the name as it is and in one domain
  /// of `search`, each looked up at three servers twice, for five seconds each time.
  private static let longestLookUp: Duration = .seconds(60)

  private let inbox: Inbox
  private let multi: MultiHandle
  private let configuration: CurlTransport.Configuration
  private let resources: LoopResources

  private var queue: ExchangeQueue
  private let running: RunningTransfers
  private var decodings = Decodings()
  private var ended: [CompletedTransfer] = []
  /// No deadline of an exchange is before this.
  private var deadline = EarliestInstant()
  private var counts = CurlTransport.Statistics()

  init(
    inbox: Inbox, multi: MultiHandle, connections: ConnectionCount, configuration: CurlTransport.Configuration
  ) {
    self.inbox = inbox
    self.multi = multi
    self.configuration = configuration
    resources = LoopResources(configuration, connections: connections)
    queue = ExchangeQueue(configuration)
    running = RunningTransfers(multi, TransferPool(configuration, resources))
  }

  /// Until the transport is closed.
  func run() {
    var batch = Inbox.Batch()
    while true {
      inbox.take(into: &batch)
      if batch.isClosing { break }
      queue.releaseLingering(at: configuration.clock.monotonicNow)
      for exchange in batch.arrivals { start(exchange) }
      for exchange in batch.nudges { obeyControl(of: exchange) }
      for exchange in batch.cancellations { cancel(exchange) }
      batch.removeAll()
      expire()
      expireLookUps()
      admitWaiting()
      resources.receiveQueue.startIteration()
      var isWell = multi.perform()
      collectFinished()
      admitWaiting()
      decode()
      resources.receiveQueue.resume()
      resources.keptBodies.handOn()
      handOverEnded()
      if resources.receiveQueue.hasFailed { multi.mustLookAtAll = true }
      resources.receiveQueue.hasFailed = false
      if inbox.fallAsleep(publishing: snapshot()) {
        isWell = multi.poll(milliseconds: patience()) && isWell
      }
      // libcurl out of memory or descriptors: do not spin, deadlines end what cannot go on.
      if !isWell { usleep(10_000) }
    }
    shutDown(batch.arrivals)
  }

  /// Ends everything, and the `arrivals` that were not started.
  private func shutDown(_ arrivals: [Exchange]) {
    let detail = "the transport was closed"
    for exchange in arrivals + queue.exchanges { end(exchange, code: .cancelled, detail: detail) }
    while let transfer = running.last { abort(transfer, code: .cancelled, detail: detail) }
    while let transfer = running.lastLookUp { endLookUp(of: transfer) }
    for exchange in decodings.exchanges { giveUpDecoding(exchange, code: .cancelled, detail: detail) }
    handOverEnded()
    running.cleanUp()
    inbox.awaitWakers()
    multi.cleanUp()
    inbox.end(publishing: snapshot())
  }

  // MARK: - Starting

  private func start(_ exchange: Exchange) {
    if exchange.options.control?.isPaused == true { return queue.pause(exchange) }
    let now = configuration.clock.monotonicNow
    if let due = exchange.due(at: now) {
      guard due > now else {
        return end(exchange, code: .timedOut, detail: "the deadline had passed before it began")
      }
      deadline.add(due)
    }
    if queue.enter(exchange) { begin(exchange) }
  }

  /// The exchange was paused or resumed, or the reader of its body has caught up.
  private func obeyControl(of exchange: Exchange) {
    guard exchange.whenEnded != nil else { return }
    if queue.isPaused(exchange) {
      guard exchange.options.control?.isPaused != true, queue.removePaused(exchange) else { return }
      return start(exchange)
    }
    exchange.transfer?.reception.obeyControl()
    // Its time has moved.
    if let due = exchange.due(at: configuration.clock.monotonicNow) { deadline.add(due) }
  }

  private func admitWaiting() {
    while let exchange = queue.next() { begin(exchange) }
  }

  /// Hands an exchange that has been let in to libcurl.
  private func begin(_ exchange: Exchange) {
    do throws(TransportError) {
      try running.start(exchange)
    } catch {
      queue.releaseSlot(of: exchange)
      return end(exchange, code: error.code, detail: error.detail, proxy: error.proxy)
    }
    if exchange.discards == 0 { counts.exchanges.started += 1 }
  }

  // MARK: - Ending

  private func cancel(_ exchange: Exchange) {
    if let transfer = exchange.transfer {
      abort(transfer, code: .cancelled, detail: "cancelled")
    } else if queue.removeWaiting(exchange) {
      end(exchange, code: .cancelled, detail: "cancelled while it waited for a connection")
    } else if queue.removePaused(exchange) {
      end(exchange, code: .cancelled, detail: "cancelled while it was paused")
    } else {
      giveUpDecoding(exchange, code: .cancelled, detail: "cancelled")
    }
  }

  /// Ends what has timed out. Looks at all exchanges only when the earliest of them may be due.
  private func expire() {
    guard deadline.instant != nil else { return }
    let now = configuration.clock.monotonicNow
    guard deadline.take(at: now) else { return }
    for exchange in running.exchanges + queue.waiting + decodings.exchanges {
      // Time does not pass for an exchange that is paused.
      guard let instant = exchange.due(at: now), exchange.options.control?.isPaused != true else { continue }
      if instant > now {
        deadline.add(instant)
      } else if let transfer = exchange.transfer {
        let isSilent = exchange.isSilent(at: now)
        let detail = isSilent ? "nothing more of the body came in time" : "the deadline passed"
        abort(
          transfer,
          with: TransportError(
            code: .timedOut, outcome: transfer.outcome, detail: detail, limit: isSilent ? .silence : nil))
      } else if queue.removeWaiting(exchange) {
        end(exchange, code: .timedOut, detail: "the deadline passed while it waited for a connection")
      } else {
        giveUpDecoding(exchange, code: .timedOut, detail: "the deadline passed")
      }
    }
  }

  /// Ends those whose names are still looked up when their time for connecting is over.
  private func expireLookUps() {
    for transfer in running.overdueLookUps(at: resources.uptime.monotonicNow) {
      if transfer.handle.shape?.proxy != nil {
        abort(transfer, with: ProxyFailure.nameUnresolved(outcome: transfer.outcome))
      } else {
        abort(transfer, code: .serverUnreachable, detail: "the host's name was not resolved in the time for connecting")
      }
    }
  }

  private func collectFinished() {
    while let (transfer, code) = running.nextFinished() {
      guard transfer.keptSlot == nil else {
        endLookUp(of: transfer)
        continue
      }
      if let reason = transfer.discarded {
        if reason == .unreadBytes || reason == .earlyResponse { counts.connections.discarded += 1 }
        if beginAgain(transfer) { continue }
      }
      // This thread was delayed: libcurl was first, has abandoned the look-up, and does not report its end.
      let leavesLookUp = transfer.opener.isLookingUp && code == CURLE_OPERATION_TIMEDOUT
      complete(
        transfer, with: transfer.result(of: code, now: resources.uptime.monotonicNow),
        lingeringFor: leavesLookUp ? Self.longestLookUp : nil)
    }
  }

  /// Sends the exchange of `transfer` out over a new connection, unless it may have had its effect, or that has been
  /// tried often enough.
  private func beginAgain(_ transfer: Transfer) -> Bool {
    guard let exchange = transfer.exchange, exchange.discards < Self.maxDiscards,
      !transfer.check.hasSent || exchange.isIdempotent, exchange.bodyIsWhole
    else { return false }
    exchange.discards += 1
    exchange.hasLeft = exchange.hasLeft || transfer.check.hasSent
    running.remove(transfer, isReusable: false, counts: &counts)
    if exchange.options.control?.isPaused == true {
      queue.releaseSlot(of: exchange)
      queue.pause(exchange)
    } else {
      begin(exchange)
    }
    return true
  }

  private func abort(_ transfer: Transfer, code: TransportError.Code, detail: String) {
    abort(transfer, with: TransportError(code: code, outcome: transfer.outcome, detail: detail))
  }

  private func abort(_ transfer: Transfer, with error: TransportError) {
    transfer.handle.forbidReuse()
    guard transfer.opener.isLookingUp, let exchange = transfer.exchange else {
      return complete(transfer, with: .failure(error))
    }
    // The look-up goes on whatever becomes of the handle, with a thread and descriptors. It keeps the exchange's slot
    // until libcurl has seen its end: callers that give up again and again would have any number of them otherwise.
    running.abandon(transfer, exchange)
    end(exchange, with: .failure(error))
  }

  /// The look-up of an exchange that ended before has ended, too, or the transport does.
  private func endLookUp(of transfer: Transfer) {
    if let slot = transfer.keptSlot { queue.releaseSlot(slot.origin, for: slot.peerID) }
    running.removeLookUp(transfer)
  }

  /// Takes the transfer out of libcurl; its exchange ends with `result`, and keeps its slot for the time `lingering`.
  private func complete(
    _ transfer: Transfer, with result: Result<HTTPResponse, TransportError>, lingeringFor lingering: Duration? = nil
  ) {
    guard let exchange = transfer.exchange else {
      return running.remove(transfer, isReusable: false, counts: &counts)
    }
    var isReusable = false
    if case .success = result { isReusable = true }
    let codings = transfer.reception.codingsToUndo
    running.remove(transfer, isReusable: isReusable, counts: &counts)
    queue.releaseSlot(of: exchange, at: lingering.map { configuration.clock.monotonicNow + $0 })
    guard !codings.isEmpty, case .success(let response) = result, !response.body.isEmpty else {
      return end(exchange, with: result)
    }
    decodings.add(exchange, response, codings: codings)
  }

  /// Undoes a piece of one body: everybody's bytes move before the next.
  private func decode() {
    if let (exchange, result) = decodings.step(at: resources.uptime.monotonicNow) { end(exchange, with: result) }
  }

  /// Without effect on what is not being decoded.
  private func giveUpDecoding(_ exchange: Exchange, code: TransportError.Code, detail: String) {
    guard decodings.remove(exchange) else { return }
    end(exchange, with: .failure(TransportError(code: code, outcome: .replied, detail: detail)))
  }

  private func end(
    _ exchange: Exchange, code: TransportError.Code, detail: String, proxy: TransportError.ProxyFault? = nil
  ) {
    let outcome: TransportError.Outcome = exchange.hasLeft ? .sentNoReply : .notSent
    end(exchange, with: .failure(TransportError(code: code, outcome: outcome, detail: detail, proxy: proxy)))
  }

  private func end(_ exchange: Exchange, with result: Result<HTTPResponse, TransportError>) {
    guard let whenEnded = exchange.whenEnded.take() else { return }
    if let control = exchange.options.control { resources.keptBodies.remove(control) }
    switch result {
    case .success: counts.exchanges.responses += 1
    case .failure(let error):
      counts.exchanges.failures += 1
      if error.code == .cancelled { counts.exchanges.cancellations += 1 }
    }
    ended.append(CompletedTransfer(exchange: exchange, whenEnded: whenEnded, result: result))
  }

  /// Gives the callers their results, after libcurl's work of this iteration: they go on while the loop waits.
  private func handOverEnded() {
    guard !ended.isEmpty else { return }
    // First, so that a caller with a result sees it counted.
    inbox.publish(snapshot())
    CompletedTransfer.handOver(ended)
    ended.removeAll(keepingCapacity: true)
  }

  // MARK: - Waiting

  /// How long to wait at most, in milliseconds; libcurl cuts it short for its own timers.
  private func patience() -> Int32 {
    guard decodings.isEmpty, resources.receiveQueue.isEmpty else { return 0 }
    var wait = max(.zero, configuration.pollInterval)
    if let instant = deadline.instant { wait = min(wait, max(.zero, instant - configuration.clock.monotonicNow)) }
    // Rounded up, so that the deadline has passed afterwards.
    return Int32(clamping: min(wait.wholeMilliseconds, Int64(Int32.max) - 1) + 1)
  }

  private func snapshot() -> CurlTransport.Statistics {
    counts.exchanges.queued = queue.waitingCount
    counts.exchanges.inFlight = running.count + decodings.count
    counts.connections.open = resources.connections.open
    counts.handlesRejected = running.handlesRejected
    return counts
  }
}
