import Glibc
import HTTPMessages
package import LocalServer
import PosternConfiguration
import PosternJSON
import PosternJSONRPC
import PosternProtocol
package import PosternSupport
package import Sidecar

/// Answers the requests of programs over HTTP: `/NAME/…` is a fetch from the resource NAME, with all rules of
/// `fetchResource`; `/.postern/…` is the gateway's own; `/rpc` takes messages of JSON-RPC.
package struct SidecarGateway: GatewayResponder {
  /// The socket that requests come on.
  package enum Site: Sendable {
    /// The gateway's own listeners, and those of endpoints.
    case gateway
    /// The socket of JSON-RPC, which also has `/health` and `/metrics`; resources only where there is a gateway.
    case rpcSocket
  }

  let service: SidecarService
  let clock: any EngineClock
  private let uploads: KeptUploads
  let messages: MessageMemory
  let site: Site
  /// The endpoint whose socket the requests come on; nil: the gateway's own listener.
  let narrowing: Narrowing?

  /// `uploads` and `messages` are common to all listeners of the process.
  package init(
    _ service: SidecarService, clock: any EngineClock, uploads: KeptUploads, messages: MessageMemory,
    at site: Site = .gateway, narrowing: Narrowing? = nil
  ) {
    self.service = service
    self.clock = clock
    self.uploads = uploads
    self.messages = messages
    self.site = site
    self.narrowing = narrowing
  }

  package func connectionOpens() { service.httpConnectionOpens(at: narrowing, isOnRPCSocket: site == .rpcSocket) }

  package func connectionCloses() { service.httpConnectionCloses(at: narrowing, isOnRPCSocket: site == .rpcSocket) }

  package func respond(to request: GatewayRequest, with response: any GatewayResponse) async {
    if let page = RPCPage(path: request.path, at: site) { return await serve(page, request, response) }
    guard hasResources else {
      let fault = RPCFault.invalidParams(
        "Without `gateway` in the configuration this socket has POST /rpc, GET /health and GET /metrics", path: "/path")
      return await reject(fault, status: 404, request, response)
    }
    switch GatewayRoute(path: request.path, query: request.query) {
    case .resource(let name, let path): await fetch(name, path, request, response)
    case .reserved(let path): await reserved(path, request, response)
    case .rejected(let reason):
      await reject(
        RPCFault(.invalidURL, "the path \(reason)", outcome: .notSent), request, response)
    }
  }

  package func begin(_ request: GatewayRequest, _ response: any GatewayResponse) -> (any BegunResponse)? {
    guard request.body.length == 0, RPCPage(path: request.path, at: site) == nil, hasResources,
      case .resource(let name, let path) = GatewayRoute(path: request.path, query: request.query)
    else { return nil }
    // A request with an error is rejected in a task.
    guard let fields = try? RequestFields(request.fields) else { return nil }
    let caller = connection(of: request)
    return BodilessRequest(
      forwarded(name, path, request, fields), exchange(request, fields, response, nil, caller), service, caller,
      on: request.executor)
  }

  private var hasResources: Bool { site == .gateway || service.snapshot.configuration.gateway.isUsed }

  private func fetch(
    _ name: String, _ path: String, _ request: GatewayRequest, _ response: any GatewayResponse
  ) async {
    let fields: RequestFields
    do throws(RPCFault) {
      fields = try RequestFields(request.fields)
    } catch {
      return await reject(error, request, response)
    }
    let fetch = forwarded(name, path, request, fields)
    let caller = connection(of: request)
    let body = UploadBody(request.body, in: uploads, for: caller.peer.uid, clock: clock)
    defer { body.close() }
    let exchange = exchange(request, fields, response, body, caller)
    await exchange.end(with: outcome(of: fetch, exchange, body, caller))
  }

  private func forwarded(
    _ name: String, _ path: String, _ request: GatewayRequest, _ fields: RequestFields
  ) -> ForwardedFetch {
    var fetch = ForwardedFetch(resource: name, path: path, method: request.method)
    fetch.session = fields.session
    fetch.onBehalfOf = fields.onBehalfOf.map { Secret($0) }
    fetch.continuation = fields.continuation
    fetch.traceparent = fields.traceparent
    fetch.byteCount = Int(clamping: request.body.length ?? 0)
    fetch.bodyBytes = request.body.length
    fetch.shownFields = fields.shown
    if fields.namesSecondURL { fetch.gatewayURL = try? HTTPURL("http://\(request.authority)/\(name)") }
    return fetch
  }

  private func exchange(
    _ request: GatewayRequest, _ fields: RequestFields, _ response: any GatewayResponse, _ body: UploadBody?,
    _ caller: PeerConnection
  ) -> ForwardedExchange {
    ForwardedExchange(
      request, fields, response, body, longWork: service.longWork(from: ForwardedExchange.longHead, for: caller)
    ) { [service] in
      service.traced($0, continuing: fields.traceparent, of: caller.peer.uid)
    }
  }

  /// The outcome of a fetch with a body; an error when the server stalls while that is sent.
  private func outcome(
    of fetch: ForwardedFetch, _ exchange: ForwardedExchange, _ body: UploadBody, _ caller: PeerConnection
  ) async -> Result<Void, RPCFault> {
    await withTaskGroup(of: Result<Void, RPCFault>?.self) { [service] group in
      group.addTask { await service.begin(fetch, for: exchange, by: caller).outcome().map { _ in } }
      group.addTask {
        await body.run()
        return nil
      }
      group.addTask {
        guard await body.watch.hasStalled() else { return nil }
        return .failure(
          RPCFault(
            .deadlineExceeded, "nothing moved within the resource's timeout while the request's body was sent",
            outcome: .sentNoReply))
      }
      defer { group.cancelAll() }
      while let first = await group.next() {
        if let first { return first }
      }
      return .failure(RPCFault(.requestCancelled))
    }
  }

  /// The connection of a request, as calls see it. A program on the loopback address has the key, which only the
  /// sidecar's own user can read: it is that user.
  func connection(of request: GatewayRequest) -> PeerConnection {
    let peer =
      switch request.caller {
      case .process(let uid, let gid, let groups, let pid): Peer(uid: uid, gid: gid, groups: groups, pid: pid)
      case .loopback: Peer(uid: PeerID.ownUID, gid: getgid())
      }
    return service.forwardingConnection(request.connection, of: peer, narrowing, on: request.executor)
  }
}
