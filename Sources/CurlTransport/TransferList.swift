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
