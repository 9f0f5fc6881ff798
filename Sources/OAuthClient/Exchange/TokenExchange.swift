import PosternCrypto
public import PosternSupport

/// The rules by which a resource's tokens are obtained on behalf of the user of an inbound token: one that a client of
/// the calling program has sent to it.
public struct TokenExchange: Sendable, Hashable {
  /// The grant of the token request.
  public enum Grant: String, Sendable, Hashable, CaseIterable {
    /// RFC 8693 section 2.1.
    case tokenExchange = "token_exchange"
    /// RFC 7523 section 2.1.
    case jwtBearer = "jwt_bearer"
  }

  /// The parameters and the format of inbound tokens that an issuer has beyond the standards.
  public enum Dialect: String, Sendable, Hashable, CaseIterable {
    /// None: the grant as its RFC has it.
    case rfc
    /// The on-behalf-of flow of Microsoft Entra ID: `requested_token_use`, and inbound tokens in Entra's format.
    case entra
  }

  /// A type of token by its identifier (RFC 8693 section 3).
  public enum TokenForm: String, Sendable, Hashable, CaseIterable {
    /// An access token of the issuer.
    case accessToken = "access_token"
    /// A JWT.
    case jwt

    /// The identifier in requests and answers.
    var identifier: String { self == .jwt ? GrantForm.jwtType : GrantForm.accessTokenType }
  }

  /// The party that acts for the user, as the request names it (RFC 8693 section 1.1).
  public enum Actor: String, Sendable, Hashable, CaseIterable {
    /// None: the issuer knows the client by its authentication.
    case none
    /// The client, by a token of its own from the client credentials grant.
    case clientCredentials
  }

  /// How the user of the new token compares with that of the inbound token.
  public enum SubjectRule: String, Sendable, Hashable, CaseIterable {
    /// It is the same one, as far as both tokens are JWTs of one issuer.
    case same
    /// It may be another identifier: for issuers whose identifiers differ by audience (pairwise).
    case any
  }

  /// The grant.
  public var grant: Grant
  /// Extensions of the issuer.
  public var dialect = Dialect.rfc
  /// The audiences that inbound tokens are for. The first must be in a token's `aud`, unless a call names another one.
  public var inboundAudiences: [String]
  /// The audiences of the new token, each a parameter of its own; none for `entra`.
  public var audiences: [String] = []
  /// The resources of the new token (RFC 8707), each a parameter of its own; none for `entra`.
  public var resources: [String] = []
  /// The scope of the new token; nil: the issuer's default.
  public var scope: String?
  /// The type of the new token, with `token_exchange`.
  public var requestedType = TokenForm.accessToken
  /// The type of the inbound token, with `token_exchange`.
  public var subjectType = TokenForm.accessToken
  /// The acting party, with `token_exchange`.
  public var actor = Actor.none
  /// The requirement on the new token's user.
  public var subject = SubjectRule.same

  /// An exchange by `grant` of inbound tokens for `inboundAudiences`; the other members keep their defaults until set.
  public init(grant: Grant, inboundAudiences: [String]) {
    self.grant = grant
    self.inboundAudiences = inboundAudiences
  }

  /// Whether an answer names the type of its token (RFC 8693 section 2.2.1).
  var answersWithType: Bool { grant == .tokenExchange }

  /// Whether an issued token of that type may be sent: the requested one, or an access token where a JWT is requested,
  /// since it is used as an access token.
  func accepts(issuedType: String) -> Bool {
    issuedType == requestedType.identifier || requestedType == .jwt && issuedType == GrantForm.accessTokenType
  }

  /// The form's members, without those of client authentication.
  func form(for inbound: Secret<String>, actor: Secret<String>?) -> GrantForm.Members {
    var form: GrantForm.Members
    switch grant {
    case .tokenExchange:
      form = GrantForm.tokenExchange(
        subject: inbound.reveal(), type: subjectType.identifier, actor: actor?.reveal())
      form.append((name: "requested_token_type", value: requestedType.identifier))
    case .jwtBearer: form = GrantForm.jwtBearer(assertion: inbound.reveal())
    }
    if dialect == .rfc {
      form += resources.map { (name: "resource", value: $0) } + audiences.map { (name: "audience", value: $0) }
    }
    if let scope { form.append((name: "scope", value: scope)) }
    if dialect == .entra { form.append((name: "requested_token_use", value: "on_behalf_of")) }
    return form
  }
}

/// An inbound token that was validated: the engine makes it, so that no other token is exchanged.
public struct InboundToken: Sendable {
  /// The token: for the issuer's token endpoint alone.
  package let value: Secret<String>
  /// The `iss` of the token; nil where an introspection did not name it.
  public let issuer: String?
  /// The `sub` of the token; nil where an introspection did not name it.
  public let subject: String?
  /// The `sid` of the token, where it has one.
  public let sessionID: String?
  /// Entra's `oid`, the identifier of a user that does not differ by audience.
  let objectID: String?
  /// The expiry; nil where an introspection did not name it.
  public let expiresAt: Timestamp?

  package init(
    value: Secret<String>, issuer: String?, subject: String?, sessionID: String? = nil, objectID: String? = nil,
    expiresAt: Timestamp?
  ) {
    self.value = value
    self.issuer = issuer
    self.subject = subject
    self.sessionID = sessionID
    self.objectID = objectID
    self.expiresAt = expiresAt
  }

  /// Returns the keyed hash of the whole token: of two tokens of one user each has a hash of its own.
  func digest(under key: HMACKey?) -> [UInt8] {
    var text = Array(value.reveal().utf8)
    defer { text.wipe() }
    // There is a key, as only an empty one fails; without one, no two tokens would be the same.
    return key?.authenticate(text.span.bytes) ?? SecureRandom.bytes(32)
  }
}

/// A request for a token on behalf of a user, without the inbound token: what one resource requires of its issuer.
public struct ExchangeGrant: Sendable, Hashable {
  /// The issuer of the new token.
  public let issuer: Issuer
  /// The resource's name in the configuration.
  public let resource: String
  /// The rules of the exchange.
  public let exchange: TokenExchange

  /// A grant of the given parts.
  public init(issuer: Issuer, resource: String, exchange: TokenExchange) {
    self.issuer = issuer
    self.resource = resource
    self.exchange = exchange
  }
}

extension TokenExchange: ConciseStringConvertible {
  /// Grant, audiences and scope.
  public var description: String {
    Concise.text(
      "exchange by \(grant.rawValue)", dialect == .rfc ? nil : "dialect \(dialect.rawValue)",
      audiences.isEmpty ? nil : Concise.list(audiences, of: "audience"), scope.map { "scope \(Concise.name($0))" })
  }
}

extension InboundToken: ConciseStringConvertible {
  /// Its expiry: never the token, nor its user.
  public var description: String { Concise.text("inbound token", expiresAt.map { "expires \($0)" }) }
}

extension ExchangeGrant: ConciseStringConvertible {
  /// Resource, issuer and exchange.
  public var description: String {
    Concise.text("\(Concise.name(resource)) at \(Concise.name(issuer.name))", "\(exchange)")
  }
}
