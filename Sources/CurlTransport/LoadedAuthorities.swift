import CPosternTLS

/// A file of authorities as OpenSSL holds it: parsed once, for all connections that trust it.
final class LoadedAuthorities {
  let pointer: OpaquePointer

  /// Nil when `bytes` are not PEM with a certificate, or there is no memory.
  init?(_ bytes: [UInt8]) {
    guard let pointer = ctls_authorities_create(bytes, bytes.count) else { return nil }
    self.pointer = pointer
  }

  deinit { ctls_authorities_free(pointer) }

  /// The first certificate alone, as PEM: for libcurl to read instead of the file.
  var first: [UInt8] {
    var count = 0
    let bytes = ctls_authorities_first(pointer, &count)
    return Array(UnsafeRawBufferPointer(start: bytes, count: count))
  }
}

/// The files of authorities and client certificates that connections are made with.
final class TrustFiles {
  let identities: IdentityFiles
  let authorities: AuthorityFiles

  init(report: CurlTransport.FileReport?) {
    identities = IdentityFiles(report: report)
    authorities = AuthorityFiles(report: report)
  }
}
