import CPosternTLS
import Glibc
import HTTPMessages
import PosternSupport

/// The client certificates in use, read again when their files are replaced. Owned by the loop.
///
/// A replacement that is not valid, such as a certificate whose key has not been replaced yet, leaves the one before it
/// in force.
final class IdentityFiles {
  private struct Entry {
    let stamps: [FileStamp?]
    var current: LoadedIdentity?
    var problem: String
  }

  /// More than any configuration has at a time; those of configurations before it go.
  private static let maxEntries = 256

  private let report: CurlTransport.FileReport?
  private var entries: [ClientIdentity: Entry] = [:]

  init(report: CurlTransport.FileReport?) { self.report = report }

  /// The identity of the files now.
  func identity(_ wanted: ClientIdentity) throws(LoadedIdentity.Problem) -> LoadedIdentity {
    // Before reading: whatever is replaced meanwhile is read the next time.
    let stamps = Self.stamps(of: wanted)
    var entry = entries[wanted] ?? Entry(stamps: [], current: nil, problem: "")
    if entry.stamps != stamps {
      do throws(LoadedIdentity.Problem) {
        entry = Entry(stamps: stamps, current: try LoadedIdentity(wanted), problem: "")
        report?(wanted.certificateFile, nil)
      } catch {
        entry = Entry(stamps: stamps, current: entry.current, problem: error.text)
        // Where there was none before, the exchange fails with the reason.
        if entry.current != nil { report?(wanted.certificateFile, error.text) }
      }
      if entries.count >= Self.maxEntries { entries.removeAll() }
      entries[wanted] = entry
    }
    guard let current = entry.current else { throw LoadedIdentity.Problem(text: entry.problem) }
    return current
  }

  private static func stamps(of identity: ClientIdentity) -> [FileStamp?] {
    switch identity.key {
    case .text: [FileStamp(identity.certificateFile)]
    case .file(let path): [FileStamp(identity.certificateFile), FileStamp(path)]
    }
  }
}

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

/// Reads files of certificates and keys, on the loop's thread: local and bounded.
enum PEMFile {
  static let maxBytes = 64 << 10

  /// The file's bytes; nil when it cannot be read, is no regular file or too large.
  static func read(_ path: String, limit: Int = maxBytes) -> [UInt8]? {
    // Non-blocking, so that a pipe at that path cannot hang the loop.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= limit else {
      return nil
    }
    // All of its memory at once: a growing array would leave copies of a key behind.
    var bytes = [UInt8](repeating: 0, count: min(limit, max(maxBytes, Int(status.st_size))) + 1)
    var used = 0
    while used < bytes.count {
      let count = bytes.withUnsafeMutableBytes { buffer in
        buffer.baseAddress.map { Glibc.read(descriptor, $0 + used, buffer.count - used) } ?? -1
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        if count == 0 { break }
        wipe(&bytes)
        return nil
      }
      used += count
    }
    guard used < bytes.count else {
      wipe(&bytes)
      return nil
    }
    bytes.removeLast(bytes.count - used)
    return bytes
  }

  /// Overwrites what was a key.
  static func wipe(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { buffer in
      if let start = buffer.baseAddress { explicit_bzero(start, buffer.count) }
    }
  }
}
