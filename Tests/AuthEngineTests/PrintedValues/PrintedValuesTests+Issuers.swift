import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import PosternTestSupport

@testable import OAuthClient
@testable import TokenValidation

/// Samples of what issuers and their tokens are known by.
extension PrintedValuesTests {
  static func issuers() throws -> Samples {
    let clock = ManualClock()
    let issuer = try Issuer.testing(authentication: ClientSecretPost(secret: Secret(secret)))
    let key = JWK(.symmetric(SymmetricKey(Array(secret.utf8.prefix(32)))))
    let engine = Engine { _, _ in .status(200) }
    var request = AuthorizationRequest(redirectURI: "https://shop.test/callback?key=\(secret)")
    request.loginHint = secret
    let token = AccessToken(
      value: Secret(secret), generation: 1, expiry: clock.monotonicNow, lifetime: .seconds(1), expiresAt: clock.wallNow,
      usableUntil: clock.monotonicNow, scope: foreign, binding: .none)
    let transport = TransportError(code: .timedOut, outcome: .sentNoReply, detail: "no answer in time")
    let discovery = DiscoveryError(.failed, "the metadata is no JSON object", transport: transport)
    let oauth = OAuthError(["error": "invalid_grant", "error_description": .string(secret)])
    let exchange = UpstreamExchange(
      purpose: .resource("billing"), method: "GET", url: try HTTPURL("https://api.test/?token=\(secret)"), attempt: 1,
      outcome: .status(200), duration: .seconds(1))
    let keys = StaticJWKSet(JWKSet([key]))
    var rules = TokenExchange(grant: .tokenExchange, inboundAudiences: [foreign])
    (rules.audiences, rules.scope) = ([foreign], foreign)
    let interaction = OAuthError(["error": "interaction_required", "claims": ["x": .string(secret)]])?.interaction
    return [
      "TokenExchange": rules, "ExchangeGrant": ExchangeGrant(issuer: issuer, resource: foreign, exchange: rules),
      "InboundToken": InboundToken(
        value: Secret(secret), issuer: issuer.identifier, subject: secret, expiresAt: clock.wallNow),
      "InboundTokenError": InboundTokenError.invalid(TokenFault(.tokenExpired, "the token has expired", claim: "exp")),
      "RequiredInteraction": interaction as Any? ?? "",
      "AuthorizationRequest": request,
      "TokenEndpointRequest": TokenEndpointRequest(
        endpoint: issuer.url, issuer: "corp", fields: HTTPFields([.init(name: "Authorization", value: secret)]),
        form: [(name: "client_secret", value: secret)], options: TransferOptions(deadline: .never)),
      "ClientSecretBasic": ClientSecretBasic(secret: Secret(secret)),
      "ClientSecretPost": ClientSecretPost(secret: Secret(secret)), "PublicClient": PublicClient(),
      "TLSClientAuthentication": TLSClientAuthentication(),
      "AssertionSigner": try AssertionSigner(key: TokenBench.keys.get().key(for: .es256), clock: clock),
      "PrivateKeyJWT": try PrivateKeyJWT(key: TokenBench.keys.get().key(for: .es256), clock: clock),
      "ClientSecretJWT": try ClientSecretJWT(secret: Secret(secret + String(repeating: "s", count: 32)), clock: clock),
      "ClientAssertion": ClientAssertion(file: "/run/token", clock: clock) { .success(Secret(secret)) },
      "ClientAssertionFault": ClientAssertionFault.expired,
      "ImplicitAccess": ImplicitAccess(grant: .jwtBearer, scope: foreign), "Issuer": issuer,
      "DiscoveryError": discovery,
      "ProviderMetadata": try ProviderMetadata(
        ["issuer": "https://idp.test", "token_endpoint": "https://idp.test/token"], for: issuer),
      "ParameterPath": ["headers", .name(foreign)] as ParameterPath,
      "ParameterPath.Component":
        ParameterPath.Component.position(2),
      "AccessToken": token, "ClientCredentialsGrant": ClientCredentialsGrant(issuer: issuer, scope: foreign),
      "TokenError": TokenError(.rejected(oauth), "the token endpoint answered 400 invalid_grant", status: 400),
      "TokenError.Kind": TokenError.Kind.discovery(discovery), "OAuthError": oauth as Any? ?? "",
      "UpstreamExchange": exchange, "UpstreamExchange.Purpose": exchange.purpose,
      "UpstreamExchange.Outcome": UpstreamExchange.Outcome.failed(.timedOut),
      "SilentObserver": SilentObserver(),
      "DecisionCounts": DecisionCounts(
        permits: 1, denies: 2, faults: 0, local: 0, degraded: 0, trouble: nil, cause: nil),
      "CallScope": CallScope(uid: 1, trace: TraceContext(parent: "00-1-2-01", state: secret)),
      "TraceContext": TraceContext(parent: "00-1-2-01", state: secret) as Any? ?? "",
      "KeySetError": KeySetError(.fetchFailed, "no answer"), "KeySetPolicy": KeySetPolicy(),
      "KeySetAge": KeySetAge(
        issuer: "corp", age: .seconds(1), keyCount: 1, isExpired: false, isUsable: true,
        lastError: KeySetError(.fetchFailed, "no answer")),
      "KeySetName": KeySetName.location(exchange.url), "StaticJWKSet": keys,
      "KeySetSnapshot": KeySetSnapshot(keys: JWKSet([key]), sequence: 1, fetchedAt: clock.monotonicNow),
      "RemoteJWKSet": KeySetStore(engine.services, discovery: engine.discovery).source(for: issuer),
    ]
  }

  static func tokens() throws -> Samples {
    let clock = ManualClock()
    let fault = TokenFault(
      .invalidClaim, "the claim is not valid", claim: "nonce", expected: .string(secret), actual: .string(secret))
    let claims: JSONObject = ["sub": .string(secret), "nonce": .string(secret)]
    var access = AccessTokenExpectations(audience: foreign, requiredScopes: ["read"])
    access.clientID = foreign
    var expectations = IDTokenExpectations(
      clientID: "shop", nonce: secret, authorizationCode: Secret(secret), accessToken: Secret(secret),
      flow: .refresh(previous: secret))
    expectations.state = secret
    let key = TokenKey(kid: foreign, alg: "ES256", thumbprint: nil)
    let inspector = TokenInspector(clock: clock)
    return [
      "AccessTokenExpectations": access, "TokenConfirmation": TokenConfirmation.jkt("thumbprint"),
      "VerdictCache": VerdictCache(),
      "IDTokenConfiguration": IDTokenConfiguration(
        issuer: foreign, clientSecret: Secret(secret)),
      "IDTokenExpectations": expectations,
      "TokenFlow": expectations.flow, "TokenEncryptionPolicy": TokenEncryptionPolicy.none,
      "IDTokenValidator": IDTokenValidator(clock: clock),
      "TokenInspector.Expectations": TokenInspector.Expectations(issuer: foreign, audience: foreign),
      "TokenInspection": inspector.inspect("a.b.\(secret)"),
      "IntrospectionExpectations": IntrospectionExpectations(
        audience: foreign, requiredScopes: ["read"]),
      "IntrospectionVerdict": IntrospectionVerdict.valid(claims: claims),
      "IDTokenValidationError": IDTokenValidationError.invalid(fault),
      "IntrospectionError": IntrospectionError.unverified(fault),
      "LogoutTokenExpectations": LogoutTokenExpectations(clientID: "shop", realm: foreign),
      "LogoutReplayCache": LogoutReplayCache(),
      "TokenVerdict": TokenVerdict.valid(claims: claims, header: claims, key: key, cached: false), "TokenKey": key,
      "TokenFault": fault, "TokenFault.Code": fault.code,
    ]
  }
}
