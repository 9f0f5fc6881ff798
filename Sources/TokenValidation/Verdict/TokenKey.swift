/// The key that verified a token, as far as it may be told.
public struct TokenKey: Sendable, Hashable {
  /// The key's `kid`.
  public let kid: String?
  /// The header's `alg`.
  public let alg: String
  /// The thumbprint of RFC 7638 with SHA-256; nil for a client secret, of which it would be a hash.
  public let thumbprint: String?

  /// A key of the given names.
  public init(kid: String?, alg: String, thumbprint: String?) {
    self.kid = kid
    self.alg = alg
    self.thumbprint = thumbprint
  }
}
