public import AuthEngine
import PosternJSON

/// How inbound tokens are exchanged for those of a resource, with `auth: onBehalfOf`.
public struct ExchangeConfiguration: Sendable, Equatable {
  /// The rules of the engine, with the resource's audience and scope where the section names none.
  public internal(set) var rules: TokenExchange
  /// The name of the inbound tokens' issuer; nil: the resource's.
  public var inboundIssuer: String?
}

extension ExchangeConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    let grant = keys.required(
      "grant", .choice(TokenExchange.Grant.self, placeholder: .tokenExchange),
      "Grant of the request: token_exchange (RFC 8693) or jwt_bearer (RFC 7523).", example: .commented("token_exchange")
    )
    let dialect = keys.value(
      "dialect", .choice(TokenExchange.Dialect.self, placeholder: .rfc), default: .rfc,
      "Extensions of the issuer: none (rfc), or those of Microsoft Entra ID (entra), with jwt_bearer and a scope.")
    inboundIssuer = keys.optional(
      "inboundIssuer", .text, "Name of the inbound tokens' issuer. Default: the resource's.",
      example: .commented("corp"))
    rules = TokenExchange(
      grant: grant,
      inboundAudiences: keys.oneOrMore(
        "inboundAudience",
        "Audience of inbound tokens, or several. The first must be in the token's aud, unless the call names another.",
        isRequired: true, example: .commented("https://gateway.example.com")))
    rules.dialect = dialect
    rules.subjectType = keys.value(
      "subjectTokenType", .choice(TokenExchange.TokenForm.self, placeholder: .accessToken),
      default: .accessToken, "Type of inbound tokens in requests (RFC 8693 section 3).")
    rules.audiences = keys.oneOrMore(
      "audience",
      "Audience of the requested token, or several, each a parameter of its own. Default: the resource's audience.",
      example: .commented("https://reports.example.com"))
    rules.resources = keys.oneOrMore(
      "resource", "Resource of the requested token (RFC 8707), or several, each a parameter of its own.",
      example: .commented("https://reports.example.com"))
    rules.scope = keys.optional(
      "scope", .text, "Scope of the requested token. Default: the resource's.", example: .commented("reports:read"))
    rules.requestedType = keys.value(
      "requestedTokenType", .choice(TokenExchange.TokenForm.self, placeholder: .accessToken),
      default: .accessToken, "Type of the requested token (RFC 8693 section 3).")
    rules.actor = keys.value(
      "actor", .choice(TokenExchange.Actor.self, placeholder: .none), default: .none,
      "Acting party that requests name: none, or the client by a token from the client credentials grant.")
    rules.subject = keys.value(
      "subject", .choice(TokenExchange.SubjectRule.self, placeholder: .same), default: .same,
      "Whether both tokens must name the same user, where that can be seen; any is for issuers with pairwise subjects.")
    check(keys)
  }

  /// Takes in what the resource has, and the section has not.
  mutating func complete(audience: String?, scope: String?) {
    if rules.audiences.isEmpty, let audience { rules.audiences = [audience] }
    if rules.dialect == .entra { rules.audiences = [] }
    rules.scope = rules.scope ?? scope
  }

  private func check(_ keys: SectionReader) {
    if rules.dialect == .entra {
      if rules.grant != .jwtBearer { keys.problem("entra needs grant: jwt_bearer", at: "dialect") }
      for name in ["audience", "resource"] where keys.isGiven(name) {
        keys.warn("is not sent: entra has no such parameter, the scope names the API", at: name)
      }
    }
    guard rules.grant == .jwtBearer else { return }
    for name in ["subjectTokenType", "requestedTokenType"] where keys.isGiven(name) {
      keys.warn("is not sent: jwt_bearer has no such parameter", at: name)
    }
    // Without it the token would be another one than is meant: the user's, as if no other party had acted.
    if keys.isGiven("actor") { keys.problem("jwt_bearer has no such parameter", at: "actor") }
  }
}
