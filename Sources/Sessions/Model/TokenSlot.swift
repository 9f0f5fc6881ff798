import OAuthClient

/// Which of a session's access tokens: those for different resources are different tokens (RFC 8707).
package struct TokenSlot: Sendable, Hashable, Codable {
  /// The scope asked for; nil: what the session has.
  let scope: String?
  /// Whom the token is for; nil: nobody in particular.
  let audience: String?

  /// The token the session came with.
  package static let session = TokenSlot(scope: nil, audience: nil)

  /// The form's member that says whom the session's own token is for (RFC 8707 section 2.2).
  static func resource(_ resource: String?) -> [(name: String, value: String)] {
    resource.map { [(name: "resource", value: $0)] } ?? []
  }

  /// The form's members that ask for it.
  var form: [(name: String, value: String)] {
    var form: [(name: String, value: String)] = []
    if let scope { form.append((name: "scope", value: scope)) }
    if let audience { form += ClientCredentialsGrant.audienceMembers(audience) }
    return form
  }
}
