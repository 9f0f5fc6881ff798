public import PosternSupport

/// Certificate pins: a server's verified chain must contain one of these public keys (RFC 7469).
public struct KeyPins: Sendable, Hashable {
  /// Which certificates the pins are compared with.
  public enum Scope: String, Sendable, Hashable, CaseIterable {
    /// The server's certificate only.
    case leaf
    /// Every certificate of the verified chain, the root included.
    case chain
  }

  private static let prefix = "sha256/"
  private static let hashBytes = 32

  /// SHA-256 of each key's SubjectPublicKeyInfo (RFC 7469 section 2.4), 32 bytes each; never empty.
  public let hashes: Set<[UInt8]>
  /// The certificates that the pins are compared with.
  public let scope: Scope

  /// The pins written as `sha256/base64`. Throws when there is none, or one that is malformed. A failable initializer
  /// would let a typo turn pinning off, because a server's `pins` are optional.
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

/// The reason why a list of pins is not accepted. Pins are hashes of public keys, so the one at fault may be shown.
public struct KeyPinsError: Error, Sendable, Hashable, ConciseStringConvertible {
  /// The malformed pin, as given; nil when the list is empty.
  public let pin: String?

  /// An error for a malformed `pin`, or nil for an empty list.
  public init(pin: String?) { self.pin = pin }

  private static let shownScalars = 100

  /// A sentence for people.
  public var description: String {
    guard let pin else { return "the list of pins is empty: use no KeyPins for a server without pinned keys" }
    let shown = String(String.UnicodeScalarView(pin.unicodeScalars.prefix(Self.shownScalars)))
    return "the pin \(String(reflecting: shown)) is not sha256/ followed by the base64 of 32 bytes"
  }
}

extension KeyPins: ConciseStringConvertible {
  /// The number of pins.
  public var description: String { "\(Concise.count(hashes.count, "pin")) of \(scope)" }
}
