import AuthEngine
import EngineConfiguration
import JOSE
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport
import SidecarCalls
import SidecarEngine
import SidecarObservability

/// The methods that judge tokens: params to expectations, the engine, and its verdict to a result.
struct TokenHandlers: Sendable {
  let engine: Engine
  let computation: CPUOffload

  func validateIDToken(_ params: ValidateIDToken.Params, _ context: CallContext) async throws(RPCFault) -> JSONValue {
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
    expectations.now = try bounds.now(params.now)
    return try await decided(issuer, context) { [engine, expectations] () async throws(KeySetError) in
      try await engine.validators.idTokens.validate(
        params.idToken, expecting: expectations, configuration: issuer.tokens, keys: issuer.keys,
        deadline: context.deadline)
    }
  }

  func validateAccessToken(
    _ params: ValidateAccessToken.Params, _ context: CallContext
  ) async throws(RPCFault) -> JSONValue {
    let bounds = InputLimits(rules: context.runtime.validation)
    let issuer = try TokenIssuer(params, context, engine.keySets)
    var expectations = AccessTokenExpectations(
      audience: params.audience,
      requiredScopes: try InputLimits.list(params.requiredScopes, "requiredScopes") ?? [], clientID: params.clientId,
      confirmation: try Self.confirmation(params.confirmation))
    expectations.clockSkew = try bounds.clockSkew(params.clockSkewSeconds)
    expectations.now = try bounds.now(params.now)
    return try await decided(issuer, context) { [engine, expectations] () async throws(KeySetError) in
      try await engine.validators.accessTokens.validate(
        params.accessToken, expecting: expectations, configuration: issuer.tokens, keys: issuer.keys,
        deadline: context.deadline)
    }
  }

  func validateLogoutToken(
    _ params: ValidateLogoutToken.Params, _ context: CallContext
  ) async throws(RPCFault) -> JSONValue {
    let issuer = try TokenIssuer(params, context, engine.keySets)
    var expectations = LogoutTokenExpectations(clientID: try issuer.requiredClientID(), realm: issuer.realm)
    expectations.now = try InputLimits(rules: context.runtime.validation).now(params.now)
    let validator = params.issuer == nil ? engine.validators.foreignLogoutTokens : engine.validators.logoutTokens
    return try await decided(issuer, context) { [expectations] () async throws(KeySetError) in
      try await validator.validate(
        params.logoutToken, expecting: expectations, configuration: issuer.tokens, keys: issuer.keys,
        deadline: context.deadline)
    }
  }

  /// The verdict as a result, or why there is none.
  private func decided(
    _ issuer: TokenIssuer, _ context: CallContext,
    _ judge: @escaping @Sendable () async throws(KeySetError) -> AuthEngine.TokenVerdict
  ) async throws(RPCFault) -> JSONValue {
    let body: @Sendable () async throws(RPCFault) -> JSONValue = { () async throws(RPCFault) in
      do throws(KeySetError) {
        return VerdictResult.make(try await judge())
      } catch {
        throw ErrorMap.fault(error)
      }
    }
    return try await issuer.isBounded ? body() : computation.run(context, body)
  }

  func introspectToken(_ params: IntrospectToken.Params, _ context: CallContext) async throws(RPCFault) -> JSONValue {
    let configured = try context.runtime.issuer(params.issuer)
    let expectations = IntrospectionExpectations(
      audience: params.audience, requiredScopes: try InputLimits.list(params.requiredScopes, "requiredScopes") ?? [])
    do throws(IntrospectionError) {
      return VerdictResult.make(
        try await engine.introspector.verdict(
          on: Secret(params.token), hint: params.tokenTypeHint, issuer: configured.issuer, expecting: expectations,
          configuration: configured.tokens,
          keys: TracedKeySource(
            context.runtime.keys(of: configured, in: engine.keySets), trace: context.traceContext),
          deadline: context.deadline, trace: context.traceContext))
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
