import CPosternCurl
import HTTPMessages
import PosternSupport

/// The transfers that libcurl works on. Owned by the loop.
final class RunningTransfers {
  private let multi: MultiHandle
  private let pool: TransferPool
  private var active = TransferList()
  /// The transfers whose exchange ended while its name was looked up. They keep its slot until the look-up has ended.
  private var lookUps = TransferList()
  /// No transfer's time for connecting is over before this.
  private var connectDue = EarliestInstant()

  init(_ multi: MultiHandle, _ pool: TransferPool) {
    self.multi = multi
    self.pool = pool
  }

  /// How many have an exchange.
  var count: Int { active.count }
  var exchanges: [Exchange] { active.transfers.compactMap(\.exchange) }
  /// How many handles were thrown away because libcurl rejected an option.
  var handlesRejected: Int { pool.rejections }
  /// Some transfer with an exchange; nil when there is none.
  var last: Transfer? { active.last }
  /// Some transfer that only looks a name up; nil when there is none.
  var lastLookUp: Transfer? { lookUps.last }

  /// Hands `exchange` to libcurl.
  func start(_ exchange: Exchange) throws(TransportError) {
    let transfer = try pool.setUp(for: exchange, on: multi)
    exchange.transfer = transfer
    active.append(transfer)
    connectDue.add(transfer.connectDue)
  }

  /// The next transfer that libcurl has finished, and its result.
  func nextFinished() -> (transfer: Transfer, code: CURLcode)? {
    while let (easy, code) = multi.nextFinished() {
      if let transfer = Transfer.of(easy) { return (transfer, code) }
    }
    return nil
  }

  /// Returns those whose names are still looked up when their time for connecting is over: libcurl, whose timers wake
  /// the loop for that, has a later time as long as it looks up, and so does not abandon the look-up.
  func overdueLookUps(at now: MonotonicInstant) -> [Transfer] {
    guard connectDue.take(at: now) else { return [] }
    for transfer in active.transfers where transfer.connectDue > now { connectDue.add(transfer.connectDue) }
    return active.transfers.filter { $0.connectDue <= now && $0.opener.isLookingUp }
  }

  /// Takes the transfer out of libcurl. Only a handle whose exchange went well is kept: libcurl 7.88 keeps the buffer
  /// of one that failed over its reset, and then rejects to be set up.
  func remove(_ transfer: Transfer, isReusable: Bool, counts: inout CurlTransport.Statistics) {
    transfer.addTraffic(to: &counts)
    multi.remove(transfer.handle.pointer)
    active.remove(transfer)
    transfer.exchange?.transfer = nil
    transfer.reset()
    if isReusable { pool.recycle(transfer) } else { transfer.handle.cleanUp() }
  }

  /// Releases the exchange of a transfer whose look-up goes on.
  func abandon(_ transfer: Transfer, _ exchange: Exchange) {
    active.remove(transfer)
    transfer.abandon(exchange)
    lookUps.append(transfer)
  }

  /// The look-up of an exchange that ended before has ended, too, or the transport does.
  func removeLookUp(_ transfer: Transfer) {
    lookUps.remove(transfer)
    multi.remove(transfer.handle.pointer)
    transfer.reset()
    transfer.handle.cleanUp()
  }

  /// The end of the handles that are kept.
  func cleanUp() { pool.cleanUp() }
}

/// The time to look at a set of due times again: none of them is before it, and it may belong to none any more.
struct EarliestInstant {
  private(set) var instant: MonotonicInstant?

  mutating func add(_ due: MonotonicInstant) { instant = min(due, instant ?? due) }

  /// Whether it has come; then it is gone, and what is not due has to be added again.
  mutating func take(at now: MonotonicInstant) -> Bool {
    guard let instant, instant <= now else { return false }
    self.instant = nil
    return true
  }
}
