/// Decides whether more is taken from the peer of one connection, and accounts for what was taken and is not handled.
struct InboundPressure {
  let connection: Connection
  /// Bytes of long messages that were delivered and are still being handled.
  var longBytes = 0
  /// How much of what is here the uid's ledger knows of.
  private var reportedBytes = 0

  init(_ connection: Connection) { self.connection = connection }

  /// Whether the peer takes what is sent to it, and may cause more: what its uid does not read may have come to too
  /// much.
  func allowsMore(output: BacklogState) -> Bool {
    output.isWritable && !connection.isPaused && !(output.bytes > 0 && connection.unread.isStrained)
  }

  /// Reports the bytes of messages to the uid's ledger, those that are kept included; false when there are too many.
  mutating func settle(keptBytes: Int) -> Bool {
    let bytes = keptBytes + longBytes
    let change = bytes - reportedBytes
    guard abs(change) >= ByteLedger.grain || bytes == 0 && change != 0 else { return true }
    reportedBytes = bytes
    return !connection.unfinished.add(change, of: connection)
  }
}
