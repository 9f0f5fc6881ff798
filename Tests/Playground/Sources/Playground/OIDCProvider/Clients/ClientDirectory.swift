import JOSE
import PosternJSON

/// The registered clients and their keys.
struct ClientDirectory: Sendable {
  private let clients: [String: PlaygroundClient]
  private let keys: [String: JWKSet]

  /// The directory of `clients`; those that need keys and have none get the public half of `clientKey`. Fails when a
  /// key set is no public one.
  init(_ clients: [PlaygroundClient], clientKey: JWK) throws {
    self.clients = Dictionary(clients.map { ($0.id, $0) }) { $1 }
    var keys: [String: JWKSet] = [:]
    for client in clients where client.needsKeys {
      if let text = client.keySet {
        keys[client.id] = try JWKSet(text: Array(text.utf8), origin: .remote)
      } else {
        keys[client.id] = JWKSet([clientKey].compactMap(\.publicKey))
      }
    }
    self.keys = keys
  }

  /// The client of this id.
  subscript(id: String) -> PlaygroundClient? { clients[id] }

  /// The public keys of the client of this id; none for a client that needs none.
  func keys(of id: String) -> JWKSet { keys[id] ?? JWKSet([]) }
}
