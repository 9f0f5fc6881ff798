/// The numbers of an RSA private key (RFC 8017 section 3.2, the form with two primes), big-endian.
public struct RSAPrivateComponents: Sendable {
  /// n.
  public var modulus: [UInt8]
  /// e.
  public var exponent: [UInt8]
  /// d.
  public var privateExponent: [UInt8]
  /// p.
  public var prime1: [UInt8]
  /// q.
  public var prime2: [UInt8]
  /// d mod (p − 1).
  public var exponent1: [UInt8]
  /// d mod (q − 1).
  public var exponent2: [UInt8]
  /// q⁻¹ mod p.
  public var coefficient: [UInt8]

  /// The given numbers.
  public init(
    modulus: [UInt8], exponent: [UInt8], privateExponent: [UInt8], prime1: [UInt8], prime2: [UInt8],
    exponent1: [UInt8], exponent2: [UInt8], coefficient: [UInt8]
  ) {
    self.modulus = modulus
    self.exponent = exponent
    self.privateExponent = privateExponent
    self.prime1 = prime1
    self.prime2 = prime2
    self.exponent1 = exponent1
    self.exponent2 = exponent2
    self.coefficient = coefficient
  }

  var secrets: [[UInt8]] { [privateExponent, prime1, prime2, exponent1, exponent2, coefficient] }
}

extension RSAPrivateComponents: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Always `<secret>`.
  public var description: String { "<secret>" }
  /// Always `<secret>`.
  public var debugDescription: String { "<secret>" }
  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
