import PosternCrypto
import PosternJSON
import PosternSupport

/// Refresh tokens and the grants behind them (RFC 6749 section 6), replaced at every use and watched for reuse (RFC
/// 9700 section 4.14.2).
///
/// A token is `family.number.code`, the code a MAC over the other two. So every token ever issued is known again,
/// however old, without being kept.
final class RefreshFamilies: Sendable {
  /// A refresh token that has been presented.
  struct Presented: Sendable {
    /// Its family at that time.
    let family: RefreshFamily
    /// Its number.
    let number: Int
  }

  private let key = SymmetricKey.random(byteCount: 32)
  private let families: ExpiringStore<RefreshFamily>
  private let lifetime: Duration
  private let retention: Duration
  private let settings: Settings
  private let statistics: Statistics
  private let clock: any EngineClock

  /// No families yet. Refresh tokens live for `configuration.refreshTokenLifetime`.
  init(
    configuration: PlaygroundConfiguration, settings: Settings, statistics: Statistics, clock: any EngineClock
  ) {
    families = ExpiringStore(clock: clock)
    lifetime = configuration.refreshTokenLifetime
    // Access tokens are good only as long as their family is known.
    retention = lifetime + configuration.accessTokenLifetime + .seconds(600)
    self.settings = settings
    self.statistics = statistics
    self.clock = clock
  }

  /// Begins the family of a new grant, without a refresh token as yet.
  func open(_ grant: UserGrant) throws(OAuthError) -> String {
    let id = String(UInt64.random(in: .min ... .max), radix: 36)
    let now = clock.wallNow
    let family = RefreshFamily(id: id, grant: grant, openedAt: now, expiresAt: now + lifetime)
    guard families.insert(family, under: id, for: retention) else { throw .full }
    return id
  }

  /// Binds the refresh tokens of a family to a key (RFC 9449 section 5).
  func bind(_ id: String, to key: String) { _ = families.update(id) { $0.grant.confirmation = key } }

  /// The first refresh token of a family.
  func issueFirst(in id: String) throws -> String {
    let text = try text(of: id, 1)
    let now = clock.wallNow
    _ = families.update(id) { $0.append(number: 1, text: text, at: now, lifetime: lifetime) }
    statistics.count(\.refreshTokensIssued)
    return text
  }

  /// The family and number of a refresh token of ours; nil for any other text.
  func recognize(_ text: String) -> Presented? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard text.utf8.count <= 128, parts.count == 3, let number = Int(parts[1]), number > 0,
      let expected = try? self.text(of: String(parts[0]), number),
      ConstantTime.equals(Array(expected.utf8), Array(text.utf8)), let family = families.value(String(parts[0]))
    else { return nil }
    return Presented(family: family, number: number)
  }

  /// Whether a refresh token is the living one of a living family.
  func isGood(_ presented: Presented) -> Bool {
    presented.family.revocation == nil && presented.number == presented.family.current
      && clock.wallNow < presented.family.expiresAt
  }

  /// Notes that a token was presented, before anything is decided.
  func notePresentation(of presented: Presented) {
    let now = clock.wallNow
    _ = families.update(presented.family.id) { family in
      family.note(presented.number) { token in
        token.presented += 1
        token.lastPresentedAt = now
      }
    }
  }

  /// Uses a refresh token up, in one step: of several uses at once one succeeds, and the others are reuse.
  ///
  /// The result is the token to answer with, nil for none. Reuse revokes the family.
  func use(_ presented: Presented) throws -> String? {
    let values = settings.values
    let number = presented.number
    let id = presented.family.id
    let now = clock.wallNow
    let decision = families.update(id) { family -> Decision in
      if family.revocation != nil { return .reject("the grant has been revoked") }
      guard now < family.expiresAt else { return .reject("the refresh token has expired") }
      if number < family.current {
        let grace = Duration.milliseconds(values.reuseGraceMilliseconds)
        guard let replacedAt = family.token(number)?.replacedAt, grace > .zero, now - replacedAt <= grace else {
          family.revocation = "reuse of refresh token \(number) while \(family.current) was the living one"
          return .reuse
        }
      }
      guard values.rotatesRefreshTokens else {
        family.expiresAt = now + lifetime
        return .keep(number: family.current, named: values.repeatsRefreshTokens)
      }
      let living = family.current
      family.note(living) { $0.replacedAt = now }
      guard let text = try? text(of: id, living + 1) else { return .reject("no refresh token could be made") }
      family.append(number: living + 1, text: text, at: now, lifetime: lifetime)
      return .answer(text)
    }
    families.extend(id, for: retention)
    switch decision {
    case .answer(let text)?:
      statistics.count(\.refreshTokensIssued)
      return text
    case .keep(let number, let named)?:
      return named ? try text(of: id, number) : nil
    case .reuse?:
      statistics.count(\.refreshTokenReuseDetected)
      statistics.count(\.refreshTokenFamiliesRevoked)
      throw OAuthError(.invalidGrant, "the refresh token was used before; its whole family is revoked")
    case .reject(let reason)?:
      throw OAuthError(.invalidGrant, reason)
    case nil:
      throw OAuthError(.invalidGrant, "the refresh token is unknown")
    }
  }

  private enum Decision {
    /// This token replaces the presented one.
    case answer(String)
    /// The living token stays.
    case keep(number: Int, named: Bool)
    /// A token was presented that had been replaced.
    case reuse
    /// No, for this reason.
    case reject(String)
  }

  /// Notes that an answer names the token `text`, and returns what to tell about its way out.
  func noteAnswer(naming text: String) -> @Sendable (Bool) -> Void {
    guard let named = recognize(text) else { return { _ in } }
    _ = families.update(named.family.id) { $0.note(named.number) { $0.answers += 1 } }
    return { [families] isWritten in
      _ = families.update(named.family.id) { $0.note(named.number) { $0.answersWritten += isWritten ? 1 : -1 } }
    }
  }

  /// Whether the tokens of a family are still good.
  func isAlive(_ id: String) -> Bool { families.update(id) { $0.revocation == nil } ?? false }

  /// Makes all tokens of a family void, access tokens included.
  func revoke(_ id: String, because reason: String) {
    let isNew = families.update(id) { family -> Bool in
      defer { family.revocation = family.revocation ?? reason }
      return family.revocation == nil
    }
    if isNew == true { statistics.count(\.refreshTokenFamiliesRevoked) }
  }

  /// Makes the families void that `meant` picks.
  func revoke(because reason: String, where meant: (RefreshFamily) -> Bool) {
    for (id, family) in families.all where family.revocation == nil && meant(family) { revoke(id, because: reason) }
  }

  /// Forgets all families: their tokens are unknown from now on.
  func forgetAll() { families.removeAll() }

  /// All families, the oldest first.
  var json: JSONValue {
    .array(families.all.values.sorted { $0.openedBefore($1) }.map(\.json))
  }

  private func text(of family: String, _ number: Int) throws(CryptoError) -> String {
    let stem = "\(family).\(number)"
    let code = try HMAC.authenticate(Array(stem.utf8).span.bytes, using: .sha256, key: key)
    return "\(stem).\(Base64URL.string(code))"
  }
}

extension RefreshFamily {
  fileprivate mutating func append(number: Int, text: String, at now: Timestamp, lifetime: Duration) {
    current = number
    expiresAt = now + lifetime
    if tokens.count >= Limits.familyHistory { tokens.removeFirst() }
    tokens.append(Token(number: number, fingerprint: Fingerprint.of(text), issuedAt: now))
  }

  fileprivate func openedBefore(_ other: RefreshFamily) -> Bool { (openedAt, id) < (other.openedAt, other.id) }
}
