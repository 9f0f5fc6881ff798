import PosternJSON

/// A resource server.
public struct ResourceConfiguration: Sendable, Equatable {
  /// Whose token a request carries.
  public enum Authentication: String, Sendable, Hashable, CaseIterable {
    /// The user's.
    case user
    /// A registered profile's, its user not present.
    case implicit
    /// The client's own (RFC 6749 section 4.4).
    case device
    /// None.
    case none
  }

  /// What binds a token to its sender.
  public enum SenderConstraint: String, Sendable, Hashable, CaseIterable {
    /// Nothing: a bearer token (RFC 6750).
    case none
    /// A proof of possession with each request (RFC 9449).
    case dpop
    /// The client certificate (RFC 8705).
    case mtls
  }

  /// The URL below which everything lies.
  public var baseURL: String
  /// Further origins, each with or without a path that ends in `/`. Default none.
  public var additionalOrigins: [String]
  /// The name of the issuer; nil only with `auth: none`.
  public var issuer: String?
  /// Whose token requests carry unless a call says otherwise. Default `user`.
  public var auth: Authentication
  /// The scope to ask for; nil takes the issuer's.
  public var scope: String?
  /// The resource indicator or audience to ask for (RFC 8707); part of the token's cache key.
  public var audience: String?
  /// What binds tokens to the sidecar. Default `none`.
  public var senderConstraint: SenderConstraint
  /// Header fields that callers may send although they override the request's target, method or host. Default none.
  public var allowedHeaders: [String]
  /// Whom to trust in TLS, and who to be.
  public var tls: TLSConfiguration
  /// When an answer means that the token must be renewed; nil: a 401 with a challenge to the token.
  public var refreshOn: RefreshRule?
  /// Policy advice.
  public var advice: AdviceConfiguration
  /// Whether HTTP/2 is offered. Default false.
  public var http2: Bool
  /// How long a call may take, at most 10 minutes. Default 30 seconds.
  public var timeout: Duration
  /// The longest decoded body in bytes. Default 16 MiB.
  public var maxBodyBytes: Int
  /// How much it is asked at a time, and when it is left alone; nil: no limits.
  public var limits: ResourceLimitsConfiguration?
  /// Cookies between requests.
  public var cookies: CookiesConfiguration
  /// Encrypted bodies; nil for none.
  public var payloadEncryption: PayloadEncryptionConfiguration?

  /// The resource server at that URL, and defaults for everything else.
  public init(baseURL: String) {
    self = .allDefaults
    self.baseURL = baseURL
  }
}

extension ResourceConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    baseURL = keys.required(
      "baseUrl", .baseURL, "URL below which everything lies; relative paths of calls are appended to it.",
      example: .shown("https://api.example.com/billing/"))
    additionalOrigins = keys.list(
      "additionalOrigins", of: .originOrPrefix, default: [],
      "Further origins that calls may name in full: https://host, or https://host/prefix/.")
    issuer = keys.optional(
      "issuer", .text, "Name of the issuer; may be left out with auth: none only.", example: .shown("corp"))
    auth = keys.value(
      "auth", .choice(Authentication.self, placeholder: .user), default: .user,
      """
      Whose token requests carry unless a call says otherwise: the user's, a registered profile's without its user (implicit), the \
      client's own (device), or none.
      """)
    scope = keys.optional(
      "scope", .text, "Scope to ask for; device tokens never take the issuer's.", example: .shown("billing:read"))
    audience = keys.optional(
      "audience", .text, "Resource indicator (RFC 8707) or audience to ask for; part of the token's cache key.",
      example: .shown("https://api.example.com"))
    senderConstraint = keys.value(
      "senderConstraint", .choice(SenderConstraint.self, placeholder: .none), default: .none,
      "What binds tokens to the sidecar: dpop (RFC 9449), mtls (RFC 8705), or nothing.")
    allowedHeaders = keys.list(
      "allowedHeaders", of: .text, default: [],
      """
      Header fields that callers may send although they name another target, method or host to what is behind the resource, such as \
      X-Original-URL or X-HTTP-Method-Override.
      """)
    tls = keys.section("tls", TLSConfiguration.self, "Whom to trust in TLS, and who to be.")
    refreshOn = keys.optionalSection(
      "refreshOn", RefreshRule.self,
      "When an answer means that the token must be renewed. Left out: 401 with a challenge to the token.",
      commented: true)
    advice = keys.section("advice", AdviceConfiguration.self, "Policy advice: further steps an answer may ask for.")
    http2 = keys.value(
      "http2", .boolean, default: false,
      "Whether HTTP/2 is offered (over TLS), on connections and a thread of the resource's own.")
    timeout = keys.value(
      "timeout", .duration(.milliseconds(1) ... .seconds(600)), default: .seconds(30), "How long a call may take.")
    maxBodyBytes = keys.value(
      "maxBodyBytes", .size(1...(1 << 30)), default: 16 << 20, "Longest body, after decompression.")
    limits = keys.optionalSection(
      "limits", ResourceLimitsConfiguration.self,
      "How much the resource is asked at a time, and when it is left alone. Left out: no limits.", commented: true)
    cookies = keys.section("cookies", CookiesConfiguration.self, "Cookies between requests.")
    payloadEncryption = keys.optionalSection(
      "payloadEncryption", PayloadEncryptionConfiguration.self, "Bodies encrypted as JWE (RFC 7516).", commented: true)
  }
}
