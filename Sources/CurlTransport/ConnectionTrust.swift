import CPosternTLS
import HTTPMessages
import PosternSupport

/// The trust and the identity of a connection: two exchanges share connections and TLS sessions only where this is
/// equal.
///
/// libcurl keys both by the path of the file with the authorities, and knows nothing of pins. So that path is spelled
/// in a way of its own for every such combination: the same file, to the system. A mark on the connection is looked at
/// before every request as well.
struct ConnectionTrust: Equatable {
  /// The file of authorities as it was given; nil is libcurl's own.
  let caFile: String?
  /// The mark of all connections with this trust; nil where nothing distinguishes them.
  let mark: [UInt8]?
  let pins: KeyPins?
  let identity: LoadedIdentity?
  /// The content of the file of authorities, or of libcurl's own; nil when there is none.
  let authorities: AuthorityFiles.Authorities?

  /// A TLS session must not carry a connection past the pins, nor one client's into another's.
  var resumesSessions: Bool { pins == nil && identity == nil }

  /// Whether connections are made in the same way: an identity of the same digest is the same.
  static func == (left: ConnectionTrust, right: ConnectionTrust) -> Bool {
    left.mark == right.mark && left.caFile == right.caFile && left.pins == right.pins
      && left.identity?.digest == right.identity?.digest && left.authorities == right.authorities
  }

  /// The trust of `settings`, on the way through `proxy`; `caFile` where they name none.
  init(
    _ settings: TLSSettings, caFile: String?, through proxy: ProxyUse?, files: TrustFiles
  ) throws(TransportError) {
    self.caFile = settings.caFile ?? caFile
    pins = settings.pins
    do throws(LoadedIdentity.Problem) {
      if let wanted = settings.clientIdentity {
        identity = try files.identities.identity(wanted)
      } else {
        identity = nil
      }
    } catch {
      throw TransportError(
        code: .tlsFailure, outcome: .notSent, detail: "the client certificate cannot be used: \(error.text)")
    }
    let path = self.caFile ?? CurlLibrary.authorities
    authorities = path.map { files.authorities.authorities($0) }
    guard path != nil || pins != nil || identity != nil || proxy != nil else {
      mark = nil
      return
    }
    // With its stamp: a session that was begun with an authority ends with it, when the file is replaced.
    var text = Array("\(path ?? "")\u{0}\(authorities?.stamp?.description ?? "")\u{0}".utf8)
    if let pins {
      text += Array("pins \(pins.scope)".utf8)
      for hash in pins.hashes.sorted(by: { $0.lexicographicallyPrecedes($1) }) { text += hash }
    }
    if let identity { text += Array("identity".utf8) + identity.digest }
    // libcurl does not compare a proxy's credentials (CVE-2026-3784).
    if let proxy { text += Array("proxy".utf8) + proxy.mark }
    var digest = [UInt8](repeating: 0, count: Int(CTLS_DIGEST_SIZE))
    guard ctls_sha256(text, text.count, &digest) == 1 else {
      throw TransportError(code: .tlsFailure, outcome: .notSent, detail: "OpenSSL has no SHA-256")
    }
    mark = digest
  }

  /// `path` in the spelling that belongs to the mark: a bit of it is a slash, with or without a dot behind it.
  func spelled(_ path: String) -> String {
    guard let mark else { return path }
    var spelling = path.hasPrefix("/") ? "" : "."
    for byte in mark.prefix(16) {
      for bit in 0..<8 { spelling += byte >> bit & 1 == 1 ? "/." : "/" }
    }
    return "\(spelling)/\(path)"
  }
}
