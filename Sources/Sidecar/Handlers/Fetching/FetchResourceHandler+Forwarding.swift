import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternObservability
import PosternProtocol
import PosternSupport

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
    var options = options(of: forwarded, context)
    try context.check(forwarded.shownRequest, to: server, options)
    options.session = try await session(forwarded.session, server, context)
    context.audit?.note(server, options.session)
    options.cookieScope = CookieScope(uid: context.uid, session: options.session?.handle)
    let content = try await program.content(for: server)
    let inbound = forwarded.onBehalfOf.map { OnBehalfOf(token: $0.reveal()) }
    let fetch = Fetch(
      request: forwarded.request(with: content), server: server, options: options,
      task: NetworkTask.generatedIdentifier(), inbound: inbound, wholeBody: content.whole)
    try await carryOut(fetch, content.supply, for: program, context)
  }

  /// The options of a fetch of a program.
  func options(of forwarded: ForwardedFetch, _ context: CallContext) -> FetchOptions {
    var options = FetchOptions(followsRedirects: false, in: context.scope)
    options.isForwarded = true
    options.gatewayURL = forwarded.gatewayURL
    options.narrowing = context.narrowing?.id
    return options
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
    if forwarded.session != nil {
      let session = try await engine.session(forwarded.session, .user, found.server.issuer, context)
      guard session?.handle == found.known.session else {
        throw .invalidParams("The continuation is of another session", path: "/session")
      }
    }
    var content = try await program.content(for: found.server)
    if let whole = content.whole { content.body = await whole() }
    let origin = found.known.origin
    guard content.supply == nil || content.body != nil, origin.resource == forwarded.resource,
      origin.options.isForwarded,
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
      options.supply = supply
      guard streams else { return }
      options.deliverHead = { await program.begin($0, from: server) }
      options.deliver = program.deliver
      options.pieceBytes = TransferControl.window
    }
    switch outcome {
    case .failure(let error): throw await fault(error, of: fetch, context)
    case .success(let response):
      guard !streams else { return }
      let head = HTTPResponseHead(
        status: response.status, reason: response.reason, url: response.url, fields: response.fields)
      guard await program.begin(head, from: server), await program.deliver(response.body) else {
        throw RPCFault(.requestCancelled, outcome: TransportError.Outcome.replied)
      }
    }
  }
}

extension ForwardedFetch {
  /// The request as far as it is known before its content.
  var shownRequest: ResourceRequest { request(with: Content(fields: shownFields)) }

  fileprivate func request(with content: Content) -> ResourceRequest {
    ResourceRequest(path: path, method: method, body: content.body, headers: content.fields)
  }
}

extension ResourceRequest {
  /// The same request of a program with `body`.
  func with(body: [UInt8]) -> ResourceRequest {
    ResourceRequest(path: path, method: method, body: body, headers: headers)
  }

  /// Whether method, path, body and the resources that fields name are those of `other`. Other fields may differ:
  /// programs put times and traces there.
  fileprivate func isSame(as other: ResourceRequest) -> Bool {
    method.hasSameBytes(as: other.method) && path.hasSameBytes(as: other.path) && body == other.body
      && SecondURLs.areSame(headers, other.headers)
  }
}
