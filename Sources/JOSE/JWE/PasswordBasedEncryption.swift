/// The bounds of PBES2 (RFC 7518 section 4.8), where the sender says how much work decrypting is.
enum PasswordBasedEncryption {
  /// More iterations are refused unseen (CVE-2023-52428); as many are used when encrypting.
  static let maximumIterations = 10_000
  /// RFC 7518 section 4.8.1.2 recommends no fewer.
  static let minimumIterations = 1000
  /// RFC 7518 section 4.8.1.1: no shorter salt.
  static let minimumSaltByteCount = 8
  /// A longer salt only costs time.
  static let maximumSaltByteCount = 1024
  /// The length of a salt made here.
  static let saltByteCount = 16
}
