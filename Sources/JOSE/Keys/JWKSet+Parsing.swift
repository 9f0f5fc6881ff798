public import PosternJSON
import PosternSupport

extension JWKSet {
  /// Parses the text of a set. One unusable entry never costs the others; `jwks_invalid` when the set as a whole is
  /// unusable.
  public init(text: [UInt8], origin: Origin, limits: Limits = Limits()) throws(JOSEError) {
    let value: JSONValue
    do throws(JSONParseError) {
      value = try JSONParser(maxBytes: limits.maxBytes, maxDepth: 16).parse(text)
    } catch {
      throw JOSEError(.jwksInvalid, "key set is \(error)")
    }
    try self.init(json: value, origin: origin, limits: limits)
  }

  /// Takes over a set that is parsed as JSON.
  public init(json value: JSONValue, origin: Origin, limits: Limits = Limits()) throws(JOSEError) {
    guard let entries = value["keys"]?.arrayValue else {
      throw JOSEError(.jwksInvalid, "key set has no array of keys", claim: "keys")
    }
    guard entries.count <= limits.maxKeys else {
      throw JOSEError(.jwksInvalid, "key set has more than \(limits.maxKeys) keys", claim: "keys")
    }
    if origin == .local { try Self.refuseMixture(entries) }
    var keys: [JWK] = []
    var refused: [RefusedEntry] = []
    for (index, entry) in entries.enumerated() {
      do throws(JOSEError) {
        keys.append(try Self.key(entry, origin: origin))
      } catch {
        let isIgnored = origin == .remote && Self.isSymmetric(entry)
        refused.append(
          RefusedEntry(index: index, keyID: entry["kid"]?.stringValue, reason: error, isIgnored: isIgnored))
      }
    }
    self.init(keys: keys, refused: refused)
  }

  private init(keys: [JWK], refused: [RefusedEntry]) {
    self.keys = keys
    self.refused = refused
  }

  private static func key(_ entry: JSONValue, origin: Origin) throws(JOSEError) -> JWK {
    guard let members = entry.objectValue else { throw JOSEError(.invalidKey, "entry is not an object") }
    if origin == .remote {
      guard !isSymmetric(entry) else { throw JOSEError(.invalidKey, "symmetric key in a published set", claim: "kty") }
      if let name = KeyMaterial.privateMemberNames.first(where: { members[$0] != nil }) {
        throw JOSEError(.invalidKey, "private member in a published set", claim: name)
      }
    }
    return try JWK(json: members)
  }

  /// A public key that stands beside a symmetric one is how HMAC is computed with public bytes: such a set is no key
  /// set.
  private static func refuseMixture(_ entries: [JSONValue]) throws(JOSEError) {
    let symmetric = entries.count { isSymmetric($0) }
    guard symmetric == 0 || symmetric == entries.count else {
      throw JOSEError(.jwksInvalid, "key set mixes symmetric and asymmetric keys", claim: "keys")
    }
  }

  private static func isSymmetric(_ entry: JSONValue) -> Bool {
    entry["kty"]?.stringValue?.hasSameBytes(as: KeyType.oct.rawValue) ?? false
  }
}
