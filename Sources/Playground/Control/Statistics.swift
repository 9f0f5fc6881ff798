import JSON
import Support

/// What has been asked of the playground since the start or the last reset; tests read it to count upstream calls.
final class Statistics: Sendable {
  /// Token requests of one client.
  struct ClientCounters: Sendable {
    var requests = 0
    var methods: [PlaygroundClient.Authentication: Int] = [:]
  }

  /// All counters.
  struct Counters: Sendable {
    var connections = 0
    var abandonedRequests = 0
    var discoveryRequests = 0
    var keySetRequests = 0
    var tokenRequests = 0
    var tokensIssued = 0
    var tokenErrors = 0
    var introspectionRequests = 0
    var revocationRequests = 0
    var resourceRequests = 0
    var resourceUnauthorized = 0
    var resourceForbidden = 0
    var openRequests = 0
    var clients: [String: ClientCounters] = [:]
  }

  private let counters = Locked(Counters())

  /// Adds one to a counter.
  func count(_ counter: WritableKeyPath<Counters, Int>) {
    counters.withLock { $0[keyPath: counter] += 1 }
  }

  /// Counts a token request by the registered client it claims to come from, whether or not the claim holds.
  func countTokenRequest(client: String, method: PlaygroundClient.Authentication) {
    counters.withLock { counters in
      counters.clients[client, default: ClientCounters()].requests += 1
      counters.clients[client]?.methods[method, default: 0] += 1
    }
  }

  /// The counters as they stand.
  var snapshot: Counters { counters.withLock { $0 } }

  /// Sets everything to zero.
  func reset() { counters.withLock { $0 = Counters() } }
}

extension Statistics.Counters {
  /// The counters as `GET /playground/statistics` shows them.
  var json: JSONValue {
    let clients = clients.sorted { $0.key < $1.key }.map { id, counters in
      let methods = PlaygroundClient.Authentication.allCases.map { method in
        (method.rawValue, JSONValue.integer(Int64(counters.methods[method] ?? 0)))
      }
      let members: [(String, JSONValue)] = [("requests", .integer(Int64(counters.requests)))] + methods
      return (id, JSONValue.object(JSONObject(members)))
    }
    return [
      "connections": .integer(Int64(connections)),
      "abandonedRequests": .integer(Int64(abandonedRequests)),
      "discoveryRequests": .integer(Int64(discoveryRequests)),
      "keySetRequests": .integer(Int64(keySetRequests)),
      "tokenRequests": .integer(Int64(tokenRequests)),
      "tokensIssued": .integer(Int64(tokensIssued)),
      "tokenErrors": .integer(Int64(tokenErrors)),
      "introspectionRequests": .integer(Int64(introspectionRequests)),
      "revocationRequests": .integer(Int64(revocationRequests)),
      "resourceRequests": .integer(Int64(resourceRequests)),
      "resourceUnauthorized": .integer(Int64(resourceUnauthorized)),
      "resourceForbidden": .integer(Int64(resourceForbidden)),
      "openRequests": .integer(Int64(openRequests)),
      "clients": .object(JSONObject(clients)),
    ]
  }
}
