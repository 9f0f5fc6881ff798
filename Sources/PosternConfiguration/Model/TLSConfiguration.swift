import PosternJSON
public import PosternSupport

/// Whom to trust in TLS, and who to be.
public struct TLSConfiguration: Sendable, Equatable {
  /// Which servers to trust.
  public var trust: TrustConfiguration
  /// PEM file of the client certificate, for mutual TLS; always together with `clientKey`.
  public var clientCertificateFile: String?
  /// The client certificate's private key, PEM.
  public var clientKey: ConfiguredSecret<String>?
}

extension TLSConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
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
