/// OpenSSL's names of the components of keys, and of a MAC's parameter (provider-keymgmt(7)). Static strings, because a
/// parameter list keeps the pointer. The header builds some of them from macros that Swift does not import.
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
