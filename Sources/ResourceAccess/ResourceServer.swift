public import HTTPMessages
public import OAuthClient
public import PosternSupport

/// A configured resource server: where it is, and how requests to it are authenticated and bounded.
public struct ResourceServer: Sendable {
  /// The kind of token that a request carries.
  public enum Authentication: String, Sendable, Hashable, CaseIterable {
    /// The token of a user's session.
    case user
    /// The token of a user who is recognised without interaction.
    case implicit
    /// A token of the client (client credentials).
    case clientCredentials
    /// The resource server's own `credential`, which is no token.
    case credential
    /// A token for the user of an inbound token, which is exchanged for it.
    case onBehalfOf
    /// No token.
    case none
  }

  /// How a token is bound to its sender.
  public enum SenderConstraint: String, Sendable, Hashable, CaseIterable {
    /// Not at all.
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
  /// The kind of token that a request carries unless the call chooses another.
  public var authentication: Authentication

  /// Below this every relative path lies.
  public var baseURL: HTTPURL
  /// Other locations that absolute URLs and redirects may lead to: an origin, or an origin with a path prefix.
  public var additionalOrigins: [HTTPURL]
  /// How its locations are reached. Where tokens are bound to a client certificate (RFC 8705 section 3), with that one.
  public var access: ServerAccess

  /// The issuer of the tokens.
  public var issuer: Issuer?
  /// The scope that tokens are requested with.
  public var scope: String?
  /// The audience of the tokens; see `ClientCredentialsGrant`.
  public var audience: String?
  /// How a token that is sent there must be bound. A token that is bound is always used as such, whatever is set here.
  public var senderConstraint: SenderConstraint
  /// The statuses at which a token is refreshed, whatever the challenge; nil: 401 with a challenge to the token.
  public var refreshOn: Set<Int>?
  /// How inbound tokens are exchanged, with `onBehalfOf`; nil: not at all.
  public var exchange: TokenExchange?
  /// What becomes of a request of nobody: one without a session, with `user` and `implicit`.
  public var whenNoSession: TokenManagementPolicy.MissingSession = .fail
  /// The credential of requests with `Authentication.credential`, if the server has one. Its name is reserved: callers
  /// never send a header field or a query parameter of that name, whatever authentication they choose.
  public var credential: StaticCredential?
  /// How policy advice is dealt with; nil: it is an answer like any other.
  public var advice: AdviceRules?

  /// Names of cookies a caller must not send: the single sign-on cookie.
  public var reservedCookies: Set<String>
  /// Names of header fields that callers may send although they override the request's target, method or host
  /// (`HTTPFieldRules.overridesRequest`); nothing else needs to be here, and nothing that is reserved can be allowed.
  public var allowedHeaders: Set<String> = []
  /// Which cookies are kept between requests; nil: none.
  public var cookies: CookiePolicy?
  /// How bodies are encrypted; nil: not at all.
  public var payloadEncryption: PayloadEncryption?

  /// How long a fetch may take unless the call has a timeout.
  public var timeout: Duration
  /// Bound of a response's decoded body in bytes.
  public var maxBodyBytes: Int
  /// The longest silence in a body that is streamed, from the response's head on.
  public var idleTimeout: Duration = .seconds(300)
  /// The limits of each of its origins: concurrent requests, queue, and circuit breaker; nil: no limits.
  public var limits: OriginLimits?

  /// Whether a fetch without pins is an error, before anything is sent. Default false.
  public var pinsRequired = false
  /// The transport of its requests; nil: the engine's.
  public var transport: (any HTTPTransport)?

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
    access: ServerAccess = ServerAccess(),
    payloadEncryption: PayloadEncryption? = nil,
    cookies: CookiePolicy? = nil
  ) {
    self.name = name
    self.authentication = authentication
    self.baseURL = baseURL
    self.additionalOrigins = additionalOrigins
    self.access = access
    self.issuer = issuer
    self.scope = scope
    self.audience = audience
    self.senderConstraint = senderConstraint
    self.refreshOn = refreshOn
    self.reservedCookies = reservedCookies
    self.cookies = cookies
    self.payloadEncryption = payloadEncryption
    self.timeout = timeout
    self.maxBodyBytes = maxBodyBytes
    self.limits = limits
  }

  /// All URLs below which requests may go.
  package var locations: [HTTPURL] { [baseURL] + additionalOrigins }
  /// The URLs below them.
  var coverage: URLCoverage { URLCoverage(locations: locations, plainHTTP: access.plainHTTP) }

  /// The grant for tokens of the client; nil without an issuer.
  var clientCredentials: ClientCredentialsGrant? {
    issuer.map { ClientCredentialsGrant(issuer: $0, scope: scope, audience: audience) }
  }
}

extension ResourceServer: ConciseStringConvertible {
  /// Name, URL and authentication.
  public var description: String {
    "resource \(Concise.name(name)) at \(baseURL.shown), \(authentication.rawValue)"
  }
}
