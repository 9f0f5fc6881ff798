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

  private struct Values {
    var name: String
    var baseURL: HTTPURL
    var additionalOrigins: [HTTPURL]
    var access: ServerAccess
    var issuer: Issuer?
    var scope: String?
    var audience: String?
    var senderConstraint: SenderConstraint
    var refreshOn: Set<Int>?
    var exchange: TokenExchange?
    var whenNoSession: TokenManagementPolicy.MissingSession = .fail
    var credential: StaticCredential?
    var advice: AdviceRules?
    var reservedCookies: Set<String>
    var allowedHeaders: Set<String> = []
    var cookies: CookiePolicy?
    var payloadEncryption: PayloadEncryption?
    var timeout: Duration
    var maxBodyBytes: Int
    var idleTimeout: Duration = .seconds(300)
    var limits: OriginLimits?
    var pinsRequired: Bool = false
    var transport: (any HTTPTransport)?
  }

  /// What a caller must not send beyond what the configuration forbids all callers.
  private struct Restriction: Hashable {
    let cookie: String?
    let allowsHeaders: Bool
  }

  /// What all copies of a server share, with what follows from it.
  private final class Shared: Sendable {
    /// More are not kept: the names of cookies come from another server.
    private static let maxRestricted = 16

    let values: Values
    let prepared = Locked<PreparedResource?>(nil)
    private let restricted = Locked<[Restriction: Shared]>([:])

    init(_ values: Values) { self.values = values }

    /// The same with `restriction`, made once for each.
    func restricted(by restriction: Restriction) -> Shared {
      restricted.withLock { known in
        if let shared = known[restriction] { return shared }
        var values = values
        if let cookie = restriction.cookie { values.reservedCookies.insert(cookie) }
        if !restriction.allowsHeaders { values.allowedHeaders = [] }
        let shared = Shared(values)
        if known.count >= Self.maxRestricted { known = [:] }
        known[restriction] = shared
        return shared
      }
    }
  }

  /// Another one when anything is changed: a server is configured once, and copied for each of its requests.
  private var shared: Shared

  private mutating func change(_ body: (inout Values) -> Void) {
    var values = shared.values
    body(&values)
    shared = Shared(values)
  }

  /// What follows from the configuration, made when it is needed first.
  var prepared: PreparedResource {
    shared.prepared.withLock { prepared in
      if let prepared { return prepared }
      let new = PreparedResource(self)
      prepared = new
      return new
    }
  }

  /// The server for a caller who must not send `cookie`, either, and none of `allowedHeaders` unless `allowsHeaders`.
  /// What follows from its configuration is kept for the next such call.
  package func restricting(cookie: String?, allowsHeaders: Bool) -> ResourceServer {
    let isReserved = cookie.map { reservedCookies.contains($0) } ?? true
    if isReserved, allowsHeaders || allowedHeaders.isEmpty { return self }
    var server = self
    server.shared = shared.restricted(by: Restriction(cookie: cookie, allowsHeaders: allowsHeaders))
    return server
  }

  /// The name it has in the configuration.
  public var name: String {
    get { shared.values.name }
    set { change { $0.name = newValue } }
  }
  /// The kind of token that a request carries unless the call chooses another.
  public var authentication: Authentication

  /// Below this every relative path lies.
  public var baseURL: HTTPURL {
    get { shared.values.baseURL }
    set { change { $0.baseURL = newValue } }
  }
  /// Other locations that absolute URLs and redirects may lead to: an origin, or an origin with a path prefix.
  public var additionalOrigins: [HTTPURL] {
    get { shared.values.additionalOrigins }
    set { change { $0.additionalOrigins = newValue } }
  }
  /// How its locations are reached. Where tokens are bound to a client certificate (RFC 8705 section 3), with that one.
  public var access: ServerAccess {
    get { shared.values.access }
    set { change { $0.access = newValue } }
  }

  /// The issuer of the tokens.
  public var issuer: Issuer? {
    get { shared.values.issuer }
    set { change { $0.issuer = newValue } }
  }
  /// The scope that tokens are requested with.
  public var scope: String? {
    get { shared.values.scope }
    set { change { $0.scope = newValue } }
  }
  /// The audience of the tokens; see `ClientCredentialsGrant`.
  public var audience: String? {
    get { shared.values.audience }
    set { change { $0.audience = newValue } }
  }
  /// How a token that is sent there must be bound. A token that is bound is always used as such, whatever is set here.
  public var senderConstraint: SenderConstraint {
    get { shared.values.senderConstraint }
    set { change { $0.senderConstraint = newValue } }
  }
  /// The statuses at which a token is refreshed, whatever the challenge; nil: 401 with a challenge to the token.
  public var refreshOn: Set<Int>? {
    get { shared.values.refreshOn }
    set { change { $0.refreshOn = newValue } }
  }
  /// How inbound tokens are exchanged, with `onBehalfOf`; nil: not at all.
  public var exchange: TokenExchange? {
    get { shared.values.exchange }
    set { change { $0.exchange = newValue } }
  }
  /// What becomes of a request of nobody: one without a session, with `user` and `implicit`.
  public var whenNoSession: TokenManagementPolicy.MissingSession {
    get { shared.values.whenNoSession }
    set { change { $0.whenNoSession = newValue } }
  }
  /// The credential of requests with `Authentication.credential`, if the server has one. Its name is reserved: callers
  /// never send a header field or a query parameter of that name, whatever authentication they choose.
  public var credential: StaticCredential? {
    get { shared.values.credential }
    set { change { $0.credential = newValue } }
  }
  /// How policy advice is dealt with; nil: it is an answer like any other.
  public var advice: AdviceRules? {
    get { shared.values.advice }
    set { change { $0.advice = newValue } }
  }

  /// Names of cookies a caller must not send: the single sign-on cookie.
  public var reservedCookies: Set<String> {
    get { shared.values.reservedCookies }
    set { change { $0.reservedCookies = newValue } }
  }
  /// Names of header fields that callers may send although they override the request's target, method or host
  /// (`HTTPFieldRules.overridesRequest`); nothing else needs to be here, and nothing that is reserved can be allowed.
  public var allowedHeaders: Set<String> {
    get { shared.values.allowedHeaders }
    set { change { $0.allowedHeaders = newValue } }
  }
  /// Which cookies are kept between requests; nil: none.
  public var cookies: CookiePolicy? {
    get { shared.values.cookies }
    set { change { $0.cookies = newValue } }
  }
  /// How bodies are encrypted; nil: not at all.
  public var payloadEncryption: PayloadEncryption? {
    get { shared.values.payloadEncryption }
    set { change { $0.payloadEncryption = newValue } }
  }

  /// How long a fetch may take unless the call has a timeout.
  public var timeout: Duration {
    get { shared.values.timeout }
    set { change { $0.timeout = newValue } }
  }
  /// Bound of a response's decoded body in bytes.
  public var maxBodyBytes: Int {
    get { shared.values.maxBodyBytes }
    set { change { $0.maxBodyBytes = newValue } }
  }
  /// The longest silence in a body that is streamed, from the response's head on.
  public var idleTimeout: Duration {
    get { shared.values.idleTimeout }
    set { change { $0.idleTimeout = newValue } }
  }
  /// The limits of each of its origins: concurrent requests, queue, and circuit breaker; nil: no limits.
  public var limits: OriginLimits? {
    get { shared.values.limits }
    set { change { $0.limits = newValue } }
  }

  /// Whether a fetch without pins is an error, before anything is sent. Default false.
  public var pinsRequired: Bool {
    get { shared.values.pinsRequired }
    set { change { $0.pinsRequired = newValue } }
  }
  /// The transport of its requests; nil: the engine's.
  public var transport: (any HTTPTransport)? {
    get { shared.values.transport }
    set { change { $0.transport = newValue } }
  }

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
    self.authentication = authentication
    shared = Shared(
      Values(
        name: name, baseURL: baseURL, additionalOrigins: additionalOrigins, access: access, issuer: issuer,
        scope: scope, audience: audience, senderConstraint: senderConstraint, refreshOn: refreshOn,
        reservedCookies: reservedCookies, cookies: cookies, payloadEncryption: payloadEncryption, timeout: timeout,
        maxBodyBytes: maxBodyBytes, limits: limits))
  }

  /// All URLs below which requests may go.
  package var locations: [HTTPURL] { [baseURL] + additionalOrigins }
  /// The URLs below them.
  var coverage: URLCoverage { prepared.coverage }

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
