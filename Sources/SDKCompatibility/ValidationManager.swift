public import HTTPMessages
public import OAuthClient
public import PosternJSON
public import PosternSupport
public import TokenValidation

/// The port to the validation of ID tokens, for programs that replace it in their tests.
///
/// One requirement; the other forms follow from it.
public protocol IDTokenValidating: Sendable {
  /// Returns the claims of a valid token.
  ///
  /// `authorizationCode` is compared with the token's `c_hash`, and `nonce` with its `nonce`; `jwksUrl` is the issuer's
  /// JWKS endpoint. Throws for every other token, and for none at all.
  @discardableResult
  func validate(
    idTokenString: String?, authorizationCode: String?, clientId: String, nonce: String, jwksUrl: HTTPURL,
    config: IDTokenConfiguration
  ) async throws(IDTokenValidationError) -> JSONObject
}

/// The name of the protocol in the SDK on which it is modelled.
public typealias IValidationManager = IDTokenValidating

extension IDTokenValidating {
  /// Returns whether the token is valid; `error` is nil then, and otherwise the reason.
  ///
  /// The SDK's form, asynchronous because the keys may have to be fetched.
  public func validate(
    idTokenString: String?, authorizationCode: String?, clientId: String, nonce: String, jwksUrl: HTTPURL,
    config: IDTokenConfiguration, error: inout IDTokenValidationError?
  ) async -> Bool {
    do throws(IDTokenValidationError) {
      try await validate(
        idTokenString: idTokenString, authorizationCode: authorizationCode, clientId: clientId, nonce: nonce,
        jwksUrl: jwksUrl, config: config)
    } catch let reason {
      error = reason
      return false
    }
    error = nil
    return true
  }
}

/// The reason why a token is not accepted.
public enum IDTokenValidationError: Error, Sendable {
  /// The token is invalid, with the first violation.
  case invalid(TokenFault)
  /// There are no keys to verify it with: nothing is known about the token.
  case undecided(KeySetError)

  /// The violated rule; nil when there are no keys.
  public var code: TokenFault.Code? { if case .invalid(let fault) = self { fault.code } else { nil } }
}

extension IDTokenValidationError: ConciseStringConvertible {
  /// The code and the reason.
  public var description: String {
    switch self {
    case .invalid(let fault): "\(fault)"
    case .undecided(let error): "\(error)"
    }
  }
}

/// A check of the program's own, after the validator has accepted a token. It can reject a token, and accepts none.
public protocol IDTokenCheck: Sendable {
  /// Returns the violation in a token whose signature and claims are valid; nil for none.
  func fault(claims: JSONObject, header: JSONObject) -> TokenFault?
}

/// The port to the keys of issuers, by their JWKS endpoints. `KeySetStore` fetches and caches them.
public protocol JWKSProviding: Sendable {
  /// Returns the source of the keys that are published at `url`.
  func keys(at url: HTTPURL) -> any KeySource
}

extension KeySetStore: JWKSProviding {
  /// Returns the source at `url`, which is fetched over `https` only.
  public func keys(at url: HTTPURL) -> any KeySource { source(at: url) }

  /// Returns the same store for servers that are reached by `access`, as those behind an authority of one's own.
  public func reached(by access: ServerAccess) -> any JWKSProviding { ReachedKeySets(store: self, access: access) }
}

private struct ReachedKeySets: JWKSProviding {
  let store: KeySetStore
  let access: ServerAccess

  func keys(at url: HTTPURL) -> any KeySource { store.source(at: url, access: access) }
}

/// Validates ID tokens by the names of the SDKs' `ValidationManager`, and by every rule of `IDTokenValidator`.
///
/// The SDK's three collaborators are replaced as far as that is safe:
///
/// - `IJwksUrlDataManager` is `JWKSProviding`, or a fixed `KeySource`, such as `StaticJWKSet`.
/// - `IPublicKeyCreator` is `KeySource`, which returns keys as JWKs. A key is used for its own algorithm only; a hook
///   that makes keys from a token's header would let the token choose them.
/// - `ITokenParser` has no replacement. Forged tokens pass where two parsers read one token differently: what is
///   verified and what is used must come from the same reading. `IDTokenCheck` gets the claims and the header after
///   that, for rules of the program's own.
///
/// No hook chooses the algorithm, skips a rule, or turns a rejection into an acceptance. The accepted algorithms are
/// those of the configuration.
public struct ValidationManager: IDTokenValidating {
  private struct FixedKeys: JWKSProviding {
    let source: any KeySource

    func keys(at url: HTTPURL) -> any KeySource { source }
  }

  private let validator: IDTokenValidator
  private let keySets: any JWKSProviding
  private let flow: TokenFlow
  private let checks: [any IDTokenCheck]

  /// A manager with the keys that are published at each call's `jwksUrl`, from `keySets`.
  ///
  /// `flow` is how the tokens are obtained: with `.hybrid()` a `c_hash` is required, as in the SDK; with `.code` it is
  /// compared where the token has one.
  public init(
    validator: IDTokenValidator, keySets: any JWKSProviding, flow: TokenFlow = .code, checks: [any IDTokenCheck] = []
  ) {
    self.validator = validator
    self.keySets = keySets
    self.flow = flow
    self.checks = checks
  }

  /// A manager with the keys of `keys`, whatever the `jwksUrl` of a call: nothing is fetched from there.
  public init(
    validator: IDTokenValidator, keys: any KeySource, flow: TokenFlow = .code, checks: [any IDTokenCheck] = []
  ) {
    self.init(validator: validator, keySets: FixedKeys(source: keys), flow: flow, checks: checks)
  }

  /// Returns the claims of a valid token; throws for every other one, and for none.
  @discardableResult
  public func validate(
    idTokenString: String?, authorizationCode: String?, clientId: String, nonce: String, jwksUrl: HTTPURL,
    config: IDTokenConfiguration
  ) async throws(IDTokenValidationError) -> JSONObject {
    try await validate(
      idTokenString: idTokenString, authorizationCode: authorizationCode, clientId: clientId, nonce: nonce,
      jwksUrl: jwksUrl, config: config, in: CallScope())
  }

  /// Does the same for the call of `scope`.
  @discardableResult
  public func validate(
    idTokenString: String?, authorizationCode: String?, clientId: String, nonce: String, jwksUrl: HTTPURL,
    config: IDTokenConfiguration, in scope: CallScope
  ) async throws(IDTokenValidationError) -> JSONObject {
    let verdict: TokenVerdict
    do throws(KeySetError) {
      verdict = try await validator.validate(
        idTokenString: idTokenString, authorizationCode: authorizationCode, clientID: clientId, nonce: nonce,
        flow: flow, keys: keySets.keys(at: jwksUrl), configuration: config, in: scope)
    } catch {
      throw .undecided(error)
    }
    switch verdict {
    case .invalid(let fault): throw .invalid(fault)
    case .valid(let claims, let header, _, _):
      for check in checks {
        if let fault = check.fault(claims: claims, header: header) { throw .invalid(fault) }
      }
      return claims
    }
  }
}

extension ValidationManager: ConciseStringConvertible {}
