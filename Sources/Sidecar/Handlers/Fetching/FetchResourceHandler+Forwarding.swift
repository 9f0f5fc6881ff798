import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternObservability
import PosternProtocol
import PosternSupport

extension FetchResourceHandler {
  /// Begins a fetch of `program`. It needs no task where its request has no body, and its session is known.
  func begin(
    _ forwarded: ForwardedFetch, for program: any ForwardingProgram, _ context: CallContext
  ) throws(RPCFault) -> MethodTable.Beginning<RPCResult> {
    let rest: @Sendable () async throws(RPCFault) -> RPCResult = { () async throws(RPCFault) in
      try await self.carryOut(forwarded, for: program, context)
      return .value(.null)
    }
    guard forwarded.continuation == nil, forwarded.onBehalfOf == nil, forwarded.bodyBytes == 0 else {
      return .waits(rest)
    }
    var (server, options) = try plan(forwarded, context)
    guard server.authentication != .onBehalfOf,
      case .known(let session) = try knownSession(forwarded.session, server, context)
    else { return .waits(rest) }
    use(session, server, &options, context)
    let content = ForwardedFetch.Content(fields: program.fields(for: server))
    let fetch = Fetch(
      request: forwarded.request(with: content), server: server, options: options,
      task: NetworkTask.generatedIdentifier())
    let running = try RunningFetch(fetch, context, by: self) { Self.deliver(to: program, from: server, &$0) }
    return .begun(BegunFetch(running, for: program))
  }

  /// The resource server and the options of a fetch that continues no other one.
  private func plan(
    _ forwarded: ForwardedFetch, _ context: CallContext
  ) throws(RPCFault) -> (ResourceServer, FetchOptions) {
    try checkForDebugger(context)
    try context.runtime.check(resource: forwarded.resource)
    let server = try server(forwarded.resource, context)
    let options = options(of: forwarded, context)
    try context.check(forwarded.shownRequest, to: server, options)
    return (server, options)
  }

  /// Carries out a fetch of `program`. When it returns the program has the response.
  func carryOut(
    _ forwarded: ForwardedFetch, for program: any ForwardingProgram, _ context: CallContext
  ) async throws(RPCFault) {
    if let continuation = forwarded.continuation {
      return try await resume(continuation, forwarded, for: program, context)
    }
    var (server, options) = try plan(forwarded, context)
    use(try await session(forwarded.session, server, context), server, &options, context)
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
    try checkForDebugger(context)
    try context.runtime.check(resource: forwarded.resource)
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
    let outcome = try await run(fetch, context) { options in
      options.supply = supply
      Self.deliver(to: program, from: server, &options)
    }
    switch outcome {
    case .failure(let error): throw await fault(error, of: fetch, context)
    case .success(let response): program.take(response, from: server)
    }
  }

  /// Sets where the response goes while it comes.
  private static func deliver(
    to program: any ForwardingProgram, from server: ResourceServer, _ options: inout FetchOptions
  ) {
    // What is encrypted as a whole is decrypted as a whole.
    guard server.payloadEncryption?.decryptsAnswers != true else { return }
    options.deliverHead = { await program.begin($0, from: server) }
    options.deliver = program.deliver
    options.pieceBytes = TransferControl.window
    options.mayReturnWhole = true
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
