package import AuthEngine
package import PosternJSON
package import PosternJSONRPC
import PosternObservability
package import PosternProtocol
import PosternSupport

/// `explainCall`: what a call would come to, by the code that carries calls out, up to the first request that it would
/// send.
package struct ExplainHandler: Sendable {
  /// The checks of the handlers whose calls are explained; each throws what its call would end with.
  package struct Checks: Sendable {
    let fetch: @Sendable (JSONTree?, CallContext) async throws(RPCFault) -> CheckedFetch?
    let token: @Sendable (JSONTree?, CallContext) async throws(RPCFault) -> CheckedToken
    let decisions: @Sendable (JSONTree?, CallContext) async throws(RPCFault) -> CheckedDecisions
    let session: @Sendable (String, CallContext) async throws(RPCFault) -> Session
    let sessionIssuer: @Sendable (String, CallContext) throws(RPCFault) -> Void

    /// The given checks.
    package init(
      fetch: @escaping @Sendable (JSONTree?, CallContext) async throws(RPCFault) -> CheckedFetch?,
      token: @escaping @Sendable (JSONTree?, CallContext) async throws(RPCFault) -> CheckedToken,
      decisions: @escaping @Sendable (JSONTree?, CallContext) async throws(RPCFault) -> CheckedDecisions,
      session: @escaping @Sendable (String, CallContext) async throws(RPCFault) -> Session,
      sessionIssuer: @escaping @Sendable (String, CallContext) throws(RPCFault) -> Void
    ) {
      self.fetch = fetch
      self.token = token
      self.decisions = decisions
      self.session = session
      self.sessionIssuer = sessionIssuer
    }
  }

  /// Explanations need no slot of a rule, since they show why there is none: one of each uid is made at a time.
  private static let limits = ConcurrencyLimiter.Limits(capacityPerUID: 1, queue: 4096, queueTime: .seconds(5))

  let engine: Engine
  let computation: CPUOffload
  let hardening: HardeningWatch
  let checks: Checks
  private let limiter: ConcurrencyLimiter

  /// A handler over `engine`, in a process that protects itself as `hardening` reports.
  package init(engine: Engine, computation: CPUOffload, hardening: HardeningWatch, checks: Checks) {
    self.engine = engine
    self.computation = computation
    self.hardening = hardening
    self.checks = checks
    limiter = ConcurrencyLimiter(Self.limits, clock: engine.clock)
  }

  /// The explanation of the call in `params`.
  package func callAsFunction(
    _ params: ExplainCall.Params, _ context: CallContext
  ) async throws(RPCFault) -> ExplainCall.Result {
    let peer = context.caller.peerID
    do throws(ConcurrencyLimiter.Rejection) {
      try await limiter.enter(peer, until: context.deadline)
    } catch {
      throw error.fault("Too many explanations of this user under way")
    }
    defer { limiter.leave(peer) }
    return try await computation.run(context) { () async throws(RPCFault) in
      let explanation = context.chain.explain(params.method, params.params)
      var steps = explanation.steps
      if let call = explanation.call { steps += await methodSteps(params.method, call.params, call.context) }
      return ExplainCall.Result(allowed: !steps.contains { $0.verdict == .rejects }, steps: steps)
    }
  }

  /// The steps of the method's handler.
  private func methodSteps(
    _ method: String, _ params: JSONTree?, _ context: CallContext
  ) async -> [ExplanationStep] {
    do throws(RPCFault) {
      switch method {
      case FetchResource.name:
        guard let fetch = try await checks.fetch(params, context) else {
          return [Self.open("continuation", "It depends on the fetch that is continued, which is judged again then")]
        }
        let ports = hardening.report.landlock.connectPorts
        let explanation = FetchExplanation(engine: engine, fetch: fetch, context: context, ports: ports)
        let hasDescriptors = params?["bodyTo"] != nil || params?["bodyFrom"] != nil
        return await explanation.steps()
          + (hasDescriptors
            ? [Self.open("descriptors", "The descriptors come with the call, and are judged then")] : [])
      case GetAccessToken.name:
        let checked = try await checks.token(params, context)
        return [
          ExplanationStep(
            step: "tokens", verdict: .passes, summary: "Tokens may leave the sidecar (tokens.leaveTheSidecar)"),
          TokenExplanation(
            authentication: checked.authentication, issuer: checked.issuer, preview: checked.preview,
            clock: engine.clock, context: context
          ).step(RPCFault(.sessionExpired)),
        ]
      case Preauthorize.name: return [try await checks.decisions(params, context).step]
      default: return try await namedParts(of: method, params, context)
      }
    } catch {
      return [ExplanationStep(Self.step(of: error), rejectedBy: error)]
    }
  }

  /// The session, the issuer and the decision point that the params of a method name.
  private func namedParts(
    of method: String, _ params: JSONTree?, _ context: CallContext
  ) async throws(RPCFault) -> [ExplanationStep] {
    var steps: [ExplanationStep] = []
    if let text = params?["session"]?.stringValue, Self.methodsOfSessions.contains(method) {
      let session = try await checks.session(text, context)
      steps.append(
        ExplanationStep(
          step: "session", verdict: .passes, summary: "The session is the caller's, at issuer \(session.issuer)"))
    }
    if let name = params?["issuer"]?.stringValue {
      if Self.usesOfClients.contains(method) {
        try checks.sessionIssuer(name, context)
      } else {
        _ = try context.runtime.issuer(name)
      }
      steps.append(ExplanationStep(step: "issuer", verdict: .passes, summary: "Issuer \(name) is configured"))
    }
    if method != Subscribe.name {
      steps.append(Self.open(method, "What the method itself decides shows when it is called"))
    }
    return steps
  }

  private static let methodsOfSessions: Set<String> = [GetSession.name, RefreshSession.name, RevokeToken.name]
  private static let usesOfClients: Set<String> = [
    CreateSession.name, BeginAuthorization.name, BeginDeviceAuthorization.name, RevokeToken.name,
  ]

  static func open(_ step: String, _ summary: String) -> ExplanationStep {
    ExplanationStep(step: step, verdict: .open, summary: summary)
  }

  /// The step that a fault belongs to, by the param that it names.
  static func step(of fault: RPCFault) -> String {
    switch fault.code {
    case .sessionNotFound, .sessionExpired: return "session"
    case .debuggerAttached: return "debugger"
    case .peerForbidden where fault.path == nil: return "tokens"
    default: break
    }
    switch (fault.path ?? "").split(atByte: "/").first {
    case "resource"?: return "resource"
    case "session"?: return "session"
    case "issuer"?: return "issuer"
    case "auth"?, "onBehalfOf"?: return "token"
    case "path"?: return "url"
    case "headers"?: return "headers"
    case "method"?: return "httpMethod"
    default: return "params"
    }
  }
}

/// A fetch whose parts have been checked.
package struct CheckedFetch: Sendable {
  let request: ResourceRequest
  let server: ResourceServer
  let options: FetchOptions
  /// The error of the call for one of the engine's.
  let fault: @Sendable (ResourceError) async -> RPCFault

  /// A fetch of those parts.
  package init(
    request: ResourceRequest, server: ResourceServer, options: FetchOptions,
    fault: @escaping @Sendable (ResourceError) async -> RPCFault
  ) {
    self.request = request
    self.server = server
    self.options = options
    self.fault = fault
  }
}

/// A token that may leave the sidecar.
package struct CheckedToken: Sendable {
  let authentication: ResourceServer.Authentication
  let issuer: Issuer
  let preview: ResourceFetcher.TokenPreview

  /// A token of those parts.
  package init(
    authentication: ResourceServer.Authentication, issuer: Issuer, preview: ResourceFetcher.TokenPreview
  ) {
    self.authentication = authentication
    self.issuer = issuer
    self.preview = preview
  }
}

/// The decision point of a call, or the status that its answer would have.
package struct CheckedDecisions: Sendable {
  private let provider: String?
  private let status: Status?

  /// Decisions of `provider`; or `status` instead of any.
  package init(provider: String?, status: Status?) {
    self.provider = provider
    self.status = status
  }

  var step: ExplanationStep {
    if let provider {
      return ExplanationStep(
        step: "decisionPoint", verdict: .open,
        summary: "Decision point \(provider) decides, or its cached decisions do",
        details: ["provider": .string(provider)])
    }
    let text = status?.details ?? status?.message ?? "no decision point decides"
    return ExplanationStep(
      step: "decisionPoint", verdict: .open, summary: "The result would have the outcome failure: \(text)",
      details: status.map { ["status": .integer(Int64($0.status)), "code": .string($0.code)] })
  }
}

/// Finds the handle of the session that an endpoint is bound to by its `session`; nil when the call names none.
package typealias EndpointSession =
  @Sendable (CreateEndpoint.Params, CallContext) async throws(RPCFault) -> String?
