import OAuthClient

/// Which of a session's access tokens: those for different resources are different tokens (RFC 8707).
package struct TokenSlot: Sendable, Hashable, Codable {
  /// The requested scope; nil: the session's.
  let scope: String?
  /// The token's audience; nil: none in particular.
  let audience: String?

  /// The token the session came with.
  package static let session = TokenSlot(scope: nil, audience: nil)

  /// The form's member with the audience of the session's own token (RFC 8707 section 2.2).
  static func resource(_ resource: String?) -> [(name: String, value: String)] {
    resource.map { [(name: "resource", value: $0)] } ?? []
  }

  /// The form's members that request it.
  var form: [(name: String, value: String)] {
    var form: [(name: String, value: String)] = []
    if let scope { form.append((name: "scope", value: scope)) }
    if let audience { form += ClientCredentialsGrant.audienceMembers(audience) }
    return form
  }
}
