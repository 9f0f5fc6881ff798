import HTTPMessages
import PosternSupport

/// Makes the transfers of a loop, sets them up for exchanges, and keeps some of them for the next ones. Owned by
/// the loop.
final class TransferPool {
  /// Easy handles kept for the next exchanges; each holds some 10 KiB.
  private static let maxIdle = 64

  private let configuration: CurlTransport.Configuration
  private let resources: LoopResources
  private var idle: [Transfer] = []
  /// How many handles were thrown away because libcurl rejected an option.
  private(set) var rejections = 0
  /// Whether the last handle that was set up rejected an option, and that was reported.
  private var isFaulty = false

  init(_ configuration: CurlTransport.Configuration, _ resources: LoopResources) {
    self.configuration = configuration
    self.resources = resources
  }

  /// A transfer that is set up for `exchange` and that libcurl works on.
  ///
  /// A handle that rejects an option is thrown away, and a new one is tried: libcurl 7.88 keeps some of a handle's
  /// state over its reset.
  func setUp(for exchange: Exchange, on multi: MultiHandle) throws(TransportError) -> Transfer {
    var problem = "libcurl gives no handle"
    let shape = try RequestShape(exchange, configuration, resources.files)
    for isSecond in [false, true] {
      let pooled = isSecond ? nil : takeIdle(for: shape)
      guard let transfer = pooled ?? Transfer(resources, limits: configuration.headLimits) else { continue }
      do throws(TransportError) {
        // The handle's own shape, which it need not compare once more.
        let rejection = try transfer.prepare(
          for: exchange, pooled?.handle.shape ?? shape, configuration: configuration,
          now: resources.uptime.monotonicNow)
        if rejection == nil, multi.add(transfer.handle.pointer) {
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
      rejections += 1
      transfer.handle.cleanUp()
    }
    if !isFaulty { configuration.faultReport?(problem) }
    isFaulty = true
    throw TransportError(code: .internalError, outcome: .notSent, detail: problem)
  }

  /// The idle transfer that was last used for `shape`; in a full pool without one that which has been idle for longest.
  private func takeIdle(for shape: RequestShape) -> Transfer? {
    if let index = idle.lastIndex(where: { $0.handle.shape == shape }) { return idle.remove(at: index) }
    return idle.count < Self.maxIdle ? nil : idle.removeFirst()
  }

  /// Takes back a transfer that was reset.
  func recycle(_ transfer: Transfer) {
    if idle.count < Self.maxIdle { idle.append(transfer) } else { transfer.handle.cleanUp() }
  }

  /// The end of those that are kept.
  func cleanUp() {
    for transfer in idle { transfer.handle.cleanUp() }
    idle.removeAll()
  }
}

/// Transfers in no order. A transfer is in one list at most and knows its position there, so that it is removed in
/// constant time.
struct TransferList {
  private(set) var transfers: [Transfer] = []

  var count: Int { transfers.count }
  var last: Transfer? { transfers.last }

  mutating func append(_ transfer: Transfer) {
    transfer.position = transfers.count
    transfers.append(transfer)
  }

  /// Removes a transfer of this list; the last one moves to its position.
  mutating func remove(_ transfer: Transfer) {
    let last = transfers.removeLast()
    guard last !== transfer else { return }
    transfers[transfer.position] = last
    last.position = transfer.position
  }
}
