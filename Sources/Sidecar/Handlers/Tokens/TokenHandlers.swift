import AuthEngine
import JOSE
import PosternConfiguration
import PosternJSON
import PosternJSONRPC
import PosternObservability
import PosternProtocol
import PosternSupport
import TokenValidation

/// The methods that judge tokens: params to expectations, the engine, and its verdict to a result.
struct TokenHandlers: Sendable {
  let engine: Engine
  let computation: CPUOffload

  func validateIDToken(
    _ params: ValidateIDToken.Params, _ context: CallContext
  ) throws(RPCFault) -> MethodTable.Beginning<ValidateIDToken.Result> {
    let bounds = InputLimits(rules: context.runtime.validation)
    let issuer = try TokenIssuer(params, context, engine.keySets)
    var expectations = IDTokenExpectations(
      clientID: try issuer.requiredClientID(), nonce: params.nonce,
      authorizationCode: params.authorizationCode.map { Secret($0) },
      accessToken: params.accessToken.map { Secret($0) }, flow: try Self.flow(params))
    expectations.state = params.state
    expectations.maxAge = try InputLimits.maxAge(params.maxAge)
    expectations.acrValues = try InputLimits.list(params.acrValues, "acrValues") ?? []
    expectations.trustedAudiences = try InputLimits.list(params.trustedAudiences, "trustedAudiences")
    expectations.algorithms = try InputLimits.algorithms(params.algorithms, SignatureAlgorithm.init(name:))
    expectations.clockSkew = try bounds.clockSkew(params.clockSkewSeconds)
    expectations.requiresAuthorizedParty = params.requireAzp
    expectations.rejectsUnexpectedNonce = params.rejectUnexpectedNonce
    expectations.now = try bounds.now(params.now)
    let (validator, token) = (engine.validators.idTokens, params.idToken)
    if issuer.isBounded,
      let known = validator.knownVerdict(
        on: token, expecting: expectations, by: issuer.rules, keys: issuer.keys)
    {
      return .answered(Self.answer(known, context))
    }
    return .waits { [self, expectations] () async throws(RPCFault) in
      try await decided(issuer, context) { () async throws(KeySetError) in
        try await validator.validate(
          token, expecting: expectations, by: issuer.rules, keys: issuer.keys, in: context.scope)
      }
    }
  }

  /// The answer about a token whose signature was verified in an earlier call. The audit log reads its members.
  private static func answer(_ known: KnownVerdict, _ context: CallContext) -> RPCResult {
    switch known {
    case .valid(let token) where context.audit == nil:
      .text(token.answer { JSONText(PosternProtocol.TokenVerdict($0).json) })
    case .valid(let token): .value(PosternProtocol.TokenVerdict(token.verdict).json)
    case .invalid(let fault): .value(PosternProtocol.TokenVerdict(fault).json)
    }
  }

  func validateAccessToken(
    _ params: ValidateAccessToken.Params, _ context: CallContext
  ) async throws(RPCFault) -> ValidateAccessToken.Result {
    let bounds = InputLimits(rules: context.runtime.validation)
    let issuer = try TokenIssuer(params, context, engine.keySets)
    var expectations = AccessTokenExpectations(
      audience: params.audience,
      requiredScopes: try InputLimits.list(params.requiredScopes, "requiredScopes") ?? [], clientID: params.clientId,
      confirmation: try Self.confirmation(params.confirmation))
    expectations.clockSkew = try bounds.clockSkew(params.clockSkewSeconds)
    expectations.now = try bounds.now(params.now)
    let result = try await decided(issuer, context) { [engine, expectations] () async throws(KeySetError) in
      try await engine.validators.accessTokens.validate(
        params.accessToken, expecting: expectations, configuration: issuer.tokens, keys: issuer.keys, in: context.scope)
    }
    guard let name = params.issuer, result.valid else { return result }
    let configured = try context.runtime.issuer(name)
    guard configured.introspectsJWTs else { return result }
    do throws(IntrospectionError) {
      let rejection = try await engine.introspector.rejection(
        of: Secret(params.accessToken), issuer: configured.issuer, configuration: configured.tokens, keys: issuer.keys,
        in: context.scope)
      return rejection.map { .init($0) } ?? result
    } catch {
      throw ErrorMap.fault(error)
    }
  }

  func validateLogoutToken(
    _ params: ValidateLogoutToken.Params, _ context: CallContext
  ) async throws(RPCFault) -> LogoutVerdict {
    let sessionIssuer = try params.end == true ? issuerOfEnd(params, context) : nil
    let issuer = try TokenIssuer(params, context, engine.keySets)
    var expectations = LogoutTokenExpectations(clientID: try issuer.requiredClientID(), realm: issuer.realm)
    expectations.now = try InputLimits(rules: context.runtime.validation).now(params.now)
    let validator = params.issuer == nil ? engine.validators.foreignLogoutTokens : engine.validators.logoutTokens
    let verdict = try await decided(issuer, context) { [expectations] () async throws(KeySetError) in
      try await validator.validate(
        params.logoutToken, expecting: expectations, configuration: issuer.tokens, keys: issuer.keys, in: context.scope)
    }
    var result = LogoutVerdict(verdict)
    guard let sessionIssuer, verdict.valid, let claims = verdict.claims?.objectValue else { return result }
    do throws(SessionError) {
      result.ended = try await engine.endSessions(
        of: claims, expecting: expectations, at: sessionIssuer, in: context.scope)
      return result
    } catch {
      throw ErrorMap.fault(error)
    }
  }

  /// The issuer whose sessions a logout token may end: a configured one that the rule shows, by its own keys, for its
  /// own client and by the time of this process. Nothing of these is the caller's to choose.
  private func issuerOfEnd(
    _ params: ValidateLogoutToken.Params, _ context: CallContext
  ) throws(RPCFault) -> SessionIssuer {
    guard let name = params.issuer else {
      throw .invalidParams("end needs issuer: a caller's own keys end no session", path: "/end")
    }
    guard params.now == nil else { throw .invalidParams("now cannot be given together with end", path: "/now") }
    let configured = try context.runtime.issuer(name)
    guard params.clientId.map({ $0 == configured.clientID }) ?? true else {
      throw .invalidParams("clientId cannot be another client's together with end", path: "/clientId")
    }
    return try context.runtime.sessionIssuer(name, engine)
  }

  /// The verdict as a result, or why there is none.
  private func decided(
    _ issuer: TokenIssuer, _ context: CallContext,
    _ judge: @escaping @Sendable () async throws(KeySetError) -> AuthEngine.TokenVerdict
  ) async throws(RPCFault) -> PosternProtocol.TokenVerdict {
    let body: @Sendable () async throws(RPCFault) -> PosternProtocol.TokenVerdict = { () async throws(RPCFault) in
      do throws(KeySetError) {
        return PosternProtocol.TokenVerdict(try await judge())
      } catch {
        throw ErrorMap.fault(error)
      }
    }
    return try await issuer.isBounded ? body() : computation.run(context, body)
  }

  func introspectToken(
    _ params: IntrospectToken.Params, _ context: CallContext
  ) async throws(RPCFault) -> IntrospectToken.Result {
    let configured = try context.runtime.issuer(params.issuer)
    let expectations = IntrospectionExpectations(
      audience: params.audience, requiredScopes: try InputLimits.list(params.requiredScopes, "requiredScopes") ?? [])
    do throws(IntrospectionError) {
      return IntrospectToken.Result(
        try await engine.introspector.verdict(
          on: Secret(params.token), hint: params.tokenTypeHint, issuer: configured.issuer, expecting: expectations,
          configuration: configured.tokens,
          keys: context.runtime.keys(of: configured, in: engine.keySets), in: context.scope))
    } catch {
      throw ErrorMap.fault(error)
    }
  }

  private static func flow(_ params: ValidateIDToken.Params) throws(RPCFault) -> TokenFlow {
    guard params.flow == .refresh else {
      guard params.previousIdToken == nil else {
        throw .invalidParams("previousIdToken belongs to flow refresh", path: "/previousIdToken")
      }
      return switch params.flow {
      case .implicit: .implicit
      case .hybrid: .hybrid()
      case .code, .refresh, nil: .code
      }
    }
    guard let previous = params.previousIdToken else {
      throw .invalidParams("flow refresh needs previousIdToken", path: "/previousIdToken")
    }
    return .refresh(previous: previous)
  }

  private static func confirmation(
    _ confirmation: ValidateAccessToken.Confirmation?
  ) throws(RPCFault) -> TokenConfirmation? {
    switch (confirmation?.jkt, confirmation?.x5tS256) {
    case (let thumbprint?, nil): return .jkt(thumbprint)
    case (nil, let thumbprint?): return .x5tS256(thumbprint)
    case (nil, nil) where confirmation == nil: return nil
    default: throw .invalidParams("Exactly one of jkt and x5tS256", path: "/confirmation")
    }
  }
}
