public import PosternSupport

/// A client certificate for TLS: where it is, never what it is. The transport follows replaced files by itself.
public struct ClientIdentity: Sendable, Hashable {
  /// Where the private key is.
  public enum Key: Sendable, Hashable {
    /// In a PEM file.
    case file(String)
    /// At hand, as PEM.
    case text(Secret<String>)
  }

  /// PEM file of the certificate, with those of intermediate authorities behind it.
  public let certificateFile: String
  /// The certificate's private key.
  public let key: Key

  /// An identity of these parts.
  public init(certificateFile: String, key: Key) {
    self.certificateFile = certificateFile
    self.key = key
  }
}
