public import PosternJSON

/// A JWK Set (RFC 7517 section 5), with the entries that could not be used and why.
public struct JWKSet: Sendable {
  /// Where a set comes from, which decides what may be in it.
  public enum Origin: Sendable, Hashable {
    /// Fetched from an issuer: public keys only. A key with private members is refused, a symmetric one ignored.
    case remote
    /// Handed in by the caller or made here: private and symmetric keys may be in it, but not both symmetric and
    /// asymmetric ones, lest a public key stand beside the secrets it could be mistaken for.
    case local
  }

  /// Bounds on a set.
  public struct Limits: Sendable {
    /// The largest text in bytes.
    public var maxBytes: Int
    /// The most entries.
    public var maxKeys: Int

    /// 256 KiB and 100 entries, unless told otherwise.
    public init(maxBytes: Int = 256 * 1024, maxKeys: Int = 100) {
      self.maxBytes = maxBytes
      self.maxKeys = maxKeys
    }
  }

  /// An entry that is not among `keys`.
  public struct RefusedEntry: Sendable {
    /// Its place in the array.
    public let index: Int
    /// Its `kid`.
    public let keyID: String?
    /// Why.
    public let reason: JOSEError
    /// Whether the set is to be read as if the entry were not there: a symmetric key in a remote set.
    public let isIgnored: Bool
  }

  /// The usable keys in order.
  public let keys: [JWK]
  /// The others.
  public let refused: [RefusedEntry]

  /// A set of keys that are already parsed.
  public init(_ keys: [JWK]) {
    self.keys = keys
    refused = []
  }

  /// The JSON of the public keys; symmetric keys are left out.
  public func publicJSON() -> JSONObject {
    ["keys": .array(keys.compactMap { $0.publicJSON().map { .object($0) } })]
  }
}
