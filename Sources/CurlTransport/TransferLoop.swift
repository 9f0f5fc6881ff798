import CCurl
import Glibc
import HTTPMessages
import Support

/// The life of the transport's thread: take the inbox, start and end exchanges, let libcurl work, wait.
///
/// Lives on that thread alone and owns every easy handle. It ends exchanges, each once, and never inside the inbox's
/// lock.
final class TransferLoop {
  /// Easy handles kept for the next exchanges; each holds some 10 KiB.
  private static let maxPooled = 64

  private let inbox: Inbox
  private let multi: MultiHandle
  private let configuration: CurlTransport.Configuration
  private let connections = ConnectionCount()
  private let files: TrustFiles
  private let uptime = SystemClock()

  private var batch = Inbox.Batch()
  private var admission: Admission<HTTPURL.Origin, Exchange>
  private var active: [Transfer] = []
  private var pool: [Transfer] = []
  /// Those that were held before they began.
  private var held: [Exchange] = []
  private var ended: [EndedExchange] = []
  /// No deadline of an exchange is before this; it may belong to none any more.
  private var earliestDeadline: MonotonicInstant?
  private var counts = CurlTransport.Statistics()

  init(inbox: Inbox, multi: MultiHandle, configuration: CurlTransport.Configuration) {
    self.inbox = inbox
    self.multi = multi
    self.configuration = configuration
    files = TrustFiles(report: configuration.fileReport)
    // Where exchanges share connections they cannot be counted for them: then libcurl alone keeps the bounds.
    let shares = configuration.multiplexesHTTP2
    admission = Admission(
      bound: shares ? .max : configuration.maxConnections,
      boundPerKey: shares ? .max : configuration.maxConnectionsPerHost)
  }

  /// Until the transport is closed.
  func run() {
    while true {
      inbox.take(into: &batch)
      if batch.isClosing { break }
      for exchange in batch.arrivals { start(exchange) }
      for exchange in batch.nudges { obeyControl(of: exchange) }
      for exchange in batch.cancellations { cancel(exchange) }
      batch.removeAll()
      expire()
      admitWaiting()
      var isWell = multi.perform()
      collectFinished()
      admitWaiting()
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
    for exchange in held + admission.waiting {
      end(exchange, code: .cancelled, detail: "the transport was closed")
    }
    while let transfer = active.last { abort(transfer, code: .cancelled, detail: "the transport was closed") }
    resumeEnded()
    for transfer in pool { transfer.cleanUp() }
    pool.removeAll()
    inbox.awaitWakers()
    multi.cleanUp()
    inbox.publish(snapshot())
  }

  // MARK: - Beginning

  private func start(_ exchange: Exchange) {
    if exchange.options.control?.isHeld == true { return held.append(exchange) }
    let now = configuration.clock.monotonicNow
    if let due = exchange.due(at: now) {
      guard due > now else {
        return end(exchange, code: .timedOut, detail: "the deadline had passed before it began")
      }
      earliestDeadline = min(due, earliestDeadline ?? due)
    }
    exchange.ticket = admission.enter(
      exchange, exchange.request.url.origin, for: exchange.options.requester)
    if exchange.ticket == nil { begin(exchange) }
  }

  /// The exchange was held or let go, or whoever takes its body has caught up.
  private func obeyControl(of exchange: Exchange) {
    guard exchange.continuation != nil else { return }
    if let place = held.firstIndex(where: { $0 === exchange }) {
      guard exchange.options.control?.isHeld != true else { return }
      held.remove(at: place)
      return start(exchange)
    }
    exchange.transfer?.obeyControl()
    // Its time has moved: all are looked at anew.
    earliestDeadline = MonotonicInstant(nanoseconds: 0)
  }

  private func admitWaiting() {
    while let exchange = admission.next() { begin(exchange) }
  }

  /// Hands an exchange that has been let in to libcurl.
  private func begin(_ exchange: Exchange) {
    guard
      let transfer = pool.popLast() ?? Transfer(connections: connections, limits: ResponseHead.Limits(configuration))
    else {
      admission.leave(exchange.request.url.origin, for: exchange.options.requester)
      return end(exchange, code: .serverUnreachable, detail: "libcurl gives no handle")
    }
    var problem = transfer.prepare(
      for: exchange, configuration: configuration, files: files, now: uptime.monotonicNow)
    if problem == nil, !multi.add(transfer.easy) {
      problem = TransportError(code: .serverUnreachable, outcome: .notSent, detail: "libcurl does not take it")
    }
    if let problem {
      transfer.reset()
      recycle(transfer)
      admission.leave(exchange.request.url.origin, for: exchange.options.requester)
      return end(exchange, with: .failure(problem))
    }
    exchange.transfer = transfer
    transfer.position = active.count
    active.append(transfer)
    counts.exchangesStarted += 1
  }

  // MARK: - Ending

  private func cancel(_ exchange: Exchange) {
    if let transfer = exchange.transfer {
      abort(transfer, code: .cancelled, detail: "cancelled")
    } else if let ticket = exchange.ticket, admission.giveUp(ticket) != nil {
      end(exchange, code: .cancelled, detail: "cancelled while it waited for a connection")
    } else if let place = held.firstIndex(where: { $0 === exchange }) {
      held.remove(at: place)
      end(exchange, code: .cancelled, detail: "cancelled while it was held")
    }
  }

  /// Ends what has run out of time. Looks at all exchanges only when the earliest of them may be due.
  private func expire() {
    guard let due = earliestDeadline else { return }
    let now = configuration.clock.monotonicNow
    guard due <= now else { return }
    earliestDeadline = nil
    for exchange in active.compactMap(\.exchange) + admission.waiting {
      // Time stands still for what is held.
      guard let instant = exchange.due(at: now), exchange.options.control?.isHeld != true else { continue }
      if instant > now {
        earliestDeadline = min(instant, earliestDeadline ?? instant)
      } else if let transfer = exchange.transfer {
        let detail = transfer.streamMovedAt == nil ? "the deadline passed" : "nothing more of the body came in time"
        abort(transfer, code: .timedOut, detail: detail)
      } else if let ticket = exchange.ticket, admission.giveUp(ticket) != nil {
        end(exchange, code: .timedOut, detail: "the deadline passed while it waited for a connection")
      }
    }
  }

  private func collectFinished() {
    while let (easy, code) = multi.nextFinished() {
      guard let transfer = Transfer.of(easy) else { continue }
      complete(transfer, with: transfer.result(of: code, now: uptime.monotonicNow))
    }
  }

  private func abort(_ transfer: Transfer, code: TransportError.Code, detail: String) {
    complete(transfer, with: .failure(TransportError(code: code, outcome: transfer.outcome, detail: detail)))
  }

  /// Takes the transfer out of libcurl; its exchange ends with `result`.
  private func complete(_ transfer: Transfer, with result: Result<HTTPResponse, TransportError>) {
    transfer.addTraffic(to: &counts)
    multi.remove(transfer.easy)
    let last = active.removeLast()
    if last !== transfer {
      active[transfer.position] = last
      last.position = transfer.position
    }
    let exchange = transfer.exchange
    transfer.reset()
    recycle(transfer)
    guard let exchange else { return }
    exchange.transfer = nil
    admission.leave(exchange.request.url.origin, for: exchange.options.requester)
    end(exchange, with: result)
  }

  private func recycle(_ transfer: Transfer) {
    if pool.count < Self.maxPooled { pool.append(transfer) } else { transfer.cleanUp() }
  }

  private func end(_ exchange: Exchange, code: TransportError.Code, detail: String) {
    end(exchange, with: .failure(TransportError(code: code, outcome: .notSent, detail: detail)))
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
    ended.append(EndedExchange(continuation: continuation, result: result))
  }

  /// Resumes whoever waited, after libcurl's work of this turn: the callers run while the loop waits.
  private func resumeEnded() {
    guard !ended.isEmpty else { return }
    // First, so that whoever has a result sees it counted.
    inbox.publish(snapshot())
    EndedExchange.resume(ended)
    ended.removeAll(keepingCapacity: true)
  }

  // MARK: - Waiting

  /// How long to wait at most, in milliseconds; libcurl cuts it short for its own timers.
  private func patience() -> Int32 {
    var wait = max(.zero, configuration.pollInterval)
    if let earliestDeadline { wait = min(wait, max(.zero, earliestDeadline - configuration.clock.monotonicNow)) }
    // Rounded up, so that the deadline has passed afterwards.
    return Int32(clamping: min(wait.wholeMilliseconds, Int64(Int32.max) - 1) + 1)
  }

  private func snapshot() -> CurlTransport.Statistics {
    counts.exchangesQueued = admission.waitingCount
    counts.exchangesInFlight = active.count
    counts.connectionsOpen = connections.open
    return counts
  }
}
