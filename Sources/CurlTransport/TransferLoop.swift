import CPosternCurl
import Glibc
import HTTPMessages
import PosternSupport

/// The life of the transport's thread: take the inbox, start and end exchanges, let libcurl work, wait.
///
/// Lives on that thread alone and owns every easy handle. It ends exchanges, each once, and never inside the inbox's
/// lock.
final class TransferLoop {
  /// Easy handles kept for the next exchanges; each holds some 10 KiB.
  private static let maxPooled = 64
  /// How many connections may be discarded under one exchange before it fails.
  private static let maxDiscards = 2
  /// The longest that glibc looks for a name with the defaults of resolv.conf(5): the name as it is and in one domain
  /// of `search`, each looked up at three servers twice, for five seconds each time.
  private static let longestLookUp: Duration = .seconds(60)

  private let inbox: Inbox
  private let multi: MultiHandle
  private let configuration: CurlTransport.Configuration
  private let connections: ConnectionCount
  private let codedStreams = CodedStreams()
  private let receiveQueue = ReceiveQueue()
  private let files: TrustFiles
  private let uptime = SystemClock()

  private var batch = Inbox.Batch()
  private var slots: TransferSlots<HTTPURL.Origin, Exchange>
  private var active = TransferList()
  /// The transfers whose exchange ended while its name was looked up. They keep its slot until the look-up has ended.
  private var lookUps = TransferList()
  private var pool: [Transfer] = []
  private var decodings = Decodings()
  /// The exchanges that were paused before they started.
  private var paused: [Exchange] = []
  private var ended: [CompletedTransfer] = []
  /// No deadline of an exchange is before this; it may belong to none any more.
  private var earliestDeadline: MonotonicInstant?
  /// No transfer's time for connecting is over before this.
  private var earliestConnectDue: MonotonicInstant?
  private var counts = CurlTransport.Statistics()
  /// Whether the last handle that was set up rejected an option, and that was reported.
  private var isFaulty = false

  init(
    inbox: Inbox, multi: MultiHandle, connections: ConnectionCount, configuration: CurlTransport.Configuration
  ) {
    self.inbox = inbox
    self.connections = connections
    self.multi = multi
    self.configuration = configuration
    files = TrustFiles(report: configuration.fileReport)
    // Where exchanges share connections they cannot be counted for them: then libcurl alone keeps the bounds.
    let shares = configuration.multiplexesHTTP2
    slots = TransferSlots(
      capacity: shares ? .max : configuration.maxConnections,
      capacityPerKey: shares ? .max : configuration.maxConnectionsPerHost)
  }

  /// Until the transport is closed.
  func run() {
    while true {
      inbox.take(into: &batch)
      if batch.isClosing { break }
      slots.releaseLingering(at: configuration.clock.monotonicNow)
      for exchange in batch.arrivals { start(exchange) }
      for exchange in batch.nudges { obeyControl(of: exchange) }
      for exchange in batch.cancellations { cancel(exchange) }
      batch.removeAll()
      expire()
      expireLookUps()
      admitWaiting()
      receiveQueue.startIteration()
      var isWell = multi.perform()
      collectFinished()
      admitWaiting()
      decode()
      receiveQueue.resume()
      resumeEnded()
      if inbox.fallAsleep(publishing: snapshot()) {
        isWell = multi.poll(milliseconds: patience()) && isWell
      }
      // libcurl out of memory or descriptors: do not spin, deadlines end what cannot go on.
      if !isWell { usleep(10_000) }
    }
    shutDown()
  }

  private func shutDown() {
    for exchange in batch.arrivals { end(exchange, code: .cancelled, detail: "the transport was closed") }
    for exchange in paused + slots.waiting {
      end(exchange, code: .cancelled, detail: "the transport was closed")
    }
    while let transfer = active.last { abort(transfer, code: .cancelled, detail: "the transport was closed") }
    while let transfer = lookUps.last { endLookUp(of: transfer) }
    for exchange in decodings.exchanges {
      giveUpDecoding(exchange, code: .cancelled, detail: "the transport was closed")
    }
    resumeEnded()
    for transfer in pool { transfer.cleanUp() }
    pool.removeAll()
    inbox.awaitWakers()
    multi.cleanUp()
    inbox.end(publishing: snapshot())
  }

  // MARK: - Beginning

  private func start(_ exchange: Exchange) {
    if exchange.options.control?.isPaused == true { return paused.append(exchange) }
    let now = configuration.clock.monotonicNow
    if let due = exchange.due(at: now) {
      guard due > now else {
        return end(exchange, code: .timedOut, detail: "the deadline had passed before it began")
      }
      earliestDeadline = min(due, earliestDeadline ?? due)
    }
    exchange.waiterID = slots.enter(
      exchange, exchange.request.url.origin, for: exchange.options.peerID)
    if exchange.waiterID == nil { begin(exchange) }
  }

  /// The exchange was paused or resumed, or the reader of its body has caught up.
  private func obeyControl(of exchange: Exchange) {
    guard exchange.continuation != nil else { return }
    if let index = paused.firstIndex(where: { $0 === exchange }) {
      guard exchange.options.control?.isPaused != true else { return }
      paused.remove(at: index)
      return start(exchange)
    }
    exchange.transfer?.obeyControl()
    // Its time has moved: all are examined again.
    earliestDeadline = MonotonicInstant(nanoseconds: 0)
  }

  private func admitWaiting() {
    while let exchange = slots.next() { begin(exchange) }
  }

  /// Hands an exchange that has been let in to libcurl.
  private func begin(_ exchange: Exchange) {
    let transfer: Transfer
    do throws(TransportError) {
      transfer = try setUp(for: exchange)
    } catch {
      slots.leave(exchange.request.url.origin, for: exchange.options.peerID)
      return end(exchange, code: error.code, detail: error.detail)
    }
    exchange.transfer = transfer
    active.append(transfer)
    earliestConnectDue = min(transfer.connectDue, earliestConnectDue ?? transfer.connectDue)
    if exchange.discards == 0 { counts.exchangesStarted += 1 }
  }

  /// A handle that is set up for `exchange` and that libcurl works on.
  ///
  /// One that rejects an option is thrown away, and a new one is tried: libcurl 7.88 keeps some of a handle's state
  /// over its reset.
  private func setUp(for exchange: Exchange) throws(TransportError) -> Transfer {
    var problem = "libcurl gives no handle"
    for isSecond in [false, true] {
      let pooled = isSecond ? nil : pool.popLast()
      guard
        let transfer = pooled
          ?? Transfer(
            connections: connections, codedStreams: codedStreams, receiveQueue: receiveQueue,
            limits: ResponseHead.Limits(configuration))
      else { continue }
      do throws(TransportError) {
        let rejection = try transfer.prepare(
          for: exchange, configuration: configuration, files: files, now: uptime.monotonicNow)
        if rejection == nil, multi.add(transfer.easy) {
          if isFaulty { configuration.faultReport?(nil) }
          isFaulty = false
          return transfer
        }
        problem = rejection?.text ?? "libcurl does not take the handle"
      } catch {
        // The exchange is at fault, not the handle.
        transfer.reset()
        recycle(transfer)
        throw error
      }
      counts.handlesRejected += 1
      transfer.cleanUp()
    }
    if !isFaulty { configuration.faultReport?(problem) }
    isFaulty = true
    throw TransportError(code: .internalError, outcome: .notSent, detail: problem)
  }

  // MARK: - Ending

  private func cancel(_ exchange: Exchange) {
    if let transfer = exchange.transfer {
      abort(transfer, code: .cancelled, detail: "cancelled")
    } else if let waiterID = exchange.waiterID, slots.remove(waiterID) != nil {
      end(exchange, code: .cancelled, detail: "cancelled while it waited for a connection")
    } else if let index = paused.firstIndex(where: { $0 === exchange }) {
      paused.remove(at: index)
      end(exchange, code: .cancelled, detail: "cancelled while it was paused")
    } else {
      giveUpDecoding(exchange, code: .cancelled, detail: "cancelled")
    }
  }

  /// Ends what has timed out. Looks at all exchanges only when the earliest of them may be due.
  private func expire() {
    guard let due = earliestDeadline else { return }
    let now = configuration.clock.monotonicNow
    guard due <= now else { return }
    earliestDeadline = nil
    for exchange in active.transfers.compactMap(\.exchange) + slots.waiting + decodings.exchanges {
      // Time does not pass for an exchange that is paused.
      guard let instant = exchange.due(at: now), exchange.options.control?.isPaused != true else { continue }
      if instant > now {
        earliestDeadline = min(instant, earliestDeadline ?? instant)
      } else if let transfer = exchange.transfer {
        let detail = transfer.streamMovedAt == nil ? "the deadline passed" : "nothing more of the body came in time"
        abort(transfer, code: .timedOut, detail: detail)
      } else if let waiterID = exchange.waiterID, slots.remove(waiterID) != nil {
        end(exchange, code: .timedOut, detail: "the deadline passed while it waited for a connection")
      } else {
        giveUpDecoding(exchange, code: .timedOut, detail: "the deadline passed")
      }
    }
  }

  /// Ends those whose names are still looked up when their time for connecting is over: libcurl, whose timers wake the
  /// loop for that, has a later time as long as it looks up, and so does not abandon the look-up.
  private func expireLookUps() {
    guard let due = earliestConnectDue else { return }
    let now = uptime.monotonicNow
    guard due <= now else { return }
    earliestConnectDue = nil
    for transfer in active.transfers {
      let due = transfer.connectDue
      if due > now {
        earliestConnectDue = min(due, earliestConnectDue ?? due)
      } else if transfer.isLookingUp {
        abort(transfer, code: .serverUnreachable, detail: "the host's name was not resolved in the time for connecting")
      }
    }
  }

  private func collectFinished() {
    while let (easy, code) = multi.nextFinished() {
      guard let transfer = Transfer.of(easy) else { continue }
      guard transfer.keptSlot == nil else {
        endLookUp(of: transfer)
        continue
      }
      if let reason = transfer.discarded {
        if reason == .unreadBytes || reason == .earlyResponse { counts.connectionsDiscarded += 1 }
        if beginAgain(transfer) { continue }
      }
      // This thread was delayed: libcurl was first, has abandoned the look-up, and does not report its end.
      let leavesLookUp = transfer.isLookingUp && code == CURLE_OPERATION_TIMEDOUT
      complete(
        transfer, with: transfer.result(of: code, now: uptime.monotonicNow),
        lingeringFor: leavesLookUp ? Self.longestLookUp : nil)
    }
  }

  /// Sends the exchange of `transfer` out over a new connection, unless it may have had its effect, or that has been
  /// tried often enough.
  private func beginAgain(_ transfer: Transfer) -> Bool {
    guard let exchange = transfer.exchange, exchange.discards < Self.maxDiscards,
      !transfer.hasSent || transfer.isIdempotent
    else { return false }
    exchange.discards += 1
    exchange.hasLeft = exchange.hasLeft || transfer.hasSent
    takeOut(transfer, isReusable: false)
    if exchange.options.control?.isPaused == true {
      slots.leave(exchange.request.url.origin, for: exchange.options.peerID)
      paused.append(exchange)
    } else {
      begin(exchange)
    }
    return true
  }

  private func abort(_ transfer: Transfer, code: TransportError.Code, detail: String) {
    let error = TransportError(code: code, outcome: transfer.outcome, detail: detail)
    transfer.forbidReuse()
    guard transfer.isLookingUp, let exchange = transfer.exchange else {
      return complete(transfer, with: .failure(error))
    }
    // The look-up goes on whatever becomes of the handle, with a thread and descriptors. It keeps the exchange's slot
    // until libcurl has seen its end: callers that give up again and again would have any number of them otherwise.
    active.remove(transfer)
    transfer.abandon(exchange)
    lookUps.append(transfer)
    end(exchange, with: .failure(error))
  }

  /// The look-up of an exchange that ended before has ended, too, or the transport does.
  private func endLookUp(of transfer: Transfer) {
    lookUps.remove(transfer)
    multi.remove(transfer.easy)
    if let slot = transfer.keptSlot { slots.leave(slot.origin, for: slot.peerID) }
    transfer.reset()
    transfer.cleanUp()
  }

  /// Takes the transfer out of libcurl; its exchange ends with `result`, and keeps its slot for the time `lingering`.
  private func complete(
    _ transfer: Transfer, with result: Result<HTTPResponse, TransportError>, lingeringFor lingering: Duration? = nil
  ) {
    guard let exchange = transfer.exchange else { return takeOut(transfer, isReusable: false) }
    var isReusable = false
    if case .success = result { isReusable = true }
    let codings = transfer.codingsToUndo
    takeOut(transfer, isReusable: isReusable)
    let (origin, peerID) = (exchange.request.url.origin, exchange.options.peerID)
    if let lingering {
      slots.leave(origin, for: peerID, lingeringUntil: configuration.clock.monotonicNow + lingering)
    } else {
      slots.leave(origin, for: peerID)
    }
    guard !codings.isEmpty, case .success(let response) = result, !response.body.isEmpty else {
      return end(exchange, with: result)
    }
    decodings.add(exchange, response, codings: codings)
  }

  /// Undoes a piece of one body: everybody's bytes move before the next.
  private func decode() {
    if let (exchange, result) = decodings.step(at: uptime.monotonicNow) { end(exchange, with: result) }
  }

  /// Without effect on what is not being decoded.
  private func giveUpDecoding(_ exchange: Exchange, code: TransportError.Code, detail: String) {
    guard decodings.remove(exchange) else { return }
    end(exchange, with: .failure(TransportError(code: code, outcome: .replied, detail: detail)))
  }

  /// Takes the transfer out of libcurl. Only a handle whose exchange went well is kept: libcurl 7.88 keeps the buffer
  /// of one that failed over its reset, and then rejects to be set up.
  private func takeOut(_ transfer: Transfer, isReusable: Bool) {
    transfer.addTraffic(to: &counts)
    multi.remove(transfer.easy)
    active.remove(transfer)
    transfer.exchange?.transfer = nil
    transfer.reset()
    if isReusable { recycle(transfer) } else { transfer.cleanUp() }
  }

  private func recycle(_ transfer: Transfer) {
    if pool.count < Self.maxPooled { pool.append(transfer) } else { transfer.cleanUp() }
  }

  private func end(_ exchange: Exchange, code: TransportError.Code, detail: String) {
    let outcome: TransportError.Outcome = exchange.hasLeft ? .sentNoReply : .notSent
    end(exchange, with: .failure(TransportError(code: code, outcome: outcome, detail: detail)))
  }

  private func end(_ exchange: Exchange, with result: Result<HTTPResponse, TransportError>) {
    guard let continuation = exchange.continuation else { return }
    exchange.continuation = nil
    switch result {
    case .success: counts.responses += 1
    case .failure(let error):
      counts.failures += 1
      if error.code == .cancelled { counts.cancellations += 1 }
    }
    ended.append(CompletedTransfer(continuation: continuation, result: result))
  }

  /// Resumes the callers that waited, after libcurl's work of this iteration: they run while the loop waits.
  private func resumeEnded() {
    guard !ended.isEmpty else { return }
    // First, so that a caller with a result sees it counted.
    inbox.publish(snapshot())
    CompletedTransfer.resume(ended)
    ended.removeAll(keepingCapacity: true)
  }

  // MARK: - Waiting

  /// How long to wait at most, in milliseconds; libcurl cuts it short for its own timers.
  private func patience() -> Int32 {
    guard decodings.isEmpty, receiveQueue.isEmpty else { return 0 }
    var wait = max(.zero, configuration.pollInterval)
    if let earliestDeadline { wait = min(wait, max(.zero, earliestDeadline - configuration.clock.monotonicNow)) }
    // Rounded up, so that the deadline has passed afterwards.
    return Int32(clamping: min(wait.wholeMilliseconds, Int64(Int32.max) - 1) + 1)
  }

  private func snapshot() -> CurlTransport.Statistics {
    counts.exchangesQueued = slots.waitingCount
    counts.exchangesInFlight = active.count + decodings.count
    counts.connectionsOpen = connections.open
    return counts
  }
}
