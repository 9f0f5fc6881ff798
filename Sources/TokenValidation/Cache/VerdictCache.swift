import Glibc
import JOSE
public import PosternSupport

/// A cache of valid tokens, so that the signature of the same token need not be verified again.
///
/// Bounded in entries and bytes, and shared: a verdict is the same for all users, since its key is the token with the
/// whole policy, but the user with the most entries loses theirs first. Its state is behind a lock. Only valid verdicts
/// are cached, never one that depends on a shared secret.
public final class VerdictCache: Sendable {
  private typealias Tokens = FairCache<UInt32, VerdictKey, KnownToken>

  /// The maximum size of an entry: a few larger ones would displace all others.
  static let maxEntryBytes = 16 << 10
  /// The memory of a key, its parsed claims and the answer for each byte of text, at worst.
  private static let weight = 6

  private let tokens: Locked<Tokens>
  private let makeEmpty: @Sendable () -> Tokens

  /// A cache of at most `maxEntries` tokens and about `maxBytes` bytes, parsed claims included.
  public init(maxEntries: Int = 8192, maxBytes: Int = 64 << 20) {
    makeEmpty = { Tokens(capacity: maxEntries, maxWeight: maxBytes) }
    tokens = Locked(makeEmpty())
  }

  /// The number of cached tokens.
  public var count: Int { tokens.withLock { $0.count } }

  /// Removes everything: for a changed configuration.
  public func removeAll() { tokens.withLock { $0 = makeEmpty() } }

  /// Removes the tokens of `issuer` about `subject`, or about the login `sid`.
  package func removeTokens(of subject: String?, sid: String?, issuer: String) {
    tokens.withLock { tokens in
      tokens.removeAll { _, known in
        let names = { (claim: String, value: String?) in value.map { known.token.claims.string(claim) == $0 } ?? false }
        return names("iss", issuer) && (names("sub", subject) || names("sid", sid))
      }
    }
  }

  func token(for key: VerdictKey) -> KnownToken? { tokens.withLock { $0[key] } }

  func keep(_ token: VerifiedToken, for key: VerdictKey, of uid: UInt32) {
    guard key.bytes.count <= Self.maxEntryBytes else { return }
    tokens.withLock { $0.set(KnownToken(token), for: key, of: uid, weight: key.bytes.count * Self.weight) }
  }

  func remove(_ key: VerdictKey) { tokens.withLock { $0.remove(key) } }
}

/// A whole token and the whole policy of its validation. Never a digest and never a part of the token (CVE-2026-35039).
struct VerdictKey: Sendable, Hashable {
  let bytes: [UInt8]

  init(token: String, policy: PolicyFingerprint) {
    let count = token.utf8.count
    var bytes: [UInt8] = []
    bytes.reserveCapacity(8 + count + policy.bytes.count)
    withUnsafeBytes(of: Int64(count).littleEndian) { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: token.utf8)
    bytes.append(contentsOf: policy.bytes)
    self.bytes = bytes
  }

  /// Compares the bytes in one piece.
  static func == (left: VerdictKey, right: VerdictKey) -> Bool {
    left.bytes.count == right.bytes.count && memcmp(left.bytes, right.bytes, left.bytes.count) == 0
  }

  /// Hashes the bytes in one piece, which makes look-ups cheap.
  func hash(into hasher: inout Hasher) {
    bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
  }
}

/// Everything but the token that a verdict depends on, in bytes: every value whole and with its length before it, so
/// that no two policies have the same.
package struct PolicyFingerprint: Sendable {
  package private(set) var bytes: [UInt8] = []

  /// An empty fingerprint of one kind of token.
  package init(kind: String) {
    bytes.reserveCapacity(1024)
    add(kind)
  }

  package mutating func add(_ text: String) {
    add(count: text.utf8.count)
    bytes.append(contentsOf: text.utf8)
  }

  package mutating func add(_ text: String?) {
    bytes.append(text == nil ? 0 : 1)
    if let text { add(text) }
  }

  package mutating func add(_ texts: [String]) {
    add(count: texts.count)
    for text in texts { add(text) }
  }

  mutating func add(_ condition: Bool) { bytes.append(condition ? 1 : 0) }

  mutating func add(_ duration: Duration?) {
    bytes.append(duration == nil ? 0 : 1)
    if let duration { add(integer: duration.wholeMilliseconds) }
  }

  /// Adds a part that has been made before.
  mutating func add(_ part: PolicyFingerprint) {
    add(count: part.bytes.count)
    bytes.append(contentsOf: part.bytes)
  }

  private mutating func add(count: Int) { add(integer: Int64(count)) }

  private mutating func add(integer: Int64) {
    withUnsafeBytes(of: integer.littleEndian) { bytes.append(contentsOf: $0) }
  }
}

extension VerdictCache: ConciseStringConvertible {
  /// The number of tokens.
  public var description: String { Concise.count(count, "cached token") }
}
