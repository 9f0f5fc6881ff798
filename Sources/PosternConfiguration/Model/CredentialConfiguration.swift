import PosternJSON
public import PosternSupport

/// A static secret that authenticates requests to a resource: an API key, a personal access token, a password. One of
/// `header`, `query` and `basic` is set.
public struct CredentialConfiguration: Sendable, Equatable {
  /// The header field that carries the secret.
  public var header: String?
  /// The text before the secret in that field. Default none.
  public var prefix: String?
  /// The parameter of the query that carries the secret.
  public var query: String?
  /// The user name and password of HTTP Basic.
  public var basic: BasicCredentialConfiguration?
  /// The secret, with `header` and `query`.
  public var value: ConfiguredSecret<String>?
}

extension CredentialConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    header = keys.optional(
      "header", .text, "Header field that carries the secret: Authorization, X-Api-Key, …", example: .shown("X-Api-Key")
    )
    prefix = keys.optional(
      "prefix", .text, "With header: what precedes the secret in the field's value, with a space where one is needed.",
      example: .commented("Bearer "))
    query = keys.optional(
      "query", .text,
      "Query parameter that carries the secret, where the resource accepts no header field: servers write queries to their logs.",
      example: .commented("key"))
    basic = keys.optionalSection(
      "basic", BasicCredentialConfiguration.self, "User name and password of HTTP Basic (RFC 7617).", commented: true)
    value = keys.secret(
      "value", .line, "With header and query: file with the secret, read again when it is replaced, without a reload.",
      exampleFile: .shown("/run/secrets/billing-key"))
    checkForm(keys)
  }

  private func checkForm(_ keys: SectionReader) {
    let forms = ["header", "query", "basic"].filter(keys.isGiven)
    guard forms.count == 1 else {
      keys.problem(
        forms.isEmpty ? "header, query or basic is missing" : "give only one of \(forms.joined(separator: ", "))")
      return
    }
    if prefix != nil, header == nil { keys.problem("goes with header only", at: "prefix") }
    let given = ["value", "valueFile", "valueEnv"].first(where: keys.isGiven)
    if let given, basic != nil { keys.problem("the password belongs into the section basic", at: given) }
    if given == nil, basic == nil { keys.problem("valueFile is missing") }
    if let header, let prefix, header.lowercased() == "authorization", prefix.allSatisfy(\.isLetter) {
      keys.warn("the secret follows without a space: write \"\(prefix) \"", at: "prefix")
    }
  }
}

/// The user name and password of HTTP Basic.
public struct BasicCredentialConfiguration: Sendable, Equatable {
  /// The user name.
  public var username: String
  /// The password.
  public var password: ConfiguredSecret<String>?
}

extension BasicCredentialConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    username = keys.required("username", .text, "User name, without a colon.", example: .shown("app"))
    password = keys.secret(
      "password", .line, "File with the password, read again when it is replaced, without a reload.",
      exampleFile: .shown("/run/secrets/billing-password"))
    if !["password", "passwordFile", "passwordEnv"].contains(where: keys.isGiven) {
      keys.problem("passwordFile is missing")
    }
  }
}
