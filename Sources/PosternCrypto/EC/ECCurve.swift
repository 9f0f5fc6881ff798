import CPosternOpenSSL

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

  /// The curve OpenSSL calls `name`.
  init?(groupName name: String) {
    guard let curve = Self.allCases.first(where: { "\($0.groupName)" == name }) else { return nil }
    self = curve
  }

  private static let orderOfP256 = order(NID_X9_62_prime256v1, byteCount: 32)
  private static let orderOfP384 = order(NID_secp384r1, byteCount: 48)
  private static let orderOfP521 = order(NID_secp521r1, byteCount: 66)
  private static let orderOfSecp256k1 = order(NID_secp256k1, byteCount: 32)

  private static func order(_ identifier: Int32, byteCount: Int) -> [UInt8] {
    let group = EC_GROUP_new_by_curve_name(identifier)
    defer { EC_GROUP_free(group) }
    guard let group, let order = EC_GROUP_get0_order(group),
      let bytes = BigNumber.bytes(of: order, count: byteCount)
    else { preconditionFailure("OpenSSL lacks a curve") }
    return bytes
  }
}
