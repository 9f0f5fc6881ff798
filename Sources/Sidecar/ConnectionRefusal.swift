/// Why a connection is turned away.
public enum ConnectionRefusal: String, Sendable {
  /// As many connections as allowed are open.
  case connections = "connections"
  /// As many connections as one uid may have are open.
  case connectionsPerUid = "connections_per_uid"

  var message: String {
    switch self {
    case .connections: "Too many connections"
    case .connectionsPerUid: "Too many connections of this user"
    }
  }
}
