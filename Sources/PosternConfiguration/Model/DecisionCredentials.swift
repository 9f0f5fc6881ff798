public import AuthEngine
import PosternJSON
public import PosternSupport

/// How the sidecar authenticates at a decision point.
public struct DecisionCredentials: Sendable, Equatable {
  /// The kind of bearer token in requests.
  public enum Bearer: String, Sendable, Hashable, CaseIterable {
    /// None.
    case none
    /// A token from the client credentials grant of the issuer.
    case clientCredentials
    /// The user's token.
    case user
  }

  /// The bearer token to send. Default `clientCredentials` for `authzen` and `opa` with an issuer and without a
  /// fixed token, else `none`.
  public var bearer: Bearer
  /// A fixed bearer token.
  public var token: ConfiguredSecret<String>?
  /// `access-manager`: the SSO token of a session that may evaluate policies.
  public var ssoToken: ConfiguredSecret<String>?
  /// `access-manager`: the user of such a session.
  public var username: ConfiguredSecret<String>?
  /// `access-manager`: that user's password.
  public var password: ConfiguredSecret<String>?

  /// Whether nothing at all is sent.
  public var isNothing: Bool { bearer == .none && token == nil && ssoToken == nil && username == nil }
}

extension DecisionCredentials: ConfigurationSection {
  package init(reading keys: SectionReader) {
    let bearer = keys.optional(
      "bearer", .choice(Bearer.self, formerly: ["device": .clientCredentials], placeholder: .none),
      """
      Bearer token to send: the user's, one from the client credentials grant, or none. Default: clientCredentials for authzen and opa with an \
      issuer, else none.
      """, example: .shown("clientCredentials"))
    self.bearer = bearer ?? .none
    token = keys.secret(
      "token", .line, "File with a fixed bearer token.", exampleFile: .commented("/run/secrets/pdp-token"))
    ssoToken = keys.secret(
      "ssoToken", .line, "access-manager: file with the SSO token of a session that may evaluate policies.",
      exampleFile: .commented("/run/secrets/sso-token"))
    username = keys.secret(
      "username", .line, "access-manager: file with the name of a user who may evaluate policies.",
      exampleFile: .commented("/run/secrets/am-username"))
    password = keys.secret(
      "password", .line, "access-manager: file with that user's password.",
      exampleFile: .commented("/run/secrets/am-password"))
    func isGiven(_ name: String) -> Bool { [name, "\(name)File", "\(name)Env"].contains(where: keys.isGiven) }
    if isGiven("token"), let bearer, bearer != .none { keys.problem("give either bearer or tokenFile", at: "bearer") }
    if isGiven("username") != isGiven("password") { keys.problem("usernameFile and passwordFile belong together") }
    if isGiven("ssoToken"), isGiven("username") {
      keys.problem("give either ssoTokenFile or usernameFile and passwordFile")
    }
  }
}

/// The fixed decision: a Boolean in the engine, a word in the file.
private enum DegradationRule: String, Sendable, CaseIterable {
  case permitAll = "permit-all"
  case denyAll = "deny-all"
}

extension DecisionDegradation: ConfigurationSection {
  package init(reading keys: SectionReader) {
    let rule = keys.required(
      "rule", .choice(DegradationRule.self, placeholder: .denyAll),
      "permit-all or deny-all; the decision point gets no requests.", example: .commented("deny-all"))
    let until = keys.required(
      "until", .instant, "When the rule ends by itself, in UTC as 2026-01-02T03:04:05Z.",
      example: .commented("2026-01-02T03:04:05Z"))
    self.init(isPermit: rule == .permitAll, until: until)
  }
}

extension ValueForm where Value == Timestamp {
  /// An instant in UTC to the second (RFC 3339).
  fileprivate static var instant: Self {
    ValueForm(
      schema: { ["type": "string", "format": "date-time"] }, placeholder: Timestamp(secondsSinceEpoch: 0),
      json: { .string($0.rfc3339) },
      parse: { scalar, _ throws(ValueProblem) in
        guard let instant = Timestamp(utc: scalar.text) else {
          throw ValueProblem("must be an instant in UTC, as in 2026-01-02T03:04:05Z")
        }
        return instant
      })
  }
}
