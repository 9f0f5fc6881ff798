public import AuthEngine
import PosternJSON

/// A resource server.
public struct ResourceConfiguration: Sendable, Equatable {
  /// Where requests may go.
  public struct Locations: Sendable, Equatable {
    /// The URL below which everything lies.
    public var baseURL: String
    /// Further origins, each with or without a path that ends in `/`. Default none.
    public var additionalOrigins: [String]
    /// Whether requests leave through the outbound proxy. Default `outbound`.
    public var proxy: ProxyChoice
  }

  /// The tokens of requests.
  public struct Tokens: Sendable, Equatable {
    /// The name of the issuer; nil only with `auth` `none` and `credential`.
    public var issuer: String?
    /// The kind of token in requests, unless a call names another. Default `user`.
    public var auth: ResourceServer.Authentication
    /// The scope to ask for; nil takes the issuer's.
    public var scope: String?
    /// The resource indicator or audience to ask for (RFC 8707); part of the token's cache key.
    public var audience: String?
    /// How tokens are bound to the sidecar. Default `none`.
    public var senderConstraint: ResourceServer.SenderConstraint
    /// The static credential, with `auth: credential` only.
    public var credential: CredentialConfiguration?
    /// How inbound tokens are exchanged; nil: not at all.
    public var exchange: ExchangeConfiguration?
    /// What becomes of a request of nobody; key `tokens.whenNoSession`. Default `fail`.
    public var whenNoSession: TokenManagementPolicy.MissingSession
  }

  /// How long a call may take, how much it may receive, and how many run at a time.
  public struct Bounds: Sendable, Equatable {
    /// How long a call may take, at most 10 minutes. Default 30 seconds.
    public var timeout: Duration
    /// The longest silence in a body that is streamed, at most a day. Default 5 minutes.
    public var idleTimeout: Duration
    /// The longest decoded body in bytes. Default 16 MiB.
    public var maxBodyBytes: Int
    /// Concurrency limit and circuit breaker; nil: none.
    public var limits: OriginLimits?
  }

  /// Where requests may go. Its keys, as those of `tokens` and `bounds`, are in the resource's own section.
  public var locations: Locations
  /// The tokens of requests.
  public var tokens: Tokens
  /// Header fields that callers may send although they override the request's target, method or host. Default none.
  public var allowedHeaders: [String]
  /// Trust and client certificate in TLS.
  public var tls: TLSConfiguration
  /// The responses after which the token is refreshed; nil: a 401 with a challenge to the token.
  public var refreshOn: RefreshRule?
  /// Policy advice, without what the issuer adds; nil: answers are not searched for it.
  public var advice: AdviceRules?
  /// Whether HTTP/2 is offered. Default false.
  public var http2: Bool
  /// How long a call may take, how much it may receive, and how many run at a time.
  public var bounds: Bounds
  /// Cookies between requests.
  public var cookies: CookiesConfiguration
  /// Encrypted bodies; nil for none.
  public var payloadEncryption: PayloadEncryptionConfiguration?
}

extension ResourceConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    locations = Locations(reading: keys)
    tokens = Tokens(reading: keys)
    allowedHeaders = keys.list(
      "allowedHeaders", of: .text, default: [],
      """
      Header fields that callers may send although they name another target, method or host to what is behind the resource, such as \
      X-Original-URL or X-HTTP-Method-Override, and those that name a second resource, such as Destination, without a look at it.
      """)
    tls = keys.section("tls", TLSConfiguration.self, "Trust and client certificate in TLS.")
    refreshOn = keys.optionalSection(
      "refreshOn", RefreshRule.self,
      "Responses after which the token is refreshed. Left out: 401 with a challenge to the token.",
      commented: true)
    advice =
      keys.section("advice", AdviceSection.self, "Policy advice: further steps that a response may require.").rules
    http2 = keys.value(
      "http2", .boolean, default: false,
      "Whether HTTP/2 is offered (over TLS), on connections and a thread of the resource's own.")
    bounds = Bounds(reading: keys)
    cookies = keys.section("cookies", CookiesConfiguration.self, "Cookies between requests.")
    payloadEncryption = keys.optionalSection(
      "payloadEncryption", PayloadEncryptionConfiguration.self, "Bodies encrypted as JWE (RFC 7516).", commented: true)
    checkEffects(keys)
  }

  private func checkEffects(_ keys: SectionReader) {
    let ofTokens = [
      ("scope", true), ("audience", true), ("refreshOn", true), ("advice", advice != nil),
      ("senderConstraint", tokens.senderConstraint != .none), ("tokens", tokens.whenNoSession != .fail),
    ]
    if tokens.issuer == nil, !tokens.auth.needsIssuer {
      for (name, isSet) in ofTokens where isSet && keys.isGiven(name) {
        keys.problem("has no effect without an issuer: no session or token is ever used here", at: name)
      }
    }
    let urls = [locations.baseURL] + locations.additionalOrigins
    guard urls.allSatisfy({ $0.lowercased().hasPrefix("http:") }) else { return }
    let trust = tls.trust
    // Required pins and bound tokens have problems of their own.
    let isDemanded = trust.pinsRequired || tokens.senderConstraint == .mtls
    let hasTLS = !isDemanded && (trust.caFile != nil || trust.pins != nil || tls.clientCertificateFile != nil)
    for (name, isSet) in [("http2", http2), ("tls", hasTLS)] where isSet {
      keys.warn("has no effect: the resource is plain http", at: name)
    }
  }
}

extension ResourceServer.Authentication {
  /// Whether its tokens come from an issuer.
  var needsIssuer: Bool { self != .none && self != .credential }
}

extension ResourceConfiguration.Locations: ConfigurationSection {
  package init(reading keys: SectionReader) {
    baseURL = keys.required(
      "baseUrl", .baseURL, "URL below which everything lies; relative paths of calls are appended to it.",
      example: .shown("https://api.example.com/billing/"))
    additionalOrigins = keys.list(
      "additionalOrigins", of: .originOrPrefix, default: [],
      "Further origins that calls may name in full: https://host, or https://host/prefix/.")
    proxy = ProxyChoice.read(keys)
  }
}

extension ResourceConfiguration.Tokens: ConfigurationSection {
  package init(reading keys: SectionReader) {
    issuer = keys.optional(
      "issuer", .text, "Name of the issuer; may be left out with auth: none and credential only.",
      example: .shown("corp"))
    auth = keys.value(
      "auth",
      .choice(
        ResourceServer.Authentication.self, formerly: ["device": .clientCredentials], placeholder: .user),
      default: .user,
      """
      Kind of token in requests, unless a call names another: the user's, a registered profile's without its user (implicit), one from the \
      client credentials grant, one that an inbound token is exchanged for (onBehalfOf), the resource's own credential, which is no token, \
      or none.
      """)
    scope = keys.optional(
      "scope", .text, "Scope to request; tokens from the client credentials grant never take the issuer's.",
      example: .shown("billing:read"))
    audience = keys.optional(
      "audience", .text, "Resource indicator (RFC 8707) or audience to request; part of the token's cache key.",
      example: .shown("https://api.example.com"))
    senderConstraint = keys.value(
      "senderConstraint", .choice(ResourceServer.SenderConstraint.self, placeholder: .none), default: .none,
      "How tokens are bound to the sidecar: dpop (RFC 9449), mtls (RFC 8705), or nothing.")
    credential = keys.optionalSection(
      "credential", CredentialConfiguration.self,
      "With auth: credential: the secret that authenticates requests by itself. One of header, query and basic.",
      commented: true)
    exchange = keys.optionalSection(
      "exchange", ExchangeConfiguration.self,
      "With auth: onBehalfOf, how the inbound tokens of calls are exchanged for tokens of the resource.",
      commented: true)
    exchange?.complete(audience: audience, scope: scope)
    whenNoSession =
      keys.section("tokens", SessionRules.self, "Rules for the tokens of users.").whenNoSession
  }

  /// The section `tokens` of a resource.
  private struct SessionRules: ConfigurationSection {
    let whenNoSession: TokenManagementPolicy.MissingSession

    init(reading keys: SectionReader) {
      whenNoSession = keys.value(
        "whenNoSession", .choice(TokenManagementPolicy.MissingSession.self, placeholder: .fail), default: .fail,
        """
        What becomes of a call of nobody, which names no session: it fails as not_authenticated (fail), or is sent without a token \
        (send_without_token), for resources that have something to say to everybody.
        """)
    }
  }
}

extension ResourceConfiguration.Bounds: ConfigurationSection {
  package init(reading keys: SectionReader) {
    timeout = keys.value(
      "timeout", .duration(.milliseconds(1) ... .seconds(600)), default: .seconds(30),
      "How long a call may take; where the response is streamed, how long it may take until its head is there.")
    idleTimeout = keys.value(
      "idleTimeout", .duration(.milliseconds(1) ... .seconds(86_400)), default: .seconds(300),
      "The longest silence in a body that is streamed, as all are through the gateway. Events of models are minutes apart."
    )
    maxBodyBytes = keys.value(
      "maxBodyBytes", .size(1...(1 << 30)), default: 16 << 20, "Longest body, after decompression.")
    limits = keys.optionalSection(
      "limits", OriginLimits.self,
      "Concurrency limit and circuit breaker of the resource. Left out: none.", commented: true)
    // Half of the time that a request may take is the longest that a user without any waits for those of others: so
    // much is left to it.
    limits?.patience = timeout / 2
  }
}

/// The responses after which the token is refreshed.
public struct RefreshRule: Sendable, Equatable {
  /// These statuses, whatever the challenge.
  public var status: [Int]
}

extension RefreshRule: ConfigurationSection {
  package init(reading keys: SectionReader) {
    status = keys.requiredList(
      "status", of: .integer(400...599), "Statuses that mean it, whatever the challenge.", example: .shown([401]))
  }
}

/// Policy advice: further steps that an answer may ask for.
private struct AdviceSection: ConfigurationSection {
  let rules: AdviceRules?

  init(reading keys: SectionReader) {
    let isEnabled = keys.value("enabled", .boolean, default: true, "Whether answers are searched for advice.")
    let rounds = keys.value("rounds", .integer(1...10), default: 3, "How many times in one call advice is satisfied.")
    let wait = keys.value(
      "wait", .duration(.milliseconds(1) ... .seconds(3600)), default: .seconds(180),
      "How long a delegate may take, and how long a continuation lives.")
    let inSuccess = keys.value(
      "inSuccess", .boolean, default: false,
      "Whether JSON bodies of successful answers (2xx) are searched, too: for a member advices, up to 256 KiB, not in streams."
    )
    let statuses = keys.list(
      "status", of: .integer(400...599), default: [],
      "Further statuses of answers that are searched, beside redirects, 401 and 403.", example: .commented([404]))
    let settings = [
      ("rounds", rounds != 3), ("wait", wait != .seconds(180)), ("inSuccess", inSuccess), ("status", !statuses.isEmpty),
    ]
    for (name, isSet) in settings where isSet && !isEnabled { keys.warn("has no effect without enabled", at: name) }
    rules =
      isEnabled ? AdviceRules(rounds: rounds, wait: wait, inSuccess: inSuccess, statuses: Set(statuses)) : nil
  }
}

/// Whether and how many cookies of a resource are kept. It is not a `CookiePolicy`, which identifies its jars: two
/// readings of one file would differ.
public struct CookiesConfiguration: Sendable, Equatable {
  /// Whether any are kept. Default false.
  public var areStored: Bool
  /// The most cookies of one caller. Default 50.
  public var maxCookies: Int
  /// The most bytes of one caller's cookies. Default 64 KiB.
  public var maxBytes: Int
}

extension CookiesConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    areStored = keys.value(
      "store", .boolean, default: false,
      "Whether cookies are kept, in memory, for each user id, session and resource by itself (RFC 6265).")
    maxCookies = keys.value(
      "maxCookies", .integer(1...1000), default: 50, "Cookies of one session, or of one user id without session.")
    maxBytes = keys.value(
      "maxBytes", .size(1024...(1 << 20)), default: 64 << 10, "Names, values, domains and paths of those together.")
    for (name, isSet) in [("maxCookies", maxCookies != 50), ("maxBytes", maxBytes != 64 << 10)]
    where isSet && !areStored { keys.warn("has no effect without store", at: name) }
  }
}

extension OriginLimits: ConfigurationSection {
  package init(reading keys: SectionReader) {
    let concurrency = keys.optional(
      "concurrency", .integer(1...65_536), "Requests at a time to each origin of the resource.", example: .shown(16))
    let queue = keys.value(
      "queue", .integer(0...65_536), default: 64,
      "Requests that may wait for a slot; slots go to the user with the fewest. More are answered with overloaded.")
    self.init(
      concurrency: concurrency, queue: queue,
      breaker: keys.optionalSection(
        "breaker", Breaker.self, "A circuit breaker: an origin that fails again and again gets no requests for a while."
      ))
    if keys.isGiven("queue"), !keys.isGiven("concurrency") {
      keys.warn("without concurrency nothing ever waits", at: "queue")
    }
  }
}

extension OriginLimits.Breaker: ConfigurationSection {
  package init(reading keys: SectionReader) {
    let failures = keys.value(
      "failures", .integer(1...1000), default: 5,
      "Failures in a row after which the breaker opens: the origin cannot be reached, breaks HTTP, or answers 502, 503 or 504."
    )
    self.init(
      failures: failures,
      openFor: keys.value(
        "openFor", .duration(.milliseconds(100) ... .seconds(3600)), default: .seconds(30),
        "How long the breaker stays open; then one request is sent as a trial."))
  }
}
