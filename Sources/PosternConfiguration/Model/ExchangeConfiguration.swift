import PosternJSON

/// How inbound tokens are exchanged for those of a resource, with `auth: onBehalfOf`.
public struct ExchangeConfiguration: Sendable, Equatable {
  /// The grant of the token request.
  public enum Grant: String, Sendable, Hashable, CaseIterable {
    /// RFC 8693.
    case tokenExchange = "token_exchange"
    /// RFC 7523 section 2.1.
    case jwtBearer = "jwt_bearer"
  }

  /// Extensions of an issuer.
  public enum Dialect: String, Sendable, Hashable, CaseIterable {
    /// None.
    case rfc
    /// The parameters of Microsoft Entra ID.
    case entra
  }

  /// A type of token (RFC 8693 section 3).
  public enum TokenForm: String, Sendable, Hashable, CaseIterable {
    /// An access token.
    case accessToken = "access_token"
    /// A JWT.
    case jwt
  }

  /// The acting party that the request names.
  public enum Actor: String, Sendable, Hashable, CaseIterable {
    /// None.
    case none
    /// The client, by a token from the client credentials grant.
    case clientCredentials
  }

  /// How the users of both tokens compare.
  public enum SubjectRule: String, Sendable, Hashable, CaseIterable {
    /// They are the same.
    case same
    /// Their identifiers may differ.
    case any
  }

  /// The inbound tokens that are accepted.
  public struct Inbound: Sendable, Equatable {
    /// The name of their issuer; nil: the resource's.
    public var issuer: String?
    /// Their audiences: one of them must be in the token.
    public var audiences: [String]
    /// Their type in requests. Default `access_token`.
    public var type: TokenForm
  }

  /// The tokens that are requested.
  public struct Requested: Sendable, Equatable {
    /// Their audiences, each a parameter of its own. Default: the resource's audience.
    public var audiences: [String]
    /// Their resources (RFC 8707), each a parameter of its own. Default none.
    public var resources: [String]
    /// Their scope; nil: the resource's.
    public var scope: String?
    /// Their type. Default `access_token`.
    public var type: TokenForm
  }

  /// The grant of the token request.
  public var grant: Grant
  /// Extensions of the issuer. Default `rfc`.
  public var dialect: Dialect
  /// The inbound tokens that are accepted. Its keys, as those of `requested`, are in the exchange's own section.
  public var inbound: Inbound
  /// The tokens that are requested.
  public var requested: Requested
  /// The acting party that requests name. Default `none`.
  public var actor: Actor
  /// How the users of both tokens compare. Default `same`.
  public var subject: SubjectRule
}

extension ExchangeConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    grant = keys.required(
      "grant", .choice(Grant.self, placeholder: .tokenExchange),
      "Grant of the request: token_exchange (RFC 8693) or jwt_bearer (RFC 7523).", example: .commented("token_exchange")
    )
    dialect = keys.value(
      "dialect", .choice(Dialect.self, placeholder: .rfc), default: .rfc,
      "Extensions of the issuer: none (rfc), or those of Microsoft Entra ID (entra), with jwt_bearer and a scope.")
    inbound = Inbound(reading: keys)
    requested = Requested(reading: keys)
    actor = keys.value(
      "actor", .choice(Actor.self, placeholder: .none), default: .none,
      "Acting party that requests name: none, or the client by a token from the client credentials grant.")
    subject = keys.value(
      "subject", .choice(SubjectRule.self, placeholder: .same), default: .same,
      "Whether both tokens must name the same user, where that can be seen; any is for issuers with pairwise subjects.")
    check(keys)
  }

  private func check(_ keys: SectionReader) {
    if dialect == .entra {
      if grant != .jwtBearer { keys.problem("entra needs grant: jwt_bearer", at: "dialect") }
      for name in ["audience", "resource"] where keys.isGiven(name) {
        keys.warn("is not sent: entra has no such parameter, the scope names the API", at: name)
      }
    }
    guard grant == .jwtBearer else { return }
    for name in ["subjectTokenType", "requestedTokenType"] where keys.isGiven(name) {
      keys.warn("is not sent: jwt_bearer has no such parameter", at: name)
    }
    // Without it the token would be another one than is meant: the user's, as if no other party had acted.
    if keys.isGiven("actor") { keys.problem("jwt_bearer has no such parameter", at: "actor") }
  }
}

extension ExchangeConfiguration.Inbound: ConfigurationSection {
  package init(reading keys: SectionReader) {
    issuer = keys.optional(
      "inboundIssuer", .text, "Name of the inbound tokens' issuer. Default: the resource's.",
      example: .commented("corp"))
    audiences = keys.oneOrMore(
      "inboundAudience",
      "Audience of inbound tokens, or several. The first must be in the token's aud, unless the call names another.",
      isRequired: true, example: .commented("https://gateway.example.com"))
    type = keys.value(
      "subjectTokenType", .choice(ExchangeConfiguration.TokenForm.self, placeholder: .accessToken),
      default: .accessToken, "Type of inbound tokens in requests (RFC 8693 section 3).")
  }
}

extension ExchangeConfiguration.Requested: ConfigurationSection {
  package init(reading keys: SectionReader) {
    audiences = keys.oneOrMore(
      "audience",
      "Audience of the requested token, or several, each a parameter of its own. Default: the resource's audience.",
      example: .commented("https://reports.example.com"))
    resources = keys.oneOrMore(
      "resource", "Resource of the requested token (RFC 8707), or several, each a parameter of its own.",
      example: .commented("https://reports.example.com"))
    scope = keys.optional(
      "scope", .text, "Scope of the requested token. Default: the resource's.", example: .commented("reports:read"))
    type = keys.value(
      "requestedTokenType", .choice(ExchangeConfiguration.TokenForm.self, placeholder: .accessToken),
      default: .accessToken, "Type of the requested token (RFC 8693 section 3).")
  }
}
