/// A user's grant to a client, of whichever kind: all tokens that result from it have this content.
struct UserGrant: Sendable {
  /// The client.
  let clientID: String
  /// The user.
  let user: PlaygroundUser
  /// How the user logged in.
  let authentication: UserAuthentication
  /// The scopes.
  let scopes: [String]
  /// The resources that tokens may be for (RFC 8707); empty for the usual one.
  let resources: [String]
  /// The thumbprint of the key its refresh tokens are bound to (RFC 9449 section 5).
  var confirmation: String?

  /// Whether the grant outlives the session (OpenID Connect Core section 11).
  var isOffline: Bool { scopes.contains("offline_access") }
}
