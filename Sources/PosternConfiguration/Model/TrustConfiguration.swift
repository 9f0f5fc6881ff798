import PosternJSON

/// Which servers to trust in TLS.
public struct TrustConfiguration: Sendable, Equatable {
  /// Which certificates of the verified chain are held against the pins.
  public enum PinScope: String, Sendable, Hashable, CaseIterable {
    /// The server's own only.
    case leaf
    /// Any of the chain.
    case chain
  }

  /// SHA-256 of the public keys of which one must be there, `sha256/base64`; empty pins nothing.
  public var pins: [String]
  /// What the pins are compared with. Default `chain`.
  public var pinScope: PinScope
  /// PEM file of the certificate authorities to trust instead of the system's.
  public var caFile: String?
}

extension TrustConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    pins = keys.list(
      "pins", of: .pin, default: [],
      """
      SHA-256 of public keys, of which one must be in the server's chain, besides the ordinary checks. Give a second one as a backup.
      """,
      example: .commented(["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]))
    pinScope = keys.value(
      "pinScope", .choice(PinScope.self, placeholder: .chain), default: .chain,
      "leaf compares the pins with the server's own certificate only, chain with every one of the verified chain.",
      example: .commented("chain"))
    caFile = keys.optional(
      "caFile", .file, "PEM file of certificate authorities to trust instead of the system's.",
      example: .commented("/etc/postern/ca.pem"))
    if keys.isGiven("pinScope"), !keys.isGiven("pins") {
      keys.warn("there are no pins it could be about", at: "pinScope")
    }
  }
}
