public import AuthEngine
public import PosternJSON
public import PosternSupport

/// `validateIdToken`: every rule of OpenID Connect, in a fixed order, each with its own error.
public enum ValidateIDToken: RPCMethod {
  public static let name = "validateIdToken"
  public static let bounds: PeerBounds = .issuers
  public static let chain: ChainRule = .open
  public static let summary = "Validates an ID token"
  public static let explanation =
    "Checks encoding, header and algorithm, choice of key, signature and claims, in this order. A token that is not valid is a result with the first failing check; an error means that it could not be decided."
  public static let resultSummary = "The verdict"
  public static let errors = ErrorCode.keySources

  /// How the token was obtained.
  public enum Flow: String, SchemaEnumeration, Sendable {
    case code, implicit, hybrid, refresh
  }

  public struct Params: RPCObject, IssuerReference {
    public var idToken: String
    public var issuer: String?
    public var expectedIssuer: String?
    public var clientId: String?
    public var jwks: JSONValue?
    public var jwksUrl: String?
    public var nonce: String?
    public var authorizationCode: String?
    public var accessToken: String?
    public var state: String?
    public var maxAge: Int?
    public var acrValues: [String]?
    public var trustedAudiences: [String]?
    public var algorithms: [String]?
    public var clockSkewSeconds: Int?
    public var now: Double?
    public var requireAzp: Bool?
    public var rejectUnexpectedNonce: Bool?
    public var flow: Flow?
    public var previousIdToken: String?

    public static let memberDocs = IssuerReferenceDocs.with([
      "idToken": "The token",
      "clientId": "The client that the token must be for; default: the configured issuer's client",
      "nonce": "The nonce of the authorization request; then it must be there and equal",
      "rejectUnexpectedNonce": "Whether a nonce makes the token invalid where the call has none; default: the issuer's",
      "authorizationCode": "Compared with c_hash",
      "accessToken": "Compared with at_hash",
      "state": "Compared with s_hash",
      "maxAge": "How many seconds ago the user may have authenticated at most; requires auth_time",
      "acrValues": "Authentication contexts of which acr must be one",
      "trustedAudiences": "Audiences that the token may have in addition to the client; default: the issuer's",
      "algorithms": "Signature algorithms; may only narrow what is allowed anyway",
      "clockSkewSeconds": "How far clocks may differ, at most 300; default: the issuer's, else 30",
      "now": "Seconds since the epoch to judge by; only where development.callerClock is on",
      "requireAzp": "Whether a token with several audiences must have azp; default: the issuer's",
      "flow": "How the token was obtained; default code",
      "previousIdToken": "With flow refresh, and only there: the ID token before it",
    ])
  }

  public typealias Result = TokenVerdict
}

/// `validateAccessToken`: JWT access tokens by RFC 9068.
public enum ValidateAccessToken: RPCMethod {
  public static let name = "validateAccessToken"
  public static let bounds: PeerBounds = .issuers
  public static let chain: ChainRule = .open
  public static let summary = "Validates a JWT access token (RFC 9068)"
  public static let explanation =
    "The token's typ must be at+jwt, so that no ID token passes. A token that is bound to a key (cnf) is not valid unless confirmation names the key whose possession was shown."
  public static let resultSummary = "The verdict"
  public static let errors = ErrorCode.keySources

  /// The key whose possession the presenter has shown; exactly one member.
  public struct Confirmation: RPCObject {
    public var jkt: String?
    public var x5tS256: String?

    public static let memberDocs = [
      "jkt": "Thumbprint of the DPoP proof's key (RFC 9449 section 6.1)",
      "x5tS256": "SHA-256 thumbprint of the client certificate, base64url (RFC 8705 section 3.1)",
    ]
  }

  public struct Params: RPCObject, IssuerReference {
    public var accessToken: String
    public var issuer: String?
    public var expectedIssuer: String?
    public var clientId: String?
    public var jwks: JSONValue?
    public var jwksUrl: String?
    public var audience: String
    public var requiredScopes: [String]?
    public var confirmation: Confirmation?
    public var clockSkewSeconds: Int?
    public var now: Double?

    public static let memberDocs = IssuerReferenceDocs.with([
      "accessToken": "The token",
      "audience": "The resource the token must be for",
      "requiredScopes": "Scopes that must all be granted; insufficient_scope otherwise",
      "clientId": "The client that presents the token, where it is known",
      "confirmation": "The key whose possession the presenter has shown",
      "clockSkewSeconds": "How far clocks may differ, at most 300; default: the issuer's, else 30",
      "now": "Seconds since the epoch to judge by; only where development.callerClock is on",
    ])
  }

  public typealias Result = TokenVerdict
}

/// `introspectToken`: the authorization server's own word on a token.
public enum IntrospectToken: RPCMethod {
  public static let name = "introspectToken"
  public static let bounds: PeerBounds = .issuers
  public static let chain: ChainRule = .open
  public static let summary = "Checks at the issuer whether a token is active (RFC 7662)"
  public static let explanation =
    "The answer may be signed (RFC 9701). It is requested again each time, so that a revocation is seen at once; calls at the same time share one request."
  public static let resultSummary = "The verdict"
  public static let errors: [ErrorCode] = [
    .jwksFetchFailed, .discoveryFailed, .discoveryIssuerMismatch, .jwksInvalid, .issuerUnknown, .introspectionFailed,
  ]

  public struct Params: RPCObject {
    public var token: String
    public var issuer: String
    public var tokenTypeHint: String?
    public var audience: String?
    public var requiredScopes: [String]?

    public static let memberDocs = [
      "token": "The token",
      "issuer": "A configured issuer's name",
      "tokenTypeHint": "access_token or refresh_token, passed on",
      "audience": "The expected audience",
      "requiredScopes": "Scopes that must all be granted; insufficient_scope otherwise",
    ]
  }

  public struct Result: RPCObject {
    public var valid: Bool
    public var claims: JSONValue?
    public var error: TokenViolation?

    /// A verdict; the rest is set one by one.
    public init(valid: Bool) { self.valid = valid }

    public static let memberDocs = [
      "valid": "Whether the token is active and meets every requirement",
      "claims": "The members of the issuer's answer; only when valid",
      "error": "Why it is not valid; only when it is not",
    ]
  }
}

/// `validateRequest`: whether a request that an API has received may pass.
public enum ValidateRequest: RPCMethod {
  public static let name = "validateRequest"
  public static let bounds: PeerBounds = .issuers
  public static let chain: ChainRule = .open
  public static let summary = "Decides whether a request may pass an API, and how the API answers if not"
  public static let explanation =
    "Finds the token (RFC 6750), checks the proof of possession (DPoP, RFC 9449) or the client certificate (RFC 8705) and validates the token, a JWT by the issuer's keys, an opaque one by introspection. A proof is good for one request, in all processes that share the store. A request that may not pass is a result, with the response to send; an error means that it could not be decided: the API answers 503."
  public static let resultSummary = "The verdict"
  public static let errors = ErrorCode.keySources + [.introspectionFailed, .storeUnavailable]

  public struct Params: RPCObject, IssuerReference {
    public var issuer: String?
    public var expectedIssuer: String?
    public var jwks: JSONValue?
    public var jwksUrl: String?
    public var method: String
    public var url: String
    public var headers: [String: HeaderValue]
    public var clientCertificate: String?
    public var audience: String?
    public var requiredScopes: [String]?
    package var dpop: RequestRequirements.ProofRule?
    public var maxAge: Int?
    public var acrValues: [String]?
    public var resourceMetadata: String?

    /// Any client may send the request.
    public var clientId: String? { nil }

    public static let memberDocs = IssuerReferenceDocs.with([
      "method": "The request's method, as the client sent it",
      "url": "The request's absolute URL, as the client used it: behind a proxy, the proxy's",
      "headers": "The request's headers, every line of them; Authorization and DPoP decide",
      "clientCertificate": "The certificate of the client's TLS connection, PEM",
      "audience": "The audience that the token must be for; default: the origin of url, or a URL at it",
      "requiredScopes": "Scopes that must all be granted; insufficient_scope otherwise",
      "dpop": "Whether a proof may, must or must not come with the token; default optional",
      "maxAge": "How many seconds ago the user may have authenticated at most; requires auth_time",
      "acrValues": "Authentication contexts of which acr must be one, the preferred one first",
      "resourceMetadata": "Where the API's metadata is (RFC 9728), for the challenges",
    ])
  }

  /// The keys that the token is bound to.
  public struct Confirmation: RPCObject {
    public var jkt: String?
    public var x5tS256: String?

    /// The thumbprints of the given keys.
    public init(jkt: String?, x5tS256: String?) {
      self.jkt = jkt
      self.x5tS256 = x5tS256
    }

    public static let memberDocs = [
      "jkt": "Thumbprint of the proof's key (RFC 9449 section 6.1)",
      "x5tS256": "SHA-256 thumbprint of the client certificate, base64url (RFC 8705 section 3.1)",
    ]
  }

  /// Why a request may not pass: the first check that failed.
  public struct Violation: RPCObject {
    public var code: String
    public var message: String
    public var claim: String?
    public var expected: JSONValue?
    public var actual: JSONValue?
    public var detail: String?

    /// A violation; `detail` is the part that is wrong.
    public init(_ violation: TokenViolation, detail: String?) {
      (code, message) = (violation.code, violation.message)
      (claim, expected, actual) = (violation.claim, violation.expected, violation.actual)
      self.detail = detail
    }

    public static let memberDocs = TokenViolation.memberDocs.merging(
      ["detail": "The part that is wrong, as htm of a proof"], uniquingKeysWith: { first, _ in first })
  }

  /// The response of the API.
  public struct Response: RPCObject {
    public var status: Int
    public var headers: HeaderTexts

    /// A response of the given parts.
    public init(status: Int, headers: HeaderTexts) {
      self.status = status
      self.headers = headers
    }

    public static let memberDocs = [
      "status": "400, 401 or 403",
      "headers": "WWW-Authenticate and Cache-Control, with use_dpop_nonce DPoP-Nonce, too",
    ]
  }

  public struct Result: ValueResult {
    public var valid: Bool
    public var claims: JSONValue?
    public var tokenType: TokenType?
    public var confirmation: Confirmation?
    public var cached: Bool?
    public var error: Violation?
    public var response: Response?

    /// A verdict; the rest is set one by one.
    public init(valid: Bool) { self.valid = valid }

    public static let memberDocs = [
      "valid": "Whether the request may pass",
      "claims": "The token's claims, or the members of the issuer's answer; only when valid",
      "tokenType": "How the token was shown; only when valid",
      "confirmation": "The keys that a valid token is bound to; only for such a token",
      "cached": "Whether the signature was verified or the issuer answered at an earlier call; only when valid",
      "error": "Why it may not; only when it is not",
      "response": "The response for the API to send, without a body; only when it is not",
    ]
  }
}

extension ValidateRequest.Result {
  public var json: JSONValue {
    var members: [JSONObject.Member] = []
    members.reserveCapacity(5)
    members.add("valid", .bool(valid))
    members.add("claims", claims)
    members.add("tokenType", tokenType.map { .string($0.rawValue) })
    members.add("confirmation", confirmation?.json)
    members.add("cached", cached.map { .bool($0) })
    members.add("error", error?.json)
    members.add(
      "response",
      response.map { ["status": .integer(Int64($0.status)), "headers": .object($0.headers.object)] })
    return members.json
  }
}

extension ValidateRequest.Confirmation {
  fileprivate var json: JSONValue {
    var members: [JSONObject.Member] = []
    members.add("jkt", jkt.map { .string($0) })
    members.add("x5tS256", x5tS256.map { .string($0) })
    return members.json
  }
}

extension ValidateRequest.Violation {
  fileprivate var json: JSONValue {
    var members = violation.members
    members.add("detail", detail.map { .string($0) })
    return members.json
  }

  private var violation: TokenViolation {
    TokenViolation(code: code, message: message, claim: claim, expected: expected, actual: actual)
  }
}

/// Headers in order, each name once.
public struct HeaderTexts: SchemaDescribed, Sendable {
  /// The values, which are texts, by the names.
  public let object: JSONObject

  /// Headers of these values, which are texts.
  public init(_ object: JSONObject) { self.object = object }

  /// Takes an object.
  public init(from decoder: any Decoder) throws { object = try JSONValue(from: decoder).objectValue ?? JSONObject() }

  /// The object.
  public func encode(to encoder: any Encoder) throws { try JSONValue.object(object).encode(to: encoder) }

  /// An object of texts.
  public static var schema: JSONValue { [String: String].schema }
  /// No headers.
  public static var sample: HeaderTexts { HeaderTexts(JSONObject()) }
}

/// `validateLogoutToken`: back-channel logout.
public enum ValidateLogoutToken: RPCMethod {
  public static let name = "validateLogoutToken"
  public static let bounds: PeerBounds = .issuers
  public static let chain: ChainRule = .beyond(.sessions)
  public static let summary = "Validates a logout token (OpenID Connect Back-Channel Logout 1.0)"
  public static let explanation =
    "A logout token is good for one use: the second time it is jti_replayed. With `end`, a valid one ends the sessions "
    + "of its login, of all users: by `sid` that login alone, else all of `sub`."
  public static let resultSummary = "The verdict, and how many sessions were ended"
  public static let errors = ErrorCode.keySources + [.storeUnavailable, .overloaded]

  public struct Params: RPCObject, IssuerReference {
    public var logoutToken: String
    public var issuer: String?
    public var expectedIssuer: String?
    public var clientId: String?
    public var jwks: JSONValue?
    public var jwksUrl: String?
    public var now: Double?
    public var end: Bool?

    public static let memberDocs = IssuerReferenceDocs.with([
      "end": "Ends the sessions of the token's login, too; only with issuer, without now, for the issuer's client",
      "logoutToken": "The token",
      "clientId": "The client that the token must be for; default: the configured issuer's client",
      "now": "Seconds since the epoch to judge by; only where development.callerClock is on",
    ])
  }

  public typealias Result = LogoutVerdict
}

/// The issuer of the tokens: a configured one by name, or the pieces, all in the params themselves.
public protocol IssuerReference: Sendable {
  var issuer: String? { get }
  var expectedIssuer: String? { get }
  var clientId: String? { get }
  var jwks: JSONValue? { get }
  var jwksUrl: String? { get }
}

/// The meaning of the members of an `IssuerReference`.
enum IssuerReferenceDocs {
  static let members = [
    "issuer": "A configured issuer's name; excludes expectedIssuer, jwks and jwksUrl",
    "expectedIssuer": "Instead of issuer: the expected iss, with jwks or jwksUrl",
    "jwks": "Instead of issuer: the key set, where the configuration allows it (validation.inlineJwks)",
    "jwksUrl": "Instead of issuer: where the key set is; its origin must be in validation.jwksOrigins",
  ]

  static func with(_ own: [String: String]) -> [String: String] { members.merging(own) { _, own in own } }
}

extension ValidateIDToken.Params {
  public static func read(_ object: JSONTree) -> Self? {
    var params = Self(idToken: "")
    var token: String?
    let isRead = object.readMembers { $0.isNamed("idToken") ? $0.read(&token) : params.read($0) }
    guard isRead, let token else { return nil }
    params.idToken = token
    return params
  }

  private mutating func read(_ member: JSONTree.Member) -> Bool {
    if member.isNamed("issuer") { return member.read(&issuer) }
    if member.isNamed("expectedIssuer") { return member.read(&expectedIssuer) }
    if member.isNamed("clientId") { return member.read(&clientId) }
    if member.isNamed("jwks") { return member.read(&jwks) }
    if member.isNamed("jwksUrl") { return member.read(&jwksUrl) }
    if member.isNamed("nonce") { return member.read(&nonce) }
    if member.isNamed("authorizationCode") { return member.read(&authorizationCode) }
    if member.isNamed("accessToken") { return member.read(&accessToken) }
    if member.isNamed("state") { return member.read(&state) }
    if member.isNamed("maxAge") { return member.read(&maxAge) }
    if member.isNamed("acrValues") { return member.read(&acrValues) }
    if member.isNamed("trustedAudiences") { return member.read(&trustedAudiences) }
    if member.isNamed("algorithms") { return member.read(&algorithms) }
    if member.isNamed("clockSkewSeconds") { return member.read(&clockSkewSeconds) }
    if member.isNamed("now") { return member.read(&now) }
    if member.isNamed("requireAzp") { return member.read(&requireAzp) }
    if member.isNamed("rejectUnexpectedNonce") { return member.read(&rejectUnexpectedNonce) }
    if member.isNamed("flow") { return member.read(&flow) }
    if member.isNamed("previousIdToken") { return member.read(&previousIdToken) }
    return false
  }
}

extension ValidateRequest.Params {
  public static func read(_ object: JSONTree) -> Self? {
    var params = Self(method: "", url: "", headers: [:])
    var (method, url): (String?, String?)
    var headers: [String: HeaderValue]?
    let isRead = object.readMembers { member in
      if member.isNamed("method") { return member.read(&method) }
      if member.isNamed("url") { return member.read(&url) }
      if member.isNamed("headers") { return member.read(&headers) }
      return params.read(member)
    }
    guard isRead, let method, let url, let headers else { return nil }
    (params.method, params.url, params.headers) = (method, url, headers)
    return params
  }

  private mutating func read(_ member: JSONTree.Member) -> Bool {
    if member.isNamed("issuer") { return member.read(&issuer) }
    if member.isNamed("expectedIssuer") { return member.read(&expectedIssuer) }
    if member.isNamed("jwks") { return member.read(&jwks) }
    if member.isNamed("jwksUrl") { return member.read(&jwksUrl) }
    if member.isNamed("clientCertificate") { return member.read(&clientCertificate) }
    if member.isNamed("audience") { return member.read(&audience) }
    if member.isNamed("requiredScopes") { return member.read(&requiredScopes) }
    if member.isNamed("dpop") { return member.read(&dpop) }
    if member.isNamed("maxAge") { return member.read(&maxAge) }
    if member.isNamed("acrValues") { return member.read(&acrValues) }
    if member.isNamed("resourceMetadata") { return member.read(&resourceMetadata) }
    return false
  }
}
