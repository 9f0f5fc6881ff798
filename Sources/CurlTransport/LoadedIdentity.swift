import CPosternTLS
import HTTPMessages
import PosternSupport

/// A client certificate and its key as OpenSSL holds them.
final class LoadedIdentity {
  /// Why there is none.
  struct Problem: Error { let text: String }

  let pointer: OpaquePointer
  /// Identifies the certificate.
  let digest: [UInt8]

  /// Reads the files now.
  init(_ identity: ClientIdentity) throws(Problem) {
    guard let certificate = PEMFile.read(identity.certificateFile) else {
      throw Problem(text: "its file cannot be read")
    }
    var key: [UInt8]
    switch identity.key {
    case .text(let text): key = Array(text.reveal().utf8)
    case .file(let path):
      guard let bytes = PEMFile.read(path) else { throw Problem(text: "its key's file cannot be read") }
      key = bytes
    }
    defer { PEMFile.wipe(&key) }
    var message = [CChar](repeating: 0, count: Int(CTLS_MESSAGE_SIZE))
    guard let pointer = ctls_identity_create(certificate, certificate.count, key, key.count, &message) else {
      let text = message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
      throw Problem(text: String(decoding: text, as: UTF8.self))
    }
    self.pointer = pointer
    var digest = [UInt8](repeating: 0, count: Int(CTLS_DIGEST_SIZE))
    ctls_identity_digest(pointer, &digest)
    self.digest = digest
  }

  deinit { ctls_identity_free(pointer) }
}
