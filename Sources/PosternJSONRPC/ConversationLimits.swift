/// The bounds of one connection's conversation.
public struct ConversationLimits: Sendable, Hashable {
  /// Requests and notifications in flight; more are rejected with `overloaded`.
  public var inFlight: Int
  /// Methods that give up rights. There is room for a few of them beyond `inFlight`.
  public var alwaysAdmitted: Set<String> = []
  /// Members of a batch; a larger one is rejected with `batch_too_large`.
  public var batch: Int
  /// Malformed texts in a row after which the connection is closed.
  public var malformedInARow: Int
  /// Requests of ours the caller has not answered yet.
  public var outgoing: Int
  /// Bytes of one message.
  public var messageBytes: Int
  /// Nesting of one message.
  public var depth: Int

  /// Limits; the defaults are those of the wire contract.
  public init(
    inFlight: Int = 128, batch: Int = 64, malformedInARow: Int = 16, outgoing: Int = 64, messageBytes: Int = 16 << 20,
    depth: Int = 128
  ) {
    self.inFlight = inFlight
    self.batch = batch
    self.malformedInARow = malformedInARow
    self.outgoing = outgoing
    self.messageBytes = messageBytes
    self.depth = depth
  }
}
