import CPosternOpenSSL

/// Builds a key from its components (`EVP_PKEY_fromdata`). Used for one key; owns copies of the numbers.
struct KeyParameters: ~Copyable {
  private let builder: OpaquePointer?
  private var numbers: [OpaquePointer] = []
  private var isComplete = true

  init() { builder = OSSL_PARAM_BLD_new() }

  deinit {
    OSSL_PARAM_BLD_free(builder)
    for number in numbers { BN_clear_free(number) }
  }

  /// Adds a positive number given as big-endian bytes.
  mutating func add(_ name: StaticString, integer bytes: [UInt8]) {
    push(name, BN_bin2bn(bytes, Int32(clamping: bytes.count), nil))
  }

  /// Adds a positive number given as big-endian bytes.
  mutating func add(_ name: StaticString, secret: SymmetricKey) {
    push(name, secret.withUnsafeBytes { BN_bin2bn($0.bytes, Int32(clamping: $0.count), nil) })
  }

  private mutating func push(_ name: StaticString, _ number: OpaquePointer?) {
    guard let number else {
      isComplete = false
      return
    }
    numbers.append(number)
    isComplete = isComplete && OSSL_PARAM_BLD_push_BN(builder, name.characters, number) == 1
  }

  /// Adds an octet string. The builder keeps a pointer to it, so it must stay alive until `makeKey`.
  mutating func add(_ name: StaticString, octets: UnsafeRawBufferPointer) {
    isComplete =
      isComplete && OSSL_PARAM_BLD_push_octet_string(builder, name.characters, octets.baseAddress, octets.count) == 1
  }

  /// Adds a name.
  mutating func add(_ name: StaticString, group: StaticString) {
    isComplete =
      isComplete
      && OSSL_PARAM_BLD_push_utf8_string(builder, name.characters, group.characters, group.utf8CodeUnitCount) == 1
  }

  /// The key; `selection` is `EVP_PKEY_KEY_PARAMETERS`, `EVP_PKEY_PUBLIC_KEY` or `EVP_PKEY_KEYPAIR`.
  func makeKey(type: String, selection: Int32) -> EVPKey? {
    guard isComplete, let parameters = OSSL_PARAM_BLD_to_param(builder) else { return nil }
    defer { OSSL_PARAM_free(parameters) }
    guard let context = EVP_PKEY_CTX_new_from_name(nil, type, nil) else { return nil }
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_fromdata_init(context) == 1,
      EVP_PKEY_fromdata(context, &key, selection, parameters) == 1
    else { return nil }
    return key.map(EVPKey.init(owning:))
  }
}

extension StaticString {
  /// The text as a C string, valid for ever.
  var characters: UnsafePointer<CChar> { UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self) }
}

/// OpenSSL's names of the components of keys and of the parameter of a MAC (provider-keymgmt(7)). Static strings,
/// because a parameter list keeps the pointer. The header builds some of them from macros that Swift does not import.
enum ParameterName {
  static let rsaModulus: StaticString = "n"
  static let rsaExponent: StaticString = "e"
  static let rsaPrivateExponent: StaticString = "d"
  static let rsaPrime1: StaticString = "rsa-factor1"
  static let rsaPrime2: StaticString = "rsa-factor2"
  static let rsaExponent1: StaticString = "rsa-exponent1"
  static let rsaExponent2: StaticString = "rsa-exponent2"
  static let rsaCoefficient: StaticString = "rsa-coefficient1"
  static let group: StaticString = "group"
  static let publicKey: StaticString = "pub"
  static let privateKey: StaticString = "priv"
  static let ecX: StaticString = "qx"
  static let ecY: StaticString = "qy"
  static let macDigest: StaticString = "digest"
}

/// The bytes of OpenSSL's numbers (`BIGNUM`).
enum BigNumber {
  /// The minimal big-endian bytes of `number`; empty for zero.
  static func bytes(of number: OpaquePointer) -> [UInt8] {
    let count = Int(postern_bn_byte_count(number))
    guard count > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
      used = Int(BN_bn2bin(number, buffer.baseAddress))
    }
  }

  /// The big-endian bytes of `number`, exactly `count` of them; nil when it needs more.
  static func bytes(of number: OpaquePointer, count: Int) -> [UInt8]? {
    var fits = false
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
      fits = BN_bn2binpad(number, buffer.baseAddress, Int32(count)) == Int32(count)
      used = fits ? count : 0
    }
    return fits ? bytes : nil
  }
}
