import PosternSupport

/// Public keys of which a server's verified chain must hold one, besides the ordinary checks.
public struct KeyPins: Sendable, Hashable {
  /// Which certificates the pins are compared with.
  public enum Scope: Sendable, Hashable {
    /// The server's own only.
    case leaf
    /// Every one of the verified chain, the authority at its end included.
    case chain
  }

  private static let prefix = "sha256/"
  private static let hashBytes = 32

  /// SHA-256 of each key's SubjectPublicKeyInfo (RFC 7469 section 2.4), 32 bytes each; never empty.
  public let hashes: Set<[UInt8]>
  /// What they are compared with.
  public let scope: Scope

  /// The pins written as `sha256/base64`. Throws when there is none, or one that is malformed: a failable initializer
  /// would let a spelling error turn pinning off, for a server's `pins` are optional.
  public init(_ pins: [String], scope: Scope) throws(KeyPinsError) {
    var hashes: Set<[UInt8]> = []
    for pin in pins {
      guard pin.utf8.starts(with: Self.prefix.utf8),
        let hash = Base64.decode(String(decoding: pin.utf8.dropFirst(Self.prefix.utf8.count), as: UTF8.self)),
        hash.count == Self.hashBytes
      else { throw KeyPinsError(pin: pin) }
      hashes.insert(hash)
    }
    guard !hashes.isEmpty else { throw KeyPinsError(pin: nil) }
    self.hashes = hashes
    self.scope = scope
  }
}
