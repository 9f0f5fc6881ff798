/// Which of a session's access tokens: those for different resources are different tokens (RFC 8707).
struct TokenSlot: Sendable, Hashable, Codable {
  /// The scope asked for; nil: what the session has.
  let scope: String?
  /// Whom the token is for; nil: nobody in particular.
  let audience: String?

  /// The token the session came with.
  static let session = TokenSlot(scope: nil, audience: nil)

  /// The form's members that ask for it.
  var form: [(name: String, value: String)] {
    var form: [(name: String, value: String)] = []
    if let scope { form.append((name: "scope", value: scope)) }
    if let audience { form += ClientCredentialsGrant.audienceMembers(audience) }
    return form
  }
}
