public import AuthEngine
import PosternConfiguration
public import PosternSupport

/// Access tokens: validation, introspection, and tokens for libraries that send requests themselves.
public struct PosternTokens: Sendable {
  let running: RunningEngine

  private var engine: PosternEngine { running.engine }
  private var uid: UInt32 { running.uid }

  /// Validates an access token that is a JWT (RFC 9068, or the issuer's `format`) by the keys of a configured issuer;
  /// with `introspect: always` the issuer is asked, too.
  ///
  /// - Throws: as `Postern.validateIDToken`; `IntrospectionError` when the issuer was to be asked and gave no answer.
  public func validateAccessToken(
    _ accessToken: String, issuer: String? = nil, audience: String, requiredScopes: [String] = []
  ) async throws -> TokenVerdict {
    let (configured, keys) = try running.issuer(running.issuerName(issuer))
    let verdict = try await engine.validators.accessTokens.validate(
      accessToken,
      expecting: AccessTokenExpectations(audience: audience, requiredScopes: requiredScopes),
      configuration: configured.tokens, keys: keys, in: running.scope)
    guard verdict.isValid, configured.introspectsJWTs else { return verdict }
    let rejection = try await engine.introspector.rejection(
      of: Secret(accessToken), issuer: configured.issuer, configuration: configured.tokens,
      keys: keys, in: running.scope)
    if let rejection { return .invalid(rejection) }
    return verdict
  }

  /// Validates a logout token (OpenID Connect Back-Channel Logout section 2.6) by the keys of a configured issuer. Each
  /// token is valid once.
  ///
  /// - Throws: as `Postern.validateIDToken`.
  public func validateLogoutToken(_ logoutToken: String, issuer: String? = nil) async throws -> TokenVerdict {
    let (configured, keys) = try running.issuer(running.issuerName(issuer))
    return try await engine.validators.logoutTokens.validate(
      logoutToken, expecting: try expectations(at: configured), configuration: configured.tokens, keys: keys,
      in: running.scope)
  }

  /// Validates a logout token and, when it is valid, ends the sessions of its login (OpenID Connect Back-Channel Logout
  /// section 2.7), of all uids that have sessions in the store: by `sid` those of that login, else all of `sub`.
  ///
  /// - Returns: The verdict, and the number of sessions that were ended.
  /// - Throws: as `Postern.validateIDToken`; `SessionError` when the store cannot be used: then the token is valid once
  ///   more, and a retry ends the rest.
  public func endSessions(
    byLogoutToken logoutToken: String, issuer: String? = nil
  ) async throws -> (verdict: TokenVerdict, ended: Int) {
    let verdict = try await validateLogoutToken(logoutToken, issuer: issuer)
    guard let claims = verdict.claims else { return (verdict, 0) }
    let (configured, _) = try running.issuer(running.issuerName(issuer))
    let ended = try await engine.endSessions(
      of: claims, expecting: try expectations(at: configured), at: try running.sessionIssuer(configured.issuer.name),
      in: running.scope)
    return (verdict, ended)
  }

  private func expectations(at configured: ConfiguredIssuer) throws -> LogoutTokenExpectations {
    LogoutTokenExpectations(
      clientID: try running.clientID(of: configured), realm: "issuer \(configured.issuer.name)")
  }

  /// Has a configured issuer introspect a token (RFC 7662), and judges the answer.
  ///
  /// - Throws: `SessionError` for an issuer that is not configured; `IntrospectionError` when there is no verdict.
  public func introspect(
    _ token: String, issuer: String? = nil, audience: String? = nil, requiredScopes: [String] = []
  ) async throws -> IntrospectionVerdict {
    let (configured, keys) = try running.issuer(running.issuerName(issuer))
    return try await engine.introspector.verdict(
      on: Secret(token), hint: nil, issuer: configured.issuer,
      expecting: IntrospectionExpectations(audience: audience, requiredScopes: requiredScopes),
      configuration: configured.tokens,
      keys: keys, in: running.scope)
  }

  /// Validates the access token that the program received from its own client, before it is exchanged for one of a
  /// resource with `auth: onBehalfOf` (nil: the only resource): for `FetchOptions.onBehalfOf`. The token must be for
  /// `audience`; nil: the first of the resource's `exchange.inboundAudience`.
  ///
  /// - Throws: `InboundTokenError` for a token that is not valid, or cannot be judged; `ResourceError` for a resource
  ///   without an exchange.
  public func inboundToken(
    _ token: Secret<String>, for resource: String? = nil, audience: String? = nil
  ) async throws -> InboundToken {
    let server = try running.server(resource)
    guard let exchange = server.exchange, let issuer = running.values.inboundIssuer(of: server.name) else {
      throw ResourceError(
        .invalidParams, "the resource is configured without an exchange of inbound tokens", path: ["resource"])
    }
    return try await engine.inboundToken(
      token, audience: audience, for: exchange, from: issuer.issuer, tokens: issuer.tokens,
      keys: running.values.keys(of: issuer, in: engine.keySets), in: running.scope)
  }

  /// An access token for a configured resource (nil: the only one), for libraries that send requests themselves: fresh,
  /// or refreshed now. `session` is the user's, with `auth: user` and `implicit`.
  ///
  /// Only with `tokens.leaveTheSidecar` in the configuration. A token that is bound to a key (DPoP) works with `fetch`
  /// alone, and is not returned.
  public func accessToken(
    for resource: String? = nil, session handle: SessionHandle? = nil
  ) async throws(SessionError) -> AccessToken {
    let server = try serverOfToken(resource)
    guard server.authentication != .credential else {
      throw .grantNotSupported("a resource's own credential is not handed out: use fetch")
    }
    guard let issuer = server.issuer else {
      throw .grantNotSupported("the resource is configured without an issuer")
    }
    let kind: SessionKind
    switch server.authentication {
    case .none, .credential: throw .grantNotSupported("a resource with auth: none has no token")
    case .onBehalfOf:
      throw .grantNotSupported("the resource's tokens are on behalf of a user: use fetch")
    case .clientCredentials:
      guard handle == nil else { throw .invalid("a session goes with auth user or implicit", path: ["session"]) }
      let grant = ClientCredentialsGrant(
        issuer: issuer, scope: server.scope, audience: server.audience)
      let token: AccessToken
      do throws(TokenError) {
        token = try await engine.deviceTokens.token(for: grant, in: running.scope)
      } catch {
        throw SessionError(error)
      }
      return try Self.bearer(token)
    case .user: kind = .user
    case .implicit: kind = .implicit
    }
    guard let handle else { throw .sessionMissing }
    guard try await engine.sessions.session(handle, in: running.scope).kind == kind else { throw SessionError.notFound }
    return try Self.bearer(
      await engine.sessions.token(
        TokenNeed(scope: server.scope, audience: server.audience), of: handle, at: running.sessionIssuer(issuer.name),
        in: running.scope))
  }

  private func serverOfToken(_ resource: String?) throws(SessionError) -> ResourceServer {
    guard running.values.configuration.tokens.leaveTheSidecar else {
      throw .grantNotSupported("tokens.leaveTheSidecar is off: use fetch")
    }
    let server: ResourceServer
    do throws(ResourceError) {
      server = try running.server(resource)
    } catch {
      throw .invalid(error.detail, path: ["resource"])
    }
    guard server.senderConstraint != .dpop else { throw bound }
    return server
  }

  private static func bearer(_ token: AccessToken) throws(SessionError) -> AccessToken {
    guard token.type == .bearer else { throw bound }
    return token
  }
}

private let bound = SessionError.grantNotSupported("the token is bound to a key (DPoP): use fetch")

extension PosternTokens: ConciseStringConvertible {}
