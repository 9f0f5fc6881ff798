import AuthEngine
import HTTPMessages
import PosternConfiguration
import PosternJSON
import PosternJSONRPC
import PosternObservability
import PosternProtocol
import PosternSupport

/// Validates the inbound token of a call, as `validateAccessToken` would, before it is exchanged.
struct InboundTokenCheck: Sendable {
  let engine: Engine
  let computation: CPUOffload

  /// The validated token for a call at `server`; nil for another kind of authentication, with which none may be given.
  func callAsFunction(
    _ given: OnBehalfOf?, _ server: ResourceServer, by deadline: Deadline, _ context: CallContext
  ) async throws(RPCFault) -> InboundToken? {
    guard let (given, exchange, issuer) = try Self.source(of: given, server, context) else { return nil }
    let (token, audience) = (Secret(given.token), given.audience)
    let keys = context.runtime.keys(of: issuer, in: engine.keySets)
    let judge: @Sendable () async throws(RPCFault) -> InboundToken = { [engine] () async throws(RPCFault) in
      do throws(InboundTokenError) {
        return try await engine.inboundToken(
          token, audience: audience, for: exchange, from: issuer.issuer, tokens: issuer.tokens, keys: keys,
          in: context.scope.until(deadline))
      } catch {
        throw Self.fault(error)
      }
    }
    // Decryption may take long.
    let inbound = try await issuer.tokens.encryption.keys.isEmpty ? judge() : computation.run(context, judge)
    if let subject = inbound.subject { context.audit?.note("subject", .string(subject)) }
    return inbound
  }

  /// The inbound token of a call at `server`, with its issuer and how it is exchanged; nil as above. Not validated.
  static func source(
    of given: OnBehalfOf?, _ server: ResourceServer, _ context: CallContext
  ) throws(RPCFault) -> (OnBehalfOf, TokenExchange, ConfiguredIssuer)? {
    guard server.authentication == .onBehalfOf else {
      guard given == nil else {
        throw .invalidParams("An inbound token goes with auth onBehalfOf", path: "/onBehalfOf")
      }
      return nil
    }
    guard let exchange = server.exchange, let issuer = context.runtime.inboundIssuer(of: server) else {
      throw .invalidParams("The resource is configured without an exchange of inbound tokens", path: "/auth")
    }
    guard let given else {
      throw .invalidParams("The resource needs the inbound token of a user", path: "/onBehalfOf")
    }
    guard given.token.utf8.count <= Engine.maxInboundTokenBytes else {
      throw .invalidParams("The token is larger than 64 KiB", path: "/onBehalfOf/token")
    }
    return (given, exchange, issuer)
  }

  private static func fault(_ error: InboundTokenError) -> RPCFault {
    var fault: RPCFault
    switch error {
    case .invalid(let violation):
      fault = RPCFault(
        .notAuthenticated, "the inbound token is not valid: \(violation.message)",
        isRetryable: false, upstream: UpstreamFault(code: violation.code.rawValue))
    case .undecided(let cause): fault = ErrorMap.fault(cause)
    case .notIntrospected(let cause): fault = ErrorMap.fault(cause)
    }
    fault.outcome = .notSent
    return fault
  }
}

extension AccessTokenHandler {
  /// A token on behalf of the user of `inbound`. It lives no longer than that one, whatever the call wants.
  func token(
    for inbound: InboundToken, _ server: ResourceServer, _ context: CallContext
  ) async throws(RPCFault) -> AccessToken {
    guard let grant = server.exchangeGrant else {
      throw .invalidParams("The resource is configured without an exchange of inbound tokens", path: "/auth")
    }
    do throws(TokenError) {
      return try await engine.exchangedTokens.token(
        for: inbound, by: grant, in: context.scope)
    } catch {
      throw ErrorMap.fault(ResourceError(ofExchange: error, issuer: grant.issuer.name))
    }
  }
}
