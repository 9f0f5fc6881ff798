/// Versions of the libraries this process runs with, for `getInfo`.
package struct LibraryVersions: Sendable {
  /// libcurl.
  package let curl: String
  /// OpenSSL.
  package let openssl: String
  /// jansson.
  package let jansson: String
  /// The Swift compiler.
  package let swift: String

  /// Versions as the libraries report them.
  package init(curl: String, openssl: String, jansson: String, swift: String) {
    self.curl = curl
    self.openssl = openssl
    self.jansson = jansson
    self.swift = swift
  }
}
