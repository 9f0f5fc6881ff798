import JOSE
import PosternJSON
import PosternSupport

/// The invariants of every key set and of every PEM text, whatever its bytes.
public enum KeySetInvariants {
  /// How many keys came out of the bytes, read as each of the three things.
  public struct Outcome: Sendable, Hashable {
    /// As a set that an issuer publishes.
    public var remote = 0
    /// As a set that was handed in.
    public var local = 0
    /// As a PEM text.
    public var pem = 0
  }

  private static let privateNames = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

  /// Throws an `InvariantViolation` when something is wrong with how `bytes` are handled.
  public static func check(_ bytes: [UInt8]) throws -> Outcome {
    var outcome = Outcome()
    let local = try? JWKSet(text: bytes, origin: .local)
    if let local {
      try check(local, of: bytes)
      let symmetric = local.keys.count { $0.keyType == .oct }
      try demand(symmetric == 0 || symmetric == local.keys.count, "symmetric and asymmetric keys in one set")
      outcome.local = local.keys.count
    }
    if let set = try? JWKSet(text: bytes, origin: .remote) {
      let isSecret = set.keys.contains { $0.material.isSecret || $0.keyType == .oct }
      try demand(!isSecret, "a published set gave a secret key")
      if let local {
        // Each of its keys has been looked at.
        let names = local.keys.filter { !$0.material.isSecret }.map(\.thumbprint)
        try demand(set.keys.map(\.thumbprint) == names, "a set has other public keys when it is published")
      } else {
        try check(set, of: bytes)
      }
      outcome.remote = set.keys.count
    }
    if let key = try? JWK(pem: bytes) {
      try demand(key.material.isSecret, "a PEM text gave a public key")
      try checkKey(key)
      try checkPair(key)
      outcome.pem = 1
    }
    return outcome
  }

  private static func check(_ set: JWKSet, of bytes: [UInt8]) throws {
    let entries = (try? JSONParser().parse(bytes))?["keys"]?.arrayValue ?? []
    try demand(entries.count == set.keys.count + set.rejected.count, "an entry is neither a key nor rejected")
    let indices = set.rejected.map(\.index)
    try demand(indices == indices.sorted() && Set(indices).count == indices.count, "rejected entries out of order")
    try demand(indices.allSatisfy(entries.indices.contains), "a rejected entry that does not exist")
    for entry in set.rejected {
      // The reason must not contain key material: a rejected key may still be in use elsewhere.
      for name in privateNames {
        guard let secret = entries[entry.index][name]?.stringValue, secret.utf8.count > 12 else { continue }
        try demand(!"\(entry.reason)".contains(secret), "a reason has \(name)")
      }
    }
    for key in set.keys { try checkKey(key) }
    if let key = set.keys.first(where: \.material.isSecret) { try checkPair(key) }
    let published = try JWKSet(json: .object(set.publicJSON()), origin: .remote)
    try demand(
      published.rejected.isEmpty && published.keys.map(\.thumbprint) == set.keys.compactMap(\.thumbprint),
      "the public half of a set is another set")
    try checkSelection(set)
  }

  /// A key that parses is exported, and parses again to the same key.
  private static func checkKey(_ key: JWK) throws {
    var json = try key.privateJSONRevealingSecrets()
    let copy = try JWK(json: json)
    try demand(copy.thumbprint == key.thumbprint && copy.material.isSecret == key.material.isSecret, "another key")
    try demand(
      copy.keyID == key.keyID && copy.algorithm == key.algorithm && copy.use == key.use
        && copy.operations == key.operations && copy.certificates.count == key.certificates.count,
      "other metadata")
    try demand((key.thumbprint == nil) == (key.keyType == .oct), "a thumbprint where none may be, or none")
    guard let published = key.publicJSON() else {
      try demand(key.keyType == .oct, "no public half")
      return
    }
    try demand(privateNames.allSatisfy { published[$0] == nil }, "private members in a public key")
    guard key.material.isSecret else {
      // A public export names no operations.
      json["key_ops"] = nil
      return try demand(published == json, "two exports of one public key")
    }
    try demand(try JWK(json: published).thumbprint == key.thumbprint, "the public half is another key")
  }

  /// A private key that can sign verifies under its own public half.
  private static func checkPair(_ key: JWK) throws {
    guard let algorithm = key.defaultSignatureAlgorithm,
      let token = try? CompactJWS.sign([1, 2, 3], with: key, algorithm: algorithm)
    else { return }
    guard let half = key.publicKey else { return }
    try demand(try CompactJWS(token).verifiedPayload(with: half, algorithm: algorithm) == [1, 2, 3], "not a pair")
  }

  private static func checkSelection(_ set: JWKSet) throws {
    let names = [nil] + Set(set.keys.map(\.keyID)).sorted { ($0 ?? "") < ($1 ?? "") }.prefix(8)
    for algorithm in SignatureAlgorithm.all {
      for name in names {
        var parameters: JSONObject = ["alg": .string(algorithm.name)]
        parameters["kid"] = name.map { .string($0) }
        guard let key = try? set.verificationKey(for: JOSEHeader(parameters: parameters), algorithm: algorithm) else {
          continue
        }
        try demand(key.keyType == algorithm.keyType, "a key of another type for \(algorithm)")
        try demand((key.algorithm ?? algorithm.name) == algorithm.name, "a key for another algorithm than \(algorithm)")
        try demand((key.use ?? "sig") == "sig", "a key for encryption")
        try demand(key.operations?.contains("verify") ?? true, "a key that must not verify")
        let same = set.keys.filter { $0.keyID.map { Array($0.utf8) } == name.map { Array($0.utf8) } }
        try demand(name == nil || same.contains { $0 === key }, "a key of another kid")
      }
    }
  }
}
