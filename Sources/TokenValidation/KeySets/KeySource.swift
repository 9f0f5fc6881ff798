public import JOSE
public import OAuthClient
public import PosternJSON
public import PosternSupport

/// A source of verification keys.
public protocol KeySource: Sendable {
  /// The current set, if it is cached and no request for another one is due; nil otherwise.
  var currentKeySet: KeySetSnapshot? { get }

  /// Returns the current set: cached while it is valid, fetched when there is none.
  func keySet(in scope: CallScope) async throws(KeySetError) -> KeySetSnapshot

  /// Returns a set fetched after `snapshot`, for a key that `snapshot` lacks.
  ///
  /// Nil when there is no newer one, or the cool-down or the budget allows no request: the token's key is then unknown.
  /// Throws when the request failed, now or within the cool-down: it is not known whether the key exists.
  func keySet(newerThan snapshot: KeySetSnapshot, in scope: CallScope) async throws(KeySetError) -> KeySetSnapshot?

  /// Returns the same for a key that `isSought` finds. A set without it is returned only if it was requested for this
  /// call: an earlier request may be older than the key.
  func keySet(
    newerThan snapshot: KeySetSnapshot, holding isSought: @escaping @Sendable (JWKSet) -> Bool, in scope: CallScope
  ) async throws(KeySetError) -> KeySetSnapshot?
}

extension KeySource {
  /// Returns nil: right for a source that may always have to be waited for.
  public var currentKeySet: KeySetSnapshot? { nil }

  /// Returns any newer set: right for a source that is not shared.
  public func keySet(
    newerThan snapshot: KeySetSnapshot, holding isSought: @escaping @Sendable (JWKSet) -> Bool, in scope: CallScope
  ) async throws(KeySetError) -> KeySetSnapshot? {
    try await keySet(newerThan: snapshot, in: scope)
  }
}

/// A key set as it was fetched. A value: a validation uses one snapshot from start to end.
public struct KeySetSnapshot: Sendable {
  /// The keys, and the entries that could not be used.
  public let keys: JWKSet
  /// A number that grows with every new set; never used twice by one source. Zero for a set from a caller.
  public let sequence: UInt64
  /// The time of the request that confirmed the set; the boot itself for a set from a caller.
  public let fetchedAt: MonotonicInstant
  /// Whether it has expired and is used because no newer one is available.
  public let isStale: Bool

  /// A snapshot of the given parts.
  public init(keys: JWKSet, sequence: UInt64, fetchedAt: MonotonicInstant, isStale: Bool = false) {
    self.keys = keys
    self.sequence = sequence
    self.fetchedAt = fetchedAt
    self.isStale = isStale
  }
}

/// A fixed key set, which is never fetched.
public struct StaticJWKSet: KeySource {
  private let snapshot: KeySetSnapshot

  /// The given set.
  public init(_ keys: JWKSet) {
    snapshot = KeySetSnapshot(keys: keys, sequence: 0, fetchedAt: MonotonicInstant(nanoseconds: 0))
  }

  /// Reads the set in `json`, by the rules for sets from callers; `jwks_invalid` when it is none, or mixes symmetric
  /// and asymmetric keys.
  public init(json: JSONValue) throws(KeySetError) {
    do throws(JOSEError) {
      self.init(try JWKSet(json: json, origin: .local))
    } catch {
      throw KeySetError(.invalid, error.message)
    }
  }

  /// Reads the set in `text`, by the rules of `init(json:)`.
  public init(text: [UInt8]) throws(KeySetError) {
    do throws(JOSEError) {
      self.init(try JWKSet(text: text, origin: .local))
    } catch {
      throw KeySetError(.invalid, error.message)
    }
  }

  /// Returns the set.
  public var currentKeySet: KeySetSnapshot? { snapshot }

  /// Returns the set.
  public func keySet(in scope: CallScope) async throws(KeySetError) -> KeySetSnapshot { snapshot }

  /// Returns nil: there is never a newer one.
  public func keySet(
    newerThan snapshot: KeySetSnapshot, in scope: CallScope
  ) async throws(KeySetError) -> KeySetSnapshot? { nil }
}

extension KeySetSnapshot: ConciseStringConvertible {
  /// The keys.
  public var description: String { Concise.text("\(keys)", isStale ? "stale" : nil) }
}

extension StaticJWKSet: ConciseStringConvertible {
  /// The keys.
  public var description: String { "\(snapshot.keys)" }
}
