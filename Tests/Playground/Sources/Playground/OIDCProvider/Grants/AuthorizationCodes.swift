import PosternSupport

/// Authorization codes (RFC 6749 section 4.1.2): valid for a minute and once, stored a while longer to notice a
/// second use.
final class AuthorizationCodes: Sendable {
  /// The contents of a code.
  struct Code: Sendable {
    /// The user's grant.
    let grant: UserGrant
    /// The family all tokens will belong to.
    let familyID: String
    /// Where the code was sent, as the request named it.
    let redirectURI: String
    /// The `code_challenge` with S256 (RFC 7636 section 4.2).
    let challenge: String?
    /// The `nonce`.
    let nonce: String?
    /// `dpop_jkt` (RFC 9449 section 10).
    let proofKey: String?
    fileprivate let end: MonotonicInstant
    fileprivate var isUsed = false
  }

  private static let lifetime = Duration.seconds(60)
  private static let memory = Duration.seconds(600)

  private let codes: ExpiringStore<Code>
  private let families: RefreshFamilies
  private let statistics: Statistics
  private let clock: any EngineClock

  /// No codes yet.
  init(families: RefreshFamilies, statistics: Statistics, clock: any EngineClock) {
    codes = ExpiringStore(clock: clock)
    self.families = families
    self.statistics = statistics
    self.clock = clock
  }

  /// A new code for what the user of `session` grants to `request`. Its family is begun with it, so that a second use
  /// of the code revokes the tokens of the first one even while those are still being made.
  func issue(for request: AuthorizationRequest, _ session: ProviderSession) throws(OAuthError) -> (String, UserGrant) {
    let grant = UserGrant(
      clientID: request.client.id, user: session.user, authentication: session.authentication,
      scopes: request.scopes, resources: request.resources)
    let code = Code(
      grant: grant, familyID: try families.open(grant), redirectURI: request.redirectURI,
      challenge: request.codeChallenge, nonce: request.nonce, proofKey: request.proofKey,
      end: clock.monotonicNow + Self.lifetime)
    let text = RandomText.next()
    guard codes.insert(code, under: text, for: Self.memory) else { throw .full }
    statistics.count(\.codesIssued)
    return (text, grant)
  }

  /// Uses a code up. A second use is rejected and revokes the tokens of the first.
  func redeem(_ text: String, by client: PlaygroundClient) throws(OAuthError) -> Code {
    let found = codes.update(text) { code -> (before: Code, isTheirs: Bool) in
      let isTheirs = code.grant.clientID == client.id
      defer { if isTheirs { code.isUsed = true } }
      return (code, isTheirs)
    }
    guard let found, found.isTheirs else { throw OAuthError(.invalidGrant, "the code is unknown or another client's") }
    if found.before.isUsed {
      statistics.count(\.codeReplays)
      families.revoke(found.before.familyID, because: "second use of the authorization code")
      throw OAuthError(.invalidGrant, "the code was used before; the tokens issued for it are revoked")
    }
    guard clock.monotonicNow < found.before.end else { throw OAuthError(.invalidGrant, "the code has expired") }
    return found.before
  }
}
