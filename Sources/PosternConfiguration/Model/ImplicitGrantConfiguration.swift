import PosternJSON

/// How a registered profile is logged in without its user.
public struct ImplicitGrantConfiguration: Sendable, Equatable {
  /// The grants that can do it.
  public enum Grant: String, Sendable, Hashable, CaseIterable {
    /// RFC 8693.
    case tokenExchange = "token_exchange"
    /// RFC 7523 section 2.1.
    case jwtBearer = "jwt_bearer"
    /// RFC 6749 section 4.4.
    case clientCredentials = "client_credentials"
  }

  /// The grant.
  public var grant: Grant
  /// The scope to ask for: less than what a user present may get.
  public var scope: String?

  /// An implicit grant.
  public init(grant: Grant, scope: String? = nil) {
    self.grant = grant
    self.scope = scope
  }
}

extension ImplicitGrantConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    grant = keys.required(
      "grant", .choice(Grant.self, placeholder: .tokenExchange), "Grant that gets the token.",
      example: .shown("token_exchange"))
    scope = keys.optional(
      "scope", .text, "Scope to ask for: less than what a user present may get.", example: .shown("profile:read"))
  }
}
