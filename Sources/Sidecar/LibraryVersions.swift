/// Versions of the libraries this process runs with, for `getInfo`.
public struct LibraryVersions: Sendable {
  /// libcurl.
  public let curl: String
  /// OpenSSL.
  public let openssl: String
  /// jansson.
  public let jansson: String
  /// The Swift compiler.
  public let swift: String

  /// Versions as the libraries report them.
  public init(curl: String, openssl: String, jansson: String, swift: String) {
    self.curl = curl
    self.openssl = openssl
    self.jansson = jansson
    self.swift = swift
  }
}
