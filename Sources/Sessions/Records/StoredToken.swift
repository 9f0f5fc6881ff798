import OAuthClient
import PosternJSON
import PosternSupport
import SessionRecords

/// An access token as it is stored: with times of the wall clock, which go on while nothing runs.
struct StoredToken: Sendable, Codable {
  let slot: TokenSlot
  @KeptSecret var value: String
  let scope: String?
  /// Milliseconds since the epoch.
  let obtainedAt: Int64
  /// In milliseconds.
  let lifetime: Int64
  /// The token's type, where its request carried a proof of the session's key (RFC 9449); nil: a bearer token that was
  /// requested without.
  var type: String?
}

extension StoredToken {
  /// When it expires by the wall clock.
  var expiresAt: Timestamp { Timestamp(millisecondsSinceEpoch: obtainedAt) + .milliseconds(lifetime) }

  /// The token as the engine uses it. A wall clock that was set back does not make it live longer than it was given.
  func accessToken(generation: UInt64, binding: TokenBinding, clock: any EngineClock) -> AccessToken {
    let remaining = min(expiresAt - clock.wallNow, .milliseconds(lifetime))
    let expiry = clock.monotonicNow + remaining
    return AccessToken(
      value: Secret(value), generation: generation, expiry: expiry, lifetime: .milliseconds(lifetime),
      expiresAt: expiresAt,
      usableUntil: clock.monotonicNow + (remaining - AccessToken.margin(ofLifetime: .milliseconds(lifetime))),
      scope: scope, binding: binding)
  }

  /// The token's sender constraint, in a session with that key; nil when the key it is bound to is not there.
  func binding(_ key: DPoPKey?) -> TokenBinding? {
    switch type.flatMap({ TokenType(named: $0) }) {
    case nil: TokenBinding.none
    case .bearer?: .declined
    case .dpop?: key.map { .key($0) }
    }
  }
}

extension DPoPKey {
  /// The key of a record, if it has one. One that cannot be read is an error: the next token would be bound to no key.
  static func recorded(_ record: JSONValue?) throws(SessionError) -> DPoPKey? {
    guard let record else { return nil }
    guard let key = DPoPKey(record: record) else {
      throw SessionError(StoreError(.corrupted, "the record's key for proofs of possession cannot be read"))
    }
    return key
  }
}

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
