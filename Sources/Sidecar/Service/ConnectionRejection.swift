/// Why a connection is rejected.
package enum ConnectionRejection: String, Sendable {
  /// The limit of connections is reached.
  case connections = "connections"
  /// The limit of connections of one uid is reached.
  case connectionsPerUid = "connections_per_uid"

  var message: String {
    switch self {
    case .connections: "Too many connections (limits.connections)"
    case .connectionsPerUid: "Too many connections of this user (limits.connectionsPerUid)"
    }
  }
}
