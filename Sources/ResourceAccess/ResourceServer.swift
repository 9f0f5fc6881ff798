public import HTTPMessages
public import OAuthClient
public import OriginLimiting
public import PosternSupport

/// A configured resource server: where it is, and how requests to it are authenticated and bounded.
@dynamicMemberLookup
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

  /// Where requests may go.
  public struct Locations: Sendable, ConciseStringConvertible {
    /// Below this every relative path lies.
    public var baseURL: HTTPURL
    /// Other locations that absolute URLs and redirects may lead to: an origin, or an origin with a path prefix.
    public var additionalOrigins: [HTTPURL]
    /// The servers among them that may be reached without TLS.
    public var plainHTTP: PlainHTTPRule

    /// Whether `http` is accepted on loopback addresses.
    public var allowsPlainHTTPOnLoopback: Bool {
      get { plainHTTP.allowsLoopback }
      set { plainHTTP.allowsLoopback = newValue }
    }
    /// All of them.
    package var all: [HTTPURL] { [baseURL] + additionalOrigins }
    /// The URLs below them.
    var coverage: URLCoverage { URLCoverage(locations: all, plainHTTP: plainHTTP) }
  }

  /// The tokens that requests carry.
  public struct Tokens: Sendable, ConciseStringConvertible {
    /// The issuer of the tokens.
    public var issuer: Issuer?
    /// The scope that tokens are requested with.
    public var scope: String?
    /// The audience of the tokens; see `ClientCredentialsGrant`.
    public var audience: String?
    /// How a token that is sent there must be bound. A token that is bound is always used as such, whatever is set
    /// here.
    public var senderConstraint: SenderConstraint
    /// The statuses at which a token is refreshed, whatever the challenge; nil: 401 with a challenge to the token.
    public var refreshOn: Set<Int>?
    /// How inbound tokens are exchanged, with `onBehalfOf`; nil: not at all.
    public var exchange: TokenExchange?
    /// What becomes of a request of nobody: one without a session, with `user` and `implicit`.
    public var whenNoSession: TokenManagementPolicy.MissingSession = .fail

    /// The grant for tokens of the client; nil without an issuer.
    var clientCredentials: ClientCredentialsGrant? {
      issuer.map { ClientCredentialsGrant(issuer: $0, scope: scope, audience: audience) }
    }
  }

  /// The header fields that callers may send.
  public struct HeaderPermissions: Sendable, ConciseStringConvertible {
    /// Names of cookies a caller must not send: the single sign-on cookie.
    public var reservedCookies: Set<String>
    /// Names of header fields that callers may send although they override the request's target, method or host
    /// (`HTTPFieldRules.overridesRequest`); nothing else needs to be here, and nothing that is reserved can be allowed.
    public var allowedHeaders: Set<String> = []
  }

  /// How long a fetch may take, and how much it may receive.
  public struct Bounds: Sendable, ConciseStringConvertible {
    /// How long a fetch may take unless the call has a timeout.
    public var timeout: Duration
    /// Bound of a response's decoded body in bytes.
    public var maxBodyBytes: Int
    /// The longest silence in a body that is streamed, from the response's head on.
    public var idleTimeout: Duration = .seconds(300)
  }

  /// How requests get to its origins.
  public struct Connections: Sendable, ConciseStringConvertible {
    /// The limits of each of its origins: concurrent requests, queue, and circuit breaker; nil: no limits.
    public var limits: OriginLimits?
    /// PEM file with the certificate authorities to trust instead of the system's.
    public var caFile: String?
    /// The client certificate in TLS; nil: none. Where tokens are bound to a certificate (RFC 8705 section 3), that
    /// one.
    public var clientIdentity: ClientIdentity?
    /// The pins of the server's certificate chain, its additional origins' too; nil: no pins.
    public var pins: KeyPins?
    /// Whether a fetch without `pins` is an error, before anything is sent. Default false.
    public var pinsRequired = false
    /// Whether requests leave without the outbound proxy. Default false.
    public var bypassesProxy = false
    /// The transport of its requests; nil: the engine's.
    public var transport: (any HTTPTransport)?
  }

  /// The longest time a fetch may be given.
  public static let maxTimeout: Duration = .seconds(600)

  /// Everything but the authentication.
  private struct Parts: Sendable {
    var name: String
    var locations: Locations
    var tokens: Tokens
    var credential: StaticCredential?
    var advice: AdviceRules?
    var headers: HeaderPermissions
    var bounds: Bounds
    var connections: Connections
    var payloadEncryption: PayloadEncryption?
    var cookies: CookiePolicy?
  }

  /// Shared by all copies until one is changed: a fetch copies the server at each step, and changes the authentication
  /// at most.
  private final class Shared: @unchecked Sendable {
    // Sendable because it is changed only while one copy has it.
    var parts: Parts

    init(_ parts: Parts) { self.parts = parts }
  }

  private var shared: Shared

  /// The parts, of this copy alone when they are changed.
  private var parts: Parts {
    get { shared.parts }
    _modify {
      if !isKnownUniquelyReferenced(&shared) { shared = Shared(shared.parts) }
      yield &shared.parts
    }
  }

  /// The kind of token that a request carries unless the call chooses another.
  public var authentication: Authentication

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
    self.authentication = authentication
    shared = Shared(
      Parts(
        name: name,
        locations: Locations(
          baseURL: baseURL, additionalOrigins: additionalOrigins,
          plainHTTP: PlainHTTPRule(allowsLoopback: allowsPlainHTTPOnLoopback)),
        tokens: Tokens(
          issuer: issuer, scope: scope, audience: audience, senderConstraint: senderConstraint, refreshOn: refreshOn),
        headers: HeaderPermissions(reservedCookies: reservedCookies),
        bounds: Bounds(timeout: timeout, maxBodyBytes: maxBodyBytes),
        connections: Connections(limits: limits, caFile: caFile, clientIdentity: clientIdentity, pins: pins),
        payloadEncryption: payloadEncryption, cookies: cookies))
  }
}

extension ResourceServer {
  /// The name it has in the configuration.
  public var name: String {
    get { shared.parts.name }
    set { parts.name = newValue }
  }

  /// Where requests may go.
  public var locations: Locations {
    get { shared.parts.locations }
    _modify { yield &parts.locations }
  }

  /// The tokens that requests carry.
  public var tokens: Tokens {
    get { shared.parts.tokens }
    _modify { yield &parts.tokens }
  }

  /// The credential of requests with `Authentication.credential`; nil: there is none. Its name is reserved: callers
  /// never send a header field or a query parameter of that name, whatever authentication they choose.
  public var credential: StaticCredential? {
    get { shared.parts.credential }
    set { parts.credential = newValue }
  }

  /// How policy advice is dealt with; nil: it is an answer like any other.
  public var advice: AdviceRules? {
    get { shared.parts.advice }
    set { parts.advice = newValue }
  }

  /// The header fields that callers may send.
  public var headers: HeaderPermissions {
    get { shared.parts.headers }
    _modify { yield &parts.headers }
  }

  /// How long a fetch may take, and how much it may receive.
  public var bounds: Bounds {
    get { shared.parts.bounds }
    _modify { yield &parts.bounds }
  }

  /// How requests get to its origins.
  public var connections: Connections {
    get { shared.parts.connections }
    _modify { yield &parts.connections }
  }

  /// How bodies are encrypted; nil: not at all.
  public var payloadEncryption: PayloadEncryption? {
    get { shared.parts.payloadEncryption }
    set { parts.payloadEncryption = newValue }
  }

  /// Which cookies are kept between requests; nil: none.
  public var cookies: CookiePolicy? {
    get { shared.parts.cookies }
    set { parts.cookies = newValue }
  }
}

// The members of the groups are the server's as well.
extension ResourceServer {
  /// A member of `locations`.
  public subscript<Value>(dynamicMember path: WritableKeyPath<Locations, Value>) -> Value {
    get { locations[keyPath: path] }
    set { locations[keyPath: path] = newValue }
  }

  /// A member of `tokens`.
  public subscript<Value>(dynamicMember path: WritableKeyPath<Tokens, Value>) -> Value {
    get { tokens[keyPath: path] }
    set { tokens[keyPath: path] = newValue }
  }

  /// A member of `headers`.
  public subscript<Value>(dynamicMember path: WritableKeyPath<HeaderPermissions, Value>) -> Value {
    get { headers[keyPath: path] }
    set { headers[keyPath: path] = newValue }
  }

  /// A member of `bounds`.
  public subscript<Value>(dynamicMember path: WritableKeyPath<Bounds, Value>) -> Value {
    get { bounds[keyPath: path] }
    set { bounds[keyPath: path] = newValue }
  }

  /// A member of `connections`.
  public subscript<Value>(dynamicMember path: WritableKeyPath<Connections, Value>) -> Value {
    get { connections[keyPath: path] }
    set { connections[keyPath: path] = newValue }
  }
}

extension ResourceServer: ConciseStringConvertible {
  /// Name, URL and authentication.
  public var description: String {
    "resource \(Concise.name(name)) at \(locations.baseURL.shown), \(authentication.rawValue)"
  }
}
