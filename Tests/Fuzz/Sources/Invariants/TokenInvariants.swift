import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport

/// The invariants of every token, whatever its bytes.
public enum TokenInvariants {
  /// The steps that an input has passed. The corpus test checks them, lest all inputs fail at the first one.
  public struct Outcome: OptionSet, Sendable {
    /// The bits.
    public let rawValue: Int
    /// An outcome of those bits.
    public init(rawValue: Int) { self.rawValue = rawValue }
    /// It reads as a JWS.
    public static let signed = Outcome(rawValue: 1)
    /// It reads as a JWE.
    public static let encrypted = Outcome(rawValue: 2)
    /// Its signature verifies under one of the fixed keys.
    public static let verified = Outcome(rawValue: 4)
    /// It decrypts under one of the fixed keys.
    public static let decrypted = Outcome(rawValue: 8)
    /// It is a valid ID token for one of the policies.
    public static let idToken = Outcome(rawValue: 16)
    /// It is a valid access token.
    public static let accessToken = Outcome(rawValue: 32)
    /// It is a valid logout token.
    public static let logoutToken = Outcome(rawValue: 64)
  }

  /// Throws an `InvariantViolation` when something is wrong with how `bytes` are handled.
  public static func check(_ bytes: [UInt8]) async throws -> Outcome {
    let input: TokenInput
    do { input = try TokenInput(bytes) } catch is CryptoError { return [] }
    var outcome: Outcome = []
    let serialization = try? CompactSerialization(input.text)
    let dots = input.text.utf8.count { $0 == UInt8(ascii: ".") }
    try demand(serialization == nil || dots == (serialization?.kind == .jws ? 2 : 4), "cut at the wrong dots")
    if let jws = try? CompactJWS(input.text) { outcome.formUnion(try check(jws, of: input)) }
    if let jwe = try? CompactJWE(input.text) { outcome.formUnion(try check(jwe, of: input)) }
    outcome.formUnion(try await IDTokenInvariants.check(input, isReadable: !outcome.isEmpty))
    return outcome
  }

  private static func check(_ jws: CompactJWS, of input: TokenInput) throws -> Outcome {
    try checkSpelling(input.text, parts: 3)
    try checkHeader(jws.header)
    let payload = SecondReading.bytes(input.text, part: 1)
    if let claims = try? jws.unverifiedClaims() {
      try checkWriting(claims)
      try demand(payload.flatMap { try? JSONParser().parse($0).objectValue } == claims, "the payload is another one")
    }
    var isVerified = false
    for key in FixedMaterial.shared.keys {
      guard try verifies(jws, payload, with: key) else { continue }
      if let half = key.publicKey {
        try demand(try verifies(jws, payload, with: half), "the public half does not verify")
      }
      isVerified = true
    }
    if let algorithm = try? jws.algorithm(allowed: SignatureAlgorithm.asymmetric),
      let key = try? FixedMaterial.shared.published.verificationKey(for: jws.header, algorithm: algorithm)
    {
      try demand(jws.header.keyID == nil || jws.header.keyID == key.keyID, "a key of another kid was chosen")
      try demand(!key.material.isSecret, "a secret key came out of a published set")
    }
    guard isVerified else { return .signed }
    try demand(input.isMadeHere || FixedMaterial.shared.genuine.contains(input.text), "a forged token verifies")
    return [.signed, .verified]
  }

  private static func verifies(_ jws: CompactJWS, _ expected: [UInt8]?, with key: JWK) throws -> Bool {
    var isVerified = false
    for algorithm in SignatureAlgorithm.all {
      guard let payload = try? jws.verifiedPayload(with: key, algorithm: algorithm) else { continue }
      let name = jws.header.algorithm
      try demand(name == algorithm.name, "verified under an algorithm that the header does not name")
      try demand(key.keyType == algorithm.keyType && (key.algorithm ?? name) == name, "verified with a key for \(key)")
      try demand(name.lowercased() != "none" && jws.header.parameters["crit"] == nil, "none or crit verified")
      try demand(payload == expected, "the verified payload is another one")
      isVerified = true
    }
    return isVerified
  }

  private static func check(_ jwe: CompactJWE, of input: TokenInput) throws -> Outcome {
    try checkSpelling(input.text, parts: 5)
    try checkHeader(jwe.header)
    try demand(jwe.header.parameters["zip"] == nil, "compressed content was let in")
    typealias Algorithm = KeyManagementAlgorithm
    let allowed = Algorithm.asymmetric + Algorithm.symmetric + Algorithm.insecurePasswordBased
    guard let (algorithm, encryption) = try? jwe.algorithms(allowed: allowed) else { return .encrypted }
    try demand(algorithm.name == jwe.header.algorithm && encryption.name == jwe.encryptionName, "another algorithm")
    for key in FixedMaterial.shared.keys {
      guard (try? jwe.decrypt(with: key, algorithm: algorithm, encryption: encryption)) != nil else { continue }
      try demand(FixedMaterial.shared.genuine.contains(input.text), "a forged token decrypts")
      try demand(algorithm.keyTypes.contains(key.keyType), "decrypted with a key of another type")
      return [.encrypted, .decrypted]
    }
    return .encrypted
  }

  /// One byte string has one accepted spelling.
  private static func checkSpelling(_ text: String, parts: Int) throws {
    try demand(text.utf8.allSatisfy { $0 == 0x2e || SecondReading.alphabet.contains($0) }, "not the base64url alphabet")
    for part in 0..<parts {
      let bytes = SecondReading.bytes(text, part: part)
      try demand(bytes.map(Base64URL.string) == SecondReading.part(text, part), "a second spelling was accepted")
    }
  }

  private static func checkHeader(_ header: JOSEHeader) throws {
    try demand(header.parameters["alg"]?.stringValue == header.algorithm, "alg is another one")
    try demand(header.parameters["crit"] == nil, "crit was let in")
    try demand(header.parameters["b64"] == nil || header.parameters["b64"] == .bool(true), "b64 was let in")
    try checkWriting(header.parameters)
    try demand(Set(header.parameters.names.map { Array($0.utf8) }).count == header.parameters.count, "a name twice")
  }

  /// A value that was read can be written, and is the same when read again.
  private static func checkWriting(_ object: JSONObject) throws {
    let text = JSONWriter().write(.object(object))
    try demand((try? JSONParser().parse(text)) == .object(object), "written JSON reads as something else")
    try demand((try? JSONParser().parse(JSONWriter(pretty: true).write(.object(object)))) == .object(object), "pretty")
  }
}
