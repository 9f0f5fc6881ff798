import Support

/// Public keys of which a server's verified chain must hold one, besides the ordinary checks.
public struct KeyPins: Sendable, Hashable {
  /// Which certificates the pins are compared with.
  public enum Scope: Sendable, Hashable {
    /// The server's own only.
    case leaf
    /// Every one of the verified chain, the authority at its end included.
    case chain
  }

  /// SHA-256 of each key's SubjectPublicKeyInfo (RFC 7469 section 2.4), 32 bytes each; never empty.
  public let hashes: Set<[UInt8]>
  /// What they are compared with.
  public let scope: Scope

  /// The pins written as `sha256/base64`; nil when there is none, or one that is malformed.
  public init?(_ pins: [String], scope: Scope) {
    var hashes: Set<[UInt8]> = []
    for pin in pins {
      guard pin.hasPrefix("sha256/"), let hash = Base64.decode(String(pin.dropFirst(7))), hash.count == 32 else {
        return nil
      }
      hashes.insert(hash)
    }
    guard !hashes.isEmpty else { return nil }
    self.hashes = hashes
    self.scope = scope
  }
}
