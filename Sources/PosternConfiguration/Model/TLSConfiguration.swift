public import HTTPMessages
import PosternJSON
public import PosternSupport

/// Trust and client certificate in TLS.
public struct TLSConfiguration: Sendable, Equatable {
  /// Which servers to trust.
  public var trust: TrustConfiguration
  /// PEM file of the client certificate, for mutual TLS; always together with `clientKey`.
  public var clientCertificateFile: String?
  /// The client certificate's private key, PEM.
  public var clientKey: ConfiguredSecret<String>?
}

extension TLSConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    // In the file both lie on one level.
    trust = TrustConfiguration(reading: keys)
    clientCertificateFile = keys.optional(
      "clientCertificateFile", .file, "PEM file of a client certificate, for mutual TLS.",
      example: .commented("/etc/postern/client.pem"))
    clientKey = keys.secret(
      "clientKey", .text, "PEM file of the client certificate's private key.",
      exampleFile: .commented("/run/secrets/client-key.pem"))
    let hasKey = ["clientKey", "clientKeyFile", "clientKeyEnv"].contains(where: keys.isGiven)
    if hasKey != keys.isGiven("clientCertificateFile") {
      keys.problem("clientCertificateFile and clientKeyFile belong together")
    }
  }
}

/// Which servers to trust in TLS.
public struct TrustConfiguration: Sendable, Equatable {
  /// The public keys of which one must be in the verified chain; nil pins nothing.
  public var pins: KeyPins?
  /// Whether there must be pins. Default false.
  public var pinsRequired: Bool
  /// PEM file of the certificate authorities to trust instead of the system's.
  public var caFile: String?
}

extension TrustConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    let pins = keys.list(
      "pins", of: .pin, default: [],
      """
      SHA-256 of public keys, of which one must be in the server's chain, in addition to the usual checks. Give a second one as a backup.
      """,
      example: .commented(["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]))
    let scope = keys.value(
      "pinScope", .choice(KeyPins.Scope.self, placeholder: .chain), default: .chain,
      "leaf compares the pins with the server's own certificate only, chain with every one of the verified chain.",
      example: .commented("chain"))
    // Each has been read: none is malformed.
    self.pins = try? KeyPins(pins, scope: scope)
    pinsRequired = keys.value(
      "pinsRequired", .boolean, default: false,
      "Whether it is an error that there are no pins; see also hardening.pinsRequired.")
    caFile = keys.optional(
      "caFile", .file, "PEM file of certificate authorities to trust instead of the system's.",
      example: .commented("/etc/postern/ca.pem"))
    if pinsRequired, pins.isEmpty { keys.problem("there are no pins", at: "pinsRequired") }
    if keys.isGiven("pinScope"), !keys.isGiven("pins") {
      keys.warn("there are no pins it could be about", at: "pinScope")
    }
  }
}
