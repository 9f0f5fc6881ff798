import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

/// `createEndpoint`, `listEndpoints`, `revokeEndpoint`.
package struct EndpointHandlers: Sendable {
  /// The longest time that an endpoint may be made for.
  private static let maxLifetime = Duration.seconds(30 * 86_400)
  private static let maxLabel = (characters: 64, bytes: 256)
  /// How many endpoints are described at a time; between the pieces other calls run.
  private static let pieceSize = 32

  /// An endpoint for its maker.
  struct Made {
    let result: CreateEndpoint.Result
    /// A connection, which goes to the maker with the result.
    let descriptor: PassedDescriptor?
  }

  private let endpoints: EndpointRegistry
  private let lists: ListAnswers
  private let session: EndpointSession

  /// Handlers over `endpoints`. `session` finds the session that an endpoint is bound to by its `session`; nil when the
  /// call names none.
  package init(
    endpoints: EndpointRegistry, lists: ListAnswers,
    session: @escaping EndpointSession
  ) {
    self.endpoints = endpoints
    self.lists = lists
    self.session = session
  }

  /// Enters the methods.
  package func add(to table: inout MethodTable) {
    table.waitingForDescriptor(CreateEndpoint.self) { (params, context) async throws(RPCFault) in
      let made = try await make(params, context)
      let passed = made.descriptor.map { descriptor in
        PassedResult(descriptor) { [endpoints] in
          endpoints.end(made.result.endpoint, because: .revoked)
          return .overloaded("The descriptor could not be passed: the endpoint has ended")
        }
      }
      return (made.result, passed)
    }
    table.waitingForText(ListEndpoints.self) { (params, context) async throws(RPCFault) in
      try await list(params, context)
    }
    table.waiting(RevokeEndpoint.self) { (params, context) async throws(RPCFault) in
      guard let count = endpoints.revoke(params.endpoint, by: context.caller) else {
        throw .invalidParams("No such endpoint", path: "/endpoint")
      }
      return RevokeEndpoint.Result(revoked: count)
    }
  }

  func make(_ params: CreateEndpoint.Params, _ context: CallContext) async throws(RPCFault) -> Made {
    try check(params, context)
    let clock = endpoints.clock
    let (now, wall) = (clock.monotonicNow, clock.wallNow)
    let lifetime = params.expiresInMs.map { Duration.milliseconds($0) }
    let session = try await session(params, context)
    var limits = params.limits
    if let session { limits.sessions = [session] }
    let narrowing = try context.level(
      limits, id: EndpointHandle.random(), label: params.label, session: session, under: context.narrowing,
      expiry: lifetime.map { now + $0 }, at: now)
    var facts = EndpointFacts(narrowing, of: context.caller.peer, createdAt: wall)
    if let expiry = narrowing.expiry { facts.expiresAt = wall + (expiry - now) }
    var process: Int32?
    switch params.bindTo {
    case .connection: facts.connection = context.caller.connection
    case .process(let pid): process = pid
    case nil: break
    }
    let request = EndpointSocketRequest(
      narrowing: narrowing, maker: context.caller.peer, process: process,
      wantsDescriptor: params.descriptor ?? false, wantsHTTP: params.http ?? false)
    let opened = try await endpoints.make(request, facts, approves: params.approval == .ask, for: context.caller)
    let result = CreateEndpoint.Result(
      endpoint: narrowing.id, path: opened.path, expiresAt: facts.expiresAt?.rfc3339,
      http: opened.httpPath.map { EndpointHTTP(path: $0) })
    return Made(result: result, descriptor: opened.descriptor)
  }

  private func check(_ params: CreateEndpoint.Params, _ context: CallContext) throws(RPCFault) {
    if params.session?.isEmpty == false, params.limits.sessions != nil {
      throw .invalidParams("session excludes sessions: the endpoint is bound to that one", path: "/session")
    }
    if let label = params.label {
      guard (1...Self.maxLabel.characters).contains(label.count), label.utf8.count <= Self.maxLabel.bytes,
        label.unicodeScalars.allSatisfy(Self.isPrintable)
      else { throw .invalidParams("label has 1 to 64 printable characters", path: "/label") }
    }
    if let lifetime = params.expiresInMs {
      guard (1...Self.maxLifetime.wholeMilliseconds).contains(lifetime) else {
        throw .invalidParams(
          "expiresInMs is from 1 to \(Self.maxLifetime.wholeMilliseconds) (30 days)", path: "/expiresInMs")
      }
    }
    if case .connection = params.bindTo, !context.caller.stays {
      throw .invalidParams(
        "bindTo with connection needs a JSON-RPC connection that stays: over HTTP bind it to a pid, or let it expire",
        path: "/bindTo")
    }
    guard context.caller.stays || params.descriptor != true else {
      throw .invalidParams(
        "descriptor needs a JSON-RPC connection: over HTTP no descriptor can be passed", path: "/descriptor")
    }
    if case .process(let pid) = params.bindTo {
      guard pid > 0 else { throw .invalidParams("pid is the number of a process", path: "/bindTo/pid") }
      // Any process that gets the descriptor could use it.
      guard !(params.descriptor ?? false) else {
        throw .invalidParams("descriptor excludes bindTo with pid: any process can use it", path: "/descriptor")
      }
    }
    if params.approval == .ask, context.caller.delegate(for: .approveCall) == nil {
      throw .invalidParams(
        "approval needs registerDelegate of delegate.approveCall on this connection first", path: "/approval")
    }
  }

  private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
    default: true
    }
  }

  private func list(
    _ params: ListEndpoints.Params, _ context: CallContext
  ) async throws(RPCFault) -> Written<ListEndpoints.Result> {
    let caller = context.caller
    return try await lists.page(params, context) { (start, page) async throws(RPCFault) in
      let connections = endpoints.connectionCounts
      var position = start
      while true {
        let piece = endpoints.entries(for: caller, after: position, atMost: Self.pieceSize)
        for entry in piece {
          position = entry.number
          let description = EndpointDescription(entry, connections: connections[entry.id] ?? 0)
          guard page.add(description, at: entry.number) else { return }
        }
        guard piece.count == Self.pieceSize else { return }
        guard !Task.isCancelled else { throw RPCFault(.requestCancelled) }
        await Task.yield()
      }
    }
  }
}

extension EndpointDescription {
  fileprivate init(_ entry: EndpointTree.Entry, connections: Int) {
    let narrowing = entry.narrowing
    self.init(
      endpoint: entry.id, chain: (narrowing.parent?.chain ?? []).map(\.id), limits: narrowing.limits,
      createdAt: entry.facts.createdAt.rfc3339)
    label = narrowing.label
    path = entry.sockets?.path
    expiresAt = entry.facts.expiresAt?.rfc3339
    self.connections = connections
    callsUnderWay = narrowing.callsUnderWay
  }
}
