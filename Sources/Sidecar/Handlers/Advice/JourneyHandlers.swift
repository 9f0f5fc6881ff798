import AuthEngine
import PosternJSON
import PosternJSONRPC
import PosternObservability
import PosternProtocol
import PosternSupport

/// `authenticate` and `authenticateWithAdvice`.
struct JourneyHandlers: Sendable {
  /// The longest name of a tree.
  private static let maxNameBytes = 256

  let engine: Engine
  let stopped: SuspendedFetches

  func authenticate(_ params: Authenticate.Params, _ context: CallContext) async throws(RPCFault) -> JourneyResult {
    let answers = try Self.answers(params.answers)
    if let continuation = params.continuation {
      let others: [(String, Bool)] = [
        ("issuer", params.issuer != nil), ("service", params.service != nil), ("tree", params.tree != nil),
        ("noSession", params.noSession != nil), ("forceAuth", params.forceAuth != nil),
      ]
      for (name, isGiven) in others where isGiven {
        throw .invalidParams("continuation excludes \(name)", path: "/\(name)")
      }
      return try await resume(continuation, params.callbacks, answers, context)
    }
    guard params.callbacks == nil else { throw .invalidParams("callbacks need a continuation", path: "/continuation") }
    guard let name = params.issuer else { throw .invalidParams("issuer or continuation is needed", path: "/issuer") }
    guard params.service == nil || params.tree == nil else {
      throw .invalidParams("At most one of service and tree", path: "/tree")
    }
    let tree = params.service ?? params.tree
    guard tree.map({ (1...Self.maxNameBytes).contains($0.utf8.count) }) ?? true else {
      throw .invalidParams(
        "A tree's name has 1 to \(Self.maxNameBytes) bytes", path: params.tree == nil ? "/service" : "/tree")
    }
    let issuer = try context.runtime.sessionIssuer(name, engine)
    let request = JourneyRequest.login(
      tree: tree, withoutSession: params.noSession == true, forced: params.forceAuth == true)
    return try await begin(request, issuer, answers, context)
  }

  func authenticate(
    _ params: AuthenticateWithAdvice.Params, _ context: CallContext
  ) async throws(RPCFault) -> JourneyResult {
    let answers = try Self.answers(params.answers)
    let given = [
      params.advice != nil, params.advices != nil, params.response != nil, params.continuation != nil,
    ]
    guard given.filter({ $0 }).count == 1 else {
      throw .invalidParams("Exactly one of advice, advices, response and continuation", path: "/advice")
    }
    if let continuation = params.continuation {
      guard params.session == nil else { throw .invalidParams("continuation excludes session", path: "/session") }
      guard params.issuer == nil else { throw .invalidParams("continuation excludes issuer", path: "/issuer") }
      if params.callbacks == nil, let fetch = stopped.fetch(continuation, of: context.uid),
        context.shows(fetch)
      {
        return try await begin(fetch, continuation, answers, context)
      }
      return try await resume(continuation, params.callbacks, answers, context)
    }
    guard params.callbacks == nil else { throw .invalidParams("callbacks need a continuation", path: "/continuation") }
    var advices: [PolicyAdvice] = []
    if let advice = params.advice { advices = [try PolicyAdvice(advice, path: "/advice")] }
    if let list = params.advices { advices = try PolicyAdvice.given(list, path: "/advices") }
    let (handle, issuer) = try await user(params, context)
    if let response = params.response {
      let recognizer = AdviceRecognizer(scope: .everyAnswer, accessManager: issuer.accessManager?.baseURL)
      advices = try recognizer.finding(in: AdviceParsing.response(response, path: "/response"))?.advices ?? []
    }
    let request = handle.map { .stepUp($0, advices: advices) } ?? JourneyRequest.login(advices: advices)
    guard let request else { throw RPCFault(.adviceNotRecognised, isRetryable: false) }
    return try await begin(request, issuer, answers, context)
  }

  /// The session to step up; nil: its user logs in at the issuer that the call names.
  private func user(
    _ params: AuthenticateWithAdvice.Params, _ context: CallContext
  ) async throws(RPCFault) -> (SessionHandle?, SessionIssuer) {
    guard let name = params.issuer else { return try await session(params.session, context) }
    guard params.session == nil else { throw .invalidParams("At most one of session and issuer", path: "/issuer") }
    // It makes a session, as the other method does.
    guard context.chain.allows(Authenticate.name, through: context.narrowing) else {
      throw RPCFault(.peerForbidden, CallChain.notAllowed(Authenticate.name))
    }
    return (nil, try context.runtime.sessionIssuer(name, engine))
  }

  /// Starts the journey that a fetch waits for.
  private func begin(
    _ fetch: SuspendedFetches.Fetch, _ continuation: String, _ answers: JourneyAnswers, _ context: CallContext
  ) async throws(RPCFault) -> JourneyResult {
    let (handle, issuer) = try await session(fetch.session.text, context)
    guard var request = JourneyRequest.stepUp(handle, advices: fetch.advices) else {
      throw RPCFault(.adviceNotRecognised, isRetryable: false)
    }
    request.tag = continuation
    return try await begin(request, issuer, answers, life: fetch.origin.wait, context)
  }

  private func begin(
    _ request: JourneyRequest, _ issuer: SessionIssuer, _ answers: JourneyAnswers, life: Duration? = nil,
    _ context: CallContext
  ) async throws(RPCFault) -> JourneyResult {
    var request = request
    request.origin = context.loginOrigin
    do throws(JourneyError) {
      return result(
        try await engine.journeys.begin(
          request, at: issuer, answers: answers, life: life, in: context.scope), context)
    } catch {
      throw ErrorMap.fault(error)
    }
  }

  /// Where a fetch waits for a journey that is over, there is as much time again to go on with it.
  private func result(_ outcome: JourneyOutcome, _ context: CallContext) -> JourneyResult {
    var result = JourneyResult(outcome)
    if case .completed(let end) = outcome, let fetch = end.tag, stopped.extend(fetch, of: context.uid) {
      result.continuation = fetch
    }
    return result
  }

  private func resume(
    _ continuation: String, _ callbacks: [JSONValue]?, _ answers: JourneyAnswers, _ context: CallContext
  ) async throws(RPCFault) -> JourneyResult {
    // A journey at an issuer that the rule hides is reported as unknown, as is one that another endpoint began.
    if let path = engine.journeys.path(of: continuation, ownedBy: context.uid), !context.covers(path) {
      throw ErrorMap.fault(JourneyError.continuationUnknown)
    }
    if let issuer = engine.journeys.issuer(of: continuation, ownedBy: context.uid),
      !context.runtime.scope.contains(issuer: issuer)
    {
      throw ErrorMap.fault(JourneyError.continuationUnknown)
    }
    do throws(JourneyError) {
      return result(
        try await engine.journeys.resume(
          continuation, callbacks: callbacks, issuer: context.runtime.issuerLookup(engine),
          answers: answers, in: context.scope), context)
    } catch {
      throw ErrorMap.fault(error)
    }
  }

  /// The session that the call names, with its issuer as it is configured now.
  private func session(
    _ text: String?, _ context: CallContext
  ) async throws(RPCFault) -> (SessionHandle, SessionIssuer) {
    guard let found = try await find(text, context) else { throw Engine.noOnlySession(.user) }
    return found
  }

  private func find(
    _ text: String?, _ context: CallContext
  ) async throws(RPCFault) -> (SessionHandle, SessionIssuer)? {
    guard let named = try NamedSession(text, context) else { throw Engine.sessionMissing }
    do throws(SessionError) {
      let found: Session? =
        switch named {
        case .handle(let handle): try await engine.visibleSession(handle, context)
        case .only: try await engine.onlyVisibleSession(.user, context)
        }
      guard let session = found else { return nil }
      return (session.handle, try context.runtime.issuerLookup(engine)(session.issuer))
    } catch {
      throw ErrorMap.fault(error)
    }
  }

  private static func answers(_ given: JSONValue?) throws(RPCFault) -> JourneyAnswers {
    guard let given else { return JourneyAnswers() }
    guard let object = given.objectValue, object.count <= 64 else {
      throw .invalidParams("answers is an object of at most 64 members", path: "/answers")
    }
    return JourneyAnswers(object)
  }
}

extension JourneyResult {
  /// The engine's outcome as it goes over the wire.
  init(_ outcome: JourneyOutcome) {
    switch outcome {
    case .callbacks(let step):
      self.init(.callbacks)
      continuation = step.continuation
      callbacks = step.callbacks
      stage = step.stage
      header = step.header
      description = step.description
      expiresAt = step.expiresAt.rfc3339
    case .completed(let end):
      self.init(.completed)
      txId = end.txId
      session = end.session?.text
      sessionUpgraded = end.isUpgraded
    case .failed(let failure):
      self.init(.failed)
      error = Failure(code: failure.code, message: failure.message, detail: failure.detail)
    }
  }
}
