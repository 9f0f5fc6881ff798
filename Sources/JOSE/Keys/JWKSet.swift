import PosternCrypto
public import PosternJSON
public import PosternSupport

/// A JWK Set (RFC 7517 section 5), with the entries that could not be used and why.
public struct JWKSet: Sendable {
  /// Where a set comes from, which decides what may be in it.
  public enum Origin: Sendable, Hashable {
    /// Fetched from an issuer: public keys only. A key with private members is rejected, a symmetric one ignored.
    case remote
    /// Given by the caller or generated: private and symmetric keys are accepted, but not both symmetric and asymmetric
    /// ones in one set, because a public key could then be used as an HMAC secret.
    case local
  }

  /// Bounds on a set.
  public struct Limits: Sendable {
    /// The largest text in bytes.
    public var maxBytes: Int
    /// The most entries.
    public var maxKeys: Int

    /// Limits; by default 256 KiB and 100 entries.
    public init(maxBytes: Int = 256 * 1024, maxKeys: Int = 100) {
      self.maxBytes = maxBytes
      self.maxKeys = maxKeys
    }
  }

  /// An entry that is not among `keys`.
  public struct RejectedEntry: Sendable {
    /// Its index in the array.
    public let index: Int
    /// Its `kid`.
    public let keyID: String?
    /// The cause.
    public let reason: JOSEError
    /// Whether key selection ignores the entry: a symmetric key in a remote set.
    public let isIgnored: Bool
  }

  /// The usable keys in order.
  public let keys: [JWK]
  /// The entries that are not usable.
  public let rejected: [RejectedEntry]

  /// A set of keys that are already parsed.
  public init(_ keys: [JWK]) {
    self.init(keys: keys, rejected: [])
  }

  /// The JSON of the public keys; symmetric keys are left out.
  public func publicJSON() -> JSONObject {
    ["keys": .array(keys.compactMap { $0.publicJSON().map { .object($0) } })]
  }
}

extension JWKSet {
  /// Parses the text of a set. An unusable entry does not affect the others; `jwks_invalid` when the set as a whole is
  /// unusable.
  public init(text: [UInt8], origin: Origin, limits: Limits = Limits()) throws(JOSEError) {
    let value: JSONValue
    do throws(JSONParseError) {
      value = try JSONParser(maxBytes: limits.maxBytes, maxDepth: 16).parse(text)
    } catch {
      throw JOSEError(.jwksInvalid, "key set: \(error)")
    }
    try self.init(json: value, origin: origin, limits: limits)
  }

  /// The set that a JSON value describes.
  public init(json value: JSONValue, origin: Origin, limits: Limits = Limits()) throws(JOSEError) {
    guard let entries = value["keys"]?.arrayValue else {
      throw JOSEError(.jwksInvalid, "key set has no array of keys", claim: "keys")
    }
    guard entries.count <= limits.maxKeys else {
      throw JOSEError(.jwksInvalid, "key set has more than \(limits.maxKeys) keys", claim: "keys")
    }
    if origin == .local { try Self.requireOneKind(entries) }
    var keys: [JWK] = []
    var rejected: [RejectedEntry] = []
    for (index, entry) in entries.enumerated() {
      do throws(JOSEError) {
        keys.append(try Self.key(entry, origin: origin))
      } catch {
        let isIgnored = origin == .remote && Self.isSymmetric(entry)
        rejected.append(
          RejectedEntry(index: index, keyID: entry["kid"]?.stringValue, reason: error, isIgnored: isIgnored))
      }
    }
    self.init(keys: keys, rejected: rejected)
  }

  /// The SHA-256 of the set's text, compact and in the order of its members: sets with the same digest are the same.
  package static func digest(of json: JSONValue) -> [UInt8] {
    JSONWriter().withBytes(of: json) { HashFunction.sha256.hash($0.bytes) }
  }

  private init(keys: [JWK], rejected: [RejectedEntry]) {
    self.keys = keys
    self.rejected = rejected
  }

  private static func key(_ entry: JSONValue, origin: Origin) throws(JOSEError) -> JWK {
    guard let members = entry.objectValue else { throw JOSEError(.invalidKey, "entry is not an object") }
    if origin == .remote {
      guard !isSymmetric(entry) else { throw JOSEError(.invalidKey, "symmetric key in a published set", claim: "kty") }
      if let name = KeyMaterial.privateMembers(in: members).first {
        throw JOSEError(.invalidKey, "private member in a published set", claim: name)
      }
    }
    return try JWK(json: members)
  }

  /// Throws `jwks_invalid` for a set with both symmetric and asymmetric keys, in which public bytes could be used as an
  /// HMAC secret.
  private static func requireOneKind(_ entries: [JSONValue]) throws(JOSEError) {
    let symmetric = entries.count { isSymmetric($0) }
    guard symmetric == 0 || symmetric == entries.count else {
      throw JOSEError(.jwksInvalid, "key set mixes symmetric and asymmetric keys", claim: "keys")
    }
  }

  private static func isSymmetric(_ entry: JSONValue) -> Bool {
    entry["kty"]?.stringValue?.hasSameBytes(as: KeyType.oct.rawValue) ?? false
  }
}

extension JWKSet {
  /// The one key for verifying a token with `header` by `algorithm`.
  ///
  /// - `key_not_found`: no key has the header's `kid` (there is no default key), or no key matches a header without it.
  /// - `key_alg_mismatch`: the key that the header identifies is of another type, curve or `alg`.
  /// - `key_ambiguous`: several match. None is tried.
  /// - The reason of a rejected entry, when the header identifies that one.
  public func verificationKey(for header: JOSEHeader, algorithm: SignatureAlgorithm) throws(JOSEError) -> JWK {
    try select(keyID: header.keyID, operations: ["verify"], purpose: .signature, mismatch: algorithm.mismatch(with:))
  }

  func select(
    keyID: String?, operations: [String], purpose: KeyPurpose, mismatch: (JWK) -> JOSEError?
  ) throws(JOSEError) -> JWK {
    var candidates = 0
    var fitting: JWK?
    var fault: JOSEError?
    for key in keys where key.permits(operations, for: purpose) && key.isMeant(by: keyID) {
      candidates += 1
      if let reason = mismatch(key) {
        fault = fault ?? reason
      } else if fitting == nil {
        fitting = key
      } else {
        throw JOSEError(.keyAmbiguous, "several keys fit the token", claim: "kid")
      }
    }
    if let fitting { return fitting }
    // A kid identifies one key; without it the only key is meant: throw the error of that key.
    if let fault, keyID != nil || candidates == 1 { throw fault }
    if let reason = rejectionReason(keyID: keyID) { throw reason }
    throw JOSEError(.keyNotFound, keyID == nil ? "no key fits the token" : "no key has the token's kid", claim: "kid")
  }

  private func rejectionReason(keyID: String?) -> JOSEError? {
    let rejected = rejected.filter { !$0.isIgnored }
    guard let keyID else { return keys.isEmpty && rejected.count == 1 ? rejected.first?.reason : nil }
    return rejected.first { $0.keyID?.hasSameBytes(as: keyID) ?? false }?.reason
  }
}

extension JWK {
  /// Whether a header with `keyID` may identify this key: its `kid` is the same, or the header has none.
  fileprivate func isMeant(by keyID: String?) -> Bool {
    guard let keyID else { return true }
    return self.keyID?.hasSameBytes(as: keyID) ?? false
  }
}

extension JWKSet: ConciseStringConvertible {
  /// How many keys are usable.
  public var description: String {
    Concise.text(
      "\(Concise.count(keys.count, "usable key"))", rejected.isEmpty ? nil : "\(rejected.count) rejected")
  }
}

extension JWKSet.Limits: ConciseStringConvertible {
  /// The limits.
  public var description: String { "at most \(Concise.count(maxBytes, "byte")), \(Concise.count(maxKeys, "key"))" }
}

extension JWKSet.RejectedEntry: ConciseStringConvertible {
  /// The cause.
  public var description: String {
    Concise.text("key \(index)", keyID.map { "kid \(Concise.name($0))" }, "\(reason)")
  }
}
