/// Why a connection was turned away right after it was accepted.
public enum RefusalReason: Sendable, Hashable {
  /// As many connections as the server allows are open.
  case connections(limit: Int)
  /// As many connections as one uid may have are open.
  case connectionsPerUid(limit: Int)
}
