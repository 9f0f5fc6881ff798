public import HTTPMessages
public import OAuthClient

/// A configured resource server: where it is, and how requests to it are authenticated and bounded.
public struct ResourceServer: Sendable {
  /// Whose token a request carries.
  public enum Authentication: String, Sendable, Hashable, CaseIterable {
    /// The user's, of a session.
    case user
    /// That of a user recognised without interaction.
    case implicit
    /// The sidecar's own (client credentials).
    case device
    /// None.
    case none
  }

  /// What binds a token to its sender.
  public enum SenderConstraint: String, Sendable, Hashable, CaseIterable {
    /// Nothing is asked for.
    case none
    /// A proof of possession with each request (RFC 9449); a bearer token is not sent.
    case dpop
    /// The client certificate (RFC 8705).
    case mtls
  }

  /// The longest time a fetch may be given.
  public static let maxTimeout: Duration = .seconds(600)

  /// The name it has in the configuration.
  public var name: String
  /// Below this every relative path lies.
  public var baseURL: HTTPURL
  /// Further places absolute URLs and redirects may point to: an origin, or an origin with a path prefix.
  public var additionalOrigins: [HTTPURL]
  /// Whose token a request carries unless the call says otherwise.
  public var authentication: Authentication
  /// Who gives the tokens.
  public var issuer: Issuer?
  /// The scope tokens are asked for.
  public var scope: String?
  /// Whom tokens are for; see `ClientCredentialsGrant`.
  public var audience: String?
  /// What must bind a token that goes there. A token that is bound is always used as such, whatever this says.
  public var senderConstraint: SenderConstraint
  /// The statuses at which a token is renewed, whatever the challenge; nil: 401 with a challenge to the token.
  public var refreshOn: Set<Int>?
  /// How policy advice is dealt with; nil: it is an answer like any other.
  public var advice: AdviceRules?
  /// Names of cookies a caller must not send: the single sign-on cookie.
  public var reservedCookies: Set<String>
  /// Names of header fields that callers may send although they override the request's target, method or host
  /// (`HTTPFieldRules.overridesRequest`); nothing else needs to be here, and nothing that is reserved can be allowed.
  public var allowedHeaders: Set<String> = []
  /// How long a fetch may take unless the call says otherwise.
  public var timeout: Duration
  /// Bound of a response's decoded body in bytes.
  public var maxBodyBytes: Int
  /// How much each of its origins is asked at a time, and when it is left alone; nil: no limits.
  public var limits: OriginLimits?
  /// PEM file with the certificate authorities to trust instead of the system's.
  public var caFile: String?
  /// Who to be in TLS; nil is nobody. Where tokens are bound to a certificate (RFC 8705 section 3), that one.
  public var clientIdentity: ClientIdentity?
  /// What the verified chain of the server must hold, its additional origins' too; nil pins nothing.
  public var pins: KeyPins?
  /// How bodies are encrypted; nil: not at all.
  public var payloadEncryption: PayloadEncryption?
  /// Which cookies are kept between requests; nil: none.
  public var cookies: CookiePolicy?
  /// What carries its exchanges; nil: the engine's transport.
  public var transport: (any HTTPTransport)?
  /// Whether `http` is accepted on loopback addresses; never elsewhere.
  public var allowsPlainHTTPOnLoopback: Bool

  /// A resource server; the defaults are the configuration's.
  public init(
    name: String,
    baseURL: HTTPURL,
    additionalOrigins: [HTTPURL] = [],
    authentication: Authentication,
    issuer: Issuer? = nil,
    scope: String? = nil,
    audience: String? = nil,
    senderConstraint: SenderConstraint = .none,
    refreshOn: Set<Int>? = nil,
    reservedCookies: Set<String> = [],
    timeout: Duration = .seconds(30),
    maxBodyBytes: Int = 16 << 20,
    limits: OriginLimits? = nil,
    caFile: String? = nil,
    clientIdentity: ClientIdentity? = nil,
    pins: KeyPins? = nil,
    payloadEncryption: PayloadEncryption? = nil,
    cookies: CookiePolicy? = nil,
    allowsPlainHTTPOnLoopback: Bool = false
  ) {
    self.name = name
    self.baseURL = baseURL
    self.additionalOrigins = additionalOrigins
    self.authentication = authentication
    self.issuer = issuer
    self.scope = scope
    self.audience = audience
    self.senderConstraint = senderConstraint
    self.refreshOn = refreshOn
    self.reservedCookies = reservedCookies
    self.timeout = timeout
    self.maxBodyBytes = maxBodyBytes
    self.limits = limits
    self.caFile = caFile
    self.clientIdentity = clientIdentity
    self.pins = pins
    self.payloadEncryption = payloadEncryption
    self.cookies = cookies
    self.allowsPlainHTTPOnLoopback = allowsPlainHTTPOnLoopback
  }
}
