import CPosternTLS
import PosternSupport

/// The files of authorities in use, read again when they are replaced. Owned by the loop.
///
/// Each is parsed once: libcurl keeps only the last that it has parsed, and users with different authorities would have
/// it parse on this thread with every connection. A replacement that is not valid, such as a half-written file, leaves
/// the content before it in force.
final class AuthorityFiles {
  /// The authorities that a connection trusts.
  struct Authorities: Equatable {
    /// Identifies a content of the file.
    let stamp: FileStamp?
    /// The last valid content, where the file is not valid now; nil: the file is.
    let copy: [UInt8]?
    /// The valid content, parsed; nil when there never was one.
    let loaded: LoadedAuthorities?

    /// Whether both are the same content, read once.
    static func == (left: Authorities, right: Authorities) -> Bool {
      left.stamp == right.stamp && left.copy == right.copy && left.loaded === right.loaded
    }
  }

  private struct Entry {
    var seen: FileStamp?
    /// The last valid content, and its stamp.
    var stamp: FileStamp?
    var bytes: [UInt8]?
    var loaded: LoadedAuthorities?
    var isBroken = false
  }

  /// More than any configuration has at a time.
  private static let maxEntries = 256
  private static let maxBytes = 16 << 20

  private let report: CurlTransport.FileReport?
  private var entries: [String: Entry] = [:]

  init(report: CurlTransport.FileReport?) { self.report = report }

  /// The authorities of the file at `path` now.
  func authorities(_ path: String) -> Authorities {
    // Before reading: whatever is replaced meanwhile is read the next time.
    let stamp = FileStamp(path)
    var entry = entries[path] ?? Entry()
    if entries[path] == nil || entry.seen != stamp {
      take(path, stamp, into: &entry)
      if entries.count >= Self.maxEntries { entries.removeAll() }
      entries[path] = entry
    }
    // libcurl reports a file that was never valid.
    return entry.isBroken && entry.bytes != nil
      ? Authorities(stamp: entry.stamp, copy: entry.bytes, loaded: entry.loaded)
      : Authorities(stamp: stamp, copy: nil, loaded: entry.loaded)
  }

  private func take(_ path: String, _ stamp: FileStamp?, into entry: inout Entry) {
    entry.seen = stamp
    if let bytes = PEMFile.read(path, limit: Self.maxBytes), let loaded = LoadedAuthorities(bytes) {
      (entry.stamp, entry.bytes, entry.loaded, entry.isBroken) = (stamp, bytes, loaded, false)
      report?(path, nil)
    } else {
      entry.isBroken = true
      if entry.bytes != nil { report?(path, "it holds no certificate that can be read") }
    }
  }
}

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
