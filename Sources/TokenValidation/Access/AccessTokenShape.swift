import JOSE
import PosternJSON
import PosternSupport

extension AccessTokenExpectations {
  /// The format of an access token: what shows that a JWT is one, and not an ID token of the same issuer.
  public enum Format: String, Sendable, Hashable, CaseIterable {
    /// RFC 9068: `typ` is `at+jwt`, and `client_id` and `jti` are there.
    case rfc9068
    /// Keycloak: the claim `typ` is `Bearer` or `DPoP`, which is `ID` in an ID token.
    case keycloak
    /// Microsoft Entra ID, versions 1.0 and 2.0: the client is in `azp` or `appid`, and there are scopes (`scp`) or roles.
    case entra
    /// Okta: the client is in `cid`, and the scopes are the list `scp`.
    case okta
    /// Auth0: the client is in `azp` and not among the audiences, and there is `scope`, `permissions` or `gty`.
    case auth0
    /// Amazon Cognito: `token_use` is `access`, and the client in `client_id` stands for the audience where there is no
    /// `aud`.
    case cognito
    /// authentik: the client is in `azp`, and the token has an identifier in `uid`; an ID token has neither. It has the
    /// login's `nonce`, as an ID token has.
    case authentik
    /// Any other JWT that has the API as its audience, and nothing that only ID tokens, logout tokens and refresh
    /// tokens have.
    case jwt
    /// RFC 9068; or the one of Keycloak, Entra, Okta, Auth0 and Cognito that the token's own claims show.
    case recognized
    /// Entra, for users' tokens only: by `scp`, the user's delegated scopes.
    case entraUser
  }
}

/// The parts of an access token in which formats differ. The format is the one that a token has, never `recognized`.
struct AccessTokenShape {
  typealias Format = AccessTokenExpectations.Format

  let format: Format
  let claims: JWTClaims

  /// The shape of a token that is to be of `format`. One that is recognised has RFC 9068's where it shows no other.
  init(_ format: Format, header: JOSEHeader?, claims: JWTClaims) {
    self.claims = claims
    guard format == .recognized else {
      self.format = format
      return
    }
    let statesType = header.map { (try? $0.requireType(["at+jwt"], mayBeAbsent: false)) != nil } ?? false
    self.format = statesType ? .rfc9068 : Self.recognized(claims) ?? .rfc9068
  }

  /// The values of `typ` in the header that the format has, and whether there may be none.
  var types: (accepted: [String], mayBeAbsent: Bool) {
    switch format {
    case .rfc9068, .recognized: (["at+jwt"], false)
    case .entraUser, .entra, .keycloak, .auth0, .authentik: (["at+jwt", "JWT"], false)
    case .okta, .cognito, .jwt: (["at+jwt", "JWT"], true)
    }
  }

  /// The client that the token was issued to.
  var client: (claim: String, value: String?) {
    let names: [String] =
      switch format {
      case .keycloak, .auth0: ["azp", "client_id"]
      case .entra: ["azp", "appid"]
      case .okta: ["cid"]
      case .authentik: ["azp"]
      case .jwt: ["client_id", "azp", "cid", "appid"]
      case .rfc9068, .recognized, .cognito, .entraUser: ["client_id"]
      }
    let name = names.first { claims.members[$0] != nil } ?? names[0]
    return (name, claims.string(name))
  }

  /// Why the token is not, or not clearly, an access token of the format; nil if it is. `clientID` is the configured
  /// client.
  func fault(clientID: String?) -> TokenFault? {
    switch format {
    case .rfc9068, .recognized: nil
    case .entraUser: isDelegated ? nil : TokenFault(.missingClaim, "scp is missing", claim: "scp")
    case .keycloak: keycloakFault
    case .entra: foreignFault ?? entraFault
    case .okta: foreignFault ?? oktaFault
    case .auth0: foreignFault ?? auth0Fault
    case .cognito: foreignFault ?? cognitoFault
    case .authentik: authentikFault
    case .jwt: foreignFault ?? plainFault(clientID: clientID)
    }
  }

  private static func wrong(_ message: String, _ claim: String) -> TokenFault {
    TokenFault(.wrongTokenType, message, claim: claim)
  }

  /// What ID tokens and logout tokens have, and access tokens have not (OpenID Connect Core section 2, Back-Channel
  /// Logout 1.0 section 2.4).
  private var foreignFault: TokenFault? {
    guard claims.members["nonce"] == nil else { return Self.isIDToken("nonce") }
    return eventsFault ?? hashFault
  }

  private var eventsFault: TokenFault? {
    claims.members["events"] == nil ? nil : Self.wrong("the token reports events", "events")
  }

  /// An ID token is bound by a hash to the access token, code or state that it was issued with.
  private var hashFault: TokenFault? {
    ["at_hash", "c_hash", "s_hash"].first { claims.members[$0] != nil }.map(Self.isIDToken)
  }

  private static func isIDToken(_ claim: String) -> TokenFault {
    wrong("the token is an ID token: it has \(claim)", claim)
  }

  /// Keycloak's access tokens had `nonce`, too, before version 25; its claim `typ` is in every token.
  private var keycloakFault: TokenFault? {
    if let hashFault { return hashFault }
    guard ["Bearer", "DPoP"].contains(claims.string("typ")) else {
      return Self.wrong("the claim typ is not Bearer: the token is not an access token of Keycloak", "typ")
    }
    return nil
  }

  private var entraFault: TokenFault? {
    guard client.value?.isEmpty == false else {
      return Self.wrong("azp and appid are missing: the token is not an access token of Entra", "azp")
    }
    guard isDelegated || claims.members["scp"] == nil && hasRoles else {
      return Self.wrong("scp and roles are missing: the token is not an access token of Entra", "scp")
    }
    return nil
  }

  private var oktaFault: TokenFault? {
    guard client.value?.isEmpty == false else {
      return Self.wrong("cid is missing: the token is not an access token of Okta", "cid")
    }
    guard claims.members["scp"]?.arrayValue?.isEmpty == false else {
      return Self.wrong("scp is not a list of scopes: the token is not an access token of Okta", "scp")
    }
    return nil
  }

  private var auth0Fault: TokenFault? {
    let (name, client) = self.client
    guard let client, !client.isEmpty else {
      return Self.wrong("azp is missing: the token is not an access token of Auth0", "azp")
    }
    guard claims.audiences?.containsIdentical(client) != true else {
      return Self.wrong("the token is for the client that it was issued to", name)
    }
    guard
      claims.string("scope") != nil || claims.members["permissions"]?.arrayValue != nil || claims.string("gty") != nil
    else { return Self.wrong("scope and permissions are missing: the token is not an access token of Auth0", "scope") }
    return nil
  }

  private var cognitoFault: TokenFault? {
    guard claims.string("token_use") == "access" else {
      return Self.wrong("token_use is not access: the token is not an access token of Cognito", "token_use")
    }
    guard client.value?.isEmpty == false else {
      return TokenFault(.missingClaim, "client_id is missing", claim: "client_id")
    }
    return nil
  }

  private var authentikFault: TokenFault? {
    if let fault = eventsFault ?? hashFault { return fault }
    for name in ["azp", "uid"] where claims.string(name)?.isEmpty != false {
      return Self.wrong("\(name) is missing: the token is not an access token of authentik", name)
    }
    return nil
  }

  /// A token that is for a client, as ID tokens are, needs what these do not have.
  private func plainFault(clientID: String?) -> TokenFault? {
    for (name, access) in [
      ("typ", ["Bearer", "DPoP"]), ("token_use", ["access"]), ("tokenName", ["access_token"]),
    ] {
      guard let stated = claims.members[name] else { continue }
      guard access.contains(stated.stringValue ?? "") else {
        return Self.wrong("\(name) is that of another kind of token", name)
      }
      return nil
    }
    guard !["scope", "scp"].contains(where: { claims.members[$0] != nil }) else { return nil }
    // ZITADEL's have no scope. Its ID tokens have no `jti`, and those of others, how the user authenticated.
    let isOfUser = ["auth_time", "amr", "acr", "sid"].contains { claims.members[$0] != nil }
    guard claims.string("jti")?.isEmpty != false || claims.string("client_id") == nil || isOfUser else { return nil }
    let clients = ["client_id", "azp", "cid", "appid"].compactMap { claims.string($0) } + [clientID].compactMap(\.self)
    let isForClient = clients.contains { claims.audiences?.containsIdentical($0) == true }
    return isForClient ? Self.wrong("the token is for a client, and nothing shows that it is no ID token", "aud") : nil
  }

  private var isDelegated: Bool { claims.string("scp")?.isEmpty == false }

  private var hasRoles: Bool { claims.members["roles"]?.arrayValue?.isEmpty == false }
}

extension AccessTokenShape {
  /// The format that claims show beyond doubt; nil where they show none. It asks for more than the format itself does:
  /// nobody has said that the issuer is of that kind.
  static func recognized(_ claims: JWTClaims) -> Format? {
    guard let format = resembled(claims), format != .authentik else { return nil }
    let shape = AccessTokenShape(format: format, claims: claims)
    guard shape.foreignFault == nil, shape.fault(clientID: nil) == nil else { return nil }
    let isApplication = ["azpacr", "appidacr", "idtyp"].contains { claims.members[$0] != nil }
    return format == .entra && !shape.isDelegated && !isApplication ? nil : format
  }

  /// The format that claims resemble, of an access token or not.
  static func resembled(_ claims: JWTClaims) -> Format? {
    let names = claims.members
    if claims.string("acr")?.startsWithBytes(of: "goauthentik.io/") == true, claims.string("uid") != nil {
      return .authentik
    }
    if ["Bearer", "DPoP", "ID"].contains(claims.string("typ")) { return .keycloak }
    if claims.string("token_use") != nil { return .cognito }
    if claims.string("cid") != nil, names["scp"]?.arrayValue != nil { return .okta }
    let hasParty = claims.string("azp") != nil
    if hasParty || claims.string("appid") != nil, names["scp"]?.stringValue != nil || names["roles"]?.arrayValue != nil
    {
      return .entra
    }
    if hasParty, claims.string("scope") != nil || names["permissions"]?.arrayValue != nil { return .auth0 }
    return nil
  }

  private init(format: Format, claims: JWTClaims) {
    self.format = format
    self.claims = claims
  }

  /// The scopes that the token grants.
  ///
  /// An application of Entra has roles instead of scopes: a user's roles grant nothing to the client. Auth0 has
  /// `permissions` where the API's operator has them added.
  static func scopes(in claims: JWTClaims, format: Format) -> IdenticalStrings {
    var scopes = (claims.string("scope") ?? "").split(atByte: " ")
    guard format != .rfc9068, format != .entraUser else { return IdenticalStrings(scopes) }
    func list(_ name: String) -> [Substring] {
      claims.members[name]?.arrayValue?.compactMap { $0.stringValue?[...] } ?? []
    }
    scopes += (claims.string("scp") ?? "").split(atByte: " ") + list("scp")
    switch format {
    case .jwt: scopes += list("scope")
    case .auth0: scopes += list("permissions")
    case .entra where claims.members["scp"] == nil: scopes += list("roles")
    default: break
    }
    return IdenticalStrings(scopes)
  }

  /// What a token without `aud` is for, in a format where that shows: Cognito's client, and the resource servers whose
  /// scopes it grants (`SERVER/SCOPE`); nil where nothing shows it.
  static func audiences(in claims: JWTClaims, format: Format) -> [String]? {
    if let audiences = claims.audiences { return audiences }
    guard format == .cognito || format == .recognized, claims.string("token_use") == "access",
      let client = claims.string("client_id")
    else { return nil }
    let servers = (claims.string("scope") ?? "").split(atByte: " ").compactMap { scope in
      scope.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(scope[..<$0]) }
    }
    return [client] + servers.filter { !$0.isEmpty }
  }
}

/// A sentence about the setting that accepts a token, for the error of a token of another format.
enum AccessTokenHint {
  /// The hint for a token with those claims, of the provider that its issuer evidently is; empty where no setting would
  /// help.
  static func text(_ claims: JWTClaims, _ provider: LikelyProvider?) -> String {
    let likely = provider ?? AccessTokenShape.resembled(claims).map { LikelyProvider(name: $0.rawValue, format: $0) }
    let fits = likely.map { AccessTokenShape($0.format, header: nil, claims: claims).fault(clientID: nil) == nil }
    let foreign = ["nonce", "at_hash", "c_hash", "s_hash", "events"]
    let isForeign =
      foreign.contains { claims.members[$0] != nil } || claims.string("typ") == "ID"
      || claims.string("token_use") == "id"
    guard !isForeign || fits == true else { return "" }
    if let likely {
      return
        "; access tokens of this kind need format: \(likely.format.rawValue) at the issuer (or provider: \(likely.name))"
    }
    let isLikely = ["client_id", "scope", "scp", "azp", "cid", "appid"].contains { claims.members[$0] != nil }
    return isLikely ? "; access tokens that do not follow RFC 9068 need format: jwt at the issuer" : ""
  }
}

/// `typ` in the header is one that the format has (RFC 8725 section 3.11; RFC 9068 section 4).
struct AccessTokenHeaderRule: HeaderRule {
  let format: AccessTokenExpectations.Format
  let provider: LikelyProvider?

  func outcome(for header: JOSEHeader, claims: JWTClaims) -> RuleOutcome {
    let shape = AccessTokenShape(format, header: header, claims: claims)
    let (accepted, mayBeAbsent) = shape.types
    do throws(JOSEError) {
      try header.requireType(accepted, mayBeAbsent: mayBeAbsent)
      return .met
    } catch {
      let hint = shape.format == .rfc9068 ? AccessTokenHint.text(claims, provider) : ""
      return .failed(
        TokenFault(
          .wrongTokenType, error.message + hint, claim: "typ", expected: .array(accepted.map { .string($0) }),
          actual: header.type.map { .string($0) }))
    }
  }
}

/// The token is evidently an access token of its format, issued to the presenting client where that is known.
struct AccessTokenEvidenceRule: ClaimRule {
  let format: AccessTokenExpectations.Format
  /// The client of the configuration.
  let clientID: String?
  /// The client that presents the token.
  let presenter: String?

  func outcome(in context: RuleContext) -> RuleOutcome {
    let shape = AccessTokenShape(format, header: context.header, claims: context.claims)
    if let fault = shape.fault(clientID: clientID) { return .failed(fault) }
    switch shape.format {
    case .rfc9068: return ClientIDRule(clientID: presenter).outcome(in: context)
    case .entraUser: return .met
    default: break
    }
    guard let presenter else { return .met }
    let (name, client) = shape.client
    guard let client else { return .absent(name) }
    return .require(
      client.isIdentical(to: presenter),
      TokenFault(
        .clientIDMismatch, "the token was issued to another client", claim: name, expected: .string(presenter),
        actual: .string(client)))
  }
}

/// `jti` is there where the format has it (RFC 9068 section 2.2).
struct AccessTokenIdentifierRule: ClaimRule {
  let format: AccessTokenExpectations.Format

  func outcome(in context: RuleContext) -> RuleOutcome {
    let shape = AccessTokenShape(format, header: context.header, claims: context.claims)
    return shape.format == .rfc9068 ? TokenIdentifierRule().outcome(in: context) : .met
  }
}
