import CPosternOpenSSL
public import PosternSupport

/// A public key on a Weierstrass curve. A value over one immutable OpenSSL key.
public struct ECPublicKey: Sendable {
  /// The curve.
  public let curve: ECCurve
  /// The affine x coordinate, as long as the field.
  public let x: [UInt8]
  /// The affine y coordinate, as long as the field.
  public let y: [UInt8]
  let key: EVPKey
  private let verifications = PreparedVerifications<HashFunction>()

  /// A key of its coordinates, each exactly as long as the field; `invalidKey` unless they are a point of the curve.
  public init(curve: ECCurve, x: [UInt8], y: [UInt8]) throws(CryptoError) {
    guard x.count == curve.coordinateByteCount, y.count == curve.coordinateByteCount else {
      throw CryptoError(code: .invalidKey, message: "EC coordinate of the wrong length")
    }
    key = try ErrorQueue.checked(.invalidKey, "EC public key") {
      curve.keyWithoutPoint.copy(withPoint: Self.point(x: x, y: y))
    }
    self.curve = curve
    self.x = x
    self.y = y
  }

  /// The public half of `key`, which OpenSSL has made or parsed.
  init(of key: EVPKey) throws(CryptoError) {
    guard let curve = key.groupName.flatMap(ECCurve.init(groupName:)) else {
      throw CryptoError(code: .unsupported, message: "EC curve is not supported")
    }
    let count = curve.coordinateByteCount
    try self.init(
      curve: curve,
      x: key.integer(ParameterName.ecX, byteCount: count),
      y: key.integer(ParameterName.ecY, byteCount: count))
  }

  /// Whether `signature`, r‖s, each as long as the group order, is one of this key over `message`.
  public func isValidSignature(_ signature: [UInt8], for message: RawSpan, hash: HashFunction) -> Bool {
    ECDSASignature.withDER(raw: signature, curve: curve) { signature in
      let verification = verifications.verification(for: hash) { PreparedVerification(key: key, hash: hash) }
      return verification?.isValid(signature, of: message) ?? false
    } ?? false
  }

  /// The uncompressed point of SEC 1 section 2.3.3.
  static func point(x: [UInt8], y: [UInt8]) -> [UInt8] {
    var point: [UInt8] = []
    point.reserveCapacity(1 + x.count + y.count)
    point.append(4)
    point += x
    point += y
    return point
  }
}

/// A curve in short Weierstrass form with a cofactor of 1.
public enum ECCurve: Sendable, Hashable, CaseIterable {
  /// NIST P-256.
  case p256
  /// NIST P-384.
  case p384
  /// NIST P-521.
  case p521
  /// secp256k1 (SEC 2).
  case secp256k1

  /// The length of a coordinate, and of a private key, in bytes.
  public var coordinateByteCount: Int {
    switch self {
    case .p256, .secp256k1: 32
    case .p384: 48
    case .p521: 66
    }
  }

  /// The order of the group, big-endian, as long as a coordinate.
  var order: [UInt8] {
    switch self {
    case .p256: Self.orderOfP256
    case .p384: Self.orderOfP384
    case .p521: Self.orderOfP521
    case .secp256k1: Self.orderOfSecp256k1
    }
  }

  var groupName: StaticString {
    switch self {
    case .p256: "prime256v1"
    case .p384: "secp384r1"
    case .p521: "secp521r1"
    case .secp256k1: "secp256k1"
    }
  }

  /// The group alone. A copy of it that gets a point costs a quarter of a key made of a name and a point, most of
  /// which is making the group again, and a DPoP proof has a key of its own.
  var keyWithoutPoint: EVPKey {
    switch self {
    case .p256: Self.p256WithoutPoint
    case .p384: Self.p384WithoutPoint
    case .p521: Self.p521WithoutPoint
    case .secp256k1: Self.secp256k1WithoutPoint
    }
  }

  /// The curve OpenSSL calls `name`.
  init?(groupName name: String) {
    guard let curve = Self.allCases.first(where: { "\($0.groupName)" == name }) else { return nil }
    self = curve
  }

  private static let orderOfP256 = order(NID_X9_62_prime256v1, byteCount: 32)
  private static let orderOfP384 = order(NID_secp384r1, byteCount: 48)
  private static let orderOfP521 = order(NID_secp521r1, byteCount: 66)
  private static let orderOfSecp256k1 = order(NID_secp256k1, byteCount: 32)

  private static let p256WithoutPoint = Self.p256.group()
  private static let p384WithoutPoint = Self.p384.group()
  private static let p521WithoutPoint = Self.p521.group()
  private static let secp256k1WithoutPoint = Self.secp256k1.group()

  private func group() -> EVPKey {
    var parameters = KeyParameters()
    parameters.add(ParameterName.group, group: groupName)
    guard let key = parameters.makeKey(type: "EC", selection: postern_evp_pkey_parameters) else {
      preconditionFailure("OpenSSL lacks a curve")
    }
    return key
  }

  private static func order(_ identifier: Int32, byteCount: Int) -> [UInt8] {
    let group = EC_GROUP_new_by_curve_name(identifier)
    defer { EC_GROUP_free(group) }
    guard let group, let order = EC_GROUP_get0_order(group),
      let bytes = BigNumber.bytes(of: order, count: byteCount)
    else { preconditionFailure("OpenSSL lacks a curve") }
    return bytes
  }
}

extension ECPublicKey: ConciseStringConvertible {
  /// The curve.
  public var description: String { "\(curve) public key" }
}
