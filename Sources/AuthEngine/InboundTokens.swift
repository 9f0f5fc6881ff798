public import OAuthClient
import PosternJSON
public import PosternSupport
public import TokenValidation

/// Why an inbound token is not exchanged.
public enum InboundTokenError: Error, Sendable {
  /// It is not valid, with the first violation: nothing is sent.
  case invalid(TokenFault)
  /// There are no keys to judge it with.
  case undecided(KeySetError)
  /// The issuer could not report whether it is active.
  case notIntrospected(IntrospectionError)
}

extension PosternEngine {
  /// The largest inbound token, in bytes.
  public static var maxInboundTokenBytes: Int { 64 << 10 }

  /// Validates an inbound token before it is exchanged: a JWT by `keys` and the rules of `validators.accessTokens`, any
  /// other token by introspection at `issuer`, if it has an endpoint for that. A token that is bound to a key is not
  /// valid, as its sender's proof is not here.
  ///
  /// - Parameters:
  ///   - token: The token that a client has sent to the program.
  ///   - audience: The audience that the token must be for; nil: the first of the exchange's `inboundAudiences`.
  ///   - exchange: The rules of the exchange.
  ///   - issuer: The issuer of the inbound token.
  ///   - tokens: The rules for the issuer's tokens.
  ///   - keys: The keys of the issuer.
  ///   - scope: The caller, and the end of the wait for keys or an introspection.
  /// - Throws: `InboundTokenError`; nothing has been exchanged then.
  public func inboundToken(
    _ token: Secret<String>, audience: String? = nil, for exchange: TokenExchange, from issuer: Issuer,
    tokens: IDTokenConfiguration, keys: any KeySource, in scope: CallScope = CallScope()
  ) async throws(InboundTokenError) -> InboundToken {
    guard let wanted = audience ?? exchange.inboundAudiences.first else {
      throw .invalid(TokenFault(.audMismatch, "the exchange takes tokens for no audience", claim: "aud"))
    }
    let text = token.reveal()
    guard text.utf8.count <= Self.maxInboundTokenBytes else {
      let code = TokenFault.Code(rawValue: "token_too_large")
      throw .invalid(TokenFault(code, "the inbound token is larger than 64 KiB"))
    }
    let judged = try await claims(of: token, wanted, exchange, issuer, tokens, keys, scope)
    let inbound = InboundToken(token, claims: judged)
    // The tolerance for clocks is no time in which a token could be used.
    if let expiry = inbound.expiresAt, expiry <= clock.wallNow {
      throw .invalid(TokenFault(.tokenExpired, "the token has expired", claim: "exp"))
    }
    return inbound
  }

  private func claims(
    of token: Secret<String>, _ audience: String, _ exchange: TokenExchange, _ issuer: Issuer,
    _ tokens: IDTokenConfiguration, _ keys: any KeySource, _ scope: CallScope
  ) async throws(InboundTokenError) -> JSONObject {
    var source = TokenSource(issuer: issuer, tokens: tokens, keys: keys)
    source.acceptsEntra = exchange.dialect == .entra
    let judged: JudgedToken
    do throws(TokenJudgeError) {
      judged = try await validators.requests.judge.judge(
        token, from: source, expecting: AccessTokenExpectations(audience: audience),
        orOpaque: IntrospectionExpectations(audience: audience, tokenType: TokenType.bearer.rawValue),
        in: scope)
    } catch {
      switch error {
      case .invalid(let fault): throw .invalid(fault)
      case .undecided(let error): throw .undecided(error)
      case .notIntrospected(let error): throw .notIntrospected(error)
      }
    }
    // RFC 7800 section 3.1: it is no bearer token.
    guard judged.claims["cnf"] == nil else {
      throw .invalid(TokenFault(.confirmationRequired, "the token is bound to a key", claim: "cnf"))
    }
    return judged.claims
  }
}

extension InboundToken {
  /// The validated token with those claims.
  fileprivate init(_ token: Secret<String>, claims: JSONObject) {
    let expiry: Timestamp? =
      switch claims["exp"] {
      case .integer(let seconds)?: Timestamp(secondsSinceEpoch: seconds)
      case .real(let seconds)?: Int64(exactly: seconds.rounded(.down)).map(Timestamp.init(secondsSinceEpoch:))
      default: nil
      }
    self.init(
      value: token, issuer: claims["iss"]?.stringValue, subject: claims["sub"]?.stringValue,
      sessionID: claims["sid"]?.stringValue, objectID: claims["oid"]?.stringValue, expiresAt: expiry)
  }
}

extension InboundTokenError: ConciseStringConvertible {
  /// `reason: detail`.
  public var description: String {
    switch self {
    case .invalid(let fault): "\(fault)"
    case .undecided(let error): "\(error)"
    case .notIntrospected(let error): "\(error)"
    }
  }
}
