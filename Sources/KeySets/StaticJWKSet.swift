public import JOSE
public import PosternJSON
public import PosternSupport

/// Keys that were handed in: they are what they are, and never fetched again.
public struct StaticJWKSet: KeySource {
  private let snapshot: KeySetSnapshot

  /// The given set.
  public init(_ keys: JWKSet) {
    snapshot = KeySetSnapshot(keys: keys, sequence: 0, fetchedAt: MonotonicInstant(nanoseconds: 0))
  }

  /// The set in `json`, by the rules for sets that callers hand in; `jwks_invalid` when it is none, or mixes symmetric
  /// and asymmetric keys.
  public init(json: JSONValue) throws(KeySetError) {
    do throws(JOSEError) {
      self.init(try JWKSet(json: json, origin: .local))
    } catch {
      throw KeySetError(.invalid, error.message)
    }
  }

  /// The set in `text`, by the rules of `init(json:)`.
  public init(text: [UInt8]) throws(KeySetError) {
    do throws(JOSEError) {
      self.init(try JWKSet(text: text, origin: .local))
    } catch {
      throw KeySetError(.invalid, error.message)
    }
  }

  /// The set.
  public func keySet(deadline: Deadline) async throws(KeySetError) -> KeySetSnapshot { snapshot }

  /// There is never a newer one.
  public func keySet(
    newerThan snapshot: KeySetSnapshot, deadline: Deadline
  ) async throws(KeySetError) -> KeySetSnapshot? { nil }
}
