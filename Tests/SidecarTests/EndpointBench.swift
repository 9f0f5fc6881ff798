import PosternJSON
import PosternSupport
import Sidecar

/// The sockets of endpoints, without sockets.
final class ScriptedSockets: EndpointSockets {
  private struct State {
    var open: [String: EndpointSocketRequest] = [:]
    var closed: [String] = []
    var error: EndpointSocketError?
    var meanwhile: (@Sendable (String) -> Void)?
  }

  private let state = Locked(State())

  func open(_ endpoint: EndpointSocketRequest) async throws(EndpointSocketError) -> OpenedEndpoint {
    let id = endpoint.narrowing.id
    let (error, meanwhile) = state.withLock { state in
      if state.error == nil { state.open[id] = endpoint }
      return (state.error, state.meanwhile)
    }
    if let error { throw error }
    meanwhile?(id)
    return OpenedEndpoint(
      path: "/run/\(id)", httpPath: endpoint.wantsHTTP ? "/run/\(id).http" : nil, descriptor: nil)
  }

  func close(_ id: String) {
    state.withLock { state in
      if state.open.removeValue(forKey: id) != nil { state.closed.append(id) }
    }
  }

  /// The endpoints that there are sockets of.
  var open: Set<String> { state.withLock { Set($0.open.keys) } }
  /// The endpoints whose sockets were closed, in that order.
  var closed: [String] { state.withLock { $0.closed } }

  /// The request for the sockets of that endpoint.
  func request(_ id: String) -> EndpointSocketRequest? { state.withLock { $0.open[id] } }

  /// From here on no sockets can be made; nil: they can.
  func fail(_ error: EndpointSocketError?) { state.withLock { $0.error = error } }

  /// Called while sockets are being made.
  func meanwhile(_ body: @escaping @Sendable (String) -> Void) { state.withLock { $0.meanwhile = body } }
}

extension SidecarBench {
  /// Has the sockets of endpoints made by `sockets`.
  func use(_ sockets: ScriptedSockets) -> ScriptedSockets {
    service.use(sockets)
    return sockets
  }

  /// A connection to an endpoint.
  func connect(to id: String, _ sockets: ScriptedSockets) -> BenchConnection? {
    sockets.request(id).map { connect(uid: $0.maker.uid, through: $0.narrowing) }
  }

  /// The metrics' lines about `name`.
  func metrics(_ name: String) -> [String] {
    service.metricsText.split(separator: "\n").map(String.init).filter { $0.hasPrefix(name) }
  }
}

extension BenchConnection {
  /// Makes an endpoint; its handle.
  func endpoint(_ params: JSONObject = JSONObject()) async -> String {
    await call("createEndpoint", .object(params))["result"]?["endpoint"]?.stringValue ?? ""
  }
}
