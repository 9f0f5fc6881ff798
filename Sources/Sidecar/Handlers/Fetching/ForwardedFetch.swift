package import AuthEngine
package import HTTPMessages
import PosternJSON
package import PosternJSONRPC
import PosternProtocol
import PosternSupport
import SidecarAccess
import SidecarCalls
import SidecarEngine
import SidecarObservability

/// A request of a program that speaks HTTP, as a fetch: `fetchResource` without its messages.
package struct ForwardedFetch: Sendable {
  /// The resource server's name in the configuration.
  package var resource: String
  /// The path behind the resource's base URL, with its query: empty, or with a slash or question mark first.
  package var path: String
  /// The method, as sent.
  package var method: String
  /// The handle of a session; nil: the peer's only one.
  package var session: String?
  /// An inbound token.
  package var onBehalfOf: String?
  /// The continuation of the same request, which was suspended at an advice.
  package var continuation: String?
  /// The position in the program's trace.
  package var traceparent: String?
  /// How many bytes the request's body has, as far as that is known.
  package var byteCount = 0

  package init(resource: String, path: String, method: String) {
    self.resource = resource
    self.path = path
    self.method = method
  }

  /// What of a request depends on the resource server it is for.
  package struct Content: Sendable {
    /// The fields to send.
    package var fields: HTTPFields
    /// The body; nil: none, or it is supplied.
    package var body: [UInt8]?
    /// The body, read while it is sent. Such a request is sent once.
    package var supply: BodySupply?

    package init(fields: HTTPFields, body: [UInt8]? = nil, supply: BodySupply? = nil) {
      self.fields = fields
      self.body = body
      self.supply = supply
    }
  }

  /// The call, for audit log, trace and metrics.
  var call: Call {
    var params: JSONObject = ["resource": .string(resource)]
    params["session"] = session.map { .string($0) }
    params["meta"] = traceparent.map { ["traceparent": .string($0)] }
    var call = Call(key: 0, id: nil, method: FetchResource.name, params: .object(params))
    call.byteCount = byteCount
    return call
  }
}

/// The program behind a forwarded fetch.
package protocol ForwardingProgram: Sendable {
  /// The request's content for `server`; called once, when the program may send it.
  func content(for server: ResourceServer) async throws(RPCFault) -> ForwardedFetch.Content
  /// Takes the head of the response, once. False ends the fetch.
  func begin(_ head: HTTPResponseHead, from server: ResourceServer) async -> Bool
  /// Takes the next bytes of the response, and returns when it can take more. False ends the fetch.
  func deliver(_ piece: [UInt8]) async -> Bool
}

extension FetchResourceHandler {
  /// Carries out a fetch of `program`. When it returns the program has all of the response.
  func carryOut(
    _ forwarded: ForwardedFetch, for program: any ForwardingProgram, _ context: CallContext
  ) async throws(RPCFault) {
    try checkForDebugger(context)
    try context.runtime.check(resource: forwarded.resource)
    if let continuation = forwarded.continuation {
      return try await resume(continuation, forwarded, for: program, context)
    }
    let server = try server(forwarded.resource, context)
    var options = FetchOptions(deadline: context.deadline, followsRedirects: false, trace: context.traceContext)
    options.context.isForwarded = true
    options.context.peerID = context.caller.peerID
    options.session = try await session(forwarded.session, server, context)
    context.audit?.note(server, options.session)
    options.context.cookieScope = CookieScope(uid: context.uid, session: options.session?.handle)
    let content = try await program.content(for: server)
    let inbound = forwarded.onBehalfOf.map { OnBehalfOf(token: $0) }
    let fetch = Fetch(
      request: forwarded.request(with: content), server: server, options: options,
      task: NetworkTask.generatedIdentifier(), inbound: inbound, mayContinue: content.supply == nil)
    try await carryOut(fetch, content.supply, for: program, context)
  }

  /// Continues a fetch that was suspended at an advice. The request that was suspended is sent: the program has to send
  /// the same, so that nothing else can ride on what the user agrees to.
  private func resume(
    _ continuation: String, _ forwarded: ForwardedFetch, for program: any ForwardingProgram, _ context: CallContext
  ) async throws(RPCFault) {
    guard forwarded.onBehalfOf == nil else {
      throw .invalidParams("continuation excludes onBehalfOf", path: "/onBehalfOf")
    }
    let found = try await suspended(continuation, context)
    if let session = forwarded.session, try SessionHandle.given(session) != found.known.session {
      throw .invalidParams("The continuation is of another session", path: "/session")
    }
    let content = try await program.content(for: found.server)
    let origin = found.known.origin
    guard content.supply == nil, origin.resource == forwarded.resource, origin.options.context.isForwarded,
      forwarded.request(with: content).isSame(as: origin.request)
    else {
      throw .invalidParams("The continuation is of another request", path: "/continuation")
    }
    try await resume(continuation, found, context) { (fetch) async throws(RPCFault) in
      try await carryOut(fetch, nil, for: program, context)
    }
  }

  private func carryOut(
    _ fetch: Fetch, _ supply: BodySupply?, for program: any ForwardingProgram, _ context: CallContext
  ) async throws(RPCFault) {
    let server = fetch.server
    // What is encrypted as a whole is decrypted as a whole.
    let streams = server.payloadEncryption?.decryptsAnswers != true
    let outcome = try await run(fetch, context) { options in
      options.streaming.supply = supply
      guard streams else { return }
      options.streaming.deliverHead = { await program.begin($0, from: server) }
      options.streaming.deliver = program.deliver
      options.streaming.pieceBytes = TransferControl.window
    }
    switch outcome {
    case .failure(let error): throw await fault(error, of: fetch, context)
    case .success(let response):
      guard !streams else { return }
      let head = HTTPResponseHead(
        status: response.status, reason: response.reason, url: response.url, fields: response.fields)
      guard await program.begin(head, from: server), await program.deliver(response.body) else {
        throw RPCFault(.requestCancelled, data: ["outcome": .string(TransportError.Outcome.replied.rawValue)])
      }
    }
  }
}

extension ForwardedFetch {
  fileprivate func request(with content: Content) -> ResourceRequest {
    ResourceRequest(path: path, method: method, body: content.body, headers: content.fields)
  }
}

extension ResourceRequest {
  /// Whether method, path and body are those of `other`. Fields may differ: programs put times and traces there.
  fileprivate func isSame(as other: ResourceRequest) -> Bool {
    method.hasSameBytes(as: other.method) && path.hasSameBytes(as: other.path) && body == other.body
  }
}
