public import AuthEngine
import PosternJSON
public import PosternSupport

/// A static secret that authenticates requests to a resource: an API key, a personal access token, a password.
public struct CredentialConfiguration: Sendable, Equatable {
  /// The part of a request that carries the secret.
  public var form: StaticCredential.Form
  /// The secret.
  public var secret: ConfiguredSecret<String>?

  /// The header field that carries the secret; nil: another part does.
  public var header: String? {
    guard case .header(let name, _) = form else { return nil }
    return name
  }
}

extension CredentialConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    let header = keys.optional(
      "header", .text, "Header field that carries the secret: Authorization, X-Api-Key, …", example: .shown("X-Api-Key")
    )
    let prefix = keys.optional(
      "prefix", .text, "With header: what precedes the secret in the field's value, with a space where one is needed.",
      example: .commented("Bearer "))
    let query = keys.optional(
      "query", .text,
      "Query parameter that carries the secret, where the resource accepts no header field: servers write queries to their logs.",
      example: .commented("key"))
    let basic = keys.optionalSection(
      "basic", BasicCredential.self, "User name and password of HTTP Basic (RFC 7617).", commented: true)
    let value = keys.secret(
      "value", .line, "With header and query: file with the secret, read again when it is replaced, without a reload.",
      exampleFile: .shown("/run/secrets/billing-key"))
    if let basic {
      form = .basic(username: basic.username)
    } else if let query {
      form = .query(name: query)
    } else {
      form = .header(name: header ?? "", prefix: prefix ?? "")
    }
    secret = basic == nil ? value : basic?.password
    Self.check(keys, header: header, prefix: prefix, isBasic: basic != nil)
  }

  private static func check(_ keys: SectionReader, header: String?, prefix: String?, isBasic: Bool) {
    let forms = ["header", "query", "basic"].filter(keys.isGiven)
    guard forms.count == 1 else {
      keys.problem(
        forms.isEmpty ? "header, query or basic is missing" : "give only one of \(forms.joined(separator: ", "))")
      return
    }
    if prefix != nil, header == nil { keys.problem("goes with header only", at: "prefix") }
    let given = ["value", "valueFile", "valueEnv"].first(where: keys.isGiven)
    if let given, isBasic { keys.problem("the password belongs into the section basic", at: given) }
    if given == nil, !isBasic { keys.problem("valueFile is missing") }
    if let header, let prefix, header.lowercased() == "authorization", prefix.allSatisfy(\.isLetter) {
      keys.warn("the secret follows without a space: write \"\(prefix) \"", at: "prefix")
    }
  }
}

/// The user name and password of HTTP Basic.
private struct BasicCredential: ConfigurationSection {
  let username: String
  let password: ConfiguredSecret<String>?

  init(reading keys: SectionReader) {
    username = keys.required("username", .text, "User name, without a colon.", example: .shown("app"))
    password = keys.secret(
      "password", .line, "File with the password, read again when it is replaced, without a reload.",
      exampleFile: .shown("/run/secrets/billing-password"))
    if !["password", "passwordFile", "passwordEnv"].contains(where: keys.isGiven) {
      keys.problem("passwordFile is missing")
    }
  }
}
