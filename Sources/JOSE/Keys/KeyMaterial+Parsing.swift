import PosternCrypto
import PosternJSON
import PosternSupport

extension KeyMaterial {
  /// The names of the members that hold private key material (RFC 7518 section 6, RFC 8037 section 2).
  static let privateMemberNames = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

  /// The key that the members of a JWK describe.
  ///
  /// `alg_not_supported` for an unknown `kty` or `crv`, `invalid_key` for anything malformed or inconsistent,
  /// `weak_key` for an exponent that cannot be secure.
  init(members: JSONObject) throws(JOSEError) {
    let name = try Self.string("kty", in: members)
    guard let keyType = KeyType.allCases.first(where: { $0.rawValue.hasSameBytes(as: name) }) else {
      throw JOSEError(.algNotSupported, "key type is not supported")
    }
    do {
      switch keyType {
      case .rsa: self = try Self.rsa(members)
      case .ec: self = try Self.ec(members)
      case .okp: self = try Self.okp(members)
      case .oct: self = .symmetric(SymmetricKey(try Self.bytes("k", in: members)))
      }
    } catch let error as JOSEError {
      throw error
    } catch {
      throw JOSEError(invalidKey: error)
    }
  }

  /// The private members that `members` has.
  static func privateMembers(in members: JSONObject) -> [String] {
    privateMemberNames.filter { isPresent($0, in: members) }
  }

  /// Whether there is such a member. One that is null or empty is none: some servers write all there are.
  private static func isPresent(_ name: String, in members: JSONObject) -> Bool {
    switch members[name] {
    case nil, .null, .string(""), .array([]): false
    default: true
    }
  }

  private static func rsa(_ members: JSONObject) throws -> KeyMaterial {
    let modulus = try integer("n", in: members)
    let exponent = try integer("e", in: members)
    guard isPresent("d", in: members) else {
      guard privateMembers(in: members).isEmpty else {
        throw JOSEError(.invalidKey, "RSA key with private members but no d")
      }
      return .rsaPublic(try RSAPublicKey(modulus: modulus, exponent: exponent))
    }
    guard !isPresent("oth", in: members) else {
      throw JOSEError(.algNotSupported, "RSA key with more than two primes is not supported")
    }
    let components = try RSAPrivateComponents(
      modulus: modulus, exponent: exponent, privateExponent: integer("d", in: members),
      prime1: integer("p", in: members), prime2: integer("q", in: members),
      exponent1: integer("dp", in: members), exponent2: integer("dq", in: members),
      coefficient: integer("qi", in: members))
    return .rsaPrivate(try RSAPrivateKey(components))
  }

  private static func ec(_ members: JSONObject) throws -> KeyMaterial {
    guard case .weierstrass(let curve)? = KeyCurve(name: try string("crv", in: members), keyType: .ec) else {
      throw JOSEError(.algNotSupported, "curve is not supported")
    }
    let x = try bytes("x", in: members)
    let y = try bytes("y", in: members)
    guard isPresent("d", in: members) else { return .ecPublic(try ECPublicKey(curve: curve, x: x, y: y)) }
    let scalar = SymmetricKey(try bytes("d", in: members))
    return .ecPrivate(try ECPrivateKey(curve: curve, scalar: scalar, x: x, y: y))
  }

  private static func okp(_ members: JSONObject) throws -> KeyMaterial {
    let curve = KeyCurve(name: try string("crv", in: members), keyType: .okp)
    let x = try bytes("x", in: members)
    let seed = isPresent("d", in: members) ? SymmetricKey(try bytes("d", in: members)) : nil
    switch (curve, seed) {
    case (.edwards(let curve)?, nil):
      return .edwardsPublic(try EdwardsPublicKey(curve: curve, bytes: x))
    case (.edwards(let curve)?, let seed?):
      return .edwardsPrivate(try EdwardsPrivateKey(curve: curve, seed: seed, publicBytes: x))
    case (.montgomery(let curve)?, nil):
      return .montgomeryPublic(try MontgomeryPublicKey(curve: curve, bytes: x))
    case (.montgomery(let curve)?, let seed?):
      return .montgomeryPrivate(try MontgomeryPrivateKey(curve: curve, seed: seed, publicBytes: x))
    case (.weierstrass?, _), (nil, _):
      throw JOSEError(.algNotSupported, "curve is not supported")
    }
  }

  private static func string(_ name: String, in members: JSONObject) throws(JOSEError) -> String {
    guard let value = members[name]?.stringValue else {
      throw JOSEError(.invalidKey, "\(name) is missing or not a string")
    }
    return value
  }

  /// The bytes of a member; padding at its end has one reading.
  private static func bytes(_ name: String, in members: JSONObject) throws(JOSEError) -> [UInt8] {
    let text = try string(name, in: members).utf8
    let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    guard padding <= 2, let bytes = Base64URL.decode(String(Substring(text.dropLast(padding)))), !bytes.isEmpty else {
      throw JOSEError(.invalidKey, "\(name) is empty or not base64url")
    }
    return bytes
  }

  /// The same number with and without zero bytes before it, which encoders of signed numbers write.
  private static func integer(_ name: String, in members: JSONObject) throws(JOSEError) -> [UInt8] {
    Array(try bytes(name, in: members).drop { $0 == 0 })
  }
}

extension JOSEError {
  /// The error of a key that could not be imported because of `error`.
  init(invalidKey error: any Error) {
    guard let error = error as? CryptoError else {
      self.init(.invalidKey, "key is unusable")
      return
    }
    switch error.code {
    case .weakKey: self.init(.weakKey, error.message)
    case .unsupported: self.init(.algNotSupported, error.message)
    default: self.init(.invalidKey, error.message)
    }
  }
}
