/// An authorization request that has been checked (RFC 6749 section 4.1.1, OpenID Connect Core section 3.1.2.1).
struct AuthorizationRequest: Sendable {
  /// The client and the destination of the answer: validated before anything is sent there.
  struct Destination: Sendable {
    /// The client.
    let client: PlaygroundClient
    /// Where to.
    let redirectURI: String
    /// `state`, which comes back as it is.
    let state: String?
    /// Whether the answer is in the fragment (OAuth 2.0 Multiple Response Types section 5).
    let usesFragment: Bool
  }

  /// Where the answer goes.
  let destination: Destination
  /// Whether an ID token comes with the code (`code id_token`).
  let wantsIDToken: Bool
  /// The scopes.
  let scopes: [String]
  /// `nonce`.
  let nonce: String?
  /// `prompt`.
  let prompts: Set<String>
  /// `max_age`, in seconds.
  let maxAge: Int64?
  /// `login_hint`.
  let loginHint: String?
  /// `sub` of `id_token_hint`.
  let hintedSubject: String?
  /// `acr_values`, the preferred one first.
  let acrValues: [String]
  /// `resource` (RFC 8707).
  let resources: [String]
  /// `code_challenge`, always of S256.
  let codeChallenge: String?
  /// `dpop_jkt` (RFC 9449 section 10).
  let proofKey: String?

  /// The client.
  var client: PlaygroundClient { destination.client }
  /// Where the answer goes.
  var redirectURI: String { destination.redirectURI }
}
