import Glibc
import LocalServer
import PosternSupport
import Sidecar
import SidecarGateway

/// The sockets of endpoints, next to the main one, and their connections.
///
/// A socket file is its maker's: mode 0600 where the maker is this process's user. Another user could not open such a
/// file, and a process that serves cannot give it away; there it is 0666, and the user of each process that connects is
/// checked instead, as it is in any case.
final class EndpointSocketFiles: EndpointSockets {
  /// The parts that make the sockets.
  private struct Parts: Sendable {
    let server: SocketServer
    let gateway: GatewayListener?
    /// Serves the connections of `server` that speak HTTP.
    let web: GatewayServer
    /// The main socket's path, where files can be made next to it.
    let mainPath: String?
  }

  private struct State {
    var parts: Parts?
    /// The descriptors that endpoints may have.
    var descriptors: SharedBudget
    /// How many each endpoint has, and whose it is.
    var taken: [String: (uid: UInt32, count: Int)] = [:]
  }

  /// How many descriptors the main socket's endpoints have left, whatever is made through others; of few, a quarter.
  private static let mostReserved = 16

  private let service: SidecarService
  private let memory: MemoryReturn
  private let web: WebMemory
  private let state: Locked<State>
  private let reserved: Int

  /// `descriptors`: how many endpoints may have, without their connections.
  init(_ service: SidecarService, _ memory: MemoryReturn, _ web: WebMemory, descriptors: Int) {
    self.service = service
    self.memory = memory
    self.web = web
    reserved = min(Self.mostReserved, descriptors / 4)
    state = Locked(State(descriptors: SharedBudget(capacity: descriptors, capacityPerUID: descriptors)))
  }

  /// From here on there are sockets; `mayMakeFiles`: next to the main one.
  func start(_ server: SocketServer, _ gateway: GatewayListener?, _ web: GatewayServer, mayMakeFiles: Bool) {
    let path = mayMakeFiles ? server.path.flatMap { EndpointName.fits(nextTo: $0) ? $0 : nil } : nil
    state.withLock { $0.parts = Parts(server: server, gateway: gateway, web: web, mainPath: path) }
  }

  /// Whether files can be made next to an inherited socket at `path`; to be called before the process is in its
  /// sandbox.
  static func canMakeFiles(nextTo path: String?) -> Bool {
    guard let path, path.startsWithBytes(of: "/") else { return false }
    return access(FileLocations.directory(of: path), W_OK | X_OK) == 0
  }

  // MARK: - Endpoints

  func open(_ request: EndpointSocketRequest) async throws(EndpointSocketError) -> OpenedEndpoint {
    let parts = try await startedParts()
    guard parts.mainPath != nil || request.wantsDescriptor && !request.wantsHTTP else { throw .noDirectory }
    if request.wantsHTTP, parts.gateway == nil { throw .noGateway }
    let process = try Self.process(request)
    let id = request.narrowing.id
    let count = (parts.mainPath == nil ? 0 : 1) + (request.wantsHTTP ? 1 : 0) + (process == nil ? 0 : 1)
    guard take(count, for: request) else { throw .exhausted }
    do throws(EndpointSocketError) {
      return try await open(request, process, parts)
    } catch {
      close(id)
      throw error
    }
  }

  private func open(
    _ request: EndpointSocketRequest, _ process: PeerProcess?, _ parts: Parts
  ) async throws(EndpointSocketError) -> OpenedEndpoint {
    let maker = PeerCredentials(request.maker)
    let accepts = Self.check(request, process)
    let http = GatewayEndpoint(
      id: request.narrowing.id, maker: maker, responder: web.gateway(service, at: .rpcSocket, request.narrowing),
      accepts: accepts)
    parts.web.expect(http)
    let endpoint = SocketEndpoint(id: http.id, maker: maker, accepts: accepts, http: http) { [service, memory] in
      SocketBridge($0, service, memory, request.narrowing)
    }
    let path = parts.mainPath.map(EndpointName.path(nextTo:))
    // Those of other users are checked when they connect.
    let mode: UInt32 = maker.uid == geteuid() ? 0o600 : 0o666
    do throws(SocketServerError) {
      let socket: ListeningSocket? = if let path { try ListeningSocket(endpointAt: path, mode: mode) } else { nil }
      try await parts.server.serve(endpoint, on: socket, until: process) { [service] in
        service.endpoints.end(endpoint.id, because: .process)
      }
      var httpPath: String?
      if request.wantsHTTP, let gateway = parts.gateway, let path {
        let name = path + EndpointName.http
        try await gateway.listen(
          on: try ListeningSocket(endpointAt: name, mode: mode), for: request.narrowing, of: request.maker,
          accepts: accepts)
        httpPath = name
      }
      let descriptor = request.wantsDescriptor ? try await parts.server.connect(to: endpoint) : nil
      return OpenedEndpoint(path: path, httpPath: httpPath, descriptor: descriptor)
    } catch {
      throw EndpointSocketError(error)
    }
  }

  func close(_ id: String) {
    let parts = state.withLock { state in
      if let taken = state.taken.removeValue(forKey: id) {
        state.descriptors.giveBack(taken.count, for: taken.uid)
      }
      return state.parts
    }
    parts?.server.stopListening(id)
    parts?.gateway?.server.stopListening(id)
    parts?.web.stopListening(id)
  }

  // MARK: - What they need

  /// Connections may come before everything has started.
  private func startedParts() async throws(EndpointSocketError) -> Parts {
    while true {
      if let parts = state.withLock({ $0.parts }) { return parts }
      guard (try? await Task.sleep(for: .milliseconds(1))) != nil else { throw .failed("cancelled") }
    }
  }

  private func take(_ count: Int, for request: EndpointSocketRequest) -> Bool {
    let (uid, id) = (request.maker.uid, request.narrowing.id)
    // What is made through an endpoint leaves some for the main socket.
    let reserve = request.narrowing.parent == nil ? 0 : reserved
    return state.withLock { state in
      guard state.descriptors.allows(count + reserve, for: uid), state.descriptors.take(count, for: uid) else {
        return false
      }
      state.taken[id] = (uid, count)
      return true
    }
  }

  /// The process that the endpoint is for: one of the maker's user, unless that is root. Where the system does not show
  /// the user, the check of each connection is what remains: another user's process cannot connect.
  private static func process(_ request: EndpointSocketRequest) throws(EndpointSocketError) -> PeerProcess? {
    guard let number = request.process else { return nil }
    guard number > 0, let process = PeerProcess(number) else { throw .noProcess }
    let user = process.user(number) ?? request.maker.uid
    // It still runs: the number was its own.
    guard request.maker.uid == 0 || user == request.maker.uid, process.isAlive else { throw .noProcess }
    return process
  }

  /// Whether a process may connect. The number of a process that still runs means no other one.
  private static func check(
    _ request: EndpointSocketRequest, _ process: PeerProcess?
  ) -> @Sendable (PeerCredentials) -> Bool {
    let (users, number): (Set<UInt32>, Int32?) = ([request.maker.uid, 0, geteuid()], request.process)
    return { credentials in
      guard users.contains(credentials.uid) else { return false }
      guard let process else { return true }
      return credentials.pid == number && process.isAlive
    }
  }
}

extension PeerCredentials {
  /// The kernel's report of `peer`.
  init(_ peer: Peer) {
    self.init(uid: peer.uid, gid: peer.gid, pid: peer.pid == 0 ? nil : peer.pid, groups: peer.groups)
  }
}

extension EndpointSocketError {
  /// Files and memory that are used up are a matter of time.
  init(_ error: SocketServerError) {
    switch error {
    case .system(_, EMFILE), .system(_, ENFILE), .system(_, EAGAIN), .system(_, ENOBUFS), .system(_, ETOOMANYREFS):
      self = .exhausted
    case .system(_, ENOSPC), .system(_, EDQUOT): self = .full(error.description)
    default: self = .failed(error.description)
    }
  }
}
